"""All settings of a checkup in one struct, each with the place that it came from: flag, environment, pyproject.toml or default."""

from __future__ import annotations

import difflib
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECK_NAMES = ("inputs", "layers", "device", "casts", "memory")
FORMATS = ("text", "json")
LEVELS = ("error", "warning", "never")

DEFAULT = "default"
"""The origin of a setting that nobody made."""


class SettingsError(ValueError):
    """A setting has a value that it cannot have; the message names the setting and where the value came from."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user decided.

    ``python``: the interpreter that runs the target (None: the active virtual environment's, else the one that runs f64doctor); ``cwd``:
    the folder in which it runs (None: the current one). ``steps``: training steps to observe in each fit (None: no bound);
    ``time_limit``: seconds for one run; ``no_run``: read the source only; ``allow_writes``: hold back nothing that the script writes, deletes or sends.
    ``checks``: only these; ``skip``: not these. ``fail_on``: the level that makes the exit status 1.
    ``output``/``save``: where the report goes, and where it is kept in full. ``no_mask``: names, addresses, secrets and
    home folders stand in printed and saved reports as they are.
    """

    python: str | None = None
    cwd: str | None = None
    steps: int | None = 3
    time_limit: float = 300.0
    no_run: bool = False
    allow_writes: bool = False
    checks: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    fail_on: str = "warning"
    format: str = "text"
    output: str | None = None
    save: str | None = None
    non_interactive: bool = False
    no_mask: bool = False
    assume_yes: bool = False
    no_mouse: bool = False
    ascii_only: bool = False
    verbose: bool = False
    quiet: bool = False

    def wanted(self) -> tuple[str, ...]:
        """The names of the checks to make, in their order."""
        chosen = self.checks or CHECK_NAMES
        return tuple(name for name in CHECK_NAMES if name in chosen and name not in self.skip)


def as_text(value: object) -> str:
    """A word or a path. Raises ``ValueError`` with what it must be."""
    if isinstance(value, str) and value.strip():
        return value
    raise ValueError("it must be text")


def as_truth(value: object) -> bool:
    """Yes or no, as a flag, a TOML boolean or a word. Raises ``ValueError`` with what it must be."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("it must be true or false")


def as_steps(value: object) -> int | None:
    """A number of training steps, or None for ``all``. Raises ``ValueError`` with what it must be."""
    words = "it must be a whole number from 1 on, or all"
    if isinstance(value, str):
        if value.strip().lower() == "all":
            return None
        try:
            value = int(value)
        except ValueError:
            raise ValueError(words) from None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(words)
    return value


def as_seconds(value: object) -> float:
    """A time in seconds. Raises ``ValueError`` with what it must be."""
    words = "it must be a number of seconds above 0"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(words)
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        raise ValueError(words) from None
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(words)
    return seconds


def as_checks(value: object) -> tuple[str, ...]:
    """Names of checks, as a list or as words between commas. Raises ``ValueError`` with what they must be."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ValueError(f"it must be a list of {', '.join(CHECK_NAMES)}")
    found: list[str] = []
    for name in names:
        word = name.strip().lower() if isinstance(name, str) else ""
        if word not in CHECK_NAMES:
            raise ValueError(f"there is no check {name!r}; the checks are {', '.join(CHECK_NAMES)}")
        found.append(word)
    return tuple(dict.fromkeys(found))


def one_of(*words: str) -> Callable[[object], str]:
    """A reader of one of these words. It raises ``ValueError`` with what the value must be."""

    def read(value: object) -> str:
        if isinstance(value, str) and value.strip().lower() in words:
            return value.strip().lower()
        raise ValueError(f"it must be {', '.join(words[:-1])} or {words[-1]}")

    return read


class Declared(NamedTuple):
    """A setting: its field in ``Settings``, its name as a flag and in pyproject.toml, how it is read, and whether it is a path."""

    field: str
    key: str
    read: Callable[[object], Any]
    is_path: bool = False

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "F64DOCTOR_" + self.key.upper().replace("-", "_")


