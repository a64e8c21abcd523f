"""Nothing that a file may hold stops the reading."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from f64doctor.source import read_source
from tests.source.projects import Read

CAST = "x.astype('float32')"


def lines_of(tmp_path: Path, raw: bytes) -> tuple[list[str], list[int]]:
    (tmp_path / "train.py").write_bytes(raw)
    source = read_source("train.py", str(tmp_path))
    return source.files[0].lines, [mention.line for mention in source.mentions]


def test_windows_line_ends_count_once(tmp_path: Path) -> None:
    assert lines_of(tmp_path, b"x = 1\r\n\r\nx.astype('f4')\r\n") == (["x = 1", "", "x.astype('f4')"], [3])


def test_old_mac_line_ends_count(tmp_path: Path) -> None:
    assert lines_of(tmp_path, b"x = 1\rx.astype('f4')\r") == (["x = 1", "x.astype('f4')"], [2])


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    assert lines_of(tmp_path, b"\xef\xbb\xbfx.astype('f4')\n") == (["x.astype('f4')"], [1])


def test_a_coding_cookie_is_obeyed(tmp_path: Path) -> None:
    raw = b"# -*- coding: latin-1 -*-\ns = 'f\xfcr'; x.astype('f4')\n"
    assert lines_of(tmp_path, raw) == (["# -*- coding: latin-1 -*-", "s = 'für'; x.astype('f4')"], [2])


def test_form_feeds_and_unicode_separators_end_no_line(tmp_path: Path) -> None:
    lines, found = lines_of(tmp_path, "a = 1\n\x0c\ns = '\u2028\x1c'\nx.astype('f4')\n".encode())
    assert (len(lines), found) == (4, [4])


@pytest.mark.parametrize(
    "raw",
    [
        b"s = 'f\xfcr'\nx.astype('f4')\n",
        b"# coding: klingon\nx.astype('f4')\n",
        b"x = 1\0\nx.astype('f4')\n",
        b"def f(:\nx.astype('f4')\n",
        b"print 'python 2'\nx.astype('f4')\n",
        b"(" * 5000 + b"\nx.astype('f4')\n",
        b"-" * 100_000 + b"1\nx.astype('f4')\n",
    ],
)
def test_what_python_cannot_read_has_lines_but_no_mentions(tmp_path: Path, raw: bytes) -> None:
    lines, found = lines_of(tmp_path, raw)
    assert (len(lines), found) == (2, [])


def test_a_module_that_cannot_be_parsed_hides_nothing_else(read: Read) -> None:
    source = read("import broken\nimport fine\n", broken="def f(:\n", fine=CAST)
    assert [file.path.rpartition("/")[2] for file in source.files] == ["train.py", "broken.py", "fine.py"]
    assert [(mention.file.rpartition("/")[2], mention.line) for mention in source.mentions] == [("fine.py", 1)]


def test_a_script_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    source = read_source("nowhere.py", str(tmp_path))
    assert [(file.path, file.lines) for file in source.files] == [(str(tmp_path / "nowhere.py"), [])]
    assert read_source(".", str(tmp_path)).mentions == []
    assert read_source("a\0b.py", str(tmp_path)).mentions == []


@pytest.mark.parametrize(
    "lines",
    [
        "y = " + "1 + " * 3000 + CAST,
        "y = " + "1 + " * 100_000 + CAST,
        "y = x" + ".a" * 3000 + ".astype('float32')",
        "y = x" + "[0]" * 3000 + ".astype('float32')",
        "y = x" + ".f()" * 500 + ".astype('float32')",
        "y = " + "f(" * 90 + CAST + ")" * 90,
        "y = " + "[" * 90 + CAST + "]" * 90,
        "y = " + "lambda: " * 300 + CAST,
        "".join(" " * n + "if a:\n" for n in range(90)) + " " * 90 + CAST,
        "".join(" " * n + f"def f{n}():\n" for n in range(60)) + " " * 60 + CAST,
        "if a: pass\n" + "elif b: pass\n" * 1000 + "else: " + CAST,
        "tf.constant(" + "-" * 500 + "0.1)",
        "import tensorflow as tf\na0 = 0.1\n"
        + "".join(f"a{n + 1} = a{n} + a{n}\n" for n in range(500))
        + "tf.constant(a500)",
        "import tensorflow as tf\ntf.cast(2.0 ** 2.0 ** 99.0 ** 99.0, tf.float64)\ntf.cast(10 ** 10 ** 10, 'float64')",
    ],
)
def test_deep_code_is_read_in_bounded_time(tmp_path: Path, lines: str) -> None:
    (tmp_path / "train.py").write_text(lines + "\n")
    began = time.perf_counter()
    read_source("train.py", str(tmp_path))
    assert time.perf_counter() - began < 5


def test_a_file_of_a_hundred_thousand_lines_is_read_in_part(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = f(1, 'a')\n" * 5 + CAST + "\n" + "x = f(1, y.z)\n" * 100_000)
    began = time.perf_counter()
    source = read_source("train.py", str(tmp_path))
    assert time.perf_counter() - began < 5
    assert len(source.files[0].lines) == 100_006
    assert [mention.line for mention in source.mentions] == [6]


def test_odd_syntax_is_read(read: Read) -> None:
    source = read(
        """
        import numpy as np
        async def f(xs):
            async with a as b, c:
                async for x in xs:
                    yield await x.astype("f4")
            return
        @(lambda g: g)
        def g(a, /, b, *args, c=np.float32(1), **kw):
            nonlocal_ = [y := np.float32(2), *args]
            return {**kw, "k": (z async for z in a) if c else ...}
        match g:
            case {"a": [1, *rest], **others} if (n := np.float32(3)):
                pass
            case A(b=c) | [c]:
                pass
        class C(metaclass=M, x=np.float32(4)):
            __slots__ = ()
        with open(np.float32(5)) as (p, q), r:
            del p[np.float32(6)], q.s
        a[np.float32(7)] = b.c = f"{np.float32(8)!r:>{np.float32(9)}}"
        a[0] += np.float32(10)
        print(*map(np.float32, a), **{})
        for a.b, (c, *d) in x: ...
        else:
            np.float32(11)
        """
    )
    texts = " ".join(mention.text for mention in source.mentions)
    assert all(f"np.float32({number})" in texts for number in range(1, 12))
    assert len(source.mentions) == 13


SNIPPETS = st.sampled_from(
    [
        "import numpy as np", "import tensorflow as tf", "from a import *", "import train", "from . import train", "K = tf.keras.backend",
        "tf.cast(x, d)", "x = x.astype(d)", "d = tf.float32", "d = e = d", "e = d if a else e", "def f(d=d, *a, **k):", "class A(A):",
        "self.d = d", "d.d = d", "d['a'] = d", "return f(d)", "if False:", "else:", "while d:", "for d in d:", "try:", "except E as d:",
        "match d:", "case [d, *e]:", "with d as d:", "global d", "nonlocal d", "lambda d=d: d", "[d for d in d]", "d = (d := d)",
        "tf.constant(d)", "tf.constant(0.1)", "f(d=f(d))", "plt.plot(d.astype('f4'))", "np.save(d, np.float32(d))", "np.load(d)", "pass",
        "d = d.d.d()", "A().d", "A.f(d)", "super().d(dtype=d)", "raise", "del d", "d += d", "**d", "(", ")", "'", '"""', "\\", "\0", "é", "\x0c",
    ]
)  # fmt: skip


