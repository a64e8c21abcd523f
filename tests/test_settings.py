"""A flag wins, then the environment, then the nearest pyproject.toml; and every setting knows where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from f64doctor.settings import CHECK_NAMES, DECLARED, Settings, SettingsError, load_settings


def project(folder: Path, lines: str) -> Path:
    """A pyproject.toml with these lines for f64doctor."""
    file = folder / "pyproject.toml"
    file.write_text(f"[tool.f64doctor]\n{lines}\n", encoding="utf-8")
    return file


def refusal(folder: Path, flags: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags or {}, environ or {}, folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_anything_the_defaults_hold_and_say_so(tmp_path: Path) -> None:
    settings, origins = load_settings({}, {}, tmp_path)
    assert settings == Settings()
    assert (settings.steps, settings.time_limit, settings.fail_on, settings.format) == (3, 300.0, "warning", "text")
    assert set(origins.values()) == {"default"}
    assert set(origins) == set(Settings.__struct_fields__)


def test_every_field_can_be_set(tmp_path: Path) -> None:
    assert [setting.field for setting in DECLARED] == list(Settings.__struct_fields__)


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = project(tmp_path, "steps = 7\ntime-limit = 60\nfail-on = 'error'")
    environ = {"F64DOCTOR_STEPS": "8", "F64DOCTOR_TIME_LIMIT": "90"}
    settings, origins = load_settings({"steps": "9"}, environ, tmp_path)
    assert (settings.steps, settings.time_limit, settings.fail_on) == (9, 90.0, "error")
    assert origins["steps"] == "--steps"
    assert origins["time_limit"] == "F64DOCTOR_TIME_LIMIT"
    assert origins["fail_on"] == str(file)


def test_the_nearest_pyproject_counts_even_without_a_table(tmp_path: Path) -> None:
    project(tmp_path, "steps = 7")
    inner = tmp_path / "inner"
    inner.mkdir()
    assert load_settings({}, {}, inner)[0].steps == 7
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert load_settings({}, {}, inner)[0].steps == 3


def test_flags_that_were_not_given_do_not_win(tmp_path: Path) -> None:
    project(tmp_path, "check = ['casts']\nno-run = true")
    settings, _ = load_settings({"check": (), "no-run": None}, {}, tmp_path)
    assert settings.checks == ("casts",)
    assert settings.no_run


def test_an_empty_variable_is_no_setting(tmp_path: Path) -> None:
    assert load_settings({}, {"F64DOCTOR_STEPS": ""}, tmp_path)[1]["steps"] == "default"


@pytest.mark.parametrize("value", ["all", "ALL"])
def test_all_steps_are_no_bound(tmp_path: Path, value: str) -> None:
    assert load_settings({"steps": value}, {}, tmp_path)[0].steps is None


@pytest.mark.parametrize("value", ["0", "-1", "2.5", "many", " "])
def test_steps_are_a_whole_number_from_one(tmp_path: Path, value: str) -> None:
    assert refusal(tmp_path, {"steps": value}) == (
        f'steps is "{value}" (from --steps): it must be a whole number from 1 on, or all'
    )


@pytest.mark.parametrize("value", ["0", "-3", "nan", "inf", "soon"])
def test_a_time_limit_is_a_number_of_seconds(tmp_path: Path, value: str) -> None:
    assert refusal(tmp_path, environ={"F64DOCTOR_TIME_LIMIT": value}) == (
        f'time-limit is "{value}" (from F64DOCTOR_TIME_LIMIT): it must be a number of seconds above 0'
    )


@pytest.mark.parametrize(
    ("word", "meaning"), [("1", True), ("yes", True), ("TRUE", True), ("0", False), ("off", False)]
)
def test_words_of_the_environment_mean_yes_or_no(tmp_path: Path, word: str, meaning: bool) -> None:
    assert load_settings({}, {"F64DOCTOR_ASCII": word}, tmp_path)[0].ascii_only is meaning


def test_another_word_is_neither(tmp_path: Path) -> None:
    assert refusal(tmp_path, environ={"F64DOCTOR_YES": "maybe"}) == (
        'yes is "maybe" (from F64DOCTOR_YES): it must be true or false'
    )


def test_checks_are_chosen_in_their_own_order(tmp_path: Path) -> None:
    settings, _ = load_settings({"check": ("casts", "inputs", "casts"), "skip": ()}, {}, tmp_path)
    assert settings.wanted() == ("inputs", "casts")
    assert load_settings({"skip": ("device",)}, {}, tmp_path)[0].wanted() == ("inputs", "layers", "casts", "memory")
    assert load_settings({}, {"F64DOCTOR_CHECK": "memory, layers"}, tmp_path)[0].wanted() == ("layers", "memory")


def test_need_is_no_check_yet(tmp_path: Path) -> None:
    assert "need" not in CHECK_NAMES
    assert refusal(tmp_path, {"check": ("need",)}) == (
        "check is \"need\" (from --check): there is no check 'need'; the checks are inputs, layers, device, casts, memory"
    )


def test_something_must_be_left_to_check(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"check": ("inputs",), "skip": ("inputs",)}) == (
        "check and skip leave nothing to check (from --check and --skip)"
    )


def test_verbose_and_quiet_exclude_each_other(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"verbose": True}, {"F64DOCTOR_QUIET": "1"}) == (
        "verbose and quiet exclude each other (from --verbose and F64DOCTOR_QUIET)"
    )


def test_only_formats_that_there_are_can_be_asked_for(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"format": "html"}) == 'format is "html" (from --format): it must be text or json'


def test_a_level_is_one_of_three(tmp_path: Path) -> None:
    file = project(tmp_path, "fail-on = 'info'")
    assert refusal(tmp_path) == f'fail-on is "info" (from {file}): it must be error, warning or never'


def test_a_value_of_the_wrong_kind_in_the_file_is_refused(tmp_path: Path) -> None:
    file = project(tmp_path, "steps = true")
    assert refusal(tmp_path) == f"steps is true (from {file}): it must be a whole number from 1 on, or all"
    project(tmp_path, "python = 3")
    assert refusal(tmp_path) == f"python is 3 (from {file}): it must be text"
    project(tmp_path, "check = 3")
    assert refusal(tmp_path).startswith(f"check is 3 (from {file}): it must be a list of inputs, ")


def test_a_misspelt_key_in_the_file_is_refused_with_the_right_one(tmp_path: Path) -> None:
    file = project(tmp_path, "time_limit = 60")
    assert refusal(tmp_path) == f"time_limit in [tool.f64doctor] of {file} is no setting: did you mean time-limit?"


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    file = project(tmp_path, "steps = ")
    assert refusal(tmp_path).startswith(f"{file} is no valid TOML: ")
    file.write_bytes(b"\xff\xfe")
    assert refusal(tmp_path).startswith(f"{file} is no valid TOML: ")
    file.write_text("[tool]\nf64doctor = 3\n")
    assert refusal(tmp_path) == f"tool.f64doctor in {file} must be a table"


def test_paths_in_the_file_are_relative_to_it_and_a_bare_program_is_found_on_path(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    project(tmp_path, "python = '.venv/bin/python'\ncwd = 'inner'\nsave = 'report.f64.json'\noutput = '-'")
    settings, _ = load_settings({}, {}, tmp_path / "inner")
    assert settings.python == str(tmp_path / ".venv" / "bin" / "python")
    assert settings.cwd == str(tmp_path / "inner")
    assert settings.save == str(tmp_path / "report.f64.json")
    assert settings.output == "-"
    project(tmp_path, "python = 'python3.12'")
    assert load_settings({}, {}, tmp_path)[0].python == "python3.12"


def test_a_working_folder_must_exist(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"cwd": "/nowhere"}) == 'cwd is "/nowhere" (from --cwd): there is no such folder'


def test_the_active_virtual_environment_is_the_interpreter_unless_another_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.touch()
    environ = {"VIRTUAL_ENV": str(tmp_path)}
    settings, origins = load_settings({}, environ, tmp_path)
    assert (settings.python, origins["python"]) == (str(python), "VIRTUAL_ENV")
    assert load_settings({"python": "python3"}, environ, tmp_path)[0].python == "python3"
    python.unlink()
    assert load_settings({}, environ, tmp_path)[0].python is None
