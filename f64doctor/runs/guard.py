"""A last line against writing where nothing may be written: Landlock (Linux 5.19 and later) binds a process and all that it starts.

Reading stays free. What writes past the probe's own wrappers (native code, programs that the script starts) gets "permission denied" from the kernel.
No right is needed for it, and nothing of it outlives the processes that it binds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION, RULE_PATH_BENEATH = 1, 1
PR_SET_NO_NEW_PRIVS = 38

WRITE_FILE, REMOVE_DIR, REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
MAKE = (1 << 6) | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 10) | (1 << 11) | (1 << 12)
REFER, TRUNCATE = 1 << 13, 1 << 14
FOR_FILES = WRITE_FILE | TRUNCATE


class Ruleset(ctypes.Structure):
    """``struct landlock_ruleset_attr`` as its first version had it."""

    _fields_ = [("handled_access_fs", ctypes.c_uint64)]


class Beneath(ctypes.Structure):
    """``struct landlock_path_beneath_attr``."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def abi() -> int:
    """The version of Landlock that this kernel has, 0 for none. Versions before 2 forbid every move between folders, and are not used."""
    if not sys.platform.startswith("linux"):
        return 0
    with contextlib.suppress(Exception):
        library = ctypes.CDLL(None, use_errno=True)
        found = int(library.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION)))
        return found if found >= 2 else 0
    return 0


def confine(writable: Iterable[str]) -> bool:
    """Let this process, and what it will start, write beneath these files and folders only. False when the kernel has no such thing."""
    version = abi()
    if not version:
        return False
    library = ctypes.CDLL(None, use_errno=True)
    rights = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE | REFER | (TRUNCATE if version >= 3 else 0)
    attributes = Ruleset(rights)
    ruleset = library.syscall(
        CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)), ctypes.c_uint32(0)
    )
    if ruleset < 0:
        return False
    try:
        for place in writable:
            try:
                descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            allowed = rights if os.path.isdir(place) else rights & FOR_FILES
            rule = Beneath(allowed, descriptor)
            library.syscall(
                ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(RULE_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0)
            )
            os.close(descriptor)
        library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(library.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)
