"""Judges what stands between the script and the accelerator: drivers, libraries, builds, and who else is on the card.

Each function answers one question and returns a finding or None. What is said in a log counts only where other facts agree with it:
every machine without a card is told “Could not find cuda drivers”.
"""

from __future__ import annotations

import re

import msgspec

from f64doctor.checks.intent import wish_of
from f64doctor.checks.parting import CPU_RUN, failed, worked
from f64doctor.checks.runtime_words import Said, of_kind, what_was_said
from f64doctor.checks.showing import gibibytes, location_of, plural
from f64doctor.observe import Observations, Run, events, innermost
from f64doctor.observe.facts import Card, CardProcess
from f64doctor.report import Finding, Gpu, Grade, Measure, Message, Remedy, Severity, Table

NAME = "device"
VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
INSTALL = Remedy(
    "install TensorFlow with the CUDA libraries that it was built for: pip install 'tensorflow[and-cuda]'",
    why="Without them TensorFlow falls back to the CPU, silently.",
)
# An accelerator whose hardware or kernels have no float64, by what its device, its name or its plug-in is called.
_WITHOUT_FLOAT64 = (("METAL", "Apple's Metal"), ("DML", "DirectML"), ("TPU", "The TPU"))
_PLUGINS = {"tensorflow-metal": "Apple's Metal", "tensorflow-directml-plugin": "DirectML"}
# Where the accelerator has no float64, single kernels are no news.
NO_FLOAT64 = "F317"
_HIDDEN = "the accelerator is hidden by a setting"


class Scene(msgspec.Struct, frozen=True):
    """What the questions look at, gathered once."""

    observations: Observations
    run: Run
    accelerators: list[str]
    said: list[Said]
    build: events.Build
    settings: events.DeviceSettings

    @property
    def gpus(self) -> list[Gpu]:
        """The cards that the driver shows."""
        return self.observations.machine.gpus

    @property
    def fails_here_only(self) -> bool:
        """Whether the script fails as it is and works without the accelerator."""
        return failed(self.run) and worked(self.observations.run(CPU_RUN))

    def card(self, index: int) -> Card | None:
        """The facts of one card."""
        return next((card for card in self.observations.machine.cards if card.index == index), None)


def scene_of(observations: Observations, run: Run, accelerators: list[str]) -> Scene:
    """The facts of one checkup, with empty ones where nothing was told."""
    return Scene(
        observations,
        run,
        accelerators,
        what_was_said(run),
        run.last(events.Build) or events.Build(),
        run.last(events.DeviceSettings) or events.DeviceSettings(),
    )


def findings_of(scene: Scene, listed: bool) -> list[Finding]:
    """All that can be said of the environment. ``listed``: TensorFlow told its devices, so that a missing one is a fact."""
    found: list[Finding] = []
    if listed and not _usable(scene):
        # The first answer explains why there is no accelerator; the others would be consequences of it.
        why = (_hidden, _driver_and_library_differ, _no_cuda_in_build, _driver_too_old, _unused)
        found += [finding for question in why if (finding := question(scene)) is not None][:1]
    elif (old := _driver_too_old(scene)) is not None:
        found.append(old)
    for question in (_capability, _cudnn, _no_compiler, _busy, _shared, _determinism, _no_float64, _rocm, _slice):
        if (finding := question(scene)) is not None:
            found.append(finding)
    return found


def rate_of(scene: Scene) -> Finding | None:
    """How much slower float64 is than float32 on the first card that says so."""
    for gpu in scene.gpus:
        card = scene.card(gpu.index)
        if card is None or card.rate is None:
            continue
        measure = Measure(
            "float32 to float64 rate",
            float(card.rate),
            "times",
            f"{gpu.name}: float64 at 1/{card.rate} ({card.rate_source})",
        )
        if card.rate <= 3 or not wish_of(scene.observations).intended:
            return None
        return Finding(
            code="F319",
            check=NAME,
            title="the card computes float64 at a small fraction of its float32 rate",
            severity=Severity.INFO,
            grade=Grade.INFERRED,
            summary=f"{gpu.name} does float64 at 1/{card.rate} of its float32 rate: matrix products slow down up to {card.rate} times,"
            " what waits for memory twice.",
            evidence=[measure],
            remedies=[
                Remedy(
                    "for long runs in float64 use a card with full float64 units (compute capability 6.0, 7.0, 8.0, 9.0 or 10.0), or the CPU",
                    why="Those have a rate of 1/2 (P100, V100, A100, H100, B200).",
                )
            ],
        )
    return None


