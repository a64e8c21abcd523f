"""Facts that need no run: what the source says, and what this machine allows."""

from __future__ import annotations

import msgspec

from f64doctor.report import Gpu, MemoryReport


class Mention(msgspec.Struct, frozen=True):
    """A place where the source decides a precision. Names are resolved: comments, strings and comparisons do not count.

    ``kind``: setting (floatx or policy), cast (astype, tf.cast, a dtype's constructor), dtype (a ``dtype=`` argument or dtype
    literal), literal (a maker whose default is float32, without a dtype). ``dtype``: the dtype that it asks for. ``purpose``: compute, plot,
    save, or dead (never reached). ``scope``: qualified name of the function around it; ``guard``: the condition under
    which it runs, empty when it always does.
    """

    file: str
    line: int
    kind: str
    dtype: str
    text: str
    call: str = ""
    purpose: str = "compute"
    scope: str = ""
    guard: str = ""


class SourceFile(msgspec.Struct, frozen=True):
    """One file of the script or of its local modules: absolute path, and the text of its lines."""

    path: str
    lines: list[str]


class Source(msgspec.Struct, frozen=True):
    """What the script and its local modules say: their files (the script first), and each mention of a precision, in order."""

    files: list[SourceFile] = []
    mentions: list[Mention] = []
    imports_tensorflow: bool = False


class Machine(msgspec.Struct, frozen=True):
    """What this box has: cards as the driver lists them, and memory as the process may use it.

    ``nvml``: why the cards are not known, empty when they are. ``oom_kills`` counts the kernel's kills for memory in this container.
    """

    gpus: list[Gpu] = []
    nvml: str = ""
    memory: MemoryReport = MemoryReport()
    platform: str = ""
    oom_kills: int | None = None
