"""Whatever the bytes are, there is an answer or an error of ours: events, saved reports, targets, sources.

A few hundred examples each; ``F64DOCTOR_FUZZ=10000 pytest tests/test_fuzz.py`` tries as many.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from f64doctor.observe import Run
from f64doctor.render.json import render_json
from f64doctor.render.masking import Known, Masking, masked
from f64doctor.render.text import render_text
from f64doctor.report import Report, decode
from f64doctor.runs import Reader
from f64doctor.runs import decode as decode_event
from f64doctor.source import read_source
from f64doctor.target import TargetError, read_report, read_target
from tests.reports import failed_report, healthy_report

EXAMPLES = int(os.environ.get("F64DOCTOR_FUZZ", "200"))
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

EVENTS = [
    {"event": "hello", "protocol": 1, "pid": 1, "python": "3.11", "executable": "p", "script": "s", "cwd": "c"},
    {
        "event": "setting",
        "kind": "floatx",
        "name": "set_floatx",
        "library": "keras",
        "frames": [{"file": "a", "line": 1}],
    },
    {"event": "array", "serial": 1, "how": "called", "kind": "array", "dtype": "float64", "shape": [2, None]},
    {"event": "held_back", "kind": "file", "what": "x"},
    {"event": "step", "number": 1, "loss": 0.5},
    {"event": "memory", "device": "process", "peak": 5},
    {"event": "failure", "type": "E", "message": "m"},
    {"event": "end", "outcome": "completed", "exit_code": 0},
]

values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=20),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@some.composite
def altered(draw: some.DrawFn, plain: Any) -> Any:
    """Plain data in which something else stands at one place or another."""
    copy = json.loads(json.dumps(plain))
    for _ in range(draw(some.integers(0, 3))):
        place = copy
        while isinstance(place, dict | list) and place:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(some.sampled_from(keys))
            if not isinstance(place[key], dict | list) or not place[key] or draw(some.booleans()):
                what = draw(some.sampled_from(["replace", "remove", "grow"]))
                if what == "remove":
                    del place[key]
                elif what == "replace" or not isinstance(place, dict):
                    place[key] = draw(values)
                else:
                    place[draw(some.text(max_size=6))] = draw(values)
                break
            place = place[key]
    return copy


@some.composite
def damaged(draw: some.DrawFn, whole: bytes) -> bytes:
    """Bytes of which some were cut out, doubled, or are others now."""
    data = bytearray(whole)
    for _ in range(draw(some.integers(0, 4))):
        begin = draw(some.integers(0, len(data)))
        end = min(len(data), begin + draw(some.integers(0, 40)))
        data[begin:end] = draw(some.sampled_from([b"", bytes(data[begin:end]) * 2, draw(some.binary(max_size=20))]))
    return bytes(data)


@fuzzed
@given(some.sampled_from(EVENTS).flatmap(altered))
def test_an_altered_event_is_an_event_or_kept_as_none(event: Any) -> None:
    line = json.dumps(event).encode("utf-8", "surrogatepass")
    found = decode_event(line)
    assert found is None or msgspec.convert(msgspec.to_builtins(found), type(found)) == found


@fuzzed
@given(
    some.lists(some.binary(max_size=200) | damaged("".join(json.dumps(e) + "\n" for e in EVENTS).encode()), max_size=6)
)
def test_a_pipe_may_carry_anything(pieces: list[bytes]) -> None:
    reader = Reader()
    for piece in pieces:
        Run("as-is", events=reader.feed(piece))
    reader.close()
    assert all(len(line) <= 500 for line in reader.undecoded)


@fuzzed
@given(
    some.sampled_from([failed_report(), healthy_report()]).flatmap(lambda report: altered(msgspec.to_builtins(report)))
)
def test_an_altered_report_is_refused_or_can_be_shown(plain: Any) -> None:
    try:
        report = decode(json.dumps(plain).encode("utf-8", "surrogatepass"))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    shown = masked(report, Known("/home/ann", "ann", ("gpu7",), ("s3cr3t-value",)))
    assert isinstance(shown, Report)
    for width in (1, 80):
        assert "\x1b" not in render_text(shown, width=width)
    assert decode(render_json(shown).encode())


@fuzzed
@given(damaged(render_json(failed_report()).encode()) | some.binary(max_size=300))
def test_any_file_is_a_target_or_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.f64.json").write_bytes(content)
    try:
        target = read_target("x.f64.json", (), tmp_path)
        if target.kind == "report":
            read_report(target)
    except TargetError as error:
        assert error.sentence


WORDS = some.sampled_from(
    [
        "import keras\n",
        "import tensorflow as tf\n",
        "from . import x\n",
        "def f(x):\n",
        "class A(B):\n",
        "    ",
        "    return ",
        "if x:\n",
        "else:\n",
        "for x in y:\n",
        "x = ",
        "keras.backend.set_floatx('float64')\n",
        "tf.cast(x, 'float32')",
        "x.astype(np.float32)",
        "keras.layers.Dense(1, dtype=",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "=",
        "lambda: ",
        "*",
        "**",
        "f'{x}'",
        "'''",
        '"',
        "\\\n",
        "# coding: latin-1\n",
        "match x:\n",
        "    case ",
        "async ",
        "await ",
        "yield ",
        "try:\n",
        "except* E:\n",
        "with a as b:\n",
        ":=",
        "@d\n",
        "global x\n",
        "\t",
        "\ufeff",
        "\x00",
        "\u202e",
        "é",
        "1e999",
        "0x",
        "...",
        "None",
        "del x\n",
        "type X = int\n",
        "import sys; sys.path.insert(0, 'lib')\n",
    ]
)
SOURCES = [path.read_bytes() for path in sorted((Path(__file__).parent / "corpus").glob("*/train.py"))[:12]]


@fuzzed
@given(
    some.lists(WORDS, max_size=40).map(lambda words: "".join(words).encode())
    | some.sampled_from(SOURCES).flatmap(damaged)
)
def test_any_source_can_be_read(tmp_path: Path, source: bytes) -> None:
    script = tmp_path / "train.py"
    script.write_bytes(source)
    read_source(str(script), str(tmp_path))


@fuzzed
@given(some.text(max_size=200))
def test_any_text_can_be_masked_and_what_is_masked_stays(text: str) -> None:
    masking = Masking(Known("/home/ann", "ann", ("gpu7",), ("s3cr3t-value",)))
    once = masking.text(text + " s3cr3t-value /home/ann/x ann gpu7")
    assert "s3cr3t-value" not in once
    assert "/home/ann" not in once


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "@" * 50_000, "x://" * 50_000, "token=" * 40_000, "a.b@" * 50_000, "eyJ" * 60_000]
)
def test_masking_takes_no_long_time(text: str) -> None:
    import time

    began = time.monotonic()
    Masking(Known("/home/ann", "ann")).text(text)
    assert time.monotonic() - began < 5
