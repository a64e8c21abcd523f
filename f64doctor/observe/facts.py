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


class CardProcess(msgspec.Struct, frozen=True):
    """A process that computes on a card; bytes of the card that it holds, None where the driver does not say."""

    pid: int
    bytes: int | None = None
    name: str = ""


class Card(msgspec.Struct, frozen=True):
    """What decides about float64 on one card. ``rate``: how many times faster it computes float32, and who says so (``rate_source``)."""

    index: int
    rate: int | None = None
    rate_source: str = ""
    mig: bool | None = None
    compute_mode: str | None = None
    processes: list[CardProcess] = []


class CardUse(msgspec.Struct, frozen=True):
    """One card while a run went on: how many looks were taken, medians of its use (percent), clock and power, and the peak of its memory, others' included."""

    index: int
    samples: int
    busy: float | None = None
    busiest: float | None = None
    memory_peak: int | None = None
    clock_mhz: float | None = None
    watts: float | None = None


class Machine(msgspec.Struct, frozen=True):
    """What this box has: cards as the driver lists them, and memory as the process may use it.

    ``nvml``: why the cards are not known, empty when they are. ``oom_kills`` counts the kernel's kills for memory in this container.
    ``cards`` tells more of each card, ``cuda_version`` the newest CUDA that the driver supports, ``missing_libraries`` what the linker
    does not find for the script's TensorFlow, with its words (None: nobody asked).
    """

    gpus: list[Gpu] = []
    nvml: str = ""
    memory: MemoryReport = MemoryReport()
    platform: str = ""
    oom_kills: int | None = None
    cards: list[Card] = []
    cuda_version: str | None = None
    missing_libraries: dict[str, str] | None = None
