"""Builds the fake libraries of this folder with gcc, where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def built(source: str, library: Path, *options: str) -> Path:
    """A shared library made of one source. Skips the test where there is no gcc."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc, which builds the fake devices, is not here")
    command = ["gcc", *WARNINGS, "-O1", "-shared", "-fPIC", "-o", str(library), str(HERE / source), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def driver_libraries(folder: Path) -> Path:
    """A folder with a management library and a CUDA driver, for LD_LIBRARY_PATH."""
    built("nvml.c", folder / "libnvidia-ml.so.1")
    built("cuda.c", folder / "libcuda.so.1")
    return folder


def gpu_plugin(folder: Path, tensorflow: Path) -> Path:
    """A device plug-in for the TensorFlow in that folder, for TF_PLUGGABLE_DEVICE_LIBRARY_PATH."""
    return built(
        "gpu_plugin.c",
        folder / "libfake_gpu.so",
        f"-I{tensorflow / 'include'}",
        f"-L{tensorflow}",
        "-l:libtensorflow_framework.so.2",
        "-l:libtensorflow_cc.so.2",
        f"-Wl,-rpath,{tensorflow}",
    )
