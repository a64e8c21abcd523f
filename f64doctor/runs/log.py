"""The last lines of what a script prints, in bounded memory whatever it prints."""

from __future__ import annotations

import collections
import re

LINES_KEPT = 1000
LONGEST_LINE = 2000
NOTICES_KEPT = 200
# How TensorFlow's runtime begins its lines: “2026-01-31 12:00:00.000000: W …” or “W0000 00:00:1769860800.000000 4242 …”.
_NOTICE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] |[IWEF]\d{4} \d\d:\d\d:[\d.]+ ")
_ERASED = re.compile(rb"\r(?!\n)|\x08+")


class Log:
    """Keeps the last lines, and as ``notices`` the first ones of TensorFlow's runtime, which speaks of devices early.

    A line that was rewritten by carriage returns is kept as it stood last.
    """

    def __init__(self) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=LINES_KEPT)
        self._rest = b""
        self.dropped = 0
        self.notices: list[str] = []

    def feed(self, data: bytes) -> list[str]:
        """Take in bytes; the lines that are complete with them."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-64 * 1024 :]
        new = [self._line(line) for line in lines]
        self.dropped += max(0, len(self._lines) + len(new) - LINES_KEPT)
        self._lines.extend(new)
        self.notices += [line for line in new if _NOTICE.match(line)][: NOTICES_KEPT - len(self.notices)]
        return new

    def close(self) -> None:
        """Nothing more will come: what is left is the last line."""
        if self._rest:
            self._lines.append(self._line(self._rest))
            self._rest = b""

    def tail(self, lines: int = 200) -> str:
        """The last lines, oldest first."""
        return "\n".join(list(self._lines)[-lines:])

    @staticmethod
    def _line(line: bytes) -> str:
        parts = [part for part in _ERASED.split(line.rstrip(b"\r")) if part]
        last = parts[-1] if parts else b""
        return last[:LONGEST_LINE].decode("utf-8", "replace")
