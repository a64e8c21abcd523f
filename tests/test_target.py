"""A target is told by its content, and one that cannot be examined is told why in one sentence."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from f64doctor.render.json import render_json
from f64doctor.target import Target, TargetError, read_report, read_target
from tests.reports import failed_report


def written(folder: Path, content: str | bytes, name: str = "train.py") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(text: str, folder: Path, python: str | None = None) -> str:
    """The sentence with which a target is refused."""
    with pytest.raises(TargetError) as caught:
        read_target(text, (), folder, python=python)
    assert "\n" not in caught.value.sentence
    return caught.value.sentence


def test_a_script_has_an_absolute_path_the_name_as_typed_and_its_arguments(tmp_path: Path) -> None:
    path = written(tmp_path, "print(1)\n")
    target = read_target("./train.py", ("--epochs", "5"), tmp_path)
    assert target == Target("script", str(path), "./train.py", ("--epochs", "5"))


def test_a_script_needs_no_suffix(tmp_path: Path) -> None:
    written(tmp_path, "#!/usr/bin/env python3\nprint(1)\n", "train")
    assert read_target("train", (), tmp_path).kind == "script"


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = written(tmp_path, "print(1)\n")
    assert read_target("~/train.py", (), Path("/")).path == str(path)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    assert refusal("train.py", tmp_path) == "there is no file train.py"


def test_a_missing_file_brings_up_one_that_is_named_alike(tmp_path: Path) -> None:
    written(tmp_path, "print(1)\n")
    assert refusal("trian.py", tmp_path) == "there is no file trian.py; did you mean train.py?"
    assert refusal("train", tmp_path) == "there is no file train; did you mean train.py?"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    written(tmp_path, "print(1)\n")
    assert refusal("train.py/x.py", tmp_path) == (
        "there is no file train.py/x.py: a part of its path is a file, not a folder"
    )


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refusal("a\0b", tmp_path)
    assert "cannot be read" in refusal("a" * 5000, tmp_path)


def test_a_folder_is_told_with_the_scripts_in_it(tmp_path: Path) -> None:
    written(tmp_path, "print(1)\n")
    assert refusal(".", tmp_path) == ". is a folder; this version examines Python scripts: name one (in it: train.py)"


def test_a_folder_with_a_saved_model_is_a_saved_model(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    written(tmp_path / "model", b"\x08\x01", "saved_model.pb")
    assert refusal("model", tmp_path) == (
        "model is a saved model; this version examines Python scripts: name the one that builds or loads the model"
    )


def test_a_device_is_no_regular_file() -> None:
    assert refusal("/dev/null", Path("/")) == "/dev/null is no regular file: this version examines Python scripts"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "print(1)\n").chmod(0)
    assert refusal("train.py", tmp_path) == "train.py cannot be read: permission denied"


@pytest.mark.parametrize("content", ["", "\n \n\t", "\ufeff"])
def test_an_empty_file_is_empty(tmp_path: Path, content: str) -> None:
    written(tmp_path, content)
    assert refusal("train.py", tmp_path) == "train.py is empty"


def test_hdf5_is_a_saved_model_whatever_its_name(tmp_path: Path) -> None:
    written(tmp_path, b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert refusal("train.py", tmp_path).startswith(
        "train.py is a saved model or its weights (HDF5); this version examines"
    )


def test_a_keras_archive_is_a_saved_model(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", "")
    assert refusal("model.keras", tmp_path).startswith("model.keras is a saved model (.keras); ")


def test_an_archive_of_arrays_is_that(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("x.npy", "")
    assert refusal("data.npz", tmp_path).startswith("data.npz is an archive of NumPy arrays; ")


def test_a_damaged_zip_archive_is_still_no_script(tmp_path: Path) -> None:
    written(tmp_path, b"PK\x03\x04 and nothing else", "x.zip")
    assert refusal("x.zip", tmp_path).startswith("x.zip is a zip archive, maybe a saved model; ")


def test_an_array_is_an_array(tmp_path: Path) -> None:
    written(tmp_path, b"\x93NUMPY\x01\x00", "x.npy")
    assert refusal("x.npy", tmp_path).startswith("x.npy is a NumPy array; ")


@pytest.mark.parametrize("place", [0, 10_000])
def test_nul_bytes_are_binary_wherever_they_are(tmp_path: Path, place: int) -> None:
    written(tmp_path, b"x = 1\n" * place + b"\0")
    assert refusal("train.py", tmp_path).startswith("train.py is a binary file, maybe a saved model or weights; ")


def test_a_notebook_is_told_with_the_way_to_convert_it(tmp_path: Path) -> None:
    written(tmp_path, json.dumps({"cells": [], "nbformat": 4}), "train.ipynb")
    assert refusal("train.ipynb", tmp_path) == (
        "train.ipynb is a notebook; this version examines Python scripts: convert it with "
        "`jupyter nbconvert --to script train.ipynb` and name the .py file"
    )


def test_other_json_is_told_to_be_that(tmp_path: Path) -> None:
    written(tmp_path, '{"a": 1}', "x.json")
    assert refusal("x.json", tmp_path).startswith("x.json is JSON, but neither a notebook nor a report of f64doctor; ")
    written(tmp_path, '{"class_name": "Sequential", "config": {}}', "x.json")
    assert refusal("x.json", tmp_path).startswith("x.json is the configuration of a saved model; ")


def test_a_script_that_begins_with_a_brace_is_a_script(tmp_path: Path) -> None:
    written(tmp_path, "{print(1)}\n")
    assert read_target("train.py", (), tmp_path).kind == "script"


def test_a_shell_script_is_of_another_language(tmp_path: Path) -> None:
    written(tmp_path, "#!/bin/bash\npython train.py\n", "run")
    assert refusal("run", tmp_path) == (
        "run is a script of another language (bash): name the Python script that it starts"
    )
    written(tmp_path, "#!\n", "run")
    assert refusal("run", tmp_path).startswith("run is a script of another language")


def test_utf_16_is_told_to_be_that(tmp_path: Path) -> None:
    written(tmp_path, "print(1)\n".encode("utf-16"))
    assert refusal("train.py", tmp_path) == "train.py is UTF-16 text, which Python does not run: save it as UTF-8"


def test_a_huge_text_is_data(tmp_path: Path) -> None:
    path = written(tmp_path, "1,2,3\n")
    os.truncate(path, 20 * 2**20)
    assert refusal("train.py", tmp_path).startswith("train.py is 20 MiB of ")


def test_a_syntax_error_is_told_with_its_line_its_text_and_a_caret(tmp_path: Path) -> None:
    written(tmp_path, "x = 1\nif x:\n    y = (1 +* 2)\n")
    with pytest.raises(TargetError) as caught:
        read_target("train.py", (), tmp_path)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert caught.value.sentence == f"train.py, line 3 is no valid Python: invalid syntax (as read by Python {version})"
    assert caught.value.detail == "  3 | y = (1 +* 2)\n    |         ^"


def test_a_magic_line_of_a_notebook_is_explained(tmp_path: Path) -> None:
    written(tmp_path, "import os\n%matplotlib inline\n")
    assert refusal("train.py", tmp_path).endswith("; lines that begin with % or ! are for notebooks only")


def test_a_script_that_warns_while_it_is_compiled_is_a_script_and_the_warning_is_not_shown(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    written(tmp_path, 'x = "\\d"\n')
    assert read_target("train.py", (), tmp_path).kind == "script"
    assert not recwarn.list


def test_a_script_nested_too_deeply_is_refused_in_a_sentence(tmp_path: Path) -> None:
    written(tmp_path, "x = " + "(" * 5000 + ")" * 5000)
    assert refusal("train.py", tmp_path).startswith("train.py")


def interpreter(folder: Path, exit_status: int) -> str:
    """A program that stands for an interpreter of another version."""
    path = written(folder, f"#!/bin/sh\nexit {exit_status}\n", "python")
    path.chmod(0o755)
    return str(path)


def test_what_another_interpreter_accepts_is_a_script(tmp_path: Path) -> None:
    written(tmp_path, "def newer syntax\n")
    target = read_target("train.py", (), tmp_path, python=interpreter(tmp_path, 0))
    assert target.kind == "script"


def test_what_another_interpreter_refuses_too_is_told_so(tmp_path: Path) -> None:
    written(tmp_path, "def newer syntax\n")
    assert "the interpreter of --python does not take it either" in refusal(
        "train.py", tmp_path, python=interpreter(tmp_path, 1)
    )


def test_an_interpreter_that_is_missing_changes_nothing(tmp_path: Path) -> None:
    written(tmp_path, "def newer syntax\n")
    assert "train.py, line 1 is no valid Python" in refusal("train.py", tmp_path, python="/nowhere/python")


def test_a_declared_encoding_is_obeyed(tmp_path: Path) -> None:
    written(tmp_path, b'# -*- coding: latin-1 -*-\nx = "\xe9"\n')
    assert read_target("train.py", (), tmp_path).kind == "script"


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    written(tmp_path, b"\xef\xbb\xbfx = 1\n")
    assert read_target("train.py", (), tmp_path).kind == "script"


def test_bytes_that_are_no_utf_8_are_told_with_their_line(tmp_path: Path) -> None:
    written(tmp_path, b'x = 1\nx = "\xe9"\n')
    assert refusal("train.py", tmp_path) == (
        "train.py is not UTF-8 and declares no other encoding: byte 0xe9 in line 2 stops Python"
    )


def test_an_encoding_that_is_not_kept_or_not_known_is_told(tmp_path: Path) -> None:
    written(tmp_path, b'# coding: ascii\nx = "\xe9"\n')
    assert refusal("train.py", tmp_path) == "train.py is not the ascii that it declares: byte 0xe9 in line 2"
    written(tmp_path, "# coding: klingon\nx = 1\n")
    assert refusal("train.py", tmp_path) == "train.py declares an encoding that Python does not know: klingon"


def test_a_saved_report_is_told_by_its_content_and_read_again(tmp_path: Path) -> None:
    path = written(tmp_path, render_json(failed_report()), "yesterday")
    target = read_target("yesterday", (), tmp_path)
    assert target == Target("report", str(path), "yesterday")
    assert read_report(target) == failed_report()


def test_a_saved_report_takes_no_arguments(tmp_path: Path) -> None:
    written(tmp_path, render_json(failed_report()), "r.f64.json")
    with pytest.raises(TargetError, match="is a saved report: arguments after -- are for scripts only"):
        read_target("r.f64.json", ("--epochs",), tmp_path)


def test_a_damaged_report_and_one_of_a_newer_version_are_told_apart(tmp_path: Path) -> None:
    written(tmp_path, '{"schema_version": 1, "f64doctor": "0.1.0"}', "r.f64.json")
    with pytest.raises(TargetError, match=r"r\.f64\.json is a damaged report: .*missing required field"):
        read_report(read_target("r.f64.json", (), tmp_path))
    written(tmp_path, '{"schema_version": 9, "f64doctor": "7.0"}', "r.f64.json")
    with pytest.raises(TargetError, match=r"was saved by a newer f64doctor \(7\.0, schema 9\)"):
        read_report(read_target("r.f64.json", (), tmp_path))
