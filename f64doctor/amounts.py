"""Amounts in the words that people read, the same everywhere."""

from __future__ import annotations


def bytes_in_words(count: float) -> str:
    """A number of bytes with a binary unit: ``61 MiB``, ``22.9 GiB``; below 10 MiB and from a GiB on with one decimal."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1000:
            decimals = 1 if unit == "GiB" or (unit == "MiB" and abs(count) < 9.95) else 0
            return f"{count:,.{decimals}f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"
