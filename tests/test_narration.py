"""The narration is one line for each news, or one that is drawn over at a terminal."""

from __future__ import annotations

import io

from f64doctor.narration import Narrator
from f64doctor.progress import CheckStarted, Progress, RunEnded, RunProgress, RunStarted
from f64doctor.report import RunReport


def told(*news: Progress, live: bool = False) -> str:
    stream = io.StringIO()
    narrator = Narrator(stream, live=live)
    for item in news:
        narrator.tell(item)
    narrator.wipe()
    return stream.getvalue()


def test_many_quick_steps_are_one_line_a_second() -> None:
    steps = [RunProgress("as-is", number / 10, steps=number) for number in range(1, 31)]
    assert told(*steps).splitlines() == [
        "run as-is: step 1, 0.1 s",
        "run as-is: step 11, 1.1 s",
        "run as-is: step 21, 2.1 s",
    ]


def test_a_run_in_which_nothing_happens_says_so_now_and_then() -> None:
    waiting = [RunProgress("as-is", float(second), stage="importing TensorFlow") for second in range(1, 25)]
    assert told(*waiting).splitlines() == [
        "run as-is: importing TensorFlow, 1.0 s",
        "run as-is: importing TensorFlow, 11.0 s",
        "run as-is: importing TensorFlow, 21.0 s",
    ]


def test_a_second_run_is_told_from_its_beginning() -> None:
    first, second = RunProgress("as-is", 9.0, steps=1), RunProgress("cpu-only", 0.5, steps=1)
    lines = told(first, RunStarted("cpu-only", ""), second).splitlines()
    assert lines == ["run as-is: step 1, 9.0 s", "run cpu-only: started", "run cpu-only: step 1, 0.5 s"]


def test_at_a_terminal_progress_is_drawn_over_and_wiped_in_the_end() -> None:
    drawn = told(
        RunProgress("as-is", 1.0, steps=1), RunProgress("as-is", 1.1, steps=2), CheckStarted("inputs"), live=True
    )
    assert drawn == (
        "\r\x1b[Krun as-is: step 1, 1.0 s\r\x1b[Krun as-is: step 2, 1.1 s\r\x1b[Kinputs: being judged\r\x1b[K"
    )


def test_what_is_settled_stays_above_the_drawn_line() -> None:
    drawn = told(RunProgress("as-is", 1.0, steps=1), RunEnded(RunReport("as-is", "completed", 2.0)), live=True)
    assert drawn.endswith("\r\x1b[Krun as-is: completed after 2.0 s\n")


def test_a_reader_who_is_gone_does_not_end_the_checkup() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    Narrator(Gone()).tell(RunStarted("as-is", ""))


def test_without_stderr_nothing_is_said() -> None:
    Narrator(None).tell(RunStarted("as-is", ""))