def rates(scene: Scene) -> Table | None:
    """The float64 rate of each card, for the evidence of the check."""
    rows = [
        [gpu.name, gpu.compute_capability or "?", f"1/{card.rate}", card.rate_source]
        for gpu in scene.gpus
        if (card := scene.card(gpu.index)) is not None and card.rate
    ]
    return Table("float64 rate", ["card", "compute capability", "of float32", "says"], rows) if rows else None


def card_use(scene: Scene) -> Table | None:
    """What each card did in each run, for the evidence of the check."""
    names = {gpu.index: gpu.name for gpu in scene.gpus}
    rows = [
        [
            run.name,
            names.get(use.index, str(use.index)),
            "?" if use.busy is None else f"{use.busy:.0f} %",
            "?" if use.memory_peak is None else gibibytes(use.memory_peak),
            "?" if use.clock_mhz is None else f"{use.clock_mhz:.0f} MHz",
            "?" if use.watts is None else f"{use.watts:.0f} W",
        ]
        for run in scene.observations.runs
        for use in run.cards
    ]
    return Table("the card meanwhile", ["run", "card", "busy", "memory peak", "clock", "power"], rows) if rows else None


# -- TensorFlow lists no accelerator, though there is a card


def _usable(scene: Scene) -> bool:
    if not scene.accelerators:
        return False
    visible = scene.settings.visible
    return visible is None or any(":CPU:" not in name for name in visible)


def _unseen(scene: Scene, code: str, title: str, why: str, remedies: list[Remedy], severity: Severity) -> Finding:
    gpu = scene.gpus[0].name if scene.gpus else "the card"
    words = [Message("TensorFlow's runtime", "\n".join(one.line for one in scene.said[:6]))] if scene.said else []
    devices = scene.run.last(events.Devices)
    return Finding(
        code=code,
        check=NAME,
        title=title,
        severity=severity,
        grade=Grade.OBSERVED,
        summary=f"The driver shows {gpu}, TensorFlow lists no accelerator: {why}." if scene.gpus else why,
        evidence=[*words, Message("devices", "\n".join(devices.names if devices is not None else []))],
        remedies=remedies,
    )


def _hidden(scene: Scene) -> Finding | None:
    """A variable or a setting hides the accelerator; whoever set it meant it."""
    if scene.accelerators:
        return Finding(
            code="F312",
            check=NAME,
            title=_HIDDEN,
            severity=Severity.INFO,
            grade=Grade.OBSERVED,
            summary="The script hides its accelerator with tf.config.set_visible_devices: what was observed is the CPU.",
            evidence=[Message("devices", "\n".join(scene.accelerators))],
        )
    if not scene.gpus:
        return None
    for setting in reversed(scene.run.all(events.Setting)):
        if setting.name in VARIABLES:
            frame = innermost(setting.frames)
            finding = _unseen(
                scene,
                "F312",
                _HIDDEN,
                f"the script sets {setting.name} to “{setting.value or ''}”",
                [],
                Severity.INFO,
            )
            return msgspec.structs.replace(finding, location=location_of(scene.observations, frame))
    for name in VARIABLES:
        value = scene.settings.variables.get(name)
        if value is not None and _hides(value, len(scene.gpus)):
            return _unseen(
                scene,
                "F312",
                _HIDDEN,
                f"{name} is “{value}” in the environment, set before the script began",
                [
                    Remedy(
                        f"unset {name}, if the card was meant to be used",
                        why="An empty value, -1 or the number of no card hides all.",
                    )
                ],
                Severity.INFO,
            )
    return None


def _hides(value: str, cards: int) -> bool:
    """Whether CUDA_VISIBLE_DEVICES leaves no card: CUDA reads up to the first name that is no card's."""
    first = value.split(",")[0].strip()
    if first.startswith(("GPU-", "MIG-")):
        return False
    return not first.isdigit() or int(first) >= cards


def _no_cuda_in_build(scene: Scene) -> Finding | None:
    """This TensorFlow was built for the CPU, or for cards of another make."""
    library = next((one for one in scene.run.all(events.Library) if one.name == "tensorflow"), None)
    cuda = (
        scene.build.cuda if scene.build.cuda is not None else library.built_with_cuda if library is not None else None
    )
    if cuda is not False or not scene.gpus:
        return None
    chosen = next((name for name in ("tensorflow-cpu", "tensorflow-macos") if name in scene.build.distributions), "")
    made = "for AMD's cards (ROCm)" if scene.build.rocm else "without CUDA"
    why = f"{chosen} is installed, which is made for the CPU" if chosen else f"this TensorFlow was built {made}"
    remedies = [INSTALL]
    if chosen:
        remedies = [
            Remedy(
                f"pip uninstall {chosen}, then pip install 'tensorflow[and-cuda]'",
                why="Both put their files into the same folder: one of them has to go.",
            )
        ]
    return _unseen(
        scene,
        "F307",
        "this TensorFlow was not built for the card",
        why,
        remedies,
        Severity.INFO if chosen else Severity.WARNING,
    )


