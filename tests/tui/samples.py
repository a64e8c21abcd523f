"""Sample reports and checkups for the wizard's tests and screenshots: nothing behind them runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable

import msgspec

from f64doctor.progress import (
    CheckJudged,
    CheckStarted,
    EnvironmentKnown,
    Finished,
    Planned,
    Progress,
    RunEnded,
    RunProgress,
    RunStarted,
)
from f64doctor.report import (
    Bar,
    BarPart,
    Bars,
    CheckResult,
    Code,
    Comparison,
    ComparisonRow,
    Environment,
    Evidence,
    ExceptionReport,
    Finding,
    Grade,
    Location,
    Measure,
    MemoryReport,
    Message,
    Related,
    Remedy,
    Report,
    RunReport,
    Series,
    SeriesLine,
    Severity,
    Status,
    StepReport,
    Table,
    TargetReport,
    Timeline,
    TimelineRow,
    Verdict,
)

TARGET = TargetReport(kind="script", path="train.py", args=["--epochs", "2"])
PLAN = Planned(
    target=TARGET,
    interpreter="/home/ada/venvs/tf/bin/python",
    runs=["as-is", "cpu-only"],
    steps=3,
    time_limit=300.0,
)
ENVIRONMENT = Environment(
    python="3.11.7",
    executable="/home/ada/venvs/tf/bin/python",
    tensorflow="2.21.0",
    keras="3.15.1",
    keras_backend="tensorflow",
    numpy="2.3.4",
    platform="Linux-6.12-x86_64",
    devices=["CPU:0"],
    memory=MemoryReport(total_bytes=25_769_803_776, available_bytes=24_588_820_480),
)
RUN = RunReport(
    name="as-is",
    outcome="stopped",
    seconds=4.2,
    exit_code=0,
    log_tail="Epoch 1/2\n3/24 - loss: 0.4118",
    bounded=["fit at train.py:16: 3 of 24 steps"],
    steps=[StepReport(1, 0.6931, 0.61), StepReport(2, 0.5127, 0.02), StepReport(3, 0.4118, 0.02)],
    peak_process_bytes=641_728_512,
)

_INPUTS = CheckResult(
    name="inputs",
    status=Status.PASSED,
    summary="x (256, 3) and y (256, 1) are float64, and 52 of 52 mantissa bits are in use.",
    evidence=[
        Table(
            title="Arrays that reach fit",
            columns=["array", "shape", "dtype", "mantissa bits"],
            rows=[["x", "(256, 3)", "float64", "52"], ["y", "(256, 1)", "float64", "52"]],
        ),
        Timeline(
            title="How x came to be",
            rows=[
                TimelineRow("np.load", "float64", None, Location("features.py", 5)),
                TimelineRow("x / x.max(0)", "float64", None, Location("train.py", 11)),
                TimelineRow("fit(x, y)", "float64", None, Location("train.py", 16)),
            ],
        ),
    ],
)
_DEVICE = CheckResult(
    name="device",
    status=Status.SKIPPED,
    summary="There is no accelerator here. One operation would have no float64 kernel on a GPU.",
)
_CASTS = CheckResult(
    name="casts", status=Status.PASSED, summary="2 traced functions with 612 operations: nothing narrows."
)
_MEMORY = CheckResult(
    name="memory",
    status=Status.PASSED,
    summary="The peak was 612 MiB, and 22.9 GiB were free.",
    evidence=[
        Measure(title="Peak of the process", value=641_728_512, unit="bytes", text="612 MiB, 2.6 % of what was free"),
        Measure(title="Weights", value=2.0, unit="times", text="twice the bytes of the same weights in float32"),
    ],
)

LATE_FLOATX = Finding(
    code="F203",
    check="layers",
    title="The global policy was latched to float32 before set_floatx",
    severity=Severity.ERROR,
    grade=Grade.OBSERVED,
    summary="Keras keeps the policy that was current when the first layer was made: 7.2 of 15.9 digits survive.",
    location=Location("train.py", 6, 'keras.config.set_floatx("float64")'),
    related=[
        Related("train.py", 4, "imports blocks, which makes the layer"),
        Related("train.py", 13, "Dense(1) computes in float32, and 2 more"),
    ],
    evidence=[
        Timeline(
            title="What came when",
            rows=[
                TimelineRow("Sequential", "policy → float32", 0.31, Location("blocks.py", 3)),
                TimelineRow("set_floatx", "floatx → float64", 0.31, Location("train.py", 6), turning_point=True),
                TimelineRow("Dense", "float32", 0.33, Location("train.py", 13)),
                TimelineRow("fit(x)", "7.2 digits kept", 0.41, Location("train.py", 16)),
            ],
        ),
        Code(
            title="train.py",
            file="train.py",
            first_line=3,
            lines=[
                "import keras",
                "from blocks import trunk",
                "",
                'keras.config.set_floatx("float64")  # all in double from here',
                "",
                "x = np.load('features.npy')",
            ],
            marked=[6],
        ),
    ],
    remedies=[
        Remedy(
            title="move line 6 above line 4",
            why="The first layer then finds the policy at float64, and every later layer follows it.",
            before='from blocks import trunk\nkeras.config.set_floatx("float64")',
            after='keras.config.set_floatx("float64")\nfrom blocks import trunk',
            proved=True,
        )
    ],
)
FLOAT32_LITERAL = Finding(
    code="F207",
    check="layers",
    title="A layer asks for float32 by name",
    severity=Severity.WARNING,
    grade=Grade.SUSPECTED,
    summary="On a path that this run did not take.",
    location=Location("blocks.py", 21, 'Dense(8, dtype="float32")'),
)

FAILED_REPORT = Report(
    target=TARGET,
    environment=ENVIRONMENT,
    verdict=Verdict(
        status=Status.FAILED,
        root_cause="F203",
        summary='Not float64: set_floatx("float64") at train.py:6 comes too late. All 3 layers compute in float32.',
        float64_intended=True,
        advice="Move train.py:6 above line 4 (from blocks import trunk).",
    ),
    checks=[
        _INPUTS,
        CheckResult(
            name="layers",
            status=Status.FAILED,
            summary='set_floatx("float64") comes too late: the policy was already latched to float32, '
            "so all 3 layers stay float32.",
            evidence=[
                Table(
                    title="Layers",
                    columns=["layer", "made at", "compute", "weights", "parameters"],
                    rows=[
                        ["trunk_dense", "blocks.py:3", "float32", "float32", "128"],
                        ["trunk_dense_1", "blocks.py:3", "float32", "float32", "1,056"],
                        ["dense", "train.py:13", "float32", "float32", "33"],
                    ],
                )
            ],
        ),
        _DEVICE,
        _CASTS,
        _MEMORY,
    ],
    findings=[LATE_FLOATX, FLOAT32_LITERAL],
    runs=[RUN],
    f64doctor="0.1.0",
    seconds=4.2,
)

HEALTHY_REPORT = Report(
    target=TARGET,
    environment=ENVIRONMENT,
    verdict=Verdict(
        status=Status.PASSED,
        root_cause=None,
        summary="Float64 from the arrays to the weights: nothing narrows, and everything fits.",
        float64_intended=True,
        advice="Nothing to do.",
    ),
    checks=[
        _INPUTS,
        CheckResult(name="layers", status=Status.PASSED, summary="All 3 layers compute in float64."),
        _DEVICE,
        _CASTS,
        _MEMORY,
    ],
    findings=[],
    runs=[RUN],
    f64doctor="0.1.0",
    seconds=4.2,
)

MIXED_OPERANDS = Finding(
    code="F402",
    check="casts",
    title="A float32 constant meets a float64 tensor",
    severity=Severity.ERROR,
    grade=Grade.OBSERVED,
    summary="tf.constant(0.5) is float32 unless told otherwise; TensorFlow never promotes, so the product raises.",
    location=Location("losses.py", 9, "return alpha * error"),
    related=[Related("losses.py", 8, "makes alpha")],
    evidence=[
        Message(
            title="What TensorFlow said",
            text="InvalidArgumentError: cannot compute Mul as input #1(zero-based) was expected to be a float tensor "
            "but is a double tensor [Op:Mul] name: [/device:CPU:0]",
        ),
        Comparison(
            title="The same script in two ways",
            columns=["as-is", "float32"],
            rows=[
                ComparisonRow("outcome", ["raised", "completed"], differs=True),
                ComparisonRow("exception", ["InvalidArgumentError", "none"], differs=True),
                ComparisonRow("alpha", ["float32", "float32"]),
                ComparisonRow("error", ["float64", "float32"], differs=True),
                ComparisonRow("first loss", ["-", "0.6931"], differs=True),
                ComparisonRow("time", ["1.9 s", "2.1 s"]),
            ],
        ),
        Code(
            title="losses.py, in tilted_loss",
            file="losses.py",
            first_line=6,
            lines=[
                "def tilted_loss(y_true, y_pred):",
                "    error = y_true - y_pred",
                "    alpha = tf.constant(0.5)",
                "    return alpha * error",
            ],
            marked=[8, 9],
        ),
    ],
    remedies=[
        Remedy(
            title="give the constant the dtype of what it meets",
            why="A Python number has no dtype, so TensorFlow would take that of the tensor: alpha = 0.5 works too.",
            before="    alpha = tf.constant(0.5)",
            after="    alpha = tf.constant(0.5, dtype=error.dtype)",
        )
    ],
)
RAISED_REPORT = Report(
    target=TARGET,
    environment=msgspec.structs.replace(ENVIRONMENT, devices=["CPU:0", "GPU:0"]),
    verdict=Verdict(
        status=Status.FAILED,
        root_cause="F402",
        summary="It raises at losses.py:9: a float32 constant is multiplied by a float64 tensor.",
        float64_intended=True,
        advice="At losses.py:8 write tf.constant(0.5, dtype=error.dtype).",
    ),
    checks=[
        _INPUTS,
        CheckResult(name="layers", status=Status.PASSED, summary="All 3 layers compute in float64."),
        CheckResult(
            name="device",
            status=Status.INCONCLUSIVE,
            summary="The run ended before any operation ran on the GPU.",
        ),
        CheckResult(
            name="casts",
            status=Status.FAILED,
            summary="The product at losses.py:9 raises: its left side is float32, its right side float64.",
        ),
        CheckResult(name="memory", status=Status.SKIPPED, summary="No step was made, so there is no peak to judge."),
    ],
    findings=[MIXED_OPERANDS],
    runs=[
        RunReport(
            name="as-is",
            outcome="raised",
            seconds=1.9,
            exit_code=1,
            exception=ExceptionReport(
                type="InvalidArgumentError",
                message="cannot compute Mul as input #1(zero-based) was expected to be a float tensor but is a double "
                "tensor [Op:Mul]",
                frames=[Location("train.py", 16, "model.fit(x, y)"), Location("losses.py", 9, "return alpha * error")],
            ),
        ),
        msgspec.structs.replace(RUN, name="cpu-only", outcome="raised", steps=[], bounded=[]),
    ],
    f64doctor="0.1.0",
    seconds=4.1,
)

HOSTILE_TEXTS = (
    "[/home/x.py]",
    "[/device:GPU:0]",
    "layers[i].dtype",
    "[bold red]not markup[/]",
    "[@click=app.quit]not a link[/]",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "nul \x00 bell \x07 backspace \x08 delete \x7f c1 \x9b31m",
    "bidi \u202e evil \u2066 isolate \u200b zero width",
    "lone surrogate \ud800",
    "tab\tand\r\nline ends\rrewritten\u2028separator",
    "wide 漢字かな交じり文 and 👩‍👩‍👧 emoji",
    "e" + "\u0301" * 500,
    "x" * 10_000,
    "word " * 2_000,
    "$accent %s {braces} \\[escaped]",
    "",
)


def hostile_evidence(text: str) -> list[Evidence]:
    """One piece of each kind with ``text`` in every field that is free text."""
    location = Location(text, 1, text)
    parts = [BarPart(text, 3.0), BarPart(text, float("inf")), BarPart(text, float("nan")), BarPart(text, -1.0)]
    return [
        Bars(text, text, [Bar(text, parts), Bar(text, [])], 2.0, text),
        Series(text, text, text, [SeriesLine(text, [1.0, None, float("inf")]), SeriesLine(text, [])]),
        Timeline(text, [TimelineRow(text, text, 0.5, location, turning_point=True), TimelineRow(text, text)]),
        Table(text, [text] * 3, [[text] * 3, [text]]),
        Table(text, [text] * 12, [[text] * 12]),
        Code(text, text, 1, [text, text], [2]),
        Message(text, text),
        Measure(text, float("nan"), text, text),
        Comparison(text, [text, text], [ComparisonRow(text, [text, text], differs=True), ComparisonRow(text, [text])]),
    ]


def hostile_report(text: str) -> Report:
    """A report with ``text`` in every field that is free text."""
    findings = [
        Finding(
            code="F499",
            check=check,
            title=text,
            severity=Severity.ERROR,
            grade=Grade.SUSPECTED,
            summary=text,
            location=Location(text, 1, text),
            related=[Related(text, 1, text)],
            evidence=hostile_evidence(text),
            remedies=[Remedy(title=text, why=text, before=text, after=text + "\n" + text, proved=False)],
        )
        for check in ("inputs", "casts")
    ]
    names = ("inputs", "layers", "device", "casts", "memory")
    return Report(
        target=TargetReport(kind=text, path=text, args=[text]),
        environment=Environment(python=text, tensorflow=text, keras=text, platform=text, devices=[text]),
        verdict=Verdict(Status.FAILED, "F499", text, None, text),
        checks=[CheckResult(name, Status.FAILED, text, evidence=hostile_evidence(text)) for name in names],
        findings=findings,
        runs=[
            RunReport(
                name=text,
                outcome=text,
                seconds=1.0,
                exception=ExceptionReport(text, text, [Location(text, 1, text)]),
                log_tail=text,
                bounded=[text],
                steps=[StepReport(1, float("nan")), StepReport(2, float("inf")), StepReport(3, 1.0)],
            )
        ],
        f64doctor="0.1.0",
    )


def news_of(report: Report, *, log: Iterable[str] = ()) -> list[Progress]:
    """The news of a checkup that ends with ``report``, in the order in which they would come."""
    log = list(log) or ["Epoch 1/2", "1/24 - loss: 0.6931"]
    news: list[Progress] = [
        PLAN,
        RunStarted("as-is", "the script as it stands, three steps of each fit"),
        RunProgress("as-is", 0.4, stage="import tensorflow", log=log[:1], resident_bytes=210_000_000),
        EnvironmentKnown(report.environment),
        RunProgress("as-is", 2.0, 1, 0.6931, 480_000_000, "fit at train.py:16", log[1:]),
        RunProgress("as-is", 2.4, 2, 0.5127, 600_000_000, "fit at train.py:16", ["2/24 - loss: 0.5127"]),
        RunProgress("as-is", 2.9, 3, 0.4118, 641_000_000, "fit at train.py:16", ["3/24 - loss: 0.4118"]),
        RunEnded(report.runs[0]),
    ]
    for result in report.checks:
        news += [CheckStarted(result.name), CheckJudged(result, report.findings_of(result.name))]
    return [*news, Finished(report)]


class FakeCheckup:
    """A checkup whose news come one by one, each when ``go_on`` lets it, or with a pause between."""

    def __init__(self, report: Report, *, pause: float = 0.0, stop_after: int | None = None) -> None:
        self.news = news_of(report)
        self.pause = pause
        self.stop_after = stop_after
        self.starts = 0
        self.closes = 0

    @property
    def start(self) -> Callable[[], AsyncIterator[Progress]]:
        """What the wizard calls to begin."""
        return self._run

    async def _run(self) -> AsyncIterator[Progress]:
        self.starts += 1
        try:
            for number, news in enumerate(self.news):
                if self.stop_after is not None and number >= self.stop_after:
                    await asyncio.Event().wait()
                await asyncio.sleep(self.pause)
                yield news
        finally:
            # As with real child processes, ending takes a moment.
            await asyncio.sleep(0.01)
            self.closes += 1
