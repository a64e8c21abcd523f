"""A hundred scripts through the real command: each has the right outcome, nothing of it is left running, and no file has changed.

``pytest tests/guest -rP -k table`` shows the table.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from f64doctor.report import Report, decode
from tests.guest.cases import CASES, FILES, PROCESSES, Case

ROOT = Path(__file__).resolve().parents[2]
AT_A_TIME = 3


class Seen(NamedTuple):
    """What became of one case. ``alone``: exit status and lines of the script without the doctor, where it was run without it."""

    status: int
    stderr: str
    report: Report | None
    alone: tuple[int, list[str]] | None
    processes: list[str]
    changed: list[str]
    temporary: list[str]


def furnish(folder: Path, source: bytes) -> None:
    """A folder as users have it."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "numbers.csv").write_text("1,2,3")
    (folder / "precious.txt").write_text("old")
    (folder / "train.py").write_bytes(source)


def snapshot(*folders: Path) -> dict[str, str]:
    """Every entry below these folders, with its mode and a hash of its content."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            content = hashlib.sha1(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = f"{path.lstat().st_mode:o} {content} {os.readlink(path) if path.is_symlink() else ''}"
    return found


def processes_with(mark: str) -> list[str]:
    """Processes that still have the mark in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark.encode() in Path(f"/proc/{name}/environ").read_bytes():
                found.append(Path(f"/proc/{name}/cmdline").read_text().replace("\0", " ")[:200])
    return found


DOCTOR = "import sys; sys.path.insert(0, sys.argv.pop(1)); from f64doctor.cli import main; sys.exit(main())"
UNCONFINED = (
    "import sys; sys.path.insert(0, sys.argv[1]); from f64doctor.runs import guard; guard.abi = lambda: 0; " + DOCTOR
)


def seen(case: Case, base: Path, doctor: str = DOCTOR) -> Seen:
    """Run a case under the doctor, and alone where that ends by itself."""
    mark = uuid.uuid4().hex
    watched, home, temporary = base / "watched", base / "home", base / "t"
    furnish(watched, case.content)
    home.mkdir()
    temporary.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("CI", "PYTHONPATH")},
        **case.environment,
        "F64DOCTOR_MARK": mark,
        "HOME": str(home),
        "TMPDIR": str(temporary),
    }
    before = snapshot(watched, home)
    options = case.options
    arguments: tuple[str, ...] = ()
    if "--" in options:
        place = options.index("--")
        options, arguments = options[:place], options[place:]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            doctor,
            str(ROOT),
            "train.py",
            "--format",
            "json",
            "--python",
            sys.executable,
            *options,
            *arguments,
        ],
        cwd=watched,
        env=environment,
        capture_output=True,
        timeout=90,
        stdin=subprocess.DEVNULL,
    )
    report = None
    with contextlib.suppress(Exception):
        report = decode(done.stdout)
    left = processes_with(mark)
    after = snapshot(watched, home)
    changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    alone = run_alone(case, base, environment) if case.ends is None else None
    return Seen(
        done.returncode,
        done.stderr.decode("utf-8", "replace"),
        report,
        alone,
        left,
        changed,
        sorted(os.listdir(temporary)),
    )


