"""Device situations as observations, and what the doctor says to each: the data behind docs/devices.md and its tests.

The words of TensorFlow's runtime are in ``device_logs``, one file a situation. Those of a missing library and of a missing libcuda were
recorded with TensorFlow 2.21 and the fake libraries of ``tests/fakes``; the others follow lines that users showed in public.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from f64doctor.observe import Machine, Observations, Run
from f64doctor.observe.events import (
    AnyEvent,
    Build,
    Created,
    Devices,
    DeviceSettings,
    Failure,
    Fit,
    Frame,
    Graph,
    Kernel,
    Kernels,
    Library,
    Setting,
    Step,
    TensorFact,
)
from f64doctor.observe.facts import Card, CardProcess
from f64doctor.report import Gpu

LOGS = Path(__file__).parent / "device_logs"
GIB = 2**30

CPU = Devices(names=["/physical_device:CPU:0"])
GPU = Devices(names=["/physical_device:CPU:0", "/physical_device:GPU:0"])
COMPILE = Frame("/job/train.py", 9, "<module>", 'model.compile("sgd", "sparse_categorical_crossentropy")')
FIT = Frame("/job/train.py", 12, "<module>", "model.fit(x, y)")
WISH = Setting(kind="floatx", name="set_floatx", value="float64", frames=[FIT])
TF = Library(name="tensorflow", version="2.21.0", built_with_cuda=True)
BUILT = Build(
    cuda=True,
    rocm=False,
    cuda_version="12.5.1",
    cudnn_version="9",
    compute_capabilities=["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"],
    distributions={"tensorflow": "2.21.0"},
)
L4 = Gpu(0, "NVIDIA L4", 24 * GIB, 23 * GIB, "8.9", "550.54.14")
A100 = Gpu(0, "NVIDIA A100", 80 * GIB, 79 * GIB, "8.0", "550.54.14")
RTX50 = Gpu(0, "NVIDIA GeForce RTX 5090", 32 * GIB, 31 * GIB, "12.0", "570.86.10")
RATE64 = Card(0, rate=64, rate_source="the driver (attribute 87)")
SPARSE = Kernel(
    op="SparseSoftmaxCrossEntropyWithLogits",
    cpu64=True,
    gpu32=True,
    cpu32=True,
    xla64=True,
    inputs=[TensorFact("float64", [None, 10]), TensorFact("int64", [None])],
    outputs=[TensorFact("float64", [None]), TensorFact("float64", [None, 10])],
    frames=[FIT],
)
LOSS = Created(role="loss", cls="CompileLoss", name="compile_loss", serial=7, loaded="compile", frames=[COMPILE])


class Situation(msgspec.Struct, frozen=True):
    """``when`` and ``says`` are the row of the table; ``says`` must stand in the check's sentence or the first finding's."""

    when: str
    code: str
    severity: str
    says: str
    observations: Observations


def recorded(name: str) -> list[str]:
    """The lines of a log as TensorFlow wrote them."""
    return (LOGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def run(name: str, outcome: str, *events: AnyEvent, log: str = "") -> Run:
    """A run of three seconds with these events."""
    return Run(
        name=name,
        outcome=outcome,
        seconds=3.0,
        exit_code=0 if outcome == "completed" else 1,
        events=[WISH, TF, *events],
        notices=recorded(log) if log else [],
        peak_bytes=2**29,
    )


def seen(*runs: Run, gpus: list[Gpu] | None = None, **facts: Any) -> Observations:
    """The observations of these runs on a machine with these cards."""
    return Observations(script="/job/train.py", cwd="/job", runs=list(runs), machine=Machine(gpus=gpus or [], **facts))


def failure(type_: str, message: str) -> Failure:
    return Failure(type=type_, message=message, frames=[FIT])


def losses(*values: float) -> list[AnyEvent]:
    return [Step(number=number, loop="fit", loss=value) for number, value in enumerate(values, 1)]


def jitted(flag: bool) -> Fit:
    return Fit(call="fit", serial=1, model="m", cls="Sequential", jit_compile=flag, frames=[FIT])


def lookup(*gaps: Kernel) -> Kernels:
    return Kernels(source="registry", nodes=87, kinds=25, gaps=list(gaps))


def settings(**facts: Any) -> DeviceSettings:
    return DeviceSettings(soft_placement=facts.pop("soft_placement", True), seeded=True, **facts)


NO_KERNEL = (
    "Could not find device for node: {{node SparseSoftmaxCrossEntropyWithLogits}} = SparseSoftmaxCrossEntropyWithLogits"
    "[T=DT_DOUBLE, Tlabels=DT_INT64]\nAll kernels registered for op SparseSoftmaxCrossEntropyWithLogits:"
)
XLA_FAILS = "Detected unsupported operations when trying to compile graph __inference_one_step_on_data[] on XLA_GPU_JIT: UniqueV2"
FLOATS = Graph(name="step", operations=100, dtypes={"float64": 80, "float32": 2})


def _hidden_by(variables: dict[str, str]) -> Run:
    return run("as-is", "completed", CPU, BUILT, settings(variables=variables))


SITUATIONS = [
    Situation(
        "No card, no operation without a float64 GPU kernel",
        "",
        "",
        "no accelerator here; a GPU would have a kernel for each of 87 float64 operations",
        seen(run("as-is", "completed", CPU, BUILT, settings(), lookup())),
    ),
    Situation(
        "No card; a classifier with sparse_categorical_crossentropy",
        "F304",
        "info",
        "SparseSoftmaxCrossEntropyWithLogits has a GPU kernel for float32 and none for float64",
        seen(run("as-is", "completed", LOSS, CPU, BUILT, settings(), lookup(SPARSE))),
    ),
    Situation(
        "The same with soft placement switched off",
        "F304",
        "warning",
        "Soft placement is off: on a machine with a GPU this fails",
        seen(run("as-is", "completed", LOSS, CPU, BUILT, settings(soft_placement=False), lookup(SPARSE))),
    ),
    Situation(
        "No card; an operation that no GPU computes in any precision (CTC loss, bicubic resize, unique)",
        "F305",
        "info",
        "runs on the CPU in every precision, so float64 is not the reason",
        seen(
            run(
                "as-is",
                "completed",
                CPU,
                BUILT,
                settings(),
                lookup(Kernel(op="CTCLoss", cpu64=True, cpu32=True, xla64=False, frames=[FIT])),
            )
        ),
    ),
    Situation(
        "An operation that has no float64 kernel anywhere and works through XLA (AveragePooling3D)",
        "F306",
        "info",
        "AvgPool3D has float32 kernels only, on the CPU too; it works here because XLA compiles it",
        seen(
            run(
                "as-is",
                "completed",
                CPU,
                BUILT,
                settings(),
                lookup(Kernel(op="AvgPool3D", gpu32=True, cpu32=True, xla64=True, frames=[FIT])),
            )
        ),
    ),
    Situation(
        "A card; the run ends with the missing float64 kernel, and works on the CPU",
        "F304",
        "error",
        "has a GPU kernel for float32 and none for float64: the run ends there, and works on the CPU",
        seen(
            run("as-is", "raised", LOSS, GPU, BUILT, settings(), lookup(SPARSE), failure("NotFoundError", NO_KERNEL)),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
        ),
    ),
    Situation(
        "A card; the run ends there for another reason, without XLA too, and works on the CPU",
        "F301",
        "error",
        "with the accelerator hidden it works",
        seen(
            run("as-is", "raised", GPU, BUILT, failure("InternalError", "CUDA_ERROR_LAUNCH_FAILED")),
            run("cpu-only", "completed", *losses(0.5)),
            run("gpu-without-xla", "raised", failure("InternalError", "CUDA_ERROR_LAUNCH_FAILED")),
            run("cpu-with-xla", "completed", *losses(0.5)),
            gpus=[A100],
        ),
    ),
    Situation(
        "A card; it works there without XLA and fails with XLA on the CPU too",
        "F320",
        "error",
        "it is XLA, not the card",
        seen(
            run("as-is", "raised", GPU, BUILT, failure("InvalidArgumentError", XLA_FAILS)),
            run("cpu-only", "completed", *losses(0.5)),
            run("gpu-without-xla", "completed", *losses(0.5)),
            run("cpu-with-xla", "raised", failure("InvalidArgumentError", XLA_FAILS)),
            gpus=[A100],
        ),
    ),
    Situation(
        "It fails on the card and on the CPU",
        "",
        "",
        "it fails on the CPU too, so the device is not the cause",
        seen(
            run("as-is", "raised", GPU, BUILT, failure("ValueError", "bad shape")),
            run("cpu-only", "raised", failure("ValueError", "bad shape")),
            gpus=[A100],
        ),
    ),
    Situation(
        "It works on the card, by XLA, and fails on the CPU for want of a kernel",
        "F321",
        "warning",
        "XLA has the kernel that the CPU lacks",
        seen(
            run("as-is", "completed", GPU, BUILT, jitted(True), *losses(0.5)),
            run(
                "cpu-only",
                "raised",
                failure(
                    "InvalidArgumentError",
                    "No OpKernel was registered to support Op 'AvgPool3D' used by {{node pool}} with these attrs: [T=DT_DOUBLE]",
                ),
            ),
            run("cpu-with-xla", "completed", *losses(0.5)),
            gpus=[A100],
        ),
    ),
    Situation(
        "The losses on the card and on the CPU agree to rounding",
        "",
        "",
        "the same outcome on the accelerator and on the CPU",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), FLOATS, *losses(0.5 * (1 + 1e-13), 0.4)),
            run("cpu-only", "completed", FLOATS, *losses(0.5, 0.4)),
            gpus=[A100],
        ),
    ),
    Situation(
        "The losses differ from the first step on, and no seed was set",
        "",
        "",
        "the losses differ from the first step on, as they do without a seed",
        seen(
            run("as-is", "completed", GPU, BUILT, DeviceSettings(seeded=False), FLOATS, *losses(0.5, 0.4)),
            run("cpu-only", "completed", FLOATS, *losses(0.9, 0.7)),
            gpus=[A100],
        ),
    ),
    Situation(
        "The losses part, and agree with TF32 switched off",
        "F322",
        "warning",
        "TF32 rounds float32 products only, so something in the model is float32",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), FLOATS, *losses(0.5, 0.4001)),
            run("cpu-only", "completed", FLOATS, *losses(0.5, 0.4)),
            run("gpu-without-tf32", "completed", FLOATS, *losses(0.5, 0.4)),
            gpus=[A100],
        ),
    ),
    Situation(
        "The losses part, and agree without XLA",
        "F320",
        "warning",
        "it is what XLA makes of the model",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), FLOATS, *losses(0.5, 0.4001)),
            run("cpu-only", "completed", FLOATS, *losses(0.5, 0.4)),
            run("gpu-without-tf32", "completed", FLOATS, *losses(0.5, 0.4001)),
            run("gpu-without-xla", "completed", FLOATS, *losses(0.5, 0.4)),
            gpus=[A100],
        ),
    ),
    Situation(
        "The losses part without TF32 and without XLA too",
        "F302",
        "warning",
        "the accelerator's own kernels differ",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), FLOATS, *losses(0.5, 0.4001)),
            run("cpu-only", "completed", FLOATS, *losses(0.5, 0.4)),
            run("gpu-without-tf32", "completed", FLOATS, *losses(0.5, 0.4001)),
            run("gpu-without-xla", "completed", FLOATS, *losses(0.5, 0.4001)),
            gpus=[A100],
        ),
    ),
    Situation(
        "A card, and CUDA libraries that are not found",
        "F303",
        "warning",
        "libcudnn.so.9, libcufft.so.11 are not found",
        seen(
            run("as-is", "completed", CPU, BUILT, settings(), log="libraries_missing"),
            gpus=[A100],
            missing_libraries={"libcudnn.so.9": "cannot open shared object file", "libcufft.so.11": "cannot open"},
        ),
    ),
    Situation(
        "A card, and an older TensorFlow that names the library in its log",
        "F303",
        "warning",
        "libcudnn.so.8 is not found",
        seen(run("as-is", "completed", CPU, BUILT, settings(), log="library_named"), gpus=[A100]),
    ),
    Situation(
        "A container that was given the management library only",
        "F303",
        "warning",
        "the driver's own library libcuda.so.1 is not found",
        seen(run("as-is", "completed", CPU, BUILT, settings(), log="no_libcuda"), gpus=[A100]),
    ),
    Situation(
        "A card, and CUDA that does not start",
        "F303",
        "warning",
        "CUDA does not start: CUDA_ERROR_UNKNOWN: unknown error",
        seen(run("as-is", "completed", CPU, BUILT, settings(), log="cuinit_fails"), gpus=[A100]),
    ),
    Situation(
        "A card, no accelerator, and a log that was silenced",
        "F303",
        "warning",
        "its own words are silenced by TF_CPP_MIN_LOG_LEVEL",
        seen(_hidden_by({"TF_CPP_MIN_LOG_LEVEL": "3"}), gpus=[A100]),
    ),
    Situation(
        "A card, and tensorflow-cpu",
        "F307",
        "info",
        "tensorflow-cpu is installed, which is made for the CPU",
        seen(
            run(
                "as-is",
                "completed",
                CPU,
                settings(),
                Build(cuda=False, distributions={"tensorflow-cpu": "2.21.0"}),
            ),
            gpus=[A100],
        ),
    ),
    Situation(
        "A card, and a TensorFlow that was built without CUDA",
        "F307",
        "warning",
        "this TensorFlow was built without CUDA",
        seen(
            run("as-is", "completed", CPU, settings(), Build(cuda=False, distributions={"tensorflow": "2.15.1"})),
            gpus=[A100],
        ),
    ),
    Situation(
        "A driver that was updated and not loaded again",
        "F308",
        "warning",
        "module 384.90.0, library 384.111.0",
        seen(
            run("as-is", "completed", CPU, BUILT, settings(), log="driver_mismatch"),
            nvml="the NVIDIA driver was updated and its library does not match the loaded module: restart the machine",
        ),
    ),
    Situation(
        "A driver that is too old for the CUDA of the wheel",
        "F309",
        "warning",
        "driver 470.82.01 supports CUDA 11.4, this TensorFlow needs CUDA 12.5.1",
        seen(
            run("as-is", "completed", CPU, BUILT, settings(), log="cuinit_fails"),
            gpus=[msgspec.structs.replace(A100, driver="470.82.01")],
            cuda_version="11.4",
        ),
    ),
    Situation(
        "A cuDNN that is older than the one of the build; the run ends with it, and works on the CPU",
        "F310",
        "error",
        "cuDNN 9.1.0 was loaded, TensorFlow was built with 9.3.0",
        seen(
            run(
                "as-is",
                "raised",
                GPU,
                BUILT,
                failure(
                    "FailedPreconditionError",
                    "DNN library initialization failed. Look at the errors above for more details.\n"
                    "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.3.0.",
                ),
                log="cudnn",
            ),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
        ),
    ),
    Situation(
        "XLA does not find libdevice; the run ends with it, and works on the CPU",
        "F311",
        "error",
        "XLA does not find a tool of CUDA's compiler",
        seen(
            run(
                "as-is",
                "raised",
                GPU,
                BUILT,
                failure(
                    "InternalError", "libdevice not found at ./libdevice.10.bc [Op:__inference_one_step_on_data_12]"
                ),
                log="libdevice",
            ),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
        ),
    ),
    Situation(
        "The script sets CUDA_VISIBLE_DEVICES",
        "F312",
        "info",
        "the script sets CUDA_VISIBLE_DEVICES to “-1”",
        seen(
            run(
                "as-is",
                "completed",
                Setting(kind="environment", name="CUDA_VISIBLE_DEVICES", value="-1", frames=[COMPILE]),
                CPU,
                BUILT,
                settings(),
            ),
            gpus=[A100],
        ),
    ),
    Situation(
        "CUDA_VISIBLE_DEVICES was set before the script began, to a card that is not there",
        "F312",
        "info",
        "CUDA_VISIBLE_DEVICES is “1” in the environment, set before the script began",
        seen(_hidden_by({"CUDA_VISIBLE_DEVICES": "1"}), gpus=[A100]),
    ),
    Situation(
        "A card that is newer than the wheel",
        "F313",
        "warning",
        "no machine code for compute capability 12.0",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5), log="capability"),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[RTX50],
        ),
    ),
    Situation(
        "A card in an exclusive mode with another process on it; the run ends, and works on the CPU",
        "F314",
        "error",
        "is in compute mode “exclusive process”; process 4242 (python) is on it",
        seen(
            run(
                "as-is",
                "raised",
                GPU,
                BUILT,
                failure(
                    "InternalError", "CUDA_ERROR_DEVICE_UNAVAILABLE: CUDA-capable device(s) is/are busy or unavailable"
                ),
            ),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
            cards=[Card(0, compute_mode="exclusive process", processes=[CardProcess(4242, 22 * GIB, "python")])],
        ),
    ),
    Situation(
        "Another process on the card",
        "F315",
        "info",
        "process 4242 holds 22.0 GiB of NVIDIA A100",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5)),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
            cards=[Card(0, rate=2, rate_source="the driver", processes=[CardProcess(4242, 22 * GIB)])],
        ),
    ),
    Situation(
        "Determinism is asked for and the GPU has none for an operation",
        "F316",
        "error",
        "AdjustContrastv2 has no deterministic GPU implementation",
        seen(
            run(
                "as-is",
                "raised",
                GPU,
                BUILT,
                failure(
                    "UnimplementedError",
                    "A deterministic GPU implementation of AdjustContrastv2 is not currently available. [Op:AdjustContrastv2]",
                ),
            ),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
        ),
    ),
    Situation(
        "Apple's Metal; the run ends there, and works on the CPU",
        "F317",
        "error",
        "Apple's Metal has no float64",
        seen(
            run(
                "as-is",
                "raised",
                Devices(names=GPU.names, details={"/physical_device:GPU:0": "METAL"}),
                Build(cuda=False, distributions={"tensorflow": "2.18.1", "tensorflow-metal": "1.2.0"}),
                failure("NotFoundError", "Could not find device for node: {{node MatMul}} = MatMul[T=DT_DOUBLE]"),
            ),
            run("cpu-only", "completed", *losses(0.5)),
        ),
    ),
    Situation(
        "DirectML; the run completes",
        "F317",
        "info",
        "DirectML has no float64",
        seen(
            run(
                "as-is",
                "completed",
                GPU,
                Build(cuda=False, distributions={"tensorflow-cpu": "2.10.0", "tensorflow-directml-plugin": "0.4.0"}),
                *losses(0.5),
            ),
            run("cpu-only", "completed", *losses(0.5)),
        ),
    ),
    Situation(
        "A TPU",
        "F317",
        "info",
        "The TPU has no float64",
        seen(
            run("as-is", "completed", Devices(names=[*CPU.names, "/physical_device:TPU:0"]), *losses(0.5)),
            run("cpu-only", "completed", *losses(0.5)),
        ),
    ),
    Situation(
        "A TensorFlow for AMD's cards",
        "F318",
        "info",
        "This TensorFlow was built for ROCm and lists one",
        seen(
            run("as-is", "completed", GPU, Build(cuda=False, rocm=True), *losses(0.5)),
            run("cpu-only", "completed", *losses(0.5)),
        ),
    ),
    Situation(
        "A card with few float64 units",
        "F319",
        "info",
        "NVIDIA L4 does float64 at 1/64 of its float32 rate",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5)),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[L4],
            cards=[RATE64],
        ),
    ),
    Situation(
        "A card that is cut into slices",
        "F323",
        "info",
        "NVIDIA A100 is cut into slices (MIG)",
        seen(
            run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5)),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
            cards=[Card(0, rate=2, rate_source="the driver", mig=True)],
        ),
    ),
    Situation(
        "A card that TensorFlow uses, and no run on the CPU to compare with",
        "",
        "",
        "TensorFlow lists 1 accelerator, but there was no CPU-only run",
        seen(run("as-is", "completed", GPU, BUILT, settings()), gpus=[A100]),
    ),
]
