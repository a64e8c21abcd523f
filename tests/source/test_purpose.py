"""Whether a float32 matters: computed with, drawn, written out, or never reached."""

from __future__ import annotations

import textwrap

import pytest

from tests.source.projects import Purposes, Read

IMPORTS = "import matplotlib.pyplot as plt\nimport numpy as np\nimport tensorflow as tf\nfrom PIL import Image\nimport h5py, json\n"


@pytest.fixture
def purposes(read: Read) -> Purposes:
    def of(lines: str, **modules: str) -> list[str]:
        return [m.purpose for m in read(IMPORTS + textwrap.dedent(lines), **modules).mentions if m.dtype == "float32"]

    return of


@pytest.mark.parametrize(
    "lines",
    [
        "plt.imshow(x.astype('float32'))",
        "plt.imshow(x.astype('float32').reshape(3, 3) / 2)",
        "fig, ax = plt.subplots()\nax.plot(t, x.astype('float32'), label='a')",
        "ax.imshow(x.astype('float32'))",
        "img = x.astype('float32')\nimg = (img - img.min()) / 2\nplt.imshow(img)",
        "img = np.float32(x)\nImage.fromarray(img).save('a.png')",
        "tf.io.write_file(p, tf.io.encode_png(tf.cast(x.astype('float32') * 255, tf.uint8)))",
        "frames = []\nfor x in xs:\n    frames.append(x.astype('float32'))\nimport imageio\nimageio.mimsave('a.gif', frames)",
        "def preview(field):\n    f = field.astype('float32')\n    f = f - f.min()\n    plt.imshow(f)\n    plt.savefig('a.png')\npreview(x)",
        "def anything(field):\n    f = tf.cast(model(field), tf.float32)\n    plt.imshow(f)\nanything(x)",
        "def draw(a):\n    fig, ax = plt.subplots()\n    y = np.float32(a)\n    ax.plot(y)\n    return fig\ndraw(x)",
        "def encode(a):\n    return tf.io.encode_png(tf.cast(np.float32(a), tf.uint8))\nencode(x)",
        "def show(a):\n    plt.imshow(a)\nshow(x.astype('float32'))",
        "def to_image(a):\n    return np.float32(a) / 255\ndef draw(a):\n    plt.imshow(to_image(a))\ndraw(x)",
        "class V:\n    def show(self, x):\n        plt.imshow(x.astype('float32'))\nV().show(x)",
    ],
)
def test_a_value_that_only_becomes_a_picture_is_for_a_plot(purposes: Purposes, lines: str) -> None:
    assert purposes(lines) == ["plot"]


@pytest.mark.parametrize(
    "lines",
    [
        "np.save('out.npy', x.astype('float32'))",
        "np.savez('out.npz', a=x, b=x.astype('float32'))",
        "np.savetxt('out.txt', x.astype('float32'))",
        "x.astype('float32').tofile('out.bin')",
        "import pandas as pd\npd.DataFrame(x.astype('float32')).to_csv('out.csv')",
        "df.astype('float32').to_parquet('out.parquet')",
        "y = x.astype('float32')\nnp.save('out.npy', y)",
        "with h5py.File('out.h5', 'w') as f:\n    f.create_dataset('x', data=x.astype('float32'))",
        "open('out.bin', 'wb').write(x.astype('float32').tobytes())",
        "with open('out.bin', 'wb') as f:\n    f.write(x.astype('float32').tobytes())",
        "json.dump(x.astype('float32').tolist(), open('out.json', 'w'))",
        "tf.io.write_file('out', tf.io.serialize_tensor(tf.cast(x, tf.float32)))",
        "def export(a):\n    b = np.float32(a)\n    np.save('out.npy', b)\nexport(x)",
        "def export(a):\n    np.save('out.npy', a)\nexport(np.float32(x))",
        "y = np.float32(x)\nplt.plot(y)\nnp.save('out.npy', y)",
        "np.save('out.npy', x.astype('float32'))\nz = np.load('other.npy')",
    ],
)
def test_a_value_that_only_goes_to_a_file_is_for_saving(purposes: Purposes, lines: str) -> None:
    assert purposes(lines) == ["save"]


@pytest.mark.parametrize(
    "lines",
    [
        "model.fit(x.astype('float32'))",
        "y = x.astype('float32')\nplt.plot(y)\nmodel.fit(y)",
        "y = x.astype('float32')\nnp.save('a', y)\nmodel.fit(y)",
        "y = x.astype('float32')",
        "x = x.astype('float32')\nprint(x)",
        "self.x = x.astype('float32')",
        "def f(x):\n    return x.astype('float32')\nmodel.fit(f(x))",
        "def plot(x):\n    x = x.astype('float32')\n    model.fit(x)\n    plt.plot(x)\nplot(x)",
        "def plot_ready(x):\n    return x.astype('float32')\nmodel.fit(plot_ready(x))",
        "def preview(x):\n    y = x.astype('float32')\n    plt.imshow(y)\n    return y\nmodel.fit(preview(x))",
        "def show(x):\n    return np.float32(x)\nplt.imshow(show(x))\nmodel.fit(show(x))",
        "for i in r:\n    plt.plot(z)\n    model.fit(z)\n    z = x.astype('float32')",
        "def f(x):\n    y = x.astype('float32')\n    def g():\n        return model(y)\n    plt.plot(1)\n    return g\nf(x)()",
        "w.write(tf.train.Example(tf.train.FloatList(value=x)).SerializeToString())",
        "with tf.io.TFRecordWriter(p) as w:\n    w.write(x.astype('float32').tobytes())",
        "a = tf.TensorArray(tf.int64, 3)\na.write(0, x.astype('float32'))",
    ],
)
def test_a_value_that_may_be_computed_with_counts(purposes: Purposes, lines: str) -> None:
    assert purposes(lines) == ["compute"]


