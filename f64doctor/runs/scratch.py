"""The scratch folder of one run: where it is made, what of it the script sees, and where native code may write besides."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

from f64doctor.runs import guard

# What programs outside of the script's tree write to by nature: devices, sockets and the pipes of NVIDIA's MPS.
BY_NATURE = ("/dev", "/proc", "/run", "/var/run", "/tmp/nvidia-mps", "/tmp/.X11-unix")
# Where a scratch folder can be when the usual places for one are full or read-only.
LAST_RESORTS = ("/var/tmp", "/dev/shm")

# What switches trackers of experiments off, in their own words.
TRACKERS_OFF = {
    "WANDB_MODE": "disabled",
    "COMET_MODE": "disabled",
    "NEPTUNE_MODE": "debug",
    "CLEARML_OFFLINE_MODE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}

# A window would wait for somebody to close it.
NO_WINDOWS = {"MPLBACKEND": "Agg"}


class Scratch:
    """A folder for the run's temporary files and for what it is not allowed to write elsewhere. Raises ``OSError`` when none can be made."""

    def __init__(self) -> None:
        self.folder = make_folder()
        self.temporary = os.path.join(self.folder, "tmp")
        os.mkdir(self.temporary)

    def options(self, allow_writes: bool) -> dict[str, Any]:
        """What the probe has to know of it."""
        return {} if allow_writes else {"scratch": self.folder, "guarded": bool(guard.abi())}

    def environment(self, environment: Mapping[str, str], allow_writes: bool) -> dict[str, str]:
        """The script's environment: temporary files lie in the scratch folder; unless it may write, trackers are off and no bytecode is written."""
        if allow_writes:
            return {**environment} if "TMPDIR" in environment else {**environment, "TMPDIR": self.temporary}
        tracking = f"file://{os.path.join(self.folder, 'mlruns')}"
        return {
            **environment,
            **TRACKERS_OFF,
            "MLFLOW_TRACKING_URI": tracking,
            **NO_WINDOWS,
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": self.temporary,
        }

    def writable_natively(self, users: Iterable[str], environment: Mapping[str, str]) -> list[str] | None:
        """Where native code and other programs may write; None where the kernel cannot confine them. ``users``: folders that stay as they are."""
        if not guard.abi():
            return None
        places = [self.folder, *BY_NATURE]
        # Kernels that the NVIDIA driver compiles for a card can take half an hour, and it keeps them there.
        places.append(environment.get("CUDA_CACHE_PATH") or os.path.expanduser("~/.nv"))
        if pipes := environment.get("CUDA_MPS_PIPE_DIRECTORY"):
            places.append(pipes)
        theirs = [*users, os.path.expanduser("~")]
        if not any(os.path.realpath(folder).startswith("/tmp/") for folder in theirs):
            places.append("/tmp")
        return places

    def remove(self) -> None:
        """Take it away, also when the script made parts of it read-only."""
        if not os.path.isdir(self.folder):
            return
        for place, _, _ in os.walk(self.folder):
            with contextlib.suppress(OSError):
                os.chmod(place, 0o700)
        shutil.rmtree(self.folder, ignore_errors=True)


def make_folder() -> str:
    """A new folder, in the first place where one can be made and written to. Raises ``OSError``."""
    trouble = OSError(0, "no place for temporary files")
    here = usual = None
    with contextlib.suppress(OSError):
        here = os.getcwd()
        usual = tempfile.gettempdir()
    for place in (usual, *LAST_RESORTS):
        if place is None or place == here:
            continue
        try:
            folder = tempfile.mkdtemp(prefix="f64doctor-", dir=place)
        except OSError as error:
            trouble = error
            continue
        try:
            with open(os.path.join(folder, "room"), "wb") as file:
                file.write(b"\0" * 65536)
            os.unlink(file.name)
            return os.path.realpath(folder)
        except OSError as error:
            trouble = error
            shutil.rmtree(folder, ignore_errors=True)
    raise trouble
