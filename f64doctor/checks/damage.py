"""What a narrowing costs, in numbers of the user's own run: digits of the values that it takes, loss and gradients without it."""

from __future__ import annotations

import msgspec

from f64doctor.checks.showing import DOUBLE_DIGITS, digits_kept
from f64doctor.observe import Run, events
from f64doctor.report import Comparison, ComparisonRow, Evidence, Measure

# Below this the two computations differ by the order of their sums only: a few units in the last place of a double.
_NOTHING = 1e-14


class Cost(msgspec.Struct, frozen=True):
    """The cost of one narrowing: evidence, and half a sentence for the summary (empty when nothing was measured)."""

    evidence: list[Evidence]
    words: str = ""


class Damages:
    """The measured steps of one run."""

    def __init__(self, run: Run) -> None:
        self._by_graph = {graph: damage for damage in run.all(events.Damage) for graph in damage.graphs}

    def of(self, graph: int, narrowing: events.Narrowing) -> Cost:
        """What was measured about a narrowing of a traced function."""
        damage = self._by_graph.get(graph)
        if damage is None:
            return Cost([])
        if damage.why_not:
            said = f"what it does to the loss was not measured: {damage.why_not}"
            return Cost([Measure("cost", 0.0, "", said)])
        found: list[Evidence] = []
        rounding = next((r for r in damage.narrowings if r.op == narrowing.op and r.values), None)
        if rounding is not None:
            found.append(_digits(rounding, damage.basis))
        words = ""
        loss, gradient = _loss_change(damage), _gradient_change(damage)
        if narrowing.type in damage.left:
            said = f"TensorFlow has no {narrowing.type} in float64: what the loss would be without the narrowing cannot be computed from this step"
            found.append(Measure("cost", 0.0, "", said))
        elif max(loss, gradient) > _NOTHING:
            words = f"; without float32 in this step the loss differs by {loss:.1e} and the gradients by up to {gradient:.1e} (relative)"
            found.append(_side_by_side(damage, loss, gradient))
        elif narrowing.kind == "joins":
            said = "the digits were lost before the step: they cannot be put back to compare"
            found.append(Measure("cost", 0.0, "", said))
        return Cost(found, words)


def _digits(rounding: events.Rounding, basis: str) -> Measure:
    kept = digits_kept(rounding.largest) or 0.0
    text = (
        f"{kept:.1f} of {DOUBLE_DIGITS:.1f} digits kept: relative rounding up to {rounding.largest:.2g}, median {rounding.median:.2g};"
        f" {rounding.share:.0%} of {rounding.values:,} values (those that are not zero) are changed, on {basis}"
    )
    return Measure("digits", round(kept, 2), "decimal digits", text)


def _loss_change(damage: events.Damage) -> float:
    if damage.loss is None or damage.loss_promoted is None:
        return 0.0
    scale = abs(damage.loss_promoted) or abs(damage.loss)
    return abs(damage.loss - damage.loss_promoted) / scale if scale else 0.0


def _gradient_change(damage: events.Damage) -> float:
    return max((change.relative for change in damage.gradients if change.relative is not None), default=0.0)


def _side_by_side(damage: events.Damage, loss: float, gradient: float) -> Comparison:
    rows = [
        ComparisonRow("loss", [f"{damage.loss:.15g}", f"{damage.loss_promoted:.15g}"], loss > _NOTHING),
        ComparisonRow("relative difference", [f"{loss:.1e}", ""]),
    ]
    ranked = sorted(
        (change for change in damage.gradients if change.relative is not None),
        key=lambda change: -(change.relative or 0.0),
    )
    names = [change.variable for change in damage.gradients]
    for change in ranked[:3]:
        place = next(index for index, other in enumerate(damage.gradients) if other is change)
        # Keras calls the kernels of all layers kernel: which one is told by its number among them.
        number = (
            f" {1 + names[:place].count(change.variable)} of {names.count(change.variable)}"
            if names.count(change.variable) > 1
            else ""
        )
        rows.append(
            ComparisonRow(f"gradient of {change.variable}{number}, relative", [f"{change.relative:.1e}", ""], True)
        )
    return Comparison(
        f"the step as it is, and without float32 in it, on {damage.basis}", ["as it is", "in float64"], rows
    )
