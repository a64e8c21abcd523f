"""Whose line is it: the user's frames on a stack, told from those of Python, of installed packages and of the probe."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import FrameType
from typing import Any, Iterable, Optional

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = tuple(
    os.path.realpath(path) + os.sep
    for path in {sysconfig.get_paths().get("stdlib"), sysconfig.get_paths().get("platstdlib")}
    if path
)
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_START = os.getcwd()

USER, FRAMEWORK, PACKAGE, PYTHON, PROBE = "user", "framework", "package", "python", "probe"
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "tensorflow_core")

_owners: dict[str, str] = {}


def absolute(path: str) -> str:
    """A frame's file name as an absolute path; relative ones are relative to the folder where the run began."""
    return path if os.path.isabs(path) else os.path.normpath(os.path.join(_START, path))


def owner(path: str) -> str:
    """Whose a file is: user, framework (TensorFlow, Keras), package (another installed one), python, or probe."""
    known = _owners.get(path)
    if known is None:
        known = _owners[path] = _find_owner(path)
    return known


def _find_owner(path: str) -> str:
    if path.startswith("<") or not path:
        return PYTHON
    whole = absolute(path)
    if whole.startswith(_HERE):
        return PROBE
    for mark in _PACKAGES:
        if mark in whole:
            top = whole.rsplit(mark, 1)[1].split(os.sep, 1)[0]
            return FRAMEWORK if top.split(".")[0] in _FRAMEWORKS else PACKAGE
    if os.path.realpath(whole).startswith(_STDLIB):
        return PYTHON
    if os.path.basename(whole).startswith("__autograph_generated_file"):
        return PYTHON
    return USER


def package_of(path: str) -> str:
    """The installed package that a file belongs to, for example ``gpflow``, or nothing."""
    for mark in _PACKAGES:
        if mark in path:
            return path.rsplit(mark, 1)[1].split(os.sep, 1)[0].split(".")[0]
    return ""


def version_of(package: str) -> Optional[str]:
    """The version of a package that the script has imported, as it says itself, or None."""
    version = getattr(sys.modules.get(package), "__version__", None)
    return version if isinstance(version, str) else None


def frame_facts(path: str, line: int, function: str) -> dict[str, Any]:
    """A frame as it is sent."""
    whole = absolute(path)
    return {"file": whole, "line": line, "function": function, "text": linecache.getline(whole, line).strip()[:300]}


def user_frames(start: Optional[FrameType] = None, most: int = 12) -> list[dict[str, Any]]:
    """The user's frames from ``start`` (default: the caller) outwards, at most ``most``, as they are sent: innermost last."""
    frame = start if start is not None else sys._getframe(1)
    found: list[dict[str, Any]] = []
    walker: Optional[FrameType] = frame
    while walker is not None and len(found) < most:
        code = walker.f_code
        if owner(code.co_filename) == USER:
            found.append(frame_facts(code.co_filename, walker.f_lineno, code.co_name))
        walker = walker.f_back
    found.reverse()
    return found


def caller_is_user(depth: int) -> bool:
    """Whether the frame ``depth`` levels above the caller of this function is the user's own code."""
    try:
        return owner(sys._getframe(depth + 1).f_code.co_filename) == USER
    except ValueError:
        return False


def author(summaries: Iterable[Any]) -> tuple[str, str, list[dict[str, Any]]]:
    """Who wrote the operation that has this traceback (frame summaries, outermost first).

    Returns (user | package | framework, package name, the user's frames with the innermost last). The user wrote it when between the user's
    innermost line and the operation there is nothing but TensorFlow's and Keras's functions that make operations: a Keras layer,
    loss, metric, optimizer or training loop in between is the framework's own work.
    """
    frames = list(summaries)
    last_user = -1
    for index, frame in enumerate(frames):
        if owner(frame.filename) == USER:
            last_user = index
    user = [frame_facts(f.filename, f.lineno or 0, f.name) for f in frames if owner(f.filename) == USER][-12:]
    if last_user < 0:
        return FRAMEWORK, "", user
    # The innermost that works on its own account wrote it: an optimizer of Keras's that a package calls is still Keras's work.
    found = (USER, "")
    for frame in frames[last_user + 1 :]:
        whose = owner(frame.filename)
        if whose == PACKAGE:
            name = package_of(frame.filename)
            if name not in ("numpy", "wrapt", "six", "absl", "optree", "tree"):
                found = (PACKAGE, name)
        elif whose == FRAMEWORK and _works_by_itself(frame.filename):
            found = (FRAMEWORK, "")
    return found[0], found[1], user


_OWN_WORK = tuple(
    os.sep + part.replace("/", os.sep)
    for part in (
        "src/layers/",
        "src/losses/",
        "src/metrics/",
        "src/optimizers/",
        "src/trainers/",
        "src/models/",
        "src/activations/",
        "src/initializers/",
        "src/regularizers/",
        "src/backend/tensorflow/trainer.py",
        "src/backend/tensorflow/optimizer.py",
        "src/engine/",
        "src/applications/",
        "python/eager/backprop.py",
        "python/data/",
    )
)


def _works_by_itself(path: str) -> bool:
    """Whether a framework file computes on its own account, rather than making the one operation that it was asked for."""
    return any(part in path for part in _OWN_WORK)
