"""Check 2: were the layers, losses and settings float64 when they came to be?"""

from __future__ import annotations

from f64doctor.checks import global_settings, loaded, losses, variables
from f64doctor.checks.data_remedies import set_floatx_remedy
from f64doctor.checks.intent import NARROW, Wish, wish_of
from f64doctor.checks.outcome import could_not_look
from f64doctor.checks.precision import Precision, precision_of
from f64doctor.checks.showing import code_at, location_of, plural
from f64doctor.checks.timeline import lines_of, rounding, timeline
from f64doctor.observe import Observations, Run, events, innermost
from f64doctor.report import CheckResult, Finding, Grade, Remedy, Severity, Status, worst

NAME = "layers"


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
        free = variables.narrow_ones(observations, run) if wish.intended else []
        if free:
            return CheckResult(NAME, worst(free), f"{plural(len(free), 'finding')}: F218"), free
        return _without_keras(run, wish), []
    shown = timeline(observations, run, None)
    if not wish.intended:
        dtypes = (
            ", ".join(dict.fromkeys(layer.compute_dtype or layer.dtype or "unknown" for layer in precision.trained))
            or "no layers"
        )
        return CheckResult(
            NAME, Status.PASSED, f"{dtypes}, as the script asks; nothing asks for float64", evidence=[shown]
        ), []
    findings = _judge(observations, run, wish, precision)
    if findings:
        codes = ", ".join(dict.fromkeys(finding.code for finding in findings))
        return CheckResult(
            NAME, worst(findings), f"{plural(len(findings), 'finding')}: {codes}", evidence=[shown]
        ), findings
    if run.outcome not in ("completed", "stopped") and not run.all(events.Step):
        made = (
            f"{plural(len(precision.trained), 'layer')} had been made, float64 all of them,"
            if precision.trained
            else "no layer was made"
        )
        return could_not_look(NAME, run, made), []
    total = len(precision.trained)
    said = f"{plural(total, 'layer')} float64, floatx {precision.floatx}, policy {precision.policy or 'not latched'}"
    return CheckResult(NAME, Status.PASSED, said, evidence=[shown]), []


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
    asked = global_settings.asked_of(run, precision)
    narrow = precision.narrow
    findings: list[Finding] = []

    home = global_settings.late_home(observations, run)
    if home is not None and narrow:
        return [home]

    reset = global_settings.taken_back(observations, run, asked, precision)
    if reset is not None:
        findings.append(reset)
    explained = {layer.serial for layer in narrow if reset is not None}

    own = [layer for layer in narrow if layer.explicit in NARROW and layer.loaded is None]
    brought = [layer for layer in narrow if layer.explicit in NARROW and loaded.is_loaded(layer)]
    inherited = [
        layer for layer in narrow if layer not in own and layer not in brought and layer.serial not in explained
    ]

    elsewhere = global_settings.another_keras(observations, run, asked, inherited)
    if elsewhere is not None:
        findings.append(elsewhere)
    elif asked.floatx64 is not None:
        if inherited:
            findings.append(
                global_settings.lower_policy(observations, run, asked, inherited)
                or global_settings.too_late(observations, run, asked.floatx64, inherited)
            )
        else:
            findings += losses.made_too_early(observations, run, asked.floatx64)
    elif asked.policy64 is not None:
        if precision.floatx in NARROW:
            findings.append(global_settings.policy_alone(observations, run, asked.policy64))
        elif inherited:
            findings.append(global_settings.too_late(observations, run, asked.policy64, inherited))
    elif inherited:
        findings.append(_never_asked(observations, run, wish, precision, inherited))
    elif not narrow:
        findings += losses.never_asked(observations, run)
    findings += loaded.layers_brought(observations, run, brought)
    findings += [_explicit(observations, run, layer) for layer in _by_line(own)]
    findings += variables.weights(observations, run)
    if not narrow:
        findings += variables.narrow_ones(observations, run)
    if not narrow:
        findings += loaded.weights_brought(observations, run)
    return findings


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
        related=lines_of(observations, narrow[1:], "{cls} is {dtype}"),
        evidence=[
            timeline(observations, run, first),
            *rounding(run),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[set_floatx_remedy(observations)],
    )


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
        related=lines_of(observations, layers[1:], "{cls} is {dtype}"),
        evidence=[timeline(observations, run, first), *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                f"drop dtype={first.explicit!r} from this layer",
                why="Without a dtype of its own the layer follows the global policy.",
                before=observations.location(frame).snippet if frame else "",
            )
        ],
    )


# -- grouping


def _by_line(layers: list[events.Created]) -> list[list[events.Created]]:
    groups: dict[tuple[str, int], list[events.Created]] = {}
    for layer in layers:
        frame = innermost(layer.frames)
        groups.setdefault((frame.file, frame.line) if frame else ("", layer.serial), []).append(layer)
    return list(groups.values())
