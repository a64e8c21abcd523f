"""Judges what is in the way of a card that TensorFlow may well list: builds, libraries, modes, other processes, and hardware without float64."""

from __future__ import annotations

import re

from f64doctor.amounts import bytes_in_words
from f64doctor.checks.runtime_words import Said, of_kind
from f64doctor.checks.scene import Scene
from f64doctor.checks.showing import location_of, plural
from f64doctor.observe import events, innermost
from f64doctor.observe.facts import CardProcess
from f64doctor.report import Finding, Grade, Message, Remedy, Severity

NAME = "device"
# An accelerator whose hardware or kernels have no float64, by what its device, its name or its plug-in is called.
_WITHOUT_FLOAT64 = (("METAL", "Apple's Metal"), ("DML", "DirectML"), ("TPU", "The TPU"))
_PLUGINS = {"tensorflow-metal": "Apple's Metal", "tensorflow-directml-plugin": "DirectML"}
# Where the accelerator has no float64, single kernels are no news.
NO_FLOAT64 = "F317"


def findings_of(scene: Scene) -> list[Finding]:
    """All that is in the way."""
    questions = (_capability, _cudnn, _no_compiler, _busy, _shared, _determinism, _no_float64, _rocm, _slice)
    return [finding for question in questions if (finding := question(scene)) is not None]


def _told(
    scene: Scene, code: str, title: str, said: list[Said], summary: str, remedies: list[Remedy], otherwise: Severity
) -> Finding:
    """A finding that rests on words of the runtime: an error when the run ends with them on this device only."""
    raised = [one for one in said if one.raised]
    stops = scene.fails_here_only and bool(raised or scene.run.outcome == "killed")
    failure = scene.run.failure
    frame = innermost(failure.frames) if stops and failure is not None else None
    return Finding(
        code=code,
        check=NAME,
        title=title,
        severity=Severity.ERROR if stops else otherwise,
        grade=Grade.OBSERVED,
        summary=summary,
        location=location_of(scene.observations, frame),
        evidence=[Message("TensorFlow's runtime", "\n".join(one.line for one in (raised or said)[:4]))] if said else [],
        remedies=remedies,
    )


def _capability(scene: Scene) -> Finding | None:
    """The build has no machine code for the card."""
    said = of_kind(scene.said, "no-capability")
    capabilities = scene.build.compute_capabilities
    uncovered = [
        gpu
        for gpu in scene.gpus
        if scene.accelerators
        and gpu.compute_capability
        and capabilities
        and not covers(capabilities, gpu.compute_capability)
    ]
    if not said and not uncovered:
        return None
    named = next((one.names["capability"] for one in said if "capability" in one.names), None)
    capability = named or next((gpu.compute_capability for gpu in (uncovered or scene.gpus)), None) or "?"
    has = f" (it has {', '.join(capabilities)})" if capabilities else ""
    return _told(
        scene,
        "F313",
        "TensorFlow was not built for the card's compute capability",
        said,
        f"This TensorFlow has no machine code for compute capability {capability}{has}: it fails in every precision, or compiles for minutes first.",
        [
            Remedy(
                "use a TensorFlow that was built for this card (a newer release, or NVIDIA's container)",
                why="It is no fault of float64: float32 fails in the same way.",
            )
        ],
        Severity.WARNING,
    )


def covers(built: list[str], capability: str) -> bool:
    """Whether machine code for the card is in the build: the same major version, and no newer minor one. PTX alone is compiled at start."""
    wanted = re.fullmatch(r"(\d+)\.(\d)", capability)
    if wanted is None:
        return True  # no capability that anybody knows: nothing is claimed
    major, minor = int(wanted[1]), int(wanted[2])
    for one in built:
        found = re.fullmatch(r"(sm|compute)_(\d+)(\d)[a-z]?", one)
        if found is None or int(found[2]) != major:
            continue
        if int(found[3]) == minor or (found[1] == "sm" and int(found[3]) < minor):
            return True
    return False


def _cudnn(scene: Scene) -> Finding | None:
    """The cuDNN that was found is older than the one that TensorFlow was built with."""
    said = of_kind(scene.said, "cudnn")
    if not said:
        return None
    loaded, built = said[0].names["loaded"], said[0].names["built"]
    return _told(
        scene,
        "F310",
        "cuDNN is not the version that TensorFlow was built with",
        said,
        f"cuDNN {loaded} was loaded, TensorFlow was built with {built}: convolutions and recurrent layers fail on the GPU, in every precision.",
        [
            Remedy(
                f"pip install 'nvidia-cudnn-cu12>={built}', and take older copies off LD_LIBRARY_PATH",
                why="The major versions must agree, and the loaded minor version must not be older.",
            )
        ],
        Severity.WARNING,
    )


def _no_compiler(scene: Scene) -> Finding | None:
    """XLA misses ptxas or libdevice, with which it makes kernels."""
    said = of_kind(scene.said, "no-compiler")
    if not said:
        return None
    return _told(
        scene,
        "F311",
        "XLA does not find ptxas or libdevice",
        said,
        "XLA does not find a tool of CUDA's compiler (ptxas, libdevice) with which it makes kernels for the card.",
        [
            Remedy(
                "pip install nvidia-cuda-nvcc-cu12, or XLA_FLAGS=--xla_gpu_cuda_data_dir=/path/to/cuda",
                why="libdevice lies in nvvm/libdevice below that folder, ptxas in bin.",
            ),
            Remedy(
                "compile(…, jit_compile=False)",
                why="Keras 3 turns XLA on by itself on a GPU; without it neither tool is needed.",
            ),
        ],
        Severity.INFO,
    )


