"""The timeline of check 2: settings, the latch, layers, losses and feeds in the order in which they came to be."""

from __future__ import annotations

from f64doctor.checks.intent import NARROW
from f64doctor.checks.precision import is_container
from f64doctor.checks.showing import exact_words, loss_measure, related
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import Evidence, Related, Timeline, TimelineRow

MOST_ROWS = 24
MOST_RELATED = 8


def timeline(observations: Observations, run: Run, turning: events.Event | None) -> Timeline:
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
        elif isinstance(event, events.Created) and _is_shown(event):
            # An optimizer's learning rate has the floatx of the moment; its slots follow the weights.
            dtype = event.floatx if event.role == "optimizer" else event.compute_dtype or event.dtype
            if dtype is None:
                continue
            frame = innermost(event.frames)
            key = (event.cls, frame.line if frame else 0, dtype)
            if key == last and event is not turning:
                more += 1
                continue
            last = key
            row(event, event.frames, f"{event.cls} “{event.name}”", dtype)
        elif isinstance(event, events.Array) and event.kind == "variable" and event.how == "called":
            row(event, event.frames, event.call or "variable", event.dtype)
        elif isinstance(event, events.Loaded):
            words = exact_words(event.values)
            row(event, event.frames, f"{event.call}()", ", ".join([*event.weights, *([words] if words else [])]))
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


def _is_shown(created: events.Created) -> bool:
    """Containers hold only others; losses, metrics and optimizers that Keras makes for itself say nothing of the script."""
    if is_container(created) or is_inner(created):
        return False
    return created.role not in ("metric", "optimizer") or created.loaded is None


def is_inner(created: events.Created) -> bool:
    """Whether a loss is only Keras's own wrapper around one that was made elsewhere."""
    return (
        created.role == "loss" and created.cls in ("CompileLoss", "LossFunctionWrapper") and created.loaded is not None
    )


def lines_of(observations: Observations, things: list[events.Created], note: str) -> list[Related]:
    """The lines of some objects, each with a note in which {dtype} and {cls} stand for the object's."""
    found: list[Related] = []
    for thing in things:
        words = note.format(dtype=thing.compute_dtype or thing.dtype, cls=thing.cls)
        found += related(observations, innermost(thing.frames), words)
    return unique(found)


def unique(links: list[Related]) -> list[Related]:
    """One link for each line, and no more than can be read."""
    found: dict[tuple[str, int], Related] = {}
    for link in links:
        found.setdefault((link.file, link.line), link)
    return list(found.values())[:MOST_RELATED]


def rounding(run: Run) -> list[Evidence]:
    """What the rounding of the fed data to float32 costs, in digits."""
    for feed in run.all(events.Feed):
        if feed.dtype == "float64" and feed.values is not None and feed.values.max_relative_error:
            return loss_measure(feed.values, f"{feed.argument} in float32")
    return []
