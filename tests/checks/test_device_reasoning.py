"""What the device check reasons with: tolerances, which runs are worth making, what a build covers, and what a log says."""

from __future__ import annotations

import math

import pytest

from f64doctor.checks import judge, parting
from f64doctor.checks.obstacles import covers
from f64doctor.checks.parting import compared, follow_ups, tolerance
from f64doctor.checks.placement import copied
from f64doctor.checks.runtime_words import what_was_said
from f64doctor.checkup import CPU_ONLY, CPU_WITH_XLA, GPU_WITHOUT_TF32, GPU_WITHOUT_XLA, PURPOSES, surroundings
from f64doctor.observe import Source, SourceFile
from f64doctor.observe.events import AnyEvent, Devices, DeviceSettings, Frame, Graph, Kernel, TensorFact
from f64doctor.observe.facts import Card, CardUse
from f64doctor.report import Comparison, Gpu, Severity, Status, Table
from f64doctor.runs.log import NOTICES_KEPT, Log
from tests.checks.device_situations import (
    A100,
    BUILT,
    CPU,
    FIT,
    FLOATS,
    GPU,
    L4,
    LOSS,
    NO_KERNEL,
    SPARSE,
    failure,
    jitted,
    lookup,
    losses,
    run,
    seen,
    settings,
)

FLOAT32 = Graph(name="step", operations=100, dtypes={"float64": 2, "float32": 80})


# -- tolerances


def test_the_tolerance_lies_between_the_roundings_of_double_and_of_float32() -> None:
    assert 2**-53 * 1e4 < tolerance(1, False) < tolerance(9, False) < 2**-24
    assert 2**-24 < tolerance(1, True) < tolerance(9, True) < 0.1


@pytest.mark.parametrize(
    ("here", "there", "parts"),
    [
        ([0.5, 0.4], [0.5 * (1 + 1e-12), 0.4 * (1 - 1e-11)], False),
        ([0.5, 0.4], [0.5, 0.4 * (1 + 6e-8)], True),
        ([0.5, 0.4], [0.5 * (1 + 3e-4), 0.4], True),
        ([0.5, math.nan], [0.5, 0.4], True),
        ([0.5, math.nan], [0.5, math.nan], False),
        ([0.5, math.inf], [0.5, math.inf], False),
        ([0.0, 0.0], [0.0, 0.0], False),
    ],
)
def test_losses_part_beyond_rounding_and_not_before(here: list[float], there: list[float], parts: bool) -> None:
    parted, unknown = compared(
        run("as-is", "completed", settings(), FLOATS, *losses(*here)), run("cpu-only", "completed", *losses(*there))
    )
    assert (parted is not None, unknown) == (parts, "")


def test_a_float32_model_is_compared_as_one() -> None:
    parted, _ = compared(
        run("as-is", "completed", settings(), FLOAT32, *losses(0.5)),
        run("cpu-only", "completed", *losses(0.5 * (1 + 5e-5))),
    )
    assert parted is None


def test_small_differences_grow_for_ever_and_tell_nothing_later() -> None:
    here = [1.0] * 10 + [1.5]
    parted, _ = compared(
        run("as-is", "completed", settings(), FLOATS, *losses(*here)),
        run("cpu-only", "completed", *losses(*[1.0] * 11)),
    )
    assert parted is None


def test_nothing_follows_from_losses_without_a_seed() -> None:
    unseeded = DeviceSettings(seeded=False)
    parted, unknown = compared(
        run("as-is", "completed", unseeded, FLOATS, *losses(0.5)),
        run("cpu-only", "completed", *losses(0.5001)),
    )
    assert parted is None
    assert "without a seed" in unknown


# -- which runs are worth making


def test_runs_that_agree_need_no_others() -> None:
    assert (
        follow_ups(seen(run("as-is", "completed", GPU, *losses(0.5)), run("cpu-only", "completed", *losses(0.5)))) == []
    )


def test_a_failure_on_the_accelerator_asks_about_xla() -> None:
    both = seen(run("as-is", "raised", GPU, failure("InternalError", "no")), run("cpu-only", "completed"))
    assert follow_ups(both) == [GPU_WITHOUT_XLA, CPU_WITH_XLA]


def test_losses_that_part_ask_about_tf32_too() -> None:
    both = seen(
        run("as-is", "completed", GPU, settings(), FLOATS, *losses(0.5, 0.4)),
        run("cpu-only", "completed", *losses(0.5, 0.41)),
    )
    assert follow_ups(both) == [GPU_WITHOUT_XLA, CPU_WITH_XLA, GPU_WITHOUT_TF32]