def _busy(scene: Scene) -> Finding | None:
    """A compute mode that lets one process in, or none."""
    said = of_kind(scene.said, "busy")
    modes = [
        (gpu, card)
        for gpu in scene.gpus
        if (card := scene.card(gpu.index)) is not None and (card.compute_mode or "default") != "default"
    ]
    if not said and not modes:
        return None
    others = [process for _, card in modes for process in card.processes]
    mode = (
        f"{modes[0][0].name} is in compute mode “{modes[0][1].compute_mode}”"
        if modes
        else "The card says that it is busy or unavailable"
    )
    who = f"; {_processes(others)} is on it" if others else ""
    return _told(
        scene,
        "F314",
        "the card lets in one process, or none",
        said,
        f"{mode}{who}: a second process cannot use it, in any precision.",
        [
            Remedy(
                "end the other process, or set the default mode: sudo nvidia-smi -c DEFAULT",
                why="In an exclusive mode the first process keeps the card for itself.",
            )
        ],
        Severity.INFO,
    )


def _shared(scene: Scene) -> Finding | None:
    """Other processes hold memory of the card."""
    said = of_kind(scene.said, "no-handle")
    for gpu in scene.gpus:
        card = scene.card(gpu.index)
        if card is None or not card.processes:
            continue
        held = sum(process.bytes or 0 for process in card.processes)
        free = f"; {bytes_in_words(gpu.free_bytes)} are free" if gpu.free_bytes is not None else ""
        return _told(
            scene,
            "F315",
            "another process is on the card",
            said,
            f"{_processes(card.processes)} holds {bytes_in_words(held)} of {gpu.name}{free}: float64 needs twice the memory of float32 there.",
            [
                Remedy(
                    "end it, take another card with CUDA_VISIBLE_DEVICES, or call tf.config.experimental.set_memory_growth",
                    why="TensorFlow takes nearly all free memory at its start, and libraries that come later find none.",
                )
            ],
            Severity.INFO,
        )
    return None


def _processes(processes: list[CardProcess]) -> str:
    first = processes[0]
    name = f"process {first.pid}" + (f" ({first.name})" if first.name else "")
    return name if len(processes) == 1 else f"{name} with {plural(len(processes) - 1, 'other')}"


def _determinism(scene: Scene) -> Finding | None:
    """The script asks for determinism, and an operation has none on the GPU."""
    said = [one for one in of_kind(scene.said, "determinism") if one.raised]
    if not said or not (scene.fails_here_only or scene.accelerators):
        return None
    operation = next((one.names["operation"].strip() for one in said if "operation" in one.names), "an operation")
    return _told(
        scene,
        "F316",
        "an operation is not deterministic on the GPU",
        said,
        f"Determinism is asked for, and {operation} has no deterministic GPU implementation: the CPU has one.",
        [
            Remedy(
                'put this part on the CPU: with tf.device("/CPU:0"), or do without enable_op_determinism()',
                why="The GPU adds in an order that varies; in float64 that moves the last digits only.",
            )
        ],
        Severity.WARNING,
    )


def _no_float64(scene: Scene) -> Finding | None:
    """The accelerator has no float64 at all."""
    devices = scene.run.last(events.Devices)
    texts = {name: f"{name} {devices.details.get(name, '')}".upper() for name in scene.accelerators} if devices else {}
    maker = next((maker for mark, maker in _WITHOUT_FLOAT64 for text in texts.values() if mark in text), "")
    if not maker and scene.accelerators:
        maker = next((_PLUGINS[name] for name in _PLUGINS if name in scene.build.distributions), "")
    if not maker:
        return None
    failure = scene.run.failure
    frame = innermost(failure.frames) if failure is not None else None
    return Finding(
        code=NO_FLOAT64,
        check=NAME,
        title="this accelerator has no float64",
        severity=Severity.ERROR if scene.fails_here_only else Severity.INFO,
        grade=Grade.OBSERVED if scene.fails_here_only else Grade.INFERRED,
        summary=f"{maker} has no float64: what is float64 runs on the CPU where placement is left to TensorFlow, and fails where it is not.",
        location=location_of(scene.observations, frame) if scene.fails_here_only else None,
        evidence=[Message(failure.type, failure.message[:900])]
        if scene.fails_here_only and failure is not None
        else [],
        remedies=[
            Remedy(
                'run float64 on the CPU: tf.config.set_visible_devices([], "GPU") before anything is computed',
                why="No setting gives this hardware the kernels; the copies to it and back cost more than it saves.",
            )
        ],
    )


def _rocm(scene: Scene) -> Finding | None:
    """A TensorFlow for AMD's cards."""
    if scene.build.rocm is not True:
        return None
    seen = "lists one" if scene.accelerators else "lists none"
    return Finding(
        code="F318",
        check=NAME,
        title="this TensorFlow is for AMD's cards",
        severity=Severity.INFO,
        grade=Grade.OBSERVED,
        summary=f"This TensorFlow was built for ROCm and {seen}. Its float64 rate is the card's: 1/2 or more on Instinct, 1/16 or less on Radeon.",
        evidence=[Message("build", f"ROCm; devices: {', '.join(scene.accelerators) or 'the CPU only'}")],
    )


def _slice(scene: Scene) -> Finding | None:
    """The card is cut into slices."""
    for gpu in scene.gpus:
        card = scene.card(gpu.index)
        if card is not None and card.mig:
            return Finding(
                code="F323",
                check=NAME,
                title="the card is cut into slices (MIG)",
                severity=Severity.INFO,
                grade=Grade.OBSERVED,
                summary=f"{gpu.name} is cut into slices (MIG): a process gets the memory and the float64 units of one slice, not of the card.",
                evidence=[],
            )
    return None
