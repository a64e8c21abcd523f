"""What the user pointed at, told by its content: a Python script, or a report that was saved earlier."""

from __future__ import annotations

import difflib
import io
import json
import os
import re
import stat
import subprocess
import sys
import tokenize
import warnings
import zipfile
from pathlib import Path
from typing import Any

import msgspec

from f64doctor.amounts import bytes_in_words
from f64doctor.report import SCHEMA_VERSION, Report, decode

LARGEST_SCRIPT = 16 * 2**20
"""Bytes above which text is data, not a script: reading it whole would only take memory."""

HEAD = 4096
HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
NUMPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"
UTF8_BOM = b"\xef\xbb\xbf"
WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")

SCRIPTS_ONLY = "this version examines Python scripts"
MODEL_ADVICE = f"{SCRIPTS_ONLY}: name the one that builds or loads the model"
COMPILE_THERE = "import sys; compile(open(sys.argv[1], 'rb').read(), sys.argv[1], 'exec', dont_inherit=True)"


class TargetError(ValueError):
    """The target cannot be examined. ``sentence`` says why in one sentence; ``detail`` holds lines to show under it."""

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(f"{sentence}\n{detail}" if detail else sentence)
        self.sentence = sentence
        self.detail = detail


class Target(msgspec.Struct, frozen=True):
    """What to examine. ``kind``: script or report; ``path`` is absolute, ``shown`` as the user typed it; ``args`` go to the script."""

    kind: str
    path: str
    shown: str
    args: tuple[str, ...] = ()


def read_target(text: str, args: tuple[str, ...], cwd: Path, *, python: str | None = None) -> Target:
    """The target that ``text`` names, seen from ``cwd``.

    ``python`` is the interpreter that will run the script, where it is another than this one: what this grammar does not know, that
    one may. Raises ``TargetError`` when there is nothing that can be examined.
    """
    path = locate(text, cwd)
    head, size = read_head(path, text)
    refuse_other_formats(path, text, head, size)
    content = read_content(path, text)
    if b"\0" in content:
        raise TargetError(f"{text} is a binary file, maybe a saved model or weights; {SCRIPTS_ONLY}")
    if not content.removeprefix(UTF8_BOM).strip():
        raise TargetError(f"{text} is empty")
    if content.removeprefix(UTF8_BOM).lstrip()[:1] == b"{" and (document := parsed_json(content)) is not None:
        if is_report(document):
            if args:
                raise TargetError(f"{text} is a saved report: arguments after -- are for scripts only")
            return Target("report", str(path), text)
        refuse_document(document, text)
    check_script(content, text, path, python)
    return Target("script", str(path), text, args)


def read_report(target: Target) -> Report:
    """The report that a target of kind ``report`` holds. Raises ``TargetError`` when it is damaged or of a newer version."""
    content = read_content(Path(target.path), target.shown)
    document = parsed_json(content)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise TargetError(
            f"{target.shown} was saved by a newer f64doctor ({document['f64doctor']}, schema {version}): this one reads up to schema {SCHEMA_VERSION}"
        )
    try:
        return decode(content.removeprefix(UTF8_BOM))
    except msgspec.MsgspecError as error:
        raise TargetError(f"{target.shown} is a damaged report: {error}") from error


def locate(text: str, cwd: Path) -> Path:
    """The absolute path of a regular file named ``text``. Raises ``TargetError`` for anything else."""
    try:
        path = Path(os.path.abspath(cwd / Path(text).expanduser()))
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise TargetError(f"there is no file {text}{did_you_mean(path)}") from None
    except NotADirectoryError:
        raise TargetError(f"there is no file {text}: a part of its path is a file, not a folder") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise TargetError(f"{text} cannot be read: {reason(error)}") from error
    if stat.S_ISDIR(mode):
        raise TargetError(describe_folder(path, text))
    if not stat.S_ISREG(mode):
        raise TargetError(f"{text} is no regular file: {SCRIPTS_ONLY}")
    return path


def did_you_mean(path: Path) -> str:
    """The name of a file beside a missing one that looks like it, as the end of a sentence; empty when none does."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
    except OSError:
        return ""
    near = [f"{path.name}.py"] if f"{path.name}.py" in names else difflib.get_close_matches(path.name, names, 1, 0.8)
    return f"; did you mean {near[0]}?" if near else ""


def describe_folder(path: Path, text: str) -> str:
    """What a folder is, and what to name instead, in one sentence."""
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError:
        names = set()
    if "saved_model.pb" in names or "saved_model.pbtxt" in names:
        return f"{text} is a saved model; {MODEL_ADVICE}"
    if "checkpoint" in names and any(name.endswith(".index") for name in names):
        return f"{text} is a folder of checkpoints; {MODEL_ADVICE}"
    scripts = sorted(name for name in names if name.endswith(".py"))
    if len(scripts) > 4:
        scripts = [*scripts[:3], f"{len(scripts) - 3} more"]
    inside = f" (in it: {', '.join(scripts)})" if scripts else ""
    return f"{text} is a folder; {SCRIPTS_ONLY}: name one{inside}"


def read_head(path: Path, text: str) -> tuple[bytes, int]:
    """The first bytes of a file, and its size in bytes. Raises ``TargetError`` when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise TargetError(f"{text} cannot be read: {reason(error)}") from error