def test_xla_that_was_never_on_is_not_asked_about() -> None:
    both = seen(
        run("as-is", "completed", GPU, settings(), FLOATS, jitted(False), *losses(0.5, 0.4)),
        run("cpu-only", "completed", *losses(0.5, 0.41)),
    )
    assert follow_ups(both) == [GPU_WITHOUT_TF32]


@pytest.mark.parametrize("outcome", ["timed-out", "unstarted"])
def test_a_run_that_ran_out_of_time_disagrees_with_nobody(outcome: str) -> None:
    assert follow_ups(seen(run("as-is", outcome, GPU), run("cpu-only", "completed"))) == []


def test_a_failure_that_explains_itself_needs_no_other_runs() -> None:
    missing = run("as-is", "raised", GPU, lookup(SPARSE), failure("NotFoundError", NO_KERNEL))
    library = run("as-is", "raised", GPU, failure("InternalError", "libdevice not found at ./libdevice.10.bc"))
    for first in (missing, library):
        assert follow_ups(seen(first, run("cpu-only", "completed"))) == []


def test_every_run_that_may_be_made_says_what_it_is_for() -> None:
    assert set(PURPOSES) == {"as-is", CPU_ONLY, GPU_WITHOUT_XLA, CPU_WITH_XLA, GPU_WITHOUT_TF32}
    assert (parting.CPU_RUN, parting.CPU_WITH_XLA) == (CPU_ONLY, CPU_WITH_XLA)
    assert (parting.GPU_WITHOUT_XLA, parting.GPU_WITHOUT_TF32) == (GPU_WITHOUT_XLA, GPU_WITHOUT_TF32)


def test_the_surroundings_of_a_run_hide_what_it_must_not_see() -> None:
    outside = {"CUDA_VISIBLE_DEVICES": "0", "TF_XLA_FLAGS": "--tf_xla_auto_jit=2", "HOME": "/home/me"}
    for name in (CPU_ONLY, CPU_WITH_XLA):
        inside = surroundings(name, outside)
        assert [inside[f"{maker}_VISIBLE_DEVICES"] for maker in ("CUDA", "HIP", "ROCR")] == ["", "", ""]
        assert inside["HOME"] == "/home/me"
    assert surroundings(GPU_WITHOUT_XLA, outside) == {"CUDA_VISIBLE_DEVICES": "0", "HOME": "/home/me"}
    assert surroundings(GPU_WITHOUT_TF32, outside) == {**outside, "NVIDIA_TF32_OVERRIDE": "0"}
    assert surroundings("as-is", outside) == outside


# -- builds and cards


@pytest.mark.parametrize(
    ("capability", "covered"),
    [
        ("6.0", True),
        ("6.1", True),
        ("7.5", True),
        ("8.6", True),
        ("8.9", True),
        ("9.0", True),
        ("5.2", False),
        ("12.0", False),
    ],
)
def test_a_build_covers_a_card_of_the_same_generation(capability: str, covered: bool) -> None:
    assert covers(["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"], capability) is covered


def test_a_driver_of_the_same_major_version_is_new_enough() -> None:
    healthy = run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5))
    _, findings = judge(
        "device", seen(healthy, run("cpu-only", "completed", *losses(0.5)), gpus=[A100], cuda_version="12.0")
    )
    assert findings == []


def test_a_card_with_full_float64_units_is_shown_and_not_complained_about() -> None:
    healthy = run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5))
    both = seen(healthy, run("cpu-only", "completed", *losses(0.5)), gpus=[A100], cards=[Card(0, 2, "the driver")])
    result, findings = judge("device", both)
    assert (result.status, findings) == (Status.PASSED, [])
    assert [evidence.title for evidence in result.evidence] == ["side by side", "float64 rate"]


def test_what_the_card_did_meanwhile_is_shown() -> None:
    healthy = run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5))
    healthy.cards = [CardUse(0, 9, busy=87.0, busiest=99.0, memory_peak=2**34, watts=251.0)]
    result, _ = judge("device", seen(healthy, run("cpu-only", "completed", *losses(0.5)), gpus=[A100]))
    table = result.evidence[-1]
    assert isinstance(table, Table)
    assert table.rows == [["as-is", "NVIDIA A100", "87 %", "16.0 GiB", "?", "251 W"]]


def test_a_slow_card_is_no_news_for_a_script_that_wants_no_float64() -> None:
    quiet = run("as-is", "completed", GPU, BUILT, settings(), *losses(0.5))
    quiet.events = quiet.events[1:]  # without the wish
    _, findings = judge(
        "device", seen(quiet, run("cpu-only", "completed"), gpus=[L4], cards=[Card(0, 64, "the driver")])
    )
    assert findings == []


