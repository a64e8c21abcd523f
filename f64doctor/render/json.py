"""The report as JSON, which is also the form in which it is saved."""

from __future__ import annotations

from typing import Any

import msgspec

from f64doctor.render.escape import visible
from f64doctor.report import Report, encode


def render_json(report: Report) -> str:
    """The report as JSON that its schema describes, with a line break at the end."""
    try:
        data = encode(report)
    except UnicodeEncodeError:
        # A file name or a log that is no UTF-8 reaches us with lone surrogates, which JSON in UTF-8 cannot carry.
        data = encode(msgspec.convert(without_surrogates(msgspec.to_builtins(report)), Report))
    return data.decode() + "\n"


def without_surrogates(value: Any) -> Any:
    """The same plain data, each string with lone surrogates written out as visible escapes."""
    if isinstance(value, str):
        return "".join(visible(character) if "\ud800" <= character <= "\udfff" else character for character in value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    return value
