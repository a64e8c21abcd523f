"""What scripts do to whoever runs them: one file in ``scripts`` each, and here what is right.

Each runs as ``train.py`` in a folder with ``precious.txt`` and ``data/numbers.csv``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).parent / "scripts"


class Case(NamedTuple):
    """A script, and what is right.

    ``source`` None: the file of that name. ``ends``: the outcome; None: as alone, where the script is run without the doctor too, and both must print and
    return the same. ``printed``: what must be in a line of the log. ``held``: what must be told as held back. ``status``: the doctor's exit status.
    ``learnt``: the code of the finding that must not be lost.
    """

    name: str
    source: str | bytes | None = None
    ends: str | None = None
    printed: str = ""
    held: tuple[str, ...] = ()
    status: int = 3
    options: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    learnt: str = ""

    @property
    def content(self) -> bytes:
        """The script's source."""
        if self.source is None:
            return (SCRIPTS / (re.sub(r"\W+", "_", self.name).strip("_").lower() + ".py")).read_bytes()
        return self.source if isinstance(self.source, bytes) else self.source.encode()


HANG = ("--time-limit", "1.5")
SHELL = "import subprocess\nprint(subprocess.call(['sh', '-c', {!r}], stderr=subprocess.DEVNULL) != 0)\n"

SUDDEN_ENDS = [
    Case("segfault", printed="before"),
    Case("abort", printed="before"),
    Case("os._exit", printed="before"),
    Case("kills itself"),
    Case("kills its group", ends="killed", printed="before"),
    Case("ends its parent", ends="completed", printed="after"),
    Case("sys.exit with words"),
    Case("sys.exit in a thread"),
    Case("sys.exit in atexit"),
    Case("sys.exit in finally"),
    Case("sys.exit in __del__"),
    Case("exception in a thread"),
    Case("exception in atexit"),
    Case("thread that stays"),
    Case("keyboard interrupt", ends="interrupted"),
    Case("recursion"),
    Case("memory limit", status=1),
    Case("broken excepthook"),
]

ENDLESS = [
    Case("loop in Python", ends="timed-out", printed="before", options=HANG),
    Case("loop in native code", ends="timed-out", printed="before", options=HANG),
    Case("deadlock", ends="timed-out", printed="before", options=HANG),
    Case("sleep", ends="timed-out", printed="before", options=HANG),
    Case("deaf to signals", ends="timed-out", printed="before", options=HANG),
    Case("stopped", ends="timed-out", printed="before", options=HANG),
    Case("catches everything", ends="timed-out", printed="before", options=HANG),
]

STREAMS = [
    Case("much output", ends="completed", printed="last"),
    Case("one endless line", ends="completed", printed="last"),
    Case("binary output", ends="completed", printed="last"),
    Case("escape sequences", ends="completed", printed="last"),
    Case("closes stdout"),
    Case("closes descriptors", ends="completed"),
    Case("replaces stdout"),
    Case("floods every descriptor", ends="completed", printed="on"),
    Case("reads stdin"),
    Case("asks for a terminal", printed="none"),
    Case("opens a window", ends="completed", printed="Agg"),
]

PROCESSES = [
    Case("forks"),
    Case("leaves a child", ends="completed", printed="on"),
    Case("runs away", ends="completed", printed="on"),
    Case("leaves a daemon", ends="completed", printed="on"),
    Case("spawns"),
    Case("forked pool"),
    Case("pool left over"),
    Case("fork server"),
    Case("own group"),
    Case("shared memory"),
    Case("asyncio"),
    Case("executors"),
]

PYTHON = [
    Case("signal handlers"),
    Case("faulthandler", printed="before"),
    Case("settrace"),
    Case("import hooks"),
    Case("monkeypatched builtins"),
    Case("emptied modules"),
    Case("warnings as errors", environment={"PYTHONWARNINGS": "error"}),
    Case("optimised", environment={"PYTHONOPTIMIZE": "2"}),
    Case("hash seed", environment={"PYTHONHASHSEED": "7"}),
    Case("development mode", environment={"PYTHONDEVMODE": "1"}),
    Case("long file", source="x = 0\n" + "x += 1\n" * 100_000 + "print(x)\n"),
    Case("deep expression", source="x = " + "+".join(["1"] * 900) + "\nprint(x)\n"),
    Case("byte order mark", source=b"\xef\xbb\xbfprint('on')\n"),
    Case("Latin-1", source="# -*- coding: latin-1 -*-\nprint('caf\u00e9' == 'caf\\xe9')\n".encode("latin-1")),
    Case("carriage returns", source=b"x = 1\r\nprint(x)\r\n"),
    Case("random state"),
    Case("umask and locale"),
    Case("run as a module"),
    Case("pickles built-ins"),
    Case("looks at built-ins"),
    Case("a class holds open"),
    Case("wrong clock"),
]

ENTRIES = [
    Case("click", ends="completed", printed="n 4", options=("--", "--n", "4")),
    Case("argparse that refuses"),
    Case("pytest", ends="completed", held=("test_x.py",)),
]

FILES = [
    Case("overwrites", printed="new", held=("precious.txt",)),
    Case("appends", printed="old+", held=("precious.txt",)),
    Case("updates in place", printed="Nld", held=("precious.txt",)),
    Case("pathlib", held=("out", "b.txt")),
    Case("deletes", held=("precious.txt",)),
    Case("deletes a tree", held=("data",)),
    Case("deletes itself", held=("train.py",)),
    Case("renames over", held=("precious.txt",)),
    Case("renames a folder"),
    Case("writes through a temporary file", held=("precious.txt",)),
    Case("changes folder"),
    Case("links"),
    Case("modes and times"),
    Case("descriptors of folders"),
    Case("wrong paths"),
    Case("bytes and odd names"),
    Case("walks"),
    Case("generated module", printed="6"),
    Case("runs its own interpreter", printed="True"),
    Case("archives"),
    Case("database", held=("study.db",)),
    Case("logging", held=("run.log",)),
    Case("shelves", ends="completed", printed="on"),
    Case("children write", printed="child", held=("precious.txt",)),
    Case("programs read what was written", printed="here"),
    Case("shell deletes", source=SHELL.format("rm -rf data precious.txt train.py"), ends="completed", printed="True"),
    Case("shell overwrites", source=SHELL.format("echo new > precious.txt"), ends="completed", printed="True"),
    Case("native code overwrites", ends="completed", printed="on"),
    Case("captured open", ends="raised"),
    Case("leaves caches", printed="1"),
]

SENDS = [
    Case("posts", ends="completed", printed="200 {}", held=("POST upload.example/x",)),
    Case(
        "posts with requests",
        ends="completed",
        printed="200",
        held=("POST hook.example/a", "PUT hook.example/a", "DELETE hook.example/a"),
    ),
    Case("talks to itself", printed="201"),
    Case("mails", ends="completed", printed="sent", held=("to <email-1>",)),
    Case("tracks", ends="completed", printed="disabled True"),
]

CASES = [*SUDDEN_ENDS, *ENDLESS, *STREAMS, *PROCESSES, *PYTHON, *ENTRIES, *FILES, *SENDS]
