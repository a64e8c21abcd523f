"""Does anything show the wish for float64, or the wish for less, in so many words?"""

from __future__ import annotations

import msgspec

from f64doctor.checks.lineage import Lineage
from f64doctor.observe import Observations, Run, events

NARROW = frozenset({"float32", "float16", "bfloat16"})


class Wish(msgspec.Struct, frozen=True):
    """``asked``: float64 in so many words; ``fed``: float64 data with digits that float32 cannot hold enter a model; ``lower``: less was asked for."""

    asked: bool
    fed: bool
    lower: bool
    reason: str = ""

    @property
    def intended(self) -> bool:
        """The report's ``float64_intended``."""
        return self.asked or (self.fed and not self.lower)


def asks_lower(value: str | None) -> bool:
    """Whether a floatx or policy of this name asks for less than float64."""
    return value is not None and (value in NARROW or value.startswith(("mixed_", "int8")))


def wish_of(observations: Observations) -> Wish:
    """What the observations show; a wish expressed in settings counts before one that the data only suggest."""
    asked = lower = fed = False
    reason = ""
    for run in observations.runs[:1]:
        for setting in run.all(events.Setting):
            if setting.kind in ("floatx", "policy"):
                if setting.value == "float64":
                    asked, reason = True, reason or f"{setting.name}({setting.value!r})"
                lower = lower or asks_lower(setting.value)
            elif setting.name == "KERAS_HOME" and setting.floatx == "float64":
                asked, reason = True, reason or "keras.json in KERAS_HOME says float64"
        for library in run.all(events.Library):
            if library.floatx == "float64":
                asked, reason = True, reason or "keras.json says float64"
        for created in run.all(events.Created):
            if created.explicit == "float64" and created.loaded is None:
                asked, reason = True, reason or f"{created.cls}(dtype='float64')"
        for feed in run.all(events.Feed):
            if feed.dtype == "float64" and (feed.values is None or keeps_digits(feed.values)):
                fed, reason = True, reason or "float64 data are fed"
        asked = asked or _asked_of_data(run)
        if not fed and _computes_in_float64(run):
            fed, reason = True, reason or "traced functions compute in float64"
    for mention in observations.source.mentions:
        if mention.kind == "setting" and mention.purpose != "dead":
            if mention.dtype == "float64":
                asked, reason = True, reason or mention.text
            lower = lower or asks_lower(mention.dtype)
    if not observations.runs and not asked:
        asked = any(m.dtype == "float64" and m.purpose == "compute" for m in observations.source.mentions)
    return Wish(asked, fed, lower and not asked, reason)


def keeps_digits(values: events.Values) -> bool:
    """Whether the values hold more digits than float32 can."""
    return values.nontrivial > values.exact


def _computes_in_float64(run: Run) -> bool:
    """Whether most variables, or most of what traced functions compute, are float64: packages may have it as their default,
    without a word in the script."""
    graphs = [graph for graph in run.all(events.Graph) if graph.role == "function"]
    variables = [array.dtype for array in run.all(events.Array) if array.kind == "variable" and array.how == "called"]
    if variables.count("float64") > len(variables) / 2:
        return True
    double = sum(graph.dtypes.get("float64", 0) for graph in graphs)
    return double > sum(count for graph in graphs for name, count in graph.dtypes.items() if name in NARROW)


def _asked_of_data(run: Run) -> bool:
    """Whether data that reached a model, or tensors and variables, were made float64 in so many words."""
    lineage = Lineage(run)
    for feed in run.all(events.Feed):
        if feed.dtype == "float64" and any(
            array.how == "called" and "float64" in array.text and array.dtype == "float64"
            for array in lineage.behind(feed)
        ):
            return True
    return any(
        array.kind in ("tensor", "variable", "symbolic")
        and array.how == "called"
        and array.dtype == "float64"
        and "float64" in array.text
        for array in run.all(events.Array)
    )
