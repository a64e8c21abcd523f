"""Check 2: were the layers, losses and settings float64 when they came to be?"""

from __future__ import annotations

import msgspec

from f64doctor.checks.inputs import set_floatx_remedy
from f64doctor.checks.intent import NARROW, Wish, asks_lower, wish_of
from f64doctor.checks.outcome import could_not_look
from f64doctor.checks.precision import Precision, is_container, is_narrow_layer, precision_of
from f64doctor.checks.showing import code_at, location_of, loss_measure, plural, related, statement_around
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import (
    CheckResult,
    Evidence,
    Finding,
    Grade,
    Related,
    Remedy,
    Severity,
    Status,
    Timeline,
    TimelineRow,
    worst,
)

NAME = "layers"
MOST_ROWS = 24
MOST_RELATED = 8


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Judge the settings and the objects that were made under them."""
    run = observations.run()
    if run is None:
        return CheckResult(NAME, Status.SKIPPED, observations.not_run or "nothing was run"), []
    wish = wish_of(observations)
    precision = precision_of(run)
    created = run.all(events.Created)
    layers = [event for event in created if event.role in ("layer", "input")]
    if not layers and not created:
        return _without_keras(run, wish), []
    timeline = _timeline(observations, run, None)
    if not wish.intended:
        dtypes = (
            ", ".join(dict.fromkeys(layer.compute_dtype or layer.dtype or "unknown" for layer in precision.trained))
            or "no layers"
        )
        return CheckResult(
            NAME, Status.PASSED, f"{dtypes}, as the script asks; nothing asks for float64", evidence=[timeline]
        ), []
    findings = _judge(observations, run, wish, precision)
    if findings:
        codes = ", ".join(dict.fromkeys(finding.code for finding in findings))
        return CheckResult(
            NAME, worst(findings), f"{plural(len(findings), 'finding')}: {codes}", evidence=[timeline]
        ), findings
    total = len(precision.trained)
    said = f"{plural(total, 'layer')} float64, floatx {precision.floatx}, policy {precision.policy or 'not latched'}"
    return CheckResult(NAME, Status.PASSED, said, evidence=[timeline]), []


def _without_keras(run: Run, wish: Wish) -> CheckResult:
    variables = [array for array in run.all(events.Array) if array.kind == "variable"]
    if run.outcome not in ("completed", "stopped") and not variables:
        return could_not_look(NAME, run, "no layer was made")
    doubles = sum(1 for variable in variables if variable.dtype == "float64")
    if variables:
        return CheckResult(
            NAME, Status.PASSED, f"no Keras layers; {doubles} of {plural(len(variables), 'variable')} float64"
        )
    return CheckResult(NAME, Status.SKIPPED, "the script makes no Keras layers")


# -- the causes, in the order in which one hides the next


def _judge(observations: Observations, run: Run, wish: Wish, precision: Precision) -> list[Finding]:
    created = run.all(events.Created)
    settings = [s for s in run.all(events.Setting) if s.kind in ("floatx", "policy", "clear_session")]
    floatx64 = next((s for s in settings if s.kind == "floatx" and s.value == "float64"), None)
    policy64 = next((s for s in settings if s.kind == "policy" and s.value == "float64"), None)
    narrow = precision.narrow
    findings: list[Finding] = []

    home = _late_home(observations, run)
    if home is not None and narrow:
        return [home]

    reset = _reset(observations, run, settings, floatx64, precision)
    if reset is not None:
        findings.append(reset)
    explained = {layer.serial for layer in narrow if reset is not None}

    own = [layer for layer in narrow if layer.explicit in NARROW and layer.loaded is None]
    loaded = [layer for layer in narrow if layer.explicit in NARROW and _is_loaded(layer)]
    inherited = [
        layer for layer in narrow if layer not in own and layer not in loaded and layer.serial not in explained
    ]

    if floatx64 is not None:
        if inherited:
            findings.append(_too_late(observations, run, floatx64, inherited, precision))
        losses = _early_losses(created, run, floatx64)
        if losses and not inherited:
            findings.append(_loss_too_early(observations, run, floatx64, losses))
    elif policy64 is not None:
        if precision.floatx in NARROW:
            findings.append(_policy_alone(observations, run, policy64))
        elif inherited:
            findings.append(_too_late(observations, run, policy64, inherited, precision))
    elif inherited:
        findings.append(_never_asked(observations, run, wish, precision, inherited))
    findings += _loaded_findings(observations, run, loaded)
    findings += [_explicit(observations, run, layer) for layer in _by_line(own)]
    findings += _weights(observations, run, created)
    return findings


def _late_home(observations: Observations, run: Run) -> Finding | None:
    """KERAS_HOME names a keras.json that says float64, but Keras had been imported by then."""
    keras = next((library for library in run.all(events.Library) if library.name in ("keras", "tf_keras")), None)
    for setting in run.all(events.Setting):
        if setting.name != "KERAS_HOME" or setting.floatx != "float64" or keras is None or setting.t < keras.t:
            continue
        if keras.floatx == "float64":
            continue
        frame = innermost(setting.frames)
        imported = innermost(keras.frames)
        return Finding(
            code="F207",
            check=NAME,
            title="KERAS_HOME is set after Keras was imported, so its keras.json is never read",
            severity=Severity.ERROR,
            grade=Grade.OBSERVED,
            summary=f"keras.json in {setting.value} says floatx float64, but Keras reads it once, when it is imported: floatx is {keras.floatx}.",
            location=location_of(observations, frame),
            related=related(observations, imported, "Keras is imported here, and reads keras.json"),
            evidence=[_timeline(observations, run, setting), *(code_at(observations, frame) if frame else [])],
            remedies=[
                Remedy(
                    "set KERAS_HOME before keras (or anything that imports it) is imported, or call set_floatx",
                    why="The environment is read at import; a later change of os.environ reaches nobody.",
                    before=observations.location(frame).snippet if frame else "",
                    after='keras.config.set_floatx("float64")',
                )
            ],
        )
    return None


def _reset(
    observations: Observations,
    run: Run,
    settings: list[events.Setting],
    floatx64: events.Setting | None,
    precision: Precision,
) -> Finding | None:
    """A later setting took float64 away before layers were made, or before the model was trained."""
    narrow = precision.narrow
    if floatx64 is None or not (narrow or precision.floatx in NARROW):
        return None
    after = [s for s in settings if s.t > floatx64.t and asks_lower(s.value) and s.kind in ("floatx", "policy")]
    trained = min((fed.t for fed in run.all(events.Feed)), default=float("inf"))
    bitten = min((layer.t for layer in narrow), default=trained)
    culprit = next((s for s in after if s.t < bitten), None)
    if culprit is None or any(layer.t < floatx64.t for layer in narrow):
        return None
    what = f"{plural(len(narrow), 'layer')} came to be" if narrow else "training: the data are rounded on entry"
    frame = innermost(culprit.frames)
    return Finding(
        code="F209",
        check=NAME,
        title=f"float64 is taken back: {culprit.name}({culprit.value!r}) is called later",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"float64 was set, and then {culprit.name}({culprit.value!r}) before {what}.",
        location=location_of(observations, frame),
        related=related(observations, innermost(floatx64.frames), "float64 was asked for here"),
        evidence=[_timeline(observations, run, culprit), *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                "remove this call, or move it behind the float64 model",
                why="Settings are global: the last one before a layer is made wins.",
            )
        ],
    )


def _too_late(
    observations: Observations, run: Run, setting: events.Setting, early: list[events.Created], precision: Precision
) -> Finding:
    """float64 was set after layers had been made, or after the policy was latched."""
    frame = innermost(setting.frames)
    before = [layer for layer in early if layer.t < setting.t]
    after = [layer for layer in early if layer.t > setting.t]
    latch = next((event for event in run.all(events.Latch) if event.t < setting.t and event.policy in NARROW), None)
    code = "F203" if after or not before else "F201"
    call = f"{setting.name}({setting.value!r})"
    if code == "F203":
        title = f"the global policy was latched to {setting.policy or 'float32'} before {call}"
        summary = (
            f"{call} comes too late: the policy was already latched to {setting.policy or 'float32'}, and"
            f" {plural(len(early), 'layer')} {'stay' if len(early) > 1 else 'stays'} so."
        )
    else:
        title = f"layers were made before {call}"
        summary = (
            f"{call} comes too late: {plural(len(before), 'layer')} had been made in"
            f" {before[0].compute_dtype or before[0].dtype} and {'stay' if len(before) > 1 else 'stays'} so."
        )
    links: list[Related] = []
    if latch is not None:
        links += related(observations, innermost(latch.frames), f"latches the policy: {latch.policy} (by {latch.by})")
    links += _lines(observations, before, "made in {dtype} before the setting")
    links += _lines(observations, after, "made after it, and still {dtype}")
    first = innermost(latch.frames) if latch is not None else innermost(before[0].frames) if before else None
    return Finding(
        code=code,
        check=NAME,
        title=title,
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=summary,
        location=location_of(observations, frame),
        related=_unique(links),
        evidence=[
            _timeline(observations, run, setting),
            *_rounding(run),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[_move_remedy(observations, frame, first, latch)],
    )


def _move_remedy(
    observations: Observations, frame: Frame | None, first: Frame | None, latch: events.Latch | None
) -> Remedy:
    why = (
        "Keras keeps the dtype policy that was current when it first needed one; set_floatx changes floatx afterwards, but no layer follows it. "
        if latch is not None
        else ""
    ) + "A layer keeps the dtype that it was made with."
    if frame is None or first is None:
        return Remedy("call set_floatx before the first layer is made, right after the import of keras", why=why)
    # The line of the user's own script that leads to the first layer is the one to go before.
    chain = [f for f in (latch.frames if latch is not None else [first]) if f.file == frame.file] or [first]
    first_line, last_line = statement_around(observations, chain[0])
    target = msgspec.structs.replace(chain[0], line=first_line)
    setting, blocking = observations.text(frame.file, frame.line), observations.text(target.file, target.line)
    place = f"line {target.line}" if target.file == frame.file else f"{observations.shown(target.file)}:{target.line}"
    return Remedy(
        f"move line {frame.line} above {place}, before whatever builds layers",
        why=why,
        before=f"{blocking}\n{setting}" if setting else "",
        after=f"{setting}\n{blocking}{' …' if last_line > first_line else ''}" if setting else "",
    )


def _early_losses(created: list[events.Created], run: Run, setting: events.Setting) -> list[events.Created]:
    """Losses that were made before the setting, are narrow, and are used in training (or could be, when no model tells)."""
    early = [
        e for e in created if e.role == "loss" and e.t < setting.t and e.dtype in NARROW and e.explicit not in NARROW
    ]
    used = {serial for fit in run.all(events.Fit) for serial in fit.losses}
    return [e for e in early if e.serial in used] or ([] if used else [e for e in early if e.loaded is None])


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
        related=_lines(observations, losses, "this loss is {dtype}"),
        evidence=[_timeline(observations, run, setting), *(code_at(observations, frame) if frame else [])],
        remedies=[
            _move_remedy(observations, frame, losses[0].frames[0] if losses[0].frames else first, None)
            if losses[0].frames
            else Remedy("make the loss after set_floatx"),
            Remedy(
                'or give the loss its dtype: dtype="float64"',
                why="Losses and metrics keep the floatx of the moment at which they were made.",
            ),
        ],
    )


def _policy_alone(observations: Observations, run: Run, setting: events.Setting) -> Finding:
    frame = innermost(setting.frames)
    return Finding(
        code="F204",
        check=NAME,
        title="the policy is float64, floatx is still float32",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=(
            f"{setting.name}({setting.value!r}) makes layers float64, but keras.Input, losses, metrics and the conversion of arrays in fit and predict"
            " follow floatx, which is float32: data are rounded on entry."
        ),
        location=location_of(observations, frame),
        related=_lines(
            observations,
            [e for e in run.all(events.Created) if e.role in ("input", "loss") and e.dtype in NARROW and not _inner(e)],
            "{cls} is {dtype}",
        ),
        evidence=[
            _timeline(observations, run, setting),
            *_rounding(run),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[
            Remedy(
                'call keras.config.set_floatx("float64") as well, on the line before',
                why="The policy decides for layers only; everything else in Keras takes its dtype from floatx.",
                before=observations.location(frame).snippet if frame else "",
                after='keras.config.set_floatx("float64")',
            )
        ],
    )


def _never_asked(
    observations: Observations, run: Run, wish: Wish, precision: Precision, narrow: list[events.Created]
) -> Finding:
    """No setting asks for float64. Some layers may, or only the data do."""
    wide = [layer for layer in precision.trained if layer.explicit == "float64"]
    first = narrow[0]
    frame = innermost(first.frames)
    if wide:
        code, title = "F202", "float64 is asked for layer by layer, and not everywhere"
        summary = (
            f"{plural(len(wide), 'layer')} {'have' if len(wide) > 1 else 'has'} dtype float64, but {first.cls} “{first.name}” is"
            f" {first.compute_dtype or first.dtype} and rounds what passes through it."
        )
        severity = Severity.ERROR
    else:
        code, title = "F206", "float64 data, but Keras was never told: the model computes in float32"
        summary = (
            f"floatx is {precision.floatx or 'float32'} and nothing sets it: all {plural(len(narrow), 'layer')} compute in float32,"
            " and the data are rounded to it."
        )
        severity = Severity.ERROR if wish.asked else Severity.WARNING
    return Finding(
        code=code,
        check=NAME,
        title=title,
        severity=severity,
        grade=Grade.OBSERVED,
        summary=summary,
        location=location_of(observations, frame),
        related=_lines(observations, narrow[1:], "{cls} is {dtype}"),
        evidence=[
            _timeline(observations, run, first),
            *_rounding(run),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[set_floatx_remedy()],
    )


def _loaded_findings(observations: Observations, run: Run, loaded: list[events.Created]) -> list[Finding]:
    """Layers that brought their dtype from a file or a configuration: one finding for each line that loaded them."""
    found = []
    groups: dict[tuple[str, int], list[events.Created]] = {}
    for layer in loaded:
        frame = innermost(layer.frames)
        if frame is not None:
            groups.setdefault((frame.file, frame.line), []).append(layer)
    for layers in groups.values():
        frame = innermost(layers[0].frames)
        assert frame is not None
        function = layers[0].loaded or "load_model"
        found.append(
            Finding(
                code="F208",
                check=NAME,
                title=f"{function} brings {plural(len(layers), 'layer')} in {layers[0].compute_dtype or layers[0].dtype}",
                severity=Severity.ERROR,
                grade=Grade.OBSERVED,
                summary="A saved model keeps each layer's dtype; set_floatx does not convert it.",
                location=location_of(observations, frame),
                related=[],
                evidence=[_timeline(observations, run, layers[0]), *code_at(observations, frame)],
                remedies=[
                    Remedy(
                        "rebuild the architecture under float64 and copy the weights: new.set_weights(loaded.get_weights())",
                        why="The layers then compute in float64. Digits that were never stored do not come back:"
                        " the weights start with 24 bits and gain the rest in training.",
                        before=observations.location(frame).snippet,
                    )
                ],
            )
        )
    return found


def _explicit(observations: Observations, run: Run, layers: list[events.Created]) -> Finding:
    frame = innermost(layers[0].frames)
    first = layers[0]
    return Finding(
        code="F210",
        check=NAME,
        title=f"{first.cls} “{first.name}” asks for {first.explicit}",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"This layer has dtype {first.explicit} of its own in a float64 model: what passes through it keeps 24 bits at most.",
        location=location_of(observations, frame),
        related=_lines(observations, layers[1:], "{cls} is {dtype}"),
        evidence=[_timeline(observations, run, first), *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                f"drop dtype={first.explicit!r} from this layer",
                why="Without a dtype of its own the layer follows the global policy.",
                before=observations.location(frame).snippet if frame else "",
            )
        ],
    )


def _weights(observations: Observations, run: Run, created: list[events.Created]) -> list[Finding]:
    found = []
    owners = {event.serial: event for event in created}
    told: set[tuple[str, int]] = set()
    for weight in created:
        owner = owners.get(weight.owner) if weight.owner is not None else None
        frame = innermost(weight.frames)
        if (
            weight.role != "weight"
            or weight.explicit not in NARROW
            or frame is None
            or (frame.file, frame.line) in told
        ):
            continue
        if owner is not None and is_narrow_layer(owner):
            continue
        told.add((frame.file, frame.line))
        found.append(
            Finding(
                code="F212",
                check=NAME,
                title=f"a weight is {weight.explicit} in a float64 layer",
                severity=Severity.ERROR,
                grade=Grade.OBSERVED,
                summary=f"add_weight asks for {weight.explicit}: Keras casts the weight up where it is used, without a word, and it keeps 24 bits.",
                location=location_of(observations, frame),
                evidence=code_at(observations, frame),
                remedies=[
                    Remedy(
                        "drop the dtype: add_weight then follows the layer",
                        why="A float32 weight is rounded after each update.",
                        before=observations.location(frame).snippet,
                    )
                ],
            )
        )
    return found


# -- evidence


def _is_loaded(layer: events.Created) -> bool:
    return layer.loaded not in (None, "Input")


def _inner(created: events.Created) -> bool:
    return (
        created.role == "loss" and created.cls in ("CompileLoss", "LossFunctionWrapper") and created.loaded is not None
    )


def _by_line(layers: list[events.Created]) -> list[list[events.Created]]:
    groups: dict[tuple[str, int], list[events.Created]] = {}
    for layer in layers:
        frame = innermost(layer.frames)
        groups.setdefault((frame.file, frame.line) if frame else ("", layer.serial), []).append(layer)
    return list(groups.values())


def _lines(observations: Observations, things: list[events.Created], note: str) -> list[Related]:
    found: list[Related] = []
    for thing in things:
        words = note.format(dtype=thing.compute_dtype or thing.dtype, cls=thing.cls)
        found += related(observations, innermost(thing.frames), words)
    return _unique(found)


def _unique(links: list[Related]) -> list[Related]:
    found: dict[tuple[str, int], Related] = {}
    for link in links:
        found.setdefault((link.file, link.line), link)
    return list(found.values())[:MOST_RELATED]


def _rounding(run: Run) -> list[Evidence]:
    """What the rounding of the fed data to float32 costs, in digits."""
    for feed in run.all(events.Feed):
        if feed.dtype == "float64" and feed.values is not None and feed.values.max_relative_error:
            return loss_measure(feed.values, f"{feed.argument} in float32")
    return []


def _timeline(observations: Observations, run: Run, turning: events.Event | None) -> Timeline:
    """Settings, the latch, layers, losses and feeds in the order in which they came to be."""
    rows: list[TimelineRow] = []
    last: tuple[str, int, str] | None = None
    more = 0

    def row(event: events.Event, frames: list[Frame], what: str, state: str) -> None:
        frame = innermost(frames)
        rows.append(
            TimelineRow(what, state, event.t, None if frame is None else observations.location(frame), event is turning)
        )

    for event in run.events:
        if isinstance(event, events.Library) and event.name in ("keras", "tf_keras"):
            row(event, event.frames, f"import {event.name}", f"floatx {event.floatx}")
        elif isinstance(event, events.Setting) and event.kind != "environment":
            policy = (
                f", policy {'stays ' if event.kind == 'floatx' and event.policy else ''}{event.policy}"
                if event.policy
                else ""
            )
            row(
                event,
                event.frames,
                f"{event.name}({event.value!r})" if event.value else f"{event.name}()",
                f"floatx {event.floatx}{policy}",
            )
        elif isinstance(event, events.Setting) and event.name == "KERAS_HOME":
            row(
                event, event.frames, "os.environ['KERAS_HOME']", f"keras.json there: floatx {event.floatx or 'unknown'}"
            )
        elif isinstance(event, events.Latch):
            row(event, event.frames, f"{event.by} latches the policy", f"policy → {event.policy}")
        elif (
            isinstance(event, events.Created)
            and not is_container(event)
            and event.role != "metric"
            and not _inner(event)
        ):
            dtype = event.compute_dtype or event.dtype
            if event.role == "optimizer" or dtype is None:
                continue
            frame = innermost(event.frames)
            key = (event.cls, frame.line if frame else 0, dtype)
            if key == last and event is not turning:
                more += 1
                continue
            last = key
            row(event, event.frames, f"{event.cls} “{event.name}”", dtype)
        elif isinstance(event, events.Feed) and event.call in ("fit", "train_on_batch"):
            rounded = f", rounded to {event.takes}" if event.takes in NARROW and event.dtype == "float64" else ""
            row(event, event.frames, f"{event.call}({event.argument}{event.path})", f"{event.dtype}{rounded}")
    if len(rows) > MOST_ROWS:
        middle = next((index for index, item in enumerate(rows) if item.turning_point), 0)
        low = max(0, min(middle - MOST_ROWS // 2, len(rows) - MOST_ROWS))
        rows = rows[low : low + MOST_ROWS]
    if more:
        rows.append(TimelineRow(f"… and {more} more of the same lines", ""))
    return Timeline("settings and objects in the order in which they came to be", rows)