def _driver_and_library_differ(scene: Scene) -> Finding | None:
    """The driver was updated and the loaded module is still the old one."""
    said = of_kind(scene.said, "driver-mismatch")
    broken = "does not match the loaded module" in scene.observations.machine.nvml
    if not said and not broken:
        return None
    detail = f" (module {said[0].names['kernel']}, library {said[0].names['library']})" if said else ""
    return Finding(
        code="F308",
        check=NAME,
        title="the loaded driver and its library are of different versions",
        severity=Severity.WARNING,
        grade=Grade.OBSERVED,
        summary=f"The NVIDIA driver was updated, and the old one is still loaded{detail}: no card can be used until the machine is restarted.",
        evidence=[Message("TensorFlow's runtime", said[0].line)]
        if said
        else [Message("NVML", scene.observations.machine.nvml)],
        remedies=[
            Remedy(
                "restart the machine (in a container: the host), or unload and load the nvidia module",
                why="Library and module must be of one version.",
            )
        ],
    )


def _driver_too_old(scene: Scene) -> Finding | None:
    """The driver supports an older CUDA than the one that TensorFlow was built with."""
    said = of_kind(scene.said, "driver-old")
    newest, built = scene.observations.machine.cuda_version, scene.build.cuda_version
    older = bool(scene.gpus and newest and built and _major(newest) < _major(built))
    if not said and not older:
        return None
    driver = next((gpu.driver for gpu in scene.gpus if gpu.driver), None)
    known = f"driver {driver or '?'} supports CUDA {newest}" if newest else "the driver says so"
    needs = f", this TensorFlow needs CUDA {built}" if built else ""
    stops = scene.fails_here_only and any(one.raised for one in said)
    return Finding(
        code="F309",
        check=NAME,
        title="the driver is too old for TensorFlow's CUDA",
        severity=Severity.ERROR if stops else Severity.WARNING,
        grade=Grade.OBSERVED,
        summary=f"The driver is too old: {known}{needs}.",
        evidence=[Message("TensorFlow's runtime", said[0].line)] if said else [],
        remedies=[
            Remedy(
                f"update the NVIDIA driver to one for CUDA {_major(built) if built else 12} or later",
                why="A driver runs what was built with its own major version of CUDA or an older one, and nothing newer.",
            )
        ],
    )


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdigit() else 0


def _unused(scene: Scene) -> Finding | None:
    """A card that TensorFlow does not list for want of a library, or for a reason that nobody told."""
    if not scene.gpus:
        return None
    missing = list(scene.observations.machine.missing_libraries or {})
    missing += [
        one.names["library"] for one in of_kind(scene.said, "no-library") if one.names["library"] not in missing
    ]
    silenced = scene.settings.variables.get("TF_CPP_MIN_LOG_LEVEL", "0") not in ("", "0")
    remedies = [INSTALL]
    if "libcuda.so.1" in missing or (not missing and of_kind(scene.said, "no-libcuda")):
        why = "the driver's own library libcuda.so.1 is not found, though its management library is"
        remedies = [
            Remedy(
                "in a container: start it with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility; elsewhere: install the whole driver",
                why="With “utility” alone nvidia-smi works, and CUDA does not.",
            )
        ]
    elif missing:
        why = f"{', '.join(missing[:4])} {'is' if len(missing) == 1 else 'are'} not found"
    elif of_kind(scene.said, "no-libraries"):
        why = "some of its CUDA libraries are not found"
    elif cuinit := of_kind(scene.said, "no-cuinit"):
        why = f"CUDA does not start: {cuinit[0].names.get('why', '').strip()}"
        remedies = [
            Remedy(
                "make nvidia-smi and a CUDA sample run first: the driver's modules (nvidia, nvidia_uvm) and /dev/nvidia* must be there",
                why="TensorFlow asks the driver before anything else.",
            )
        ]
    elif silenced:
        why = "its own words are silenced by TF_CPP_MIN_LOG_LEVEL"
        remedies = [
            Remedy("run once with TF_CPP_MIN_LOG_LEVEL=0", why="TensorFlow then names the library that it misses.")
        ]
    else:
        why = "it does not say why"
    return _unseen(scene, "F303", "there is a card that TensorFlow does not use", why, remedies, Severity.WARNING)


# -- TensorFlow may list the card, and something is in the way


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
        free = f"; {gibibytes(gpu.free_bytes)} are free" if gpu.free_bytes is not None else ""
        return _told(
            scene,
            "F315",
            "another process is on the card",
            said,
            f"{_processes(card.processes)} holds {gibibytes(held)} of {gpu.name}{free}: float64 needs twice the memory of float32 there.",
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