def run_alone(case: Case, base: Path, environment: dict[str, str]) -> tuple[int, list[str]]:
    """Exit status and output of the script without the doctor, in a session of its own."""
    folder = base / "alone"
    furnish(folder, case.content)
    scratch = base / "s"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-u", "train.py"],
        cwd=folder,
        env={**environment, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        timeout=60,
        start_new_session=True,
    )
    text = done.stdout.decode("utf-8", "replace").replace(str(folder), str(base / "watched"))
    return done.returncode, [line for line in text.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def all_seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Every case, a few at a time."""
    base = tmp_path_factory.mktemp("guests").resolve()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        places = [base / str(number) for number in range(len(CASES))]
        found = list(pool.map(seen, CASES, places))
    return dict(zip([case.name for case in CASES], found, strict=True))


def lost(case: Case, one: Seen) -> list[str]:
    """What the report should say of a case and does not."""
    if one.report is None or not one.report.runs:
        return ["there is no report: " + one.stderr[-500:]]
    run = one.report.runs[0]
    missing = []
    log = [line.rstrip() for line in run.log_tail.splitlines()]
    if case.ends is not None and run.outcome != case.ends:
        missing.append(f"outcome {run.outcome}, not {case.ends}")
    if one.alone is not None:
        code, lines = one.alone
        if run.exit_code != code:
            missing.append(f"exit code {run.exit_code}, alone {code}")
        missing += [f"line {line!r}" for line in lines[-150:] if line.rstrip() not in log]
    if case.printed and not any(case.printed in line for line in log):
        missing.append(f"printed {case.printed!r}")
    told = {held.what for held in run.held_back}
    if case.learnt and case.learnt not in [finding.code for finding in one.report.findings]:
        missing.append(f"finding {case.learnt}")
    missing += [f"held back {what}" for what in case.held if what not in told]
    if missing:
        missing.append("log: " + run.log_tail[-1500:])
    return missing


def show(line: str) -> None:
    sys.stdout.write(line + "\n")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_doctor_survives_and_leaves_no_trace(case: Case, all_seen: dict[str, Seen]) -> None:
    one = all_seen[case.name]
    assert one.status == case.status, one.stderr
    assert lost(case, one) == []
    assert one.processes == []
    assert one.changed == []
    assert one.temporary == []


def test_the_table_is_perfect(all_seen: dict[str, Seen]) -> None:
    rows = []
    for case in CASES:
        one = all_seen[case.name]
        rows.append((case.name, one.status == case.status, len(lost(case, one)), len(one.processes), len(one.changed)))
    show(f"{'script':34} survived  lost  processes left  files changed")
    for name, survived, missing, left, changed in rows:
        show(f"{name:34} {'yes' if survived else 'NO':8} {missing:5} {left:15} {changed:14}")
    show(f"{len(rows)} scripts")
    assert all(row[1:] == (True, 0, 0, 0) for row in rows)
    assert len(rows) >= 40


NATIVE = ("shell deletes", "shell overwrites", "native code overwrites")


def test_without_the_kernel_s_help_python_s_own_calls_are_held_back(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    cases = [case for case in [*FILES, *PROCESSES] if case.name not in NATIVE]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        base = tmp_path_factory.mktemp("u").resolve()  # a short name: paths of sockets have 107 bytes at most
        places = [base / str(number) for number in range(len(cases))]
        found = list(pool.map(seen, cases, places, [UNCONFINED] * len(cases)))
    wrong = {
        case.name: (lost(case, one), one.processes, one.changed, one.temporary)
        for case, one in zip(cases, found, strict=True)
        if lost(case, one) or one.processes or one.changed or one.temporary
    }
    assert wrong == {}


def test_with_leave_to_write_the_script_writes(tmp_path: Path) -> None:
    furnish(tmp_path / "work", b"open('precious.txt', 'w').write('new')")
    subprocess.run(
        [sys.executable, "-m", "f64doctor", "train.py", "--format", "json", "--allow-writes"],
        cwd=tmp_path / "work",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
    )
    assert (tmp_path / "work" / "precious.txt").read_text() == "new"


def test_the_time_that_holding_back_costs_is_small(tmp_path: Path) -> None:
    furnish(
        tmp_path / "work",
        b"import os, time\nt = time.perf_counter()\nfor _ in range(20000): os.stat('precious.txt')\nprint(time.perf_counter() - t)",
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "f64doctor", "train.py", "--format", "json"],
        cwd=tmp_path / "work",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
    )
    assert time.monotonic() - began < 30
    assert float(decode(done.stdout).runs[0].log_tail) / 20000 < 50e-6
