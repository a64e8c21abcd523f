"""When the doctor is gone, so is all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

# A script with a child, a child that left the session, and a daemon of the old school: two forks, no environment, the folder /.
FAMILY = """
import os, subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
numbers = [os.getpid(), subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid]
told, telling = os.pipe()
if os.fork() == 0:
    os.setsid()
    if (daemon := os.fork()):
        os.write(telling, str(daemon).encode())
        os._exit(0)
    os.chdir("/")
    for descriptor in range(256):
        try: os.close(descriptor)
        except OSError: pass
    os.execve(sys.executable, sleep, {})
os.wait()
numbers.append(int(os.read(told, 20)))
open(sys.argv[1], "w").write(" ".join(map(str, numbers)))
ENDING
"""


def is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def start_doctor(folder: Path, source: str, *options: str) -> tuple[subprocess.Popen[bytes], list[int], Path]:
    """A doctor in mid-run, the numbers of the script's processes, and the folder for temporary files that it has."""
    folder = folder.resolve()
    temporary, told = folder / "temporary", folder / "numbers"
    temporary.mkdir()
    (folder / "train.py").write_text(source)
    doctor = subprocess.Popen(
        [sys.executable, "-m", "f64doctor", "train.py", "--non-interactive", "--allow-writes", *options, "--", told],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.getcwd()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while not told.exists() or len(told.read_text().split()) < 4:
        assert time.monotonic() < deadline
        assert doctor.poll() is None
        time.sleep(0.02)
    return doctor, [int(number) for number in told.read_text().split()], temporary


def gone_after(seconds: float, numbers: list[int], temporary: Path) -> tuple[list[int], list[str]]:
    """What is still running, and what still lies there, after so many seconds at most."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and (any(map(is_running, numbers)) or any(temporary.iterdir())):
        time.sleep(0.02)
    return [number for number in numbers if is_running(number)], [path.name for path in temporary.iterdir()]


@pytest.mark.parametrize(
    "ending",
    ["time.sleep(600)", "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass"],
    ids=["asleep", "deaf"],
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGABRT])
def test_nothing_is_left_three_seconds_after_a_signal(tmp_path: Path, number: signal.Signals, ending: str) -> None:
    doctor, numbers, temporary = start_doctor(tmp_path, FAMILY.replace("ENDING", ending))
    try:
        assert all(map(is_running, numbers))
        doctor.send_signal(number)
        assert gone_after(3.0, numbers, temporary) == ([], [])
    finally:
        doctor.kill()
        doctor.wait()


def test_a_daemon_without_any_trace_of_its_descent_ends_with_the_run(tmp_path: Path) -> None:
    doctor, numbers, temporary = start_doctor(tmp_path, FAMILY.replace("ENDING", "time.sleep(0.3)"))
    doctor.wait(30)
    assert gone_after(0.5, numbers, temporary) == ([], [])
