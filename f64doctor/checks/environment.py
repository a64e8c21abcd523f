"""Judges why TensorFlow lists no accelerator though there is a card: a setting, the driver, the build, or a library that is missing.

Each function answers one question and returns a finding or None. What is said in a log counts only where other facts agree with it:
every machine without a card is told “Could not find cuda drivers”.
"""

from __future__ import annotations

import msgspec

from f64doctor.checks.runtime_words import of_kind
from f64doctor.checks.scene import Scene
from f64doctor.checks.showing import location_of
from f64doctor.observe import events, innermost
from f64doctor.report import Finding, Grade, Message, Remedy, Severity

NAME = "device"
VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
INSTALL = Remedy(
    "install TensorFlow with the CUDA libraries that it was built for: pip install 'tensorflow[and-cuda]'",
    why="Without them TensorFlow falls back to the CPU, silently.",
)
_HIDDEN = "the accelerator is hidden by a setting"


def findings_of(scene: Scene, listed: bool) -> list[Finding]:
    """The first reason why the accelerator is not used. ``listed``: TensorFlow told its devices, so that a missing one is a fact."""
    found: list[Finding] = []
    if listed and not _usable(scene):
        # The first answer explains why there is no accelerator; the others would be consequences of it.
        why = (_hidden, _driver_and_library_differ, _no_cuda_in_build, _driver_too_old, _unused)
        found += [finding for question in why if (finding := question(scene)) is not None][:1]
    elif (old := _driver_too_old(scene)) is not None:
        found.append(old)
    return found


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
    cuinit = of_kind(scene.said, "no-cuinit")
    if "libcuda.so.1" in missing or of_kind(scene.said, "no-libcuda"):
        why = "the driver's own library libcuda.so.1 is not found, though its management library is"
        remedies = [
            Remedy(
                "in a container: start it with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility; elsewhere: install the whole driver",
                why="With “utility” alone nvidia-smi works, and CUDA does not.",
            )
        ]
    elif cuinit:
        why = f"CUDA does not start: {cuinit[0].names.get('why', '').strip()}"
        remedies = [
            Remedy(
                "make nvidia-smi and a CUDA sample run first: the driver's modules (nvidia, nvidia_uvm) and /dev/nvidia* must be there",
                why="TensorFlow asks the driver before anything else.",
            )
        ]
    elif missing:
        why = f"{', '.join(missing[:4])} {'is' if len(missing) == 1 else 'are'} not found"
    elif of_kind(scene.said, "no-libraries", "no-cuda"):
        why = "some of its CUDA libraries are not found"
    elif silenced:
        why = "its own words are silenced by TF_CPP_MIN_LOG_LEVEL"
        remedies = [
            Remedy("run once with TF_CPP_MIN_LOG_LEVEL=0", why="TensorFlow then names the library that it misses.")
        ]
    else:
        why = "it does not say why"
    return _unseen(scene, "F303", "there is a card that TensorFlow does not use", why, remedies, Severity.WARNING)
