"""Ends training early: a fit after N steps, the way Keras itself ends one, and a loop of the script's own once N updates were seen."""

from __future__ import annotations

from typing import Any, Optional

from .wire import Wire


class BoundReached(BaseException):
    """Raised in the script's own training loop after the last step to be observed; never seen by ``except Exception``."""


class Bounds:
    """Counts training steps. ``steps`` None: no bound."""

    def __init__(self, wire: Wire, steps: Optional[int]) -> None:
        self._wire = wire
        self.steps = steps
        self.updates = 0
        self.told: list[str] = []
        self._loops: dict[Any, int] = {}
        self._last: dict[Any, float] = {}
        self._losses: dict[Any, Optional[float]] = {}
        self._refused = 0
        self.in_fit = 0
        self._main_loop: Any = None
        self.on_update: Any = None

    def tell(self, sentence: str) -> None:
        """Note, once, that something was cut short."""
        if sentence not in self.told:
            self.told.append(sentence)

    def reached(self, done: int) -> bool:
        """Whether so many steps are as many as will be observed."""
        return self.steps is not None and done >= self.steps

    def before_update(self, loop: Any) -> None:
        """The script's own loop is about to update the weights. Raises ``BoundReached`` past the bound."""
        if self.in_fit or not self._wire.in_charge or not self.reached(self._loops.get(loop, 0)):
            return
        self.tell("the script's own training loop was stopped after {} updates".format(self.steps))
        self._refused += 1
        raise BoundReached()

    def after_update(self, loop: Any, loss: Optional[float] = None) -> None:
        """The script's own loop has updated the weights."""
        if self.in_fit or not self._wire.in_charge:
            return
        done = self._loops[loop] = self._loops.get(loop, 0) + 1
        now = self._wire.now()
        before = self._last.get(loop)
        self._last[loop] = now
        if self._main_loop is None:
            self._main_loop = loop
        if loop == self._main_loop and done <= 1000:
            self.updates = max(self.updates, done)
            value = loss if loss is not None else self._losses.pop("last", None)
            seconds = None if before is None else now - before
            self._wire.send("step", number=done, loop="own", loss=value, seconds=seconds)
        if self.on_update is not None and done <= 3:
            self.on_update()

    def saw_loss(self, loss: Optional[float]) -> None:
        """The loss that the script differentiated last."""
        self._losses["last"] = loss
