"""Which files belong to a script."""

from __future__ import annotations

from pathlib import Path

from f64doctor.source import read_source
from tests.source.projects import names, write


def test_the_script_comes_first_with_its_absolute_path_and_lines(tmp_path: Path) -> None:
    write(tmp_path, {"run/train.py": "import b\n\nx = 1\n", "run/b.py": ""})
    source = read_source("run/train.py", str(tmp_path))
    assert source.files[0].path == str(tmp_path / "run/train.py")
    assert source.files[0].lines == ["import b", "", "x = 1"]
    assert names(source, tmp_path) == ["run/train.py", "run/b.py"]


def test_imports_are_followed_wherever_they_stand(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "train.py": "def f():\n    import a\ntry:\n    from b import x\nexcept ImportError:\n    import c\nif y:\n    import d.e as z\n",
            "a.py": "class K:\n    import f\n",
            "b.py": "",
            "c.py": "",
            "d/__init__.py": "",
            "d/e.py": "",
            "f.py": "import train",
            "unused.py": "",
        },
    )
    found = names(read_source("train.py", str(tmp_path)), tmp_path)
    assert found == ["train.py", "a.py", "b.py", "c.py", "d/__init__.py", "d/e.py", "f.py"]


def test_packages_are_followed_through_relative_imports(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "train.py": "from pkg.sub import model\nimport space.tool\n",
            "pkg/__init__.py": "from . import base\n",
            "pkg/base.py": "from .sub.deep import x\n",
            "pkg/sub/__init__.py": "",
            "pkg/sub/model.py": "from ..other import *\nfrom . import deep\n",
            "pkg/sub/deep.py": "",
            "pkg/other.py": "",
            "space/tool.py": "",
        },
    )
    found = names(read_source("train.py", str(tmp_path)), tmp_path)
    assert sorted(found) == sorted(
        [
            "train.py",
            "pkg/__init__.py",
            "pkg/sub/__init__.py",
            "pkg/sub/model.py",
            "space/tool.py",
            "pkg/base.py",
            "pkg/other.py",
            "pkg/sub/deep.py",
        ]
    )


def test_installed_packages_and_environments_are_not_local(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "train.py": "import sys\nsys.path.append('lib/site-packages')\nimport far, env.m, venv.m, linked\n",
            "lib/site-packages/far.py": "",
            "env/pyvenv.cfg": "",
            "env/m.py": "",
            "venv/m.py": "",
        },
    )
    (tmp_path / "linked.py").symlink_to(tmp_path / "lib/site-packages/far.py")
    assert names(read_source("train.py", str(tmp_path)), tmp_path) == ["train.py"]


def test_folders_that_the_script_puts_on_the_path_are_searched(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "run/train.py": (
                "import os, sys\nfrom pathlib import Path\nHERE = Path(__file__).resolve().parent\n"
                "sys.path.insert(0, str(HERE.parent / 'src'))\nsys.path.append(os.path.join(os.path.dirname(__file__), '..', 'lib'))\n"
                "import one, two\n"
            ),
            "src/one.py": "",
            "lib/two.py": "",
        },
    )
    assert names(read_source("run/train.py", str(tmp_path)), tmp_path) == ["run/train.py", "src/one.py", "lib/two.py"]


def test_an_import_for_the_type_checker_only_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n", "a.py": ""})
    assert names(read_source("train.py", str(tmp_path)), tmp_path) == ["train.py"]


def test_no_more_than_500_files_are_read(tmp_path: Path) -> None:
    write(tmp_path, {f"m{n}.py": f"import m{n + 1}\n" for n in range(600)})
    assert len(read_source("m0.py", str(tmp_path)).files) == 500


def test_tensorflow_is_seen_inside_functions_and_modules(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"train.py": "import a\n", "a.py": "def f():\n    from tf_keras import layers\n", "b.py": "import numpy\n"},
    )
    assert read_source("train.py", str(tmp_path)).imports_tensorflow
    assert not read_source("b.py", str(tmp_path)).imports_tensorflow


def test_a_local_module_called_keras_is_not_keras(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": "import keras\n", "keras.py": ""})
    assert not read_source("train.py", str(tmp_path)).imports_tensorflow