def read_content(path: Path, text: str) -> bytes:
    """The whole of a file. Raises ``TargetError`` when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise TargetError(f"{text} cannot be read: {reason(error)}") from error


def refuse_other_formats(path: Path, text: str, head: bytes, size: int) -> None:
    """Raises ``TargetError``, saying what the file is, when its first bytes are those of something else than text."""
    if head.startswith(HDF5_MAGIC):
        raise TargetError(f"{text} is a saved model or its weights (HDF5); {MODEL_ADVICE}")
    if head.startswith(ZIP_MAGIC):
        raise TargetError(f"{text} is {describe_zip(path)}")
    if head.startswith(NUMPY_MAGIC):
        raise TargetError(f"{text} is a NumPy array; {SCRIPTS_ONLY}: name the one that loads it")
    if head.startswith(WIDE_BOMS):
        raise TargetError(f"{text} is UTF-16 text, which Python does not run: save it as UTF-8")
    if size > LARGEST_SCRIPT:
        what = "binary data" if b"\0" in head else "text, more than any script has"
        raise TargetError(f"{text} is {bytes_in_words(size)} of {what}; {SCRIPTS_ONLY}")
    if head.startswith(b"#!") and b"python" not in (first := head.splitlines()[0]):
        shell = os.path.basename(first.split()[-1].decode("ascii", "replace")) if first.split()[0] != b"#!" else "other"
        raise TargetError(f"{text} is a script of another language ({shell}): name the Python script that it starts")


def describe_zip(path: Path) -> str:
    """What kind of zip archive this is, as the end of a sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        names = []
    if names and all(name.endswith(".npy") for name in names):
        return f"an archive of NumPy arrays; {SCRIPTS_ONLY}: name the one that loads it"
    if any(name.endswith(("model.weights.h5", "config.json")) for name in names):
        return f"a saved model (.keras); {MODEL_ADVICE}"
    return f"a zip archive, maybe a saved model; {SCRIPTS_ONLY}"


def parsed_json(content: bytes) -> Any:
    """The JSON document in ``content``, or None when it is none."""
    try:
        return json.loads(content.removeprefix(UTF8_BOM))
    except (ValueError, RecursionError):
        return None


def is_report(document: Any) -> bool:
    """True for a document that f64doctor wrote, of whatever version."""
    return isinstance(document, dict) and "f64doctor" in document and "schema_version" in document


def refuse_document(document: Any, text: str) -> None:
    """Raises ``TargetError``, saying what a JSON document is."""
    keys = document.keys() if isinstance(document, dict) else ()
    if "cells" in keys or "worksheets" in keys:
        raise TargetError(
            f"{text} is a notebook; {SCRIPTS_ONLY}: convert it with `jupyter nbconvert --to script {text}` and name the .py file"
        )
    if "class_name" in keys and "config" in keys:
        raise TargetError(f"{text} is the configuration of a saved model; {MODEL_ADVICE}")
    raise TargetError(f"{text} is JSON, but neither a notebook nor a report of f64doctor; {SCRIPTS_ONLY}")


def check_script(content: bytes, text: str, path: Path, python: str | None) -> None:
    """Raises ``TargetError`` when Python would not start to run this source: its encoding or its grammar is broken."""
    source = decoded(content, text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(content, text, "exec", dont_inherit=True)
    except SyntaxError as error:
        another = python is not None and not same_interpreter(python)
        if another and compiles_there(str(python), path):
            return
        raise TargetError(*describe_syntax_error(error, text, source, another)) from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise TargetError(f"{text} cannot be compiled: {reason(error)}") from error


def decoded(content: bytes, text: str) -> str:
    """The source text, by the encoding that it declares (UTF-8 without a declaration). Raises ``TargetError`` when it breaks its word."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError as error:
        if "unknown encoding" in str(error):
            raise TargetError(
                f"{text} declares an encoding that Python does not know: {str(error).split(': ')[-1]}"
            ) from None
        encoding = "utf-8"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        if encoding.startswith("utf-8"):
            raise TargetError(
                f"{text} is not UTF-8 and declares no other encoding: byte 0x{byte:02x} in line {line} stops Python"
            ) from None
        raise TargetError(f"{text} is not the {encoding} that it declares: byte 0x{byte:02x} in line {line}") from None


def describe_syntax_error(error: SyntaxError, text: str, source: str, another: bool) -> tuple[str, str]:
    """A syntax error as a sentence, and the line with a caret under the place."""
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    where = f", line {error.lineno}" if error.lineno else ""
    by = f"{version}, and the interpreter of --python does not take it either" if another else version
    sentence = f"{text}{where} is no valid Python: {error.msg} (as read by {by})"
    lines = re.split(r"\r\n|\r|\n", source.removeprefix("\ufeff"))
    if not error.lineno or error.lineno > len(lines):
        return sentence, ""
    line = lines[error.lineno - 1]
    if line.lstrip().startswith(("%", "!")):
        sentence += "; lines that begin with % or ! are for notebooks only"
    shown = line.lstrip()
    caret = max((error.offset or 1) - 1 - (len(line) - len(shown)), 0)
    width = max((error.end_offset or 0) - (error.offset or 1), 1) if error.end_lineno == error.lineno else 1
    number = str(error.lineno)
    width = max(min(width, len(shown) - caret), 1)
    return sentence, f"  {number} | {shown}\n  {' ' * len(number)} | {' ' * caret}{'^' * width}"


def same_interpreter(python: str) -> bool:
    """True when ``python`` is the interpreter that runs f64doctor."""
    try:
        return os.path.samefile(python, sys.executable)
    except OSError:
        return False


def compiles_there(python: str, path: Path) -> bool:
    """True when another interpreter, of another version maybe, finds no error in the grammar of the script."""
    try:
        done = subprocess.run(
            [python, "-I", "-W", "ignore", "-c", COMPILE_THERE, str(path)],
            capture_output=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    return done.returncode == 0


def reason(error: BaseException) -> str:
    """Why something failed, in the system's words, as the end of a sentence."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return words[:1].lower() + words[1:] if words else type(error).__name__
