"""Reads the probe's pipe: one JSON object a line, decoded strictly; a line that is no event is kept, never fatal."""

from __future__ import annotations

import msgspec

from f64doctor.observe.events import AnyEvent

PROTOCOL = 1
MOST_UNDECODED = 50
LONGEST_LINE = 4 * 1024 * 1024

_decoder = msgspec.json.Decoder(AnyEvent)


def decode(line: bytes) -> AnyEvent | None:
    """The event on one line, or None when there is none."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class Reader:
    """Cuts the bytes of the pipe into lines, whatever the pieces in which they arrive."""

    def __init__(self) -> None:
        self._rest = b""
        self.undecoded: list[str] = []

    def feed(self, data: bytes) -> list[AnyEvent]:
        """The events that are complete with these bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._keep(self._rest)
            self._rest = b""
        found = []
        for line in lines:
            if not line.strip():
                continue
            event = decode(line)
            if event is None:
                self._keep(line)
            else:
                found.append(event)
        return found

    def close(self) -> None:
        """The pipe is closed: what is left is no whole line."""
        if self._rest.strip():
            self._keep(self._rest)
        self._rest = b""

    def _keep(self, line: bytes) -> None:
        if len(self.undecoded) < MOST_UNDECODED:
            self.undecoded.append(line[:500].decode("utf-8", "replace"))
