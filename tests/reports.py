"""Reports made by hand for the tests of what shows, saves or weighs them: nothing was run."""

from __future__ import annotations

import msgspec

from f64doctor.report import (
    CheckResult,
    Code,
    Comparison,
    ComparisonRow,
    Edit,
    Environment,
    ExceptionReport,
    Finding,
    Gpu,
    Grade,
    Location,
    Measure,
    MemoryLimit,
    MemoryReport,
    Message,
    Related,
    Remedy,
    Report,
    RunReport,
    Severity,
    Status,
    StepReport,
    Table,
    TargetReport,
    Timeline,
    TimelineRow,
    Verdict,
)

LATE_SETTING = Finding(
    code="F203",
    check="layers",
    title="the global policy was latched before set_floatx",
    severity=Severity.ERROR,
    grade=Grade.OBSERVED,
    summary="All 3 layers keep float32.",
    location=Location("train.py", 6, 'keras.config.set_floatx("float64")'),
    related=[Related("blocks.py", 3, "latches the policy: float32")],
    evidence=[
        Timeline(
            "Order of events",
            [
                TimelineRow("keras.Sequential([", "policy → float32", 0.31, Location("blocks.py", 3)),
                TimelineRow('set_floatx("float64")', "floatx → float64", 0.34, Location("train.py", 6), True),
                TimelineRow("fit(x, y)", "7.2 of 15.9 digits kept", 10.4, Location("train.py", 16)),
            ],
        ),
        Table(
            "Layers", ["layer", "dtype", "parameters"], [["dense", "float32", "12"], ["dense_1", "float32", "1,033"]]
        ),
        Comparison(
            "As it is, and on the CPU",
            ["as-is", "cpu-only"],
            [ComparisonRow("outcome", ["raised", "completed"], True), ComparisonRow("loss, step 1", ["0.5", "0.5"])],
        ),
        Code("The setting", "train.py", 5, ["", 'keras.config.set_floatx("float64")', "\tx = 1"], [6]),
        Message("Keras says", "first line\nsecond line"),
        Measure("Digits kept", 7.2, "digits", "7.2 of 15.9"),
    ],
    remedies=[
        Remedy(
            "move the setting before whatever builds layers",
            "Keras keeps the dtype policy that was current when the first layer was made.",
            'from blocks import trunk\nkeras.config.set_floatx("float64")',
            'keras.config.set_floatx("float64")\nfrom blocks import trunk',
            [Edit("train.py", 4, "from blocks import trunk", "")],
            proved=True,
        )
    ],
)

NOTE = Finding(
    code="F301",
    check="device",
    title="one operation has no float64 kernel on GPUs",
    severity=Severity.INFO,
    grade=Grade.INFERRED,
    summary="It would run on the CPU.",
)

WARNING = msgspec.structs.replace(
    NOTE, code="F402", check="casts", title="a metric computes in float32", severity=Severity.WARNING
)


def checks(layers: Status = Status.FAILED, summary: str = "1 finding") -> list[CheckResult]:
    """The five results, of which that of the layers can be chosen."""
    return [
        CheckResult("inputs", Status.PASSED, "x (256, 3), y (256, 1): float64, 52 of 52 mantissa bits in use", 0.1),
        CheckResult("layers", layers, summary),
        CheckResult("device", Status.SKIPPED, "no accelerator here; 1 op would have no float64 GPU kernel"),
        CheckResult(
            "casts",
            Status.PASSED,
            "2 traced functions, 612 ops: nothing narrows",
            evidence=[Measure("Operations seen", 612, "ops", "612 in 2 functions")],
        ),
        CheckResult("memory", Status.PASSED, "peak 61 MiB of 22.9 GiB free"),
    ]


def failed_report() -> Report:
    """A late setting as the root cause, a note, a run that was bounded and one that raised."""
    return Report(
        target=TargetReport("script", "train.py", ["--epochs", "5"]),
        environment=Environment(
            python="3.11.7",
            executable="/venv/bin/python",
            tensorflow="2.21.0",
            keras="3.15.1",
            numpy="2.4.6",
            devices=["/physical_device:CPU:0"],
            gpus=[Gpu(0, "NVIDIA H200", 140 * 2**30, 139 * 2**30, "9.0", "550.54.14")],
            memory=MemoryReport(24 * 2**30, 22 * 2**30, [MemoryLimit(2**33, "/sys/fs/cgroup/memory.max")]),
        ),
        verdict=Verdict(
            Status.FAILED,
            "F203",
            'Not float64: set_floatx("float64") at train.py:6 comes too late. All 3 layers compute in float32.',
            True,
            "move train.py:6 above line 4 (from blocks import trunk)",
        ),
        checks=checks(),
        findings=[LATE_SETTING, NOTE],
        runs=[
            RunReport(
                "as-is",
                "stopped",
                4.2,
                bounded=["3 of 24 steps"],
                steps=[StepReport(1, 0.5, 0.2), StepReport(2, 0.4), StepReport(3, 0.25)],
                peak_process_bytes=640 * 2**20,
                peak_device_bytes={"/physical_device:GPU:0": 61 * 2**20},
            ),
            RunReport(
                "cpu-only",
                "raised",
                1.0,
                1,
                ExceptionReport("ValueError", "shapes differ\nand more", [Location("train.py", 16, "model.fit(x, y)")]),
                "loading\nTraceback (most recent call last):\nValueError: shapes differ",
            ),
        ],
        f64doctor="0.1.0",
        seconds=4.2,
    )


def healthy_report() -> Report:
    """Nothing found."""
    return msgspec.structs.replace(
        failed_report(),
        verdict=Verdict(Status.PASSED, None, "float64 from the arrays to the weights.", True),
        checks=checks(Status.PASSED, "3 layers, all float64"),
        findings=[],
        runs=[RunReport("as-is", "completed", 2.0, 0)],
    )


def with_verdict(status: Status, *findings: Finding) -> Report:
    """A report with this verdict and these findings."""
    return msgspec.structs.replace(
        failed_report(), verdict=Verdict(status, None, "a sentence", None), findings=list(findings)
    )
