"""The pipe to the doctor: one JSON object a line, bounded, silent in forked children, never an error for the script."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

PROTOCOL = 1

# No script can flood the pipe: past this many events of one kind the rest are counted only.
EVENTS_OF_A_KIND = 4000


class Wire:
    """Sends events over an inherited file descriptor; ``t`` of each is seconds since the wire was made."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._owner = os.getpid()
        self._began = time.perf_counter()
        self._lock = threading.RLock()
        self._sent: dict[str, int] = {}
        self._troubles: set[str] = set()

    def now(self) -> float:
        """Seconds since the wire was made."""
        return time.perf_counter() - self._began

    def send(self, event: str, **facts: Any) -> None:
        """Send one event. Facts that are None are left out."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            count = self._sent[event] = self._sent.get(event, 0) + 1
            if count > EVENTS_OF_A_KIND and event not in ("end", "failure", "memory", "devices"):
                return
            body = {key: value for key, value in facts.items() if value is not None}
            body["event"] = event
            body["t"] = round(self.now(), 6)
            try:
                line = json.dumps(body, default=str, allow_nan=False)
            except ValueError:
                line = json.dumps(_without_nan(body), default=str)
            except Exception:  # noqa: BLE001 - the script may have replaced what encoding needs; it shall not notice
                return
            data = line.encode("utf-8", "backslashreplace") + b"\n"
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                self._owner = -1  # nobody listens any more

    def trouble(self, where: str, error: BaseException) -> None:
        """Tell, once for each kind, that a part of the probe could not do its work."""
        message = "{}: {}".format(type(error).__name__, error)[:500]
        key = where + type(error).__name__
        if key not in self._troubles:
            self._troubles.add(key)
            self.send("trouble", where=where, message=message)

    @property
    def in_charge(self) -> bool:
        """False in a forked child."""
        return os.getpid() == self._owner


def _without_nan(value: Any) -> Any:
    """The same structure with NaN and infinities, which JSON lacks, as None."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value