@pytest.mark.parametrize("value", ["0", "0,1", "GPU-1234", "MIG-1234"])
def test_a_variable_that_shows_the_card_is_not_why_it_is_missing(value: str) -> None:
    shown = run("as-is", "completed", CPU, BUILT, settings(variables={"CUDA_VISIBLE_DEVICES": value}))
    _, findings = judge("device", seen(shown, gpus=[A100]))
    assert [finding.code for finding in findings] == ["F303"]


def test_a_machine_without_a_card_is_not_told_of_drivers() -> None:
    result, findings = judge("device", seen(run("as-is", "completed", CPU, BUILT, settings(), log="no_libcuda")))
    assert (result.status, findings) == (Status.SKIPPED, [])


def test_a_script_that_insists_on_its_gpu_is_not_blamed() -> None:
    both = seen(
        run("as-is", "completed", GPU, BUILT, *losses(0.5)),
        run("cpu-only", "raised", failure("RuntimeError", "this job needs a GPU")),
        gpus=[A100],
    )
    result, findings = judge("device", both)
    assert (result.status, findings) == (Status.INCONCLUSIVE, [])


def test_a_run_that_was_killed_on_the_accelerator_is_the_devices_fault() -> None:
    _, findings = judge("device", seen(run("as-is", "killed", GPU), run("cpu-only", "completed"), gpus=[A100]))
    assert [finding.code for finding in findings] == ["F301"]


def test_what_explains_a_failure_shows_the_runs_side_by_side() -> None:
    _, findings = judge(
        "device",
        seen(
            run("as-is", "raised", GPU, BUILT, failure("InternalError", "libdevice not found at ./libdevice.10.bc")),
            run("cpu-only", "completed", *losses(0.5)),
            gpus=[A100],
        ),
    )
    assert isinstance(findings[0].evidence[0], Comparison)
    assert findings[0].severity is Severity.ERROR


def test_a_missing_kernel_on_the_gpu_is_not_a_missing_kernel_everywhere() -> None:
    both = seen(
        run("as-is", "raised", LOSS, GPU, BUILT, settings(), lookup(SPARSE), failure("NotFoundError", NO_KERNEL)),
        run("cpu-only", "completed", *losses(0.5)),
        gpus=[A100],
    )
    assert judge("casts", both)[1] == []


# -- predictions


def test_the_line_of_the_loss_is_the_line_to_change() -> None:
    _, findings = judge("device", seen(run("as-is", "completed", LOSS, CPU, lookup(SPARSE))))
    place = findings[0].location
    assert place is not None and place.line == 9
    assert [(one.line, one.note) for one in findings[0].related] == [(FIT.line, "computed here")]


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["# sparse_categorical_crossentropy", "model.compile('sgd', 'sparse_categorical_crossentropy')"], 2),
        (["from keras.losses import SparseCategoricalCrossentropy", "loss = SparseCategoricalCrossentropy()"], 2),
        (
            ["a.compile(loss='sparse_categorical_crossentropy')", "b.compile(loss='sparse_categorical_crossentropy')"],
            FIT.line,
        ),
        ([], FIT.line),
    ],
)
def test_a_loss_that_nobody_saw_made_is_looked_for_in_the_source(lines: list[str], line: int) -> None:
    written = seen(run("as-is", "completed", CPU, lookup(SPARSE)))
    written.source = Source(files=[SourceFile("/job/train.py", lines)])
    _, findings = judge("device", written)
    place = findings[0].location
    assert place is not None and place.line == line


def test_what_xla_compiles_on_the_gpu_is_not_said_to_be_copied() -> None:
    here = run("as-is", "completed", LOSS, GPU, BUILT, settings(), jitted(True), lookup(SPARSE), *losses(0.5))
    _, findings = judge("device", seen(here, run("cpu-only", "completed", *losses(0.5)), gpus=[A100]))
    assert [finding.code for finding in findings] == ["F304"]
    assert "XLA compiles it here" in findings[0].summary


def test_copies_are_counted_by_row_where_the_batch_is_open() -> None:
    assert copied(SPARSE) == (4, 0, 8 * 10 + 8 + 8 + 8 * 10)
    fixed = Kernel(
        op="X", inputs=[TensorFact("float64", [2, 3])], outputs=[TensorFact("resource", []), TensorFact("bool")]
    )
    assert copied(fixed) == (2, 48, 0)


