"""Reads what TensorFlow's runtime says of cards, drivers and libraries, in its log and in the exception that ended the run."""

from __future__ import annotations

import re

import msgspec

from f64doctor.observe import Run

# The kinds, and how TensorFlow 2.13 to 2.21 word them.
_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    # Said when the CUDA runtime cannot be loaded, too: of the driver it proves nothing.
    ("no-cuda", re.compile(r"Could not find cuda drivers on your machine")),
    # cuInit's answer when TensorFlow has no libcuda.so.1 to ask.
    ("no-libcuda", re.compile(r"failed call to cuInit: [^\n]*(?:UNKNOWN ERROR \(303\)|CUDA_ERROR_SHARED_OBJECT_INIT_FAILED)")),
    ("no-library", re.compile(r"Could not load dynamic library '(?P<library>[\w.+-]+)'")),
    ("no-libraries", re.compile(r"Cannot dlopen some GPU libraries|Error loading CUDA libraries")),
    ("driver-mismatch", re.compile(r"kernel version (?P<kernel>[\d.]+) does not match DSO version (?P<library>[\d.]+)")),
    ("driver-old", re.compile(r"CUDA driver version is insufficient for CUDA runtime version")),
    ("driver-old", re.compile(r"CUDA_ERROR_(?:UNSUPPORTED_PTX_VERSION|COMPAT_NOT_SUPPORTED_ON_DEVICE|SYSTEM_DRIVER_MISMATCH)")),
    ("driver-old", re.compile(r"the provided PTX was compiled with an unsupported toolchain")),
    ("no-cuinit", re.compile(r"failed call to cuInit: (?:INTERNAL: CUDA error: Failed call to cuInit: )?(?P<why>[^\n]{0,160})")),
    ("no-capability", re.compile(r"not built with CUDA kernel binaries compatible with compute capability (?P<capability>[\d.]+\d)")),
    ("no-capability", re.compile(r"with compute capability (?P<capability>[\d.]+\d)\. The minimum required Cuda capability is")),
    ("no-capability", re.compile(r"CUDA_ERROR_(?:NO_BINARY_FOR_GPU|INVALID_PTX)|no kernel image is available for execution")),
    ("cudnn", re.compile(r"Loaded runtime CuDNN library: (?P<loaded>[\d.]+\d) but source was compiled with: (?P<built>[\d.]+\d)")),
    ("no-compiler", re.compile(r"libdevice not found at|libdevice is required by this HLO module but was not found")),
    ("no-compiler", re.compile(r"Can't find libdevice directory")),
    ("no-compiler", re.compile(r"Couldn't (?:get ptxas|invoke ptxas|find a suitable version of ptxas)|No PTX compilation provider is available")),
    ("no-compiler", re.compile(r"ptxas too old|PTX assembler is too old|ptxas exited with non-zero error code")),
    ("busy", re.compile(r"CUDA_ERROR_DEVICE_UNAVAILABLE|CUDA-capable device\(s\) is/are busy or unavailable|all CUDA-capable devices are busy")),
    ("no-handle", re.compile(r"failed to create cublas handle|CUBLAS_STATUS_NOT_INITIALIZED|CUDNN_STATUS_NOT_INITIALIZED")),
    ("determinism", re.compile(r"[Dd]eterministic GPU implementation of (?P<operation>[\w ,-]{1,80}?)(?: is)? not (?:currently )?available")),
    ("determinism", re.compile(r"GPU implementation of (?P<operation>\w+) that would have been executed is not deterministic")),
    ("determinism", re.compile(r"Determinism is not yet supported in (?:the )?GPU implementation of (?P<operation>\w+)")),
    ("determinism", re.compile(r"do(?:es)? not (?:yet )?have a deterministic (?:XLA |GPU )?implementation")),
    ("launch", re.compile(r"cuLaunchKernel\([^\n]*failed with|CUDA_ERROR_LAUNCH_FAILED|CUDA_ERROR_ILLEGAL_ADDRESS|unspecified launch failure")),
    ("xla", re.compile(r"Detected unsupported operations when trying to compile graph")),
)  # fmt: skip


class Said(msgspec.Struct, frozen=True):
    """One thing that was said: its kind, the line, what it names, and whether the exception says it (not only the log)."""

    kind: str
    line: str
    names: dict[str, str]
    raised: bool


def what_was_said(run: Run) -> list[Said]:
    """Each thing once for each kind and name, those of the exception first."""
    failure = run.failure
    texts = [(line, True) for line in (failure.message.splitlines() if failure is not None else [])]
    texts += [(line, False) for line in (*run.notices, *run.log.splitlines())]
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Said] = {}
    for line, raised in texts:
        for kind, pattern in _WORDS:
            match = pattern.search(line)
            if match is None:
                continue
            names = {name: value for name, value in match.groupdict().items() if value}
            found.setdefault((kind, tuple(names.items())), Said(kind, line.strip()[:600], names, raised))
    return list(found.values())


def of_kind(said: list[Said], *kinds: str) -> list[Said]:
    """What was said of these kinds."""
    return [one for one in said if one.kind in kinds]
