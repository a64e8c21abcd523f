"""The scripts with known faults: what can be read from them without running."""

from __future__ import annotations

from pathlib import Path

import pytest

from f64doctor.source import read_source

CORPUS = Path(__file__).parents[1] / "corpus"
NARROW = ("float32", "float16", "bfloat16")

WRITTEN = {
    "cast_inside_a_layer": [("train.py", 16, "cast")],
    "constant_without_a_dtype": [("train.py", 10, "literal")],
    "csv_dataset_infers_float32": [("train.py", 16, "literal")],
    "dataset_from_lists": [("train.py", 12, "literal")],
    "distribution_parameters_are_float32": [("dist.py", 8, "literal"), ("dist.py", 9, "literal")],
    "cast_of_a_python_number": [("train.py", 7, "literal")],
    "float32_basis_array": [("basis.py", 6, "dtype")],
    "float32_scalar_in_a_package": [("scaled.py", 4, "cast")],
    "cache_written_in_float32": [("data_prep.py", 19, "cast")],
    "float_list_in_a_tfrecord": [("train.py", 14, "literal"), ("train.py", 27, "dtype")],
    "healthy_float32_in_words_only": [],
    "healthy_float32_preview": [],
    "healthy_classifier": [],
}


@pytest.mark.parametrize("case", WRITTEN)
def test_the_line_that_narrows_is_read_from_the_source(case: str) -> None:
    source = read_source("train.py", str(CORPUS / case))
    found = [
        (Path(m.file).name, m.line, m.kind) for m in source.mentions if m.dtype in NARROW and m.purpose == "compute"
    ]
    assert found == WRITTEN[case]
    assert source.imports_tensorflow
