"""Findings about losses and metrics: they keep the floatx of the moment at which they were made."""

from __future__ import annotations

from f64doctor.checks.data_remedies import set_floatx_remedy
from f64doctor.checks.global_settings import move_remedy
from f64doctor.checks.intent import NARROW
from f64doctor.checks.showing import code_at, location_of, loss_measure, related
from f64doctor.checks.timeline import lines_of, timeline
from f64doctor.observe import Observations, Run, events, innermost
from f64doctor.report import Finding, Grade, Remedy, Severity

NAME = "layers"


def training_calls(run: Run) -> list[events.Fit]:
    """The calls in which Keras itself uses a model's losses and metrics."""
    return [fit for fit in run.all(events.Fit) if fit.call != "predict"]


def made_too_early(observations: Observations, run: Run, setting: events.Setting) -> list[Finding]:
    """Losses and metrics that were made before the setting, and are used."""
    found: list[Finding] = []
    early = _early(run, setting, "loss")
    if early:
        found.append(_loss_too_early(observations, run, setting, early))
    metrics = _early(run, setting, "metric")
    if metrics and not early:
        found.append(_metric_too_early(observations, run, setting, metrics))
    return found


def _early(run: Run, setting: events.Setting, role: str) -> list[events.Created]:
    """Objects of a role that are narrow and older than the setting, and that training uses (or could use, when no model tells)."""
    early = [
        e
        for e in run.all(events.Created)
        if e.role == role and e.t < setting.t and e.dtype in NARROW and e.explicit not in NARROW
    ]
    fits = training_calls(run)
    used = {serial for fit in fits for serial in (fit.losses if role == "loss" else fit.metrics)}
    known = bool(used) or (role == "metric" and bool(fits))
    return [e for e in early if e.serial in used] or ([] if known else [e for e in early if e.loaded is None])


def _loss_too_early(
    observations: Observations, run: Run, setting: events.Setting, losses: list[events.Created]
) -> Finding:
    frame = innermost(setting.frames)
    names = ", ".join(dict.fromkeys(loss.cls for loss in losses))
    call = f"{setting.name}({setting.value!r})"
    first = innermost(losses[0].frames)
    return Finding(
        code="F205",
        check=NAME,
        title=f"a loss was made before {call} and stays {losses[0].dtype}",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{names} was made in {losses[0].dtype} before {call}: predictions and targets are rounded to it before the loss is computed.",
        location=location_of(observations, frame),
        related=lines_of(observations, losses, "this loss is {dtype}"),
        evidence=[timeline(observations, run, setting), *(code_at(observations, frame) if frame else [])],
        remedies=[
            move_remedy(observations, frame, losses[0].frames[0] if losses[0].frames else first, None)
            if losses[0].frames
            else Remedy("make the loss after set_floatx"),
            Remedy(
                'or give the loss its dtype: dtype="float64"',
                why="Losses and metrics keep the floatx of the moment at which they were made.",
            ),
        ],
    )


def _metric_too_early(
    observations: Observations, run: Run, setting: events.Setting, metrics: list[events.Created]
) -> Finding:
    frame = innermost(setting.frames)
    call = f"{setting.name}({setting.value!r})"
    names = ", ".join(dict.fromkeys(metric.cls for metric in metrics))
    return Finding(
        code="F213",
        check=NAME,
        title=f"a metric was made before {call} and stays {metrics[0].dtype}",
        severity=Severity.WARNING,
        grade=Grade.OBSERVED,
        summary=f"{names} was made in {metrics[0].dtype} before {call}: what it reports has 7 digits. The weights are not touched by it.",
        location=location_of(observations, frame),
        related=lines_of(observations, metrics, "this metric is {dtype}"),
        evidence=[timeline(observations, run, setting), *(code_at(observations, frame) if frame else [])],
        remedies=[
            move_remedy(observations, frame, innermost(metrics[0].frames), None),
            Remedy(
                'or give the metric its dtype: dtype="float64"',
                why="Losses and metrics keep the floatx of the moment at which they were made.",
            ),
        ],
    )


def never_asked(observations: Observations, run: Run) -> list[Finding]:
    """A Keras loss in float32 that a loop of the script's own feeds with float64: Keras rounds both sides before it compares them."""
    if training_calls(run):
        return []  # fit rounds the data as well: the check of the inputs tells that
    narrow = [e for e in run.all(events.Created) if e.role == "loss" and e.dtype in NARROW and e.loaded is None]
    lines = {(e.frames[-1].file, e.frames[-1].line) for e in narrow if e.frames}
    rounds = [cast for cast in run.all(events.EagerCast) if cast.by == "framework" and cast.in_tape and cast.frames]
    traced = [
        narrowing
        for graph in run.all(events.Graph)
        for narrowing in graph.narrowings
        if narrowing.kind == "narrows"
        and narrowing.by == "framework"
        and narrowing.reaches in ("weights", "loss", "output")
    ]
    if not narrow or not (rounds or traced):
        return []
    first = narrow[0]
    frame = innermost(first.frames)
    used = innermost((rounds or traced)[0].frames)
    explicit = first.explicit in NARROW
    values = rounds[0].values if rounds else traced[0].values
    return [
        Finding(
            code="F217",
            check=NAME,
            title=f"the loss computes in {first.dtype}, what it is given is float64",
            severity=Severity.ERROR,
            grade=Grade.OBSERVED,
            summary=f"{first.cls} was made under floatx {first.floatx or 'float32'}: it rounds what it is given to {first.dtype} before it compares.",
            location=location_of(observations, frame),
            related=related(observations, used, "rounds here")
            if used is not None and (used.file, used.line) not in lines
            else [],
            evidence=[
                timeline(observations, run, first),
                *loss_measure(values),
                *(code_at(observations, frame) if frame else []),
            ],
            remedies=[
                Remedy(
                    f"drop dtype={first.explicit!r} from the loss"
                    if explicit
                    else 'make the loss with dtype="float64"',
                    why="A Keras loss converts what it is given to its own dtype.",
                    before=frame.text if frame else "",
                ),
                set_floatx_remedy(observations),
            ],
        )
    ]