@st.composite
def mutated_source(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.tuples(st.integers(0, 4), SNIPPETS), max_size=25))
    return "\n".join("    " * depth + text for depth, text in lines)


@st.composite
def nested_source(draw: st.DrawFn) -> str:
    """Source whose blocks are always filled, so that most of it can be parsed."""
    lines: list[str] = []
    depth = 0
    for text in draw(st.lists(SNIPPETS, max_size=30)):
        if text in (
            "(",
            ")",
            "'",
            '"""',
            "\\",
            "\0",
            "**d",
            "else:",
            "except E as d:",
            "case [d, *e]:",
            "global d",
            "nonlocal d",
        ):
            continue
        if text in ("try:", "match d:"):
            continue
        lines.append("    " * depth + text)
        if text.endswith(":"):
            depth += 1
        elif depth and draw(st.booleans()):
            depth -= 1
    return "\n".join([*lines, "    " * depth + "pass"])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(mutated_source(), nested_source(), st.text(max_size=200)),
    st.one_of(nested_source(), st.text(max_size=50)),
)
@example("class A(A):\n    d = A.d\nA.d", "")
def test_no_source_makes_the_reading_raise(script: str, module: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(script, encoding="utf-8", errors="replace")
        Path(folder, "a.py").write_text(module, encoding="utf-8", errors="replace")
        source = read_source("train.py", folder)
    for mention in source.mentions:
        assert mention.kind in ("setting", "cast", "dtype", "literal")
        assert mention.purpose in ("compute", "plot", "save", "dead")
        assert mention.line >= 1
        assert len(mention.text) <= 200
    assert read_source("train.py", folder).mentions == []


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_make_the_reading_raise(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_bytes(raw)
        assert len(read_source("train.py", folder).files) == 1


@pytest.mark.parametrize(
    "lines",
    [
        "x = x.astype('f4')\n" * 15_000,
        "x = np.float32(y)\nif a:\n    x = f(x)\n" * 4_000,
        "l0 = [0.1]\n"
        + "".join(f"l{n + 1} = [{', '.join([f'l{n}'] * 60)}]\n" for n in range(60))
        + "tf.constant(l60)\ntf.cast(l60, tf.float64)\ntf.zeros(3, dtype=l60)\ntf.data.Dataset.from_tensor_slices(l60)\n",
        "l0 = (0.1,)\n"
        + "".join(f"l{n + 1} = ({', '.join([f'l{n}'] * 60)})\n" for n in range(60))
        + "tf.data.Dataset.from_tensor_slices(l60)\nnp.zeros(3, dtype=l60)\n",
        "".join(f"def f{n}(x):\n    return f{n + 1}(x.astype('f4'))\n" for n in range(3_000)) + "f0(1)\n",
        "".join(f"def f{n + 1}(x, d):\n    return f{n}(x.astype(d), d)\n" for n in range(3_000)) + "f3000(1, 'f4')\n",
        "cfg = {"
        + "".join(f"'k{n}': 'float32',\n" for n in range(5_000))
        + "}\n"
        + "".join(f"np.zeros(3, cfg['k{n}'])\n" for n in range(5_000)),
        "class A:\n"
        + "".join(
            f"    def f{n}(self, x):\n        self.v{n} = self.v{n + 1}\n        x.astype(self.v{n})\n"
            for n in range(3_000)
        ),
    ],
)
def test_much_of_the_same_is_read_in_bounded_time(tmp_path: Path, lines: str) -> None:
    (tmp_path / "train.py").write_text("import numpy as np\nimport tensorflow as tf\n" + lines)
    began = time.process_time()
    read_source("train.py", str(tmp_path))
    assert time.process_time() - began < 5