def test_a_later_value_of_the_same_name_does_not_matter(purposes: Purposes) -> None:
    assert purposes("y = x.astype('float32')\nplt.plot(y)\ny = x\nmodel.fit(y)") == ["plot"]


def test_an_earlier_value_of_the_same_name_does_not_matter(purposes: Purposes) -> None:
    assert purposes("y = x\nmodel.fit(y)\ny = x.astype('float32')\nplt.plot(y)") == ["plot"]


@pytest.mark.parametrize(
    "lines",
    [
        "def load(path):\n    if not exists(path):\n        np.savez(path, x=x.astype('float32'))\n    return np.load(path)\nload('c')",
        "np.save('cache.npy', x.astype('float32'))\ny = np.load('cache.npy')",
        "P = 'cache'\nnp.savez(P, x.astype('float32'))\ny = np.load('cache.npz')",
        "with open('c.bin', 'wb') as f:\n    f.write(x.astype('float32').tobytes())\ny = np.fromfile('c.bin')",
        "with h5py.File('c.h5', 'w') as f:\n    f.create_dataset('x', data=x.astype('float32'))\ng = h5py.File('c.h5', 'r')",
        "def put(p):\n    np.save(p, x.astype('float32'))\ndef get(p):\n    return np.load(p)\nput('c.npy')\nget('c.npy')",
    ],
)
def test_a_file_that_is_read_back_is_part_of_the_computation(purposes: Purposes, lines: str) -> None:
    assert purposes(lines) == ["compute"]


def test_a_global_that_another_module_reads_counts(purposes: Purposes) -> None:
    lines = "from consts import A\nmodel.fit(A)"
    consts = "import numpy as np\nimport matplotlib.pyplot as plt\nA = np.float32(0.1)\nplt.plot(A)\n"
    assert purposes(lines, consts=consts) == ["compute"]


@pytest.mark.parametrize(
    "lines",
    [
        "def f():\n    return 1\n    x.astype('float32')\nf()",
        "def f():\n    raise E\n    x.astype('float32')\nf()",
        "def f():\n    if a:\n        return 1\n    else:\n        raise E\n    x.astype('float32')\nf()",
        "for i in r:\n    continue\n    x.astype('float32')",
        "import sys\nsys.exit()\nx.astype('float32')",
        "if False:\n    x.astype('float32')",
        "if 0:\n    x.astype('float32')",
        "if not True:\n    x.astype('float32')",
        "if True:\n    pass\nelse:\n    x.astype('float32')",
        "while False:\n    x.astype('float32')",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    x.astype('float32')",
        "import typing\nif typing.TYPE_CHECKING and a:\n    x.astype('float32')",
        "if False:\n    def f():\n        x.astype('float32')\n    f()",
        "def f():\n    x.astype('float32')\nprint(1)",
        "def f():\n    x.astype('float32')\ndef g():\n    f()\nprint(1)",
        "def f():\n    x.astype('float32')\n    f()\nprint(1)",
        "class A:\n    def never(self):\n        x.astype('float32')\nA()",
        "class A(B):\n    def call(self):\n        x.astype('float32')\nprint(1)",
        "@tf.function\ndef f():\n    x.astype('float32')\nprint(1)",
        "def f():\n    def g():\n        x.astype('float32')\n    return 1\nf()",
        "def plot():\n    plt.plot(x.astype('float32'))\nprint(1)",
    ],
)
def test_what_never_runs_is_dead(purposes: Purposes, lines: str) -> None:
    assert purposes(lines) == ["dead"]


@pytest.mark.parametrize(
    "lines",
    [
        "def f():\n    x.astype('float32')\nds.map(f)",
        "def f():\n    x.astype('float32')\ntable = {'f': f}\ntable['f']()",
        "def f():\n    x.astype('float32')\ngetattr(m, 'f')()",
        "def f():\n    x.astype('float32')\nglobals()[name]()",
        "def f():\n    x.astype('float32')\nimport fire\nfire.Fire()",
        "@app.command()\ndef f():\n    x.astype('float32')\nprint(1)",
        "class A(B):\n    def call(self):\n        x.astype('float32')\nA()",
        "class A:\n    def __call__(self):\n        x.astype('float32')\nA()",
        "class A:\n    def go(self):\n        self.inner()\n    def inner(self):\n        x.astype('float32')\nA().go()",
        "def f():\n    def g():\n        x.astype('float32')\n    return g\nf()",
        "def f():\n    if a:\n        return 1\n    x.astype('float32')\nf()",
        "import contextlib\nwith contextlib.suppress(E):\n    raise E\nx.astype('float32')",
        "try:\n    raise E\nexcept E:\n    pass\nx.astype('float32')",
        "if __name__ == '__main__':\n    x.astype('float32')",
    ],
)
def test_what_may_run_is_not_dead(purposes: Purposes, lines: str) -> None:
    assert purposes(lines) == ["compute"]


def test_the_main_part_of_an_imported_module_never_runs(purposes: Purposes) -> None:
    assert purposes("import tool", tool="if __name__ == '__main__':\n    x.astype('float32')\n") == ["dead"]


def test_a_function_that_only_another_module_calls_is_alive(purposes: Purposes) -> None:
    modules = {"a": "def f(x):\n    return x.astype('float32')\ndef g(x):\n    return x.astype('float32')\n"}
    assert purposes("from a import f\nmodel.fit(f(x))", **modules) == ["compute", "dead"]


def test_functions_of_a_file_of_definitions_alone_are_not_called_dead(purposes: Purposes) -> None:
    assert purposes("def f(x):\n    return x.astype('float32')") == ["compute"]