def test_gradients_belong_to_what_they_are_the_gradients_of() -> None:
    forward = Kernel(op="DepthToSpace", cpu64=True, gpu32=True, by="user", frames=[FIT])
    backward = Kernel(op="SpaceToDepth", cpu64=True, gpu32=True, backward=True)
    _, findings = judge("device", seen(run("as-is", "completed", CPU, lookup(forward, backward))))
    assert [finding.code for finding in findings] == ["F304"]
    assert "DepthToSpace, SpaceToDepth" in findings[0].summary


def test_many_lines_are_told_together() -> None:
    gaps = [
        Kernel(op=f"Odd{n}", cpu64=True, gpu32=True, by="user", frames=[Frame("/job/train.py", n, "f")])
        for n in range(1, 30)
    ]
    _, findings = judge("device", seen(run("as-is", "completed", CPU, lookup(*gaps))))
    assert [finding.location.line for finding in findings if finding.location] == [1, 2, 3, 4, 5]
    assert "Odd5, Odd6, Odd7 and 22 more" in findings[-1].summary


def test_an_accelerator_without_float64_is_one_finding_and_not_one_for_each_operation() -> None:
    metal = Devices(names=GPU.names, details={"/physical_device:GPU:0": "METAL"})
    here = run("as-is", "completed", LOSS, metal, lookup(SPARSE), *losses(0.5))
    _, findings = judge("device", seen(here, run("cpu-only", "completed", *losses(0.5))))
    assert [finding.code for finding in findings] == ["F317"]


def test_a_blind_registry_says_so_in_the_evidence() -> None:
    blind = lookup(SPARSE)
    table = type(blind)(source="table 2.15", nodes=87, kinds=25, gaps=[SPARSE])
    _, findings = judge("device", seen(run("as-is", "completed", CPU, table)))
    assert findings[0].evidence[0].title == "kernels of TensorFlow 2.15 (this build lists none for GPUs)"


# -- logs


def test_a_log_is_believed_line_by_line_and_each_thing_is_said_once() -> None:
    one = run("as-is", "completed", CPU, log="driver_mismatch")
    one.notices = one.notices * 3
    assert [said.kind for said in what_was_said(one)] == ["no-cuinit", "driver-mismatch"]


def test_what_the_runtime_says_early_outlives_a_chatty_script() -> None:
    log = Log()
    log.feed(b"W0000 00:00:1753232013.685876   24341 gpu_device.cc:2431] early\n" + b"chatter\n" * 5000)
    log.feed(b"2018-01-22 10:12:52.860623: E tensorflow/x.cc:406] late\nEpoch 1\n")
    assert [line.rpartition("] ")[2] for line in log.notices] == ["early", "late"]
    assert "early" not in log.tail()


def test_a_script_that_writes_like_the_runtime_cannot_flood_the_notices() -> None:
    log = Log()
    for _ in range(3):
        log.feed(b"2018-01-22 10:12:52.860623: E x\n" * 1000)
    assert len(log.notices) == NOTICES_KEPT


def test_a_driver_that_does_not_start_is_told_in_the_driver_s_words() -> None:
    here = run("as-is", "completed", CPU, BUILT, settings())
    here.notices = [
        "E0000 00:00:1796100311.272860    8956 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error:"
        " Failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error"
    ]
    _, findings = judge("device", seen(here, gpus=[A100]))
    assert "CUDA does not start: CUDA_ERROR_UNKNOWN: unknown error" in findings[0].summary


def test_could_not_find_cuda_drivers_proves_nothing_of_the_driver() -> None:
    here = run("as-is", "completed", CPU, BUILT, settings())
    here.notices = [
        "I0000 00:00:1796100303.595974    8951 cudart_stub.cc:31] Could not find cuda drivers on your machine, GPU will not be used."
    ]
    _, findings = judge("device", seen(here, gpus=[A100], missing_libraries={"libcudart.so.12": "cannot open"}))
    assert "libcudart.so.12 is not found" in findings[0].summary
    assert "libcuda.so.1" not in findings[0].summary


HOSTILE = "\x1b[31m[bold]|<script>\r\n| " * 3


def test_hostile_words_stay_words() -> None:
    events: list[AnyEvent] = [
        GPU,
        BUILT,
        failure("Internal\x1b[0mError", HOSTILE + "libdevice not found at " + HOSTILE),
    ]
    card = Gpu(0, HOSTILE, compute_capability=HOSTILE, driver=HOSTILE)
    result, findings = judge("device", seen(run("as-is", "raised", *events), run("cpu-only", "completed"), gpus=[card]))
    assert result.status is Status.FAILED
    assert [finding.code for finding in findings][:1] == ["F311"]
