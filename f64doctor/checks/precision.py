"""The precision that Keras was set to when the script trained, and the layers that did not follow it."""

from __future__ import annotations

import msgspec

from f64doctor.observe import Run, events

NARROW_FLOATS = frozenset({"float32", "float16", "bfloat16"})
TRAINING = ("fit", "train_on_batch")


class Precision(msgspec.Struct, frozen=True):
    """State at the training call: floatx, policy, the layers trained with their events, those of them that are narrow."""

    floatx: str | None
    policy: str | None
    trained: list[events.Created]
    narrow: list[events.Created]

    @property
    def all_float64(self) -> bool:
        """Whether settings and layers agree on float64, so that what narrows is nobody's setting."""
        return self.floatx == "float64" and self.policy in ("float64", None) and not self.narrow


def is_narrow_layer(created: events.Created) -> bool:
    """Whether an object is a layer that computes in less than float64."""
    return created.role in ("layer", "input") and (created.compute_dtype or created.dtype) in NARROW_FLOATS


def precision_of(run: Run) -> Precision:
    """The precision at the run's first training call; without one, at its last Keras event."""
    created = {event.serial: event for event in run.all(events.Created)}
    fits = run.all(events.Fit)
    chosen = next((fit for fit in fits if fit.call in TRAINING), None) or next(
        (fit for fit in fits if fit.call == "evaluate"), fits[0] if fits else None
    )
    if chosen is not None and (chosen.call != "predict" or not run.all(events.Step)):
        serials = dict.fromkeys(
            serial for fit in fits if fit.call != "predict" or chosen.call == "predict" for serial in fit.layers
        )
        trained = [created[serial] for serial in serials if serial in created]
        floatx, policy = chosen.floatx, chosen.policy
    else:
        trained = [event for event in created.values() if event.role in ("layer", "input") and not is_container(event)]
        states = [
            event
            for event in run.events
            if isinstance(event, (events.Created, events.Setting)) and event.floatx is not None
        ]
        states = [event for event in states if not (isinstance(event, events.Setting) and event.kind == "environment")]
        floatx = states[-1].floatx if states else None
        policy = states[-1].policy if states else None
    trained = sorted((event for event in trained if not is_container(event)), key=lambda event: event.serial)
    return Precision(floatx, policy, trained, [event for event in trained if is_narrow_layer(event)])


def is_container(created: events.Created) -> bool:
    """Whether a layer only holds others: its own dtype rounds nothing but its inputs."""
    return created.cls in ("Sequential", "Functional", "Layer") and created.module.startswith(("keras.", "tf_keras."))


def is_framework(created: events.Created | None) -> bool:
    """Whether an object's class is Keras's own."""
    return created is not None and created.module.split(".", 1)[0] in ("keras", "tf_keras", "tensorflow")
