"""The device and memory checks on observations that this machine cannot make."""

from __future__ import annotations

from f64doctor.checks import judge
from f64doctor.observe import Machine, Observations, Run
from f64doctor.observe.events import AnyEvent, Devices, End, Failure, Frame, Setting, Step
from f64doctor.report import Gpu, MemoryReport, Status

GPU = Devices(names=["/physical_device:CPU:0", "/physical_device:GPU:0"])
CPU = Devices(names=["/physical_device:CPU:0"])
FIT = Frame("/job/train.py", 12, "<module>", "model.fit(x, y)")


def run(name: str, outcome: str, *events: AnyEvent, **more: object) -> Run:
    code = 0 if outcome == "completed" else 1
    found = Run(name=name, outcome=outcome, seconds=3.0, exit_code=code, events=list(events), peak_bytes=2**29)
    for key, value in more.items():
        setattr(found, key, value)
    return found


def observations(*runs: Run, gpus: list[Gpu] | None = None, available: int = 16 * 2**30) -> Observations:
    machine = Machine(gpus=gpus or [], memory=MemoryReport(available_bytes=available))
    return Observations(script="/job/train.py", cwd="/job", runs=list(runs), machine=machine)


def failure(type_: str, message: str) -> Failure:
    return Failure(type=type_, message=message, frames=[FIT])


def test_without_an_accelerator_the_check_says_so_and_passes_nothing() -> None:
    result, findings = judge("device", observations(run("as-is", "completed", CPU)))
    assert (result.status, findings) == (Status.SKIPPED, [])
    assert "no accelerator here" in result.summary


def test_failing_on_the_gpu_alone_is_the_devices_fault() -> None:
    gpu = run("as-is", "raised", GPU, failure("NotFoundError", "Could not find device for node: DT_DOUBLE"))
    cpu = run("cpu-only", "completed", CPU, Step(number=1, loop="fit", loss=0.5))
    result, findings = judge("device", observations(gpu, cpu))
    assert result.status is Status.FAILED
    assert [(f.code, f.location.line if f.location else 0) for f in findings] == [("F301", 12)]


def test_failing_on_both_is_not() -> None:
    wrong = failure("ValueError", "bad shape")
    result, findings = judge(
        "device", observations(run("as-is", "raised", GPU, wrong), run("cpu-only", "raised", wrong))
    )
    assert (result.status, findings) == (Status.PASSED, [])


def losses(*values: float) -> list[AnyEvent]:
    return [Step(number=number, loop="fit", loss=value) for number, value in enumerate(values, 1)]


def test_losses_that_part_are_shown_at_the_first_step() -> None:
    gpu = run("as-is", "completed", GPU, *losses(0.5, 0.4, 0.3))
    cpu = run("cpu-only", "completed", *losses(0.5, 0.4001, 0.31))
    _, findings = judge("device", observations(gpu, cpu))
    assert [f.code for f in findings] == ["F302"]
    assert findings[0].summary.startswith("At step 2")


def test_losses_that_differ_by_rounding_agree() -> None:
    gpu = run("as-is", "completed", GPU, *losses(0.5, 0.4))
    cpu = run("cpu-only", "completed", *losses(0.5 * (1 + 1e-13), 0.4))
    result, findings = judge("device", observations(gpu, cpu))
    assert (result.status, findings) == (Status.PASSED, [])


def test_unseeded_runs_are_not_called_different() -> None:
    gpu = run("as-is", "completed", GPU, *losses(0.5, 0.4))
    cpu = run("cpu-only", "completed", *losses(0.9, 0.7))
    _, findings = judge("device", observations(gpu, cpu))
    assert findings == []


def test_a_card_that_tensorflow_does_not_list_is_told() -> None:
    result, findings = judge("device", observations(run("as-is", "completed", CPU), gpus=[Gpu(0, "NVIDIA L4")]))
    assert [f.code for f in findings] == ["F303"]
    assert result.status is Status.WARNING


def test_an_allocation_that_fails_is_computed_in_both_precisions() -> None:
    message = (
        "OOM when allocating tensor with shape[190000,190000] and type double on "
        "/job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu [Op:MatMul]"
    )
    _, findings = judge("memory", observations(run("as-is", "raised", failure("ResourceExhaustedError", message))))
    assert [f.code for f in findings] == ["F501"]
    assert "269.0 GiB in float64, 134.5 GiB in float32" in findings[0].summary
    assert "would not fit either" in findings[0].summary


def test_a_tensor_that_float32_would_fit_blames_the_doubling() -> None:
    message = "OOM when allocating tensor with shape[50000,50000] and type double on /device:CPU:0 by allocator cpu"
    _, findings = judge("memory", observations(run("as-is", "raised", failure("ResourceExhaustedError", message))))
    assert "in float32 it would fit" in findings[0].summary


def test_a_kill_that_the_kernel_counted_is_a_kill_for_memory() -> None:
    killed = run("as-is", "killed", signal="SIGKILL", exit_code=-9, oom_kills=1)
    _, findings = judge("memory", observations(killed))
    assert [f.code for f in findings] == ["F503"]


def test_a_kill_by_the_user_is_none() -> None:
    killed = run("as-is", "killed", signal="SIGKILL", exit_code=-9)
    _, findings = judge("memory", observations(killed))
    assert findings == []


def test_running_out_of_time_is_no_memory_fault() -> None:
    _, findings = judge("memory", observations(run("as-is", "timed-out")))
    assert findings == []


def test_a_check_that_crashes_is_a_result() -> None:
    broken = Observations(
        script="/job/train.py", cwd="/job", runs=[run("as-is", "completed", End(outcome="completed"))]
    )
    broken.machine = None  # type: ignore[assignment]
    result, findings = judge("memory", broken)
    assert (result.status, findings) == (Status.CRASHED, [])


def test_a_peak_near_the_limit_is_a_warning_where_float64_is_wanted() -> None:
    wanted = Setting(kind="floatx", name="set_floatx", value="float64", frames=[FIT])
    _, findings = judge("memory", observations(run("as-is", "completed", wanted), available=2**29))
    assert [f.code for f in findings] == ["F504"]
