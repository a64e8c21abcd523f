"""What scripts with real TensorFlow do to whoever runs them: the finding that was learnt before is never lost."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.guest.cases import SCRIPTS, Case
from tests.guest.test_whatever_a_script_does import lost, seen

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="this interpreter has no TensorFlow"),
]

FOLDER = SCRIPTS / "tensorflow"
PRELUDE = (FOLDER / "prelude.txt").read_text()
# The layers of each were made before set_floatx.
LEARNT = "F201"


def case(name: str, ends: str | None = None, printed: str = "", held: tuple[str, ...] = (), **more: str) -> Case:
    """A script behind the common beginning, in which layers come before the setting."""
    options = ("--time-limit", more["limit"]) if "limit" in more else ()
    source = PRELUDE + (FOLDER / f"{name}.py").read_text()
    return Case(name, source, ends, printed, held, 1, options, learnt=LEARNT)


CASES = [
    case("segfault_in_a_callback", "killed"),
    case("abort_in_native_code", "killed"),
    case("exit_in_a_callback", "exited"),
    case("exit_without_ceremony", "exited"),
    case("loop_after_training", "timed-out", "trained", limit="15"),
    case("graphs_and_sessions", held=("graph/model", "graph/checkpoint")),
    case("eager_and_checked", "completed"),
    case("settings_first", "completed", "2"),
    case("many_workers", "completed", "1"),
    case("children_with_tensorflow", "completed", "2.0", ("from_child.txt",)),
    case(
        "saves_everything",
        held=(
            *("best.keras", "log.csv", "backup", "model.keras", "model.h5", "w.weights.h5", "saved"),
            *("checkpoints/ckpt-3", "rows.tfrecord", "precious.txt", "events", "profile"),
        ),
    ),
    case("entry_points", "completed", "epochs 2"),
]


@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_the_doctor_survives_tensorflow_too(one: Case, tmp_path: Path) -> None:
    found = seen(one, tmp_path.resolve())
    assert lost(one, found) == []
    assert found.status == one.status, found.stderr
    assert (found.processes, found.changed, found.temporary) == ([], [], [])
