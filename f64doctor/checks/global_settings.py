"""Findings about the global settings: made too late, taken back, made for one half only, or for another Keras."""

from __future__ import annotations

import msgspec

from f64doctor.checks.intent import NARROW, asks_lower
from f64doctor.checks.precision import Precision
from f64doctor.checks.showing import code_at, location_of, plural, related, statement_around
from f64doctor.checks.timeline import is_inner, lines_of, rounding, timeline, unique
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import Finding, Grade, Related, Remedy, Severity

NAME = "layers"


class Asked(msgspec.Struct, frozen=True):
    """The global settings of the Keras whose layers were trained, and the first wish for float64 made to another Keras."""

    settings: list[events.Setting]
    floatx64: events.Setting | None = None
    policy64: events.Setting | None = None
    elsewhere: events.Setting | None = None


def asked_of(run: Run, precision: Precision) -> Asked:
    """What the script asked of which Keras: ``keras`` and ``tf_keras`` each have settings of their own."""
    everything = [s for s in run.all(events.Setting) if s.kind in ("floatx", "policy", "clear_session")]
    libraries = {layer.library for layer in precision.trained} or {s.library for s in everything}
    settings = [s for s in everything if s.library in libraries]

    def first(among: list[events.Setting], kind: str) -> events.Setting | None:
        return next((s for s in among if s.kind == kind and s.value == "float64"), None)

    other = [s for s in everything if s.library not in libraries]
    return Asked(
        settings, first(settings, "floatx"), first(settings, "policy"), first(other, "floatx") or first(other, "policy")
    )


def late_home(observations: Observations, run: Run) -> Finding | None:
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
            evidence=[timeline(observations, run, setting), *(code_at(observations, frame) if frame else [])],
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


def taken_back(observations: Observations, run: Run, asked: Asked, precision: Precision) -> Finding | None:
    """Something took float64 away again before layers were made, or before the model was trained."""
    narrow = precision.narrow
    first = asked.floatx64 or asked.policy64
    if first is None or not (narrow or precision.floatx in NARROW) or any(layer.t < first.t for layer in narrow):
        return None
    trained = min((fed.t for fed in run.all(events.Feed)), default=float("inf"))
    bitten = min((layer.t for layer in narrow), default=trained)
    culprit = next((s for s in asked.settings if first.t < s.t < bitten and _takes_back(s, asked)), None)
    if culprit is None:
        return None
    call = f"{culprit.name}({culprit.value!r})" if culprit.value else f"{culprit.name}()"
    cleared = culprit.kind == "clear_session"
    what = f"{plural(len(narrow), 'layer')} came to be" if narrow else "training: the data are rounded on entry"
    frame = innermost(culprit.frames)
    return Finding(
        code="F209",
        check=NAME,
        title=f"float64 is taken back: {call} is called later",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"float64 was set, and then {call}"
        + (" forgot the policy: the next one follows floatx, which is float32" if cleared else "")
        + f" before {what}.",
        location=location_of(observations, frame),
        related=related(observations, innermost(first.frames), "float64 was asked for here"),
        evidence=[timeline(observations, run, culprit), *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                'call keras.config.set_floatx("float64") as well: clear_session leaves floatx as it is',
                why="clear_session drops the global dtype policy; the next layer makes a new one from floatx.",
            )
            if cleared
            else Remedy(
                "remove this call, or move it behind the float64 model",
                why="Settings are global: the last one before a layer is made wins.",
            )
        ],
    )


def _takes_back(setting: events.Setting, asked: Asked) -> bool:
    if setting.kind == "clear_session":
        return asked.floatx64 is None and setting.before == "float64"
    return asks_lower(setting.value)


def lower_policy(observations: Observations, run: Run, asked: Asked, early: list[events.Created]) -> Finding | None:
    """A policy of less than float64 was set in so many words before floatx was: layers follow the policy."""
    policies = [s for s in asked.settings if s.kind == "policy" and asks_lower(s.value)]
    policy = policies[-1] if policies else None
    if policy is None or asked.floatx64 is None or any(layer.t < policy.t for layer in early):
        return None
    frame = innermost(policy.frames)
    return Finding(
        code="F214",
        check=NAME,
        title=f"the policy {policy.value} stands beside floatx float64",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{policy.name}({policy.value!r}) decides for the layers: {plural(len(early), 'layer')} compute in"
        f" {early[0].compute_dtype or early[0].dtype}. floatx float64 reaches inputs, losses and metrics only.",
        location=location_of(observations, frame),
        related=related(observations, innermost(asked.floatx64.frames), "floatx is set to float64 here"),
        evidence=[
            timeline(observations, run, policy),
            *rounding(run),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[
            Remedy(
                "remove the policy, or set it to float64",
                why="A dtype policy that was set is not changed by set_floatx. Without one, layers follow floatx.",
                before=frame.text if frame else "",
                after='keras.config.set_dtype_policy("float64")',
            )
        ],
    )


def another_keras(observations: Observations, run: Run, asked: Asked, early: list[events.Created]) -> Finding | None:
    """float64 was set in one Keras, and the layers are another's."""
    setting = asked.elsewhere
    if setting is None or not early or asked.floatx64 is not None or asked.policy64 is not None:
        return None
    frame = innermost(setting.frames)
    return Finding(
        code="F216",
        check=NAME,
        title=f"float64 is set in {setting.library}, the layers are from {early[0].library}",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{setting.name}({setting.value!r}) belongs to {setting.library}; {plural(len(early), 'layer')} of {early[0].library},"
        f" which has a floatx of its own, {'are' if len(early) > 1 else 'is'} {early[0].compute_dtype or early[0].dtype}.",
        location=location_of(observations, frame),
        related=lines_of(observations, early, "{cls} is {dtype}"),
        evidence=[
            timeline(observations, run, setting),
            *rounding(run),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[
            Remedy(
                f"set floatx in {early[0].library}, and import one Keras only",
                why="keras, tf_keras and, since TensorFlow 2.16, tf.keras can be different packages: each keeps its own settings.",
                before=frame.text if frame else "",
                after=f'import {early[0].library}\n\n{early[0].library}.backend.set_floatx("float64")',
            )
        ],
    )


def too_late(observations: Observations, run: Run, setting: events.Setting, early: list[events.Created]) -> Finding:
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
    links += lines_of(observations, before, "made in {dtype} before the setting")
    links += lines_of(observations, after, "made after it, and still {dtype}")
    first = innermost(latch.frames) if latch is not None else innermost(before[0].frames) if before else None
    return Finding(
        code=code,
        check=NAME,
        title=title,
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=summary,
        location=location_of(observations, frame),
        related=unique(links),
        evidence=[
            timeline(observations, run, setting),
            *rounding(run),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[move_remedy(observations, frame, first, latch)],
    )


def move_remedy(
    observations: Observations, frame: Frame | None, first: Frame | None, latch: events.Latch | None
) -> Remedy:
    """Move the setting at ``frame`` above the line that leads to ``first``, the first object or the latch that came before it."""
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


def policy_alone(observations: Observations, run: Run, setting: events.Setting) -> Finding:
    """The policy is float64, floatx is not: only layers follow the policy."""
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
        related=lines_of(
            observations,
            [
                e
                for e in run.all(events.Created)
                if e.role in ("input", "loss") and e.dtype in NARROW and not is_inner(e)
            ],
            "{cls} is {dtype}",
        ),
        evidence=[
            timeline(observations, run, setting),
            *rounding(run),
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
