"""Without a home, a place for temporary files, a locale, a terminal, a driver or room on the disk there is a sentence, and a way on."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from f64doctor.report import decode
from f64doctor.runs import guard

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "print('on')\nopen('x', 'w').write('caf\u00e9')\nprint(len(open('x').read()))\n"
SETTINGS: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": None, "USER": None, "LOGNAME": None},
    "a home that is not there": {"HOME": "/nonexistent/home"},
    "a home that is a file": {"HOME": "/etc/passwd"},
    "no place for temporary files where TMPDIR says": {"TMPDIR": "/nonexistent"},
    "a place for temporary files that takes none": {"TMPDIR": "/proc"},
    "an unknown locale": {"LC_ALL": "xx_YY.ZZ"},
    "no locale": {"LC_ALL": None, "LANG": None, "LC_CTYPE": None},
    "no search path": {"PATH": None},
    "no terminal": {"TERM": None},
    "an odd terminal": {"TERM": "dumb", "COLUMNS": "1", "LINES": "0"},
    "numbers that are none": {"COLUMNS": "x", "PYTHONHASHSEED": "random"},
}


def doctor(
    folder: Path, *prefix: str, environment: dict[str, str | None] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The doctor on a small script, behind a command that prepares its surroundings."""
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    wanted = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    return subprocess.run(
        [*prefix, sys.executable, "-m", "f64doctor", "train.py", "--format", "json", "--python", sys.executable],
        cwd=folder,
        env={name: value for name, value in wanted.items() if value is not None},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_a_poor_environment_changes_nothing(name: str, tmp_path: Path) -> None:
    done = doctor(tmp_path, environment=SETTINGS[name])
    run = decode(done.stdout).runs[0]
    assert (run.outcome, run.log_tail.splitlines()[0]) == ("completed", "on")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize("limit", ["-n 24", "-s 512", "-c 0"])
def test_small_limits_change_nothing(limit: str, tmp_path: Path) -> None:
    done = doctor(tmp_path, "sh", "-c", f'ulimit {limit} 2>/dev/null; exec "$@"', "sh")
    assert decode(done.stdout).runs[0].outcome == "completed"


def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path: Path) -> None:
    done = doctor(tmp_path, "sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
    report = decode(done.stdout)
    assert report.runs[0].outcome == "unstarted"
    assert "a folder for temporary files could not be made: File too large" in report.verdict.summary
    assert done.returncode == 3


@pytest.mark.skipif(not guard.abi(), reason="this kernel cannot confine a process")
@pytest.mark.parametrize(("writable", "outcome"), [("/dev", "completed"), ("/dev/null", "unstarted")])
def test_a_machine_on_which_nothing_can_be_written(writable: str, outcome: str, tmp_path: Path) -> None:
    code = "import os, sys; from f64doctor.runs import guard; guard.confine([sys.argv[1]]); os.execv(sys.argv[2], sys.argv[2:])"
    done = doctor(tmp_path, sys.executable, "-c", code, writable)
    assert decode(done.stdout).runs[0].outcome == outcome


def test_a_read_only_folder_is_read_only_for_the_script_too(tmp_path: Path) -> None:
    folder = tmp_path / "shelf"
    folder.mkdir()
    source = "import os\ntry: open('shelf/x', 'w')\nexcept OSError as e: print(type(e).__name__)\n"
    (tmp_path / "train.py").write_text(source)
    folder.chmod(0o500)
    alone = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True).stdout.strip()
    done = subprocess.run(
        [sys.executable, "-m", "f64doctor", "train.py", "--format", "json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    folder.chmod(0o700)
    assert decode(done.stdout).runs[0].log_tail.strip() == alone


def test_a_driver_that_hangs_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub" / "pynvml.py").write_text("import time\ndef nvmlInit(): time.sleep(600)\n")
    work = tmp_path / "work"
    work.mkdir()
    done = doctor(work, environment={"PYTHONPATH": f"{tmp_path / 'stub'}{os.pathsep}{ROOT}"})
    assert decode(done.stdout).runs[0].outcome == "completed"


def test_closed_streams_are_no_reason_to_fall(tmp_path: Path) -> None:
    done = doctor(tmp_path, "sh", "-c", 'exec "$@" 2>&- <&-', "sh")
    assert decode(done.stdout).runs[0].outcome == "completed"
    assert doctor(tmp_path, "sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh").returncode == 3


def test_a_terminal_of_one_column_gets_a_report(tmp_path: Path) -> None:
    import fcntl
    import struct
    import termios

    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 1, 1, 0, 0))
    before = termios.tcgetattr(theirs)
    with subprocess.Popen(
        [sys.executable, "-m", "f64doctor", "train.py", "--non-interactive", "--quiet"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as done:
        said = b""
        while b"held back" not in said:
            said += os.read(ours, 4096)
        assert done.wait(30) == 3
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)
