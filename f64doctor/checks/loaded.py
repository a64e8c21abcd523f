"""Findings about what was loaded: layers that bring their dtype, and weights that bring their rounding."""

from __future__ import annotations

from f64doctor.checks.showing import code_at, exact_words, location_of, plural
from f64doctor.checks.timeline import timeline
from f64doctor.observe import Observations, Run, events, innermost
from f64doctor.report import Finding, Grade, Measure, Remedy, Severity

NAME = "layers"


def layers_brought(observations: Observations, run: Run, loaded: list[events.Created]) -> list[Finding]:
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
                evidence=[timeline(observations, run, layers[0]), *code_at(observations, frame)],
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


def is_loaded(layer: events.Created) -> bool:
    """Whether a layer was rebuilt from a file or a configuration."""
    return layer.loaded not in (None, "Input")


def weights_brought(observations: Observations, run: Run) -> list[Finding]:
    """float64 variables that hold numbers that have been through float32: the file, or the model, that they came from was float32."""
    trained = [fit.t for fit in run.all(events.Fit) if fit.call == "fit"] + [step.t for step in run.all(events.Step)]
    found: list[Finding] = []
    told: set[tuple[str, int]] = set()
    for load in run.all(events.Loaded):
        frame = innermost(load.frames)
        if frame is None or (frame.file, frame.line) in told or load.values is None or not load.values.laundered:
            continue
        told.add((frame.file, frame.line))
        goes_on = any(t > load.t for t in trained)
        # Weights that were set from another model and are trained on are the way to float64, not a fault; so are a package's pretrained ones.
        fine = goes_on and not (load.call != "set_weights" and load.call in frame.text)
        found.append(
            Finding(
                code="F215",
                check=NAME,
                title="the weights that were loaded are float64 in name only",
                severity=Severity.INFO if fine else Severity.WARNING,
                grade=Grade.OBSERVED,
                summary=(
                    f"{load.call} filled float64 variables with numbers that float32 holds: all {load.values.nontrivial:,} that could tell"
                    f" use {load.values.bits} of 53 bits. "
                )
                + (
                    "Training goes on from them in float64: it begins with 7 digits."
                    if goes_on
                    else "Nothing trains them further in this run."
                ),
                location=location_of(observations, frame),
                evidence=[
                    Measure("bits in use", load.values.bits, "bits", exact_words(load.values)),
                    *code_at(observations, frame),
                ],
                remedies=[]
                if fine
                else [
                    Remedy(
                        "save the weights again from a model that was trained in float64, or train on from these in float64",
                        why="Digits that were never stored do not come back; a float64 model with float32 weights is as exact as a float32 model's weights.",
                        before=frame.text,
                    )
                ],
            )
        )
    return found