DECLARED = (
    Declared("python", "python", as_text, is_path=True),
    Declared("cwd", "cwd", as_text, is_path=True),
    Declared("steps", "steps", as_steps),
    Declared("time_limit", "time-limit", as_seconds),
    Declared("no_run", "no-run", as_truth),
    Declared("allow_writes", "allow-writes", as_truth),
    Declared("checks", "check", as_checks),
    Declared("skip", "skip", as_checks),
    Declared("fail_on", "fail-on", one_of(*LEVELS)),
    Declared("format", "format", one_of(*FORMATS)),
    Declared("output", "output", as_text, is_path=True),
    Declared("save", "save", as_text, is_path=True),
    Declared("non_interactive", "non-interactive", as_truth),
    Declared("no_mask", "no-mask", as_truth),
    Declared("assume_yes", "yes", as_truth),
    Declared("no_mouse", "no-mouse", as_truth),
    Declared("ascii_only", "ascii", as_truth),
    Declared("verbose", "verbose", as_truth),
    Declared("quiet", "quiet", as_truth),
)


def load_settings(
    flags: Mapping[str, Any], environ: Mapping[str, str], folder: Path
) -> tuple[Settings, dict[str, str]]:
    """The settings that hold for a target in ``folder``, and the origin of each field.

    ``flags`` maps the names of flags without their dashes (``time-limit``) to their values; None and empty tuples are flags that were not
    given. An origin is the flag (``--steps``), the variable (``F64DOCTOR_STEPS``; for the interpreter ``VIRTUAL_ENV`` after all others), the
    path of pyproject.toml, or ``default``.
    Raises ``SettingsError``.
    """
    file = find_pyproject(folder)
    table = read_table(file) if file else {}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in DECLARED:
        flag = flags.get(setting.key)
        given: object
        if flag is not None and flag != ():
            given, origin = flag, f"--{setting.key}"
        elif environ.get(setting.variable):
            given, origin = environ[setting.variable], setting.variable
        elif file and setting.key in table:
            given, origin = table[setting.key], str(file)
        else:
            origins[setting.field] = DEFAULT
            continue
        try:
            value = setting.read(given)
        except ValueError as error:
            raise SettingsError(f"{setting.key} is {shown(given)} (from {origin}): {error}") from None
        if file and setting.is_path and origin == str(file):
            value = beside(file, value, may_be_on_path=setting.field == "python")
        values[setting.field] = value
        origins[setting.field] = origin
    if origins["python"] == DEFAULT and (python := active_interpreter(environ)):
        values["python"], origins["python"] = python, "VIRTUAL_ENV"
    settings = Settings(**values)
    check_together(settings, origins)
    return settings, origins


def active_interpreter(environ: Mapping[str, str]) -> str | None:
    """The interpreter of the active virtual environment, or None."""
    folder = environ.get("VIRTUAL_ENV")
    if not folder:
        return None
    python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    return str(python) if python.exists() else None


def check_together(settings: Settings, origins: Mapping[str, str]) -> None:
    """Raises ``SettingsError`` for settings that cannot hold at the same time."""
    if not settings.wanted():
        raise SettingsError(f"check and skip leave nothing to check (from {origins['checks']} and {origins['skip']})")
    if settings.verbose and settings.quiet:
        raise SettingsError(f"verbose and quiet exclude each other (from {origins['verbose']} and {origins['quiet']})")
    if settings.cwd is not None and not os.path.isdir(settings.cwd):
        raise SettingsError(f"cwd is {shown(settings.cwd)} (from {origins['cwd']}): there is no such folder")


def read_table(file: Path) -> dict[str, Any]:
    """The table ``[tool.f64doctor]`` of a pyproject.toml, empty when it has none. Raises ``SettingsError`` when it cannot be understood."""
    try:
        with file.open("rb") as opened:
            document = tomllib.load(opened)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SettingsError(f"{file} is no valid TOML: {error}") from error
    tool = document.get("tool", {})
    table = tool.get("f64doctor", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise SettingsError(f"tool.f64doctor in {file} must be a table")
    known = [setting.key for setting in DECLARED]
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(known)}"
            raise SettingsError(f"{key} in [tool.f64doctor] of {file} is no setting: {hint}")
    return table


def beside(file: Path, path: str, *, may_be_on_path: bool) -> str:
    """A path written in a file, which is relative to that file; a bare word may name a program on PATH (``python3.12``), ``-`` is no path."""
    if path == "-" or (may_be_on_path and os.sep not in path):
        return path
    return os.path.abspath(file.parent / Path(path).expanduser())


def shown(value: object) -> str:
    """A value as the user may have written it, short enough for a sentence."""
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return f'"{text}"' if isinstance(value, str | list | tuple) else text.lower() if isinstance(value, bool) else text


def find_pyproject(folder: Path) -> Path | None:
    """The nearest pyproject.toml from ``folder`` upwards, or None."""
    for place in (folder, *folder.parents):
        candidate = place / "pyproject.toml"
        if candidate.is_file():
            return candidate
    return None
