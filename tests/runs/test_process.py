"""Whatever a script does, its run has the right outcome, what it printed is kept, and nothing of it is left running."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from f64doctor.observe import Run
from f64doctor.observe.events import Array, End, Failure
from f64doctor.runs import run_target


async def observed(tmp_path: Path, source: str, *, arguments: tuple[str, ...] = (), time_limit: float = 30.0) -> Run:
    """The run of a script made of ``source``."""
    script = tmp_path / "train.py"
    script.write_text(source)
    run: Run | None = None
    async for news in run_target(
        "as-is",
        sys.executable,
        str(script),
        list(arguments),
        cwd=str(tmp_path),
        environment=os.environ,
        steps=3,
        time_limit=time_limit,
        shown="train.py",
    ):
        run = news.run
    assert run is not None
    return run


async def test_a_script_runs_as_python_would_run_it(tmp_path: Path) -> None:
    source = "import sys\nprint(__name__, __file__, sys.argv, sys.path[0])\nprint(sorted(globals()))\n"
    run = await observed(tmp_path, source, arguments=("--x", "1"))
    assert (run.outcome, run.exit_code) == ("completed", 0)
    alone = f"__main__ {tmp_path / 'train.py'} ['train.py', '--x', '1'] {tmp_path}"
    assert run.log.splitlines()[0] == alone
    names = ["__annotations__", "__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__"]
    assert set(eval(run.log.splitlines()[1])) - set(names) <= {"__package__", "__spec__", "sys"}


@pytest.mark.parametrize(
    ("source", "outcome", "code"),
    [
        ("import sys; sys.exit(7)", "exited", 7),
        ("import sys; sys.exit()", "completed", 0),
        ("import sys; sys.exit('no data')", "exited", 1),
        ("import os; os._exit(5)", "exited", 5),
        ("1 / 0", "raised", 1),
        ("import ctypes; ctypes.string_at(0)", "killed", -11),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", -9),
        ("import os\nfor fd in range(3, 60):\n    try: os.close(fd)\n    except OSError: pass", "completed", 0),
        ("raise KeyboardInterrupt", "interrupted", 130),
    ],
)
async def test_each_end_is_told_as_it_was(tmp_path: Path, source: str, outcome: str, code: int) -> None:
    run = await observed(tmp_path, source)
    assert (run.outcome, run.exit_code) == (outcome, code)


async def test_a_script_that_hangs_is_ended_and_its_output_kept(tmp_path: Path) -> None:
    began = time.monotonic()
    run = await observed(tmp_path, "import time\nprint('here', flush=True)\ntime.sleep(600)", time_limit=1.0)
    assert (run.outcome, run.log) == ("timed-out", "here")
    assert time.monotonic() - began < 15


async def test_a_script_that_refuses_to_end_is_killed(tmp_path: Path) -> None:
    source = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    run = await observed(tmp_path, source, time_limit=1.0)
    assert run.outcome == "timed-out"


async def test_children_that_outlive_the_script_are_ended(tmp_path: Path) -> None:
    source = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint(child.pid)\n"
    )
    began = time.monotonic()
    run = await observed(tmp_path, source)
    assert run.outcome == "completed"
    assert time.monotonic() - began < 15
    pid = int(run.log.splitlines()[-1])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_a_child_that_left_the_group_is_ended_too(tmp_path: Path) -> None:
    source = (
        "import subprocess, sys, time\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "print(subprocess.Popen(sleep, start_new_session=True).pid, flush=True)\ntime.sleep(1)\n"
    )
    run = await observed(tmp_path, source)
    pid = int(run.log.splitlines()[-1])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_a_flood_of_output_is_kept_in_bounded_memory(tmp_path: Path) -> None:
    run = await observed(tmp_path, "for i in range(50_000): print('line', i)")
    lines = run.log.splitlines()
    assert (len(lines), lines[-1]) == (200, "line 49999")
    assert run.log_lines_dropped == 49_000


async def test_the_traceback_is_that_of_the_script_alone(tmp_path: Path) -> None:
    run = await observed(tmp_path, "def inner():\n    return [1][5]\n\n\ninner()\n")
    assert run.log.splitlines()[-1] == "IndexError: list index out of range"
    assert "f64doctor" not in run.log
    failure = run.last(Failure)
    assert failure is not None
    assert [(frame.line, frame.function) for frame in failure.frames] == [(5, "<module>"), (2, "inner")]


async def test_an_interpreter_that_is_none_is_told(tmp_path: Path) -> None:
    run: Run | None = None
    async for news in run_target(
        "as-is", "/no/python", "x.py", [], cwd=str(tmp_path), environment={}, steps=3, time_limit=5.0
    ):
        run = news.run
    assert run is not None
    assert run.outcome == "unstarted"
    assert run.trouble.startswith("/no/python could not be started")


async def test_functions_keep_their_source_and_can_be_pickled_into_spawned_children(tmp_path: Path) -> None:
    source = """
import inspect, multiprocessing, pickle

def double(x):
    y = [v * 2 for v in x]
    return y

if __name__ == "__main__":
    assert inspect.getsource(double).startswith("def double")
    assert pickle.loads(pickle.dumps(double))([1]) == [2]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [[1], [2]]))
"""
    run = await observed(tmp_path, source)
    assert (run.outcome, run.log) == ("completed", "[[2], [4]]")


async def test_the_history_of_an_array_is_seen_across_modules(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    (tmp_path / "features.py").write_text(
        "import numpy as np\n\n\ndef prepare(table):\n    table = table.astype('float32')\n    return table / 3\n"
    )
    run = await observed(
        tmp_path, "import numpy as np\nfrom features import prepare\nx = np.linspace(0.1, 1, 50)\ny = prepare(x)\n"
    )
    cast = next(array for array in run.all(Array) if array.call == "table.astype")
    assert (cast.before, cast.dtype) == ("float64", "float32")
    assert [(Path(frame.file).name, frame.line) for frame in cast.frames] == [("train.py", 4), ("features.py", 5)]
    assert cast.before_values is not None
    assert cast.before_values.max_relative_error == pytest.approx(2**-24, rel=0.2)
    end = run.last(End)
    assert end is not None
    assert end.outcome == "completed"
