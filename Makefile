# Everything from nothing: `make demo`, `make test`. The environment lies in .venv; PYTHON=python3.12 chooses who makes it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install --constraint constraints.txt --build-constraint constraints.txt
# Older TensorFlow, each in an environment of its own; 2.15 is the last with Keras 2, and wants Python 3.9 to 3.11.
MATRIX := 2.18.1 2.15.1
MATRIX_PYTHON ?= python3.11
EXAMPLES := $(sort $(wildcard examples/*.py))

# A stamp says that an environment has what it needs; it is remade when what it was made from changes.
MADE := $(VENV)/.made
RUNTIME := $(VENV)/.runtime
TESTING := $(VENV)/.testing

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-matrix test-thirdparty check screenshots clean

help:
	@echo "make demo         the doctor on each example: in the wizard here, as reports elsewhere"
	@echo "make test         all tests"
	@echo "make test-matrix  the corpus under older TensorFlow: $(MATRIX)"
	@echo "make test-thirdparty  scripts with GPflow, TensorFlow Probability and DeepXDE"
	@echo "make check        format, lint, types, import contracts"
	@echo "make screenshots  pictures of the wizard"
	@echo "make venv         the environment in $(VENV), with everything for tests and development"
	@echo "make clean        takes away what the others made"

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "$(PYTHON) is not Python 3.10 to 3.13: choose another with make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --upgrade 'pip>=25.3'
	@touch $@

$(RUNTIME): $(MADE) pyproject.toml constraints.txt
	$(INSTALL) --editable '.[tensorflow]'
	@touch $@

$(TESTING): $(RUNTIME)
	$(INSTALL) --group test --group dev
	@touch $@

venv: $(TESTING)

# Findings are what the examples are for: exit status 1 is no failure of the demo.
demo: $(RUNTIME)
	@status=0; first=yes; \
	for example in $(EXAMPLES); do \
		if [ -t 0 ] && [ -t 1 ] && [ -z "$$CI" ] && [ $$first = yes ]; then mode=; \
		else mode=--non-interactive; printf '\n== %s\n\n' "$$example"; fi; \
		first=no; \
		$(BIN)/f64doctor "$$example" $$mode; code=$$?; \
		if [ $$code -eq 130 ]; then exit 130; fi; \
		if [ $$code -gt 1 ]; then status=$$code; fi; \
	done; \
	exit $$status

test: $(TESTING)
	$(BIN)/python -m pytest

$(VENV)-tf%/.made:
	$(MATRIX_PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install "tensorflow-cpu==$*" pandas
	@touch $@

$(VENV)-thirdparty/.made:
	$(MATRIX_PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install tensorflow-cpu tf_keras tensorflow-probability gpflow deepxde
	@touch $@

test-thirdparty: $(TESTING) $(VENV)-thirdparty/.made
	F64DOCTOR_THIRDPARTY_PYTHON=$(CURDIR)/$(VENV)-thirdparty/bin/python $(BIN)/python -m pytest tests/test_thirdparty.py

test-matrix: $(TESTING) $(MATRIX:%=$(VENV)-tf%/.made)
	@status=0; for version in $(MATRIX); do \
		echo "== TensorFlow $$version"; \
		F64DOCTOR_TEST_PYTHON=$(CURDIR)/$(VENV)-tf$$version/bin/python $(BIN)/python -m pytest tests/test_corpus.py || status=$$?; \
	done; exit $$status

check: $(TESTING)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

screenshots: $(TESTING)
	$(BIN)/python screenshots/make.py

clean:
	rm -rf $(VENV) $(VENV)-tf* $(VENV)-thirdparty build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
