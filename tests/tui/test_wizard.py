"""The wizard's flows, by keyboard and mouse, in several terminal sizes, on checkups that run nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from textual.pilot import Pilot

from f64doctor.progress import Progress
from f64doctor.report import Report
from f64doctor.tui.app import DoctorApp
from f64doctor.tui.checkup_screen import CheckupScreen
from f64doctor.tui.help_screen import KEYS, HelpScreen
from f64doctor.tui.intake import IntakeScreen
from f64doctor.tui.log_screen import LogScreen
from f64doctor.tui.screens import DoctorScreen
from f64doctor.tui.why_screen import WhyScreen
from tests.tui.samples import (
    FAILED_REPORT,
    HEALTHY_REPORT,
    HOSTILE_TEXTS,
    PLAN,
    RAISED_REPORT,
    FakeCheckup,
    hostile_report,
)

pytestmark = pytest.mark.asyncio

SIZES = [(80, 24), (60, 20), (120, 40), (200, 60)]


def lines_on_screen(app: DoctorApp) -> list[str]:
    """What the terminal shows, line by line."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def text_on_screen(app: DoctorApp) -> str:
    return "\n".join(lines_on_screen(app))


def checkup_screen(app: DoctorApp) -> CheckupScreen:
    assert isinstance(app.screen, CheckupScreen)
    return app.screen


async def finish(pilot: Pilot[Report | None]) -> None:
    """Waits until the checkup is over and shown."""
    app = pilot.app
    assert isinstance(app, DoctorApp)
    for _ in range(500):
        await pilot.pause()
        if not app.is_running_checkup:
            break
    await pilot.pause()
    assert not app.is_running_checkup


async def test_the_intake_says_what_will_happen_and_waits_for_enter() -> None:
    checkup = FakeCheckup(FAILED_REPORT)
    app = DoctorApp(PLAN, checkup.start)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert isinstance(app.screen, IntakeScreen)
        shown = text_on_screen(app)
        for part in ("train.py", "--epochs 2", "at most 3 steps of each fit", "Enter starts the checkup", "q quit"):
            assert part in shown
        assert checkup.starts == 0
        await pilot.press("enter")
        await finish(pilot)
        assert checkup.starts == 1
        assert isinstance(app.screen, CheckupScreen)


async def test_without_confirmation_it_starts_at_once() -> None:
    checkup = FakeCheckup(HEALTHY_REPORT)
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        assert checkup.starts == 1
        assert app.report == HEALTHY_REPORT


async def test_quitting_at_the_intake_runs_nothing() -> None:
    checkup = FakeCheckup(FAILED_REPORT)
    app = DoctorApp(PLAN, checkup.start)
    async with app.run_test() as pilot:
        await pilot.press("q")
    assert (app.return_value, checkup.starts) == (None, 0)


async def test_while_it_runs_stage_step_loss_and_memory_are_shown() -> None:
    app = DoctorApp(PLAN, FakeCheckup(FAILED_REPORT, stop_after=7).start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.05)
        shown = text_on_screen(app)
        for part in (
            "as-is",
            "running",
            "fit at train.py:16",
            "step 3",
            "loss 0.4118",
            "611 MiB",
            "… waiting",
            "TF 2.21",
        ):
            assert part in shown
        assert "rerun" not in shown


async def test_it_jumps_to_what_failed() -> None:
    app = DoctorApp(PLAN, FakeCheckup(FAILED_REPORT).start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        assert checkup_screen(app).selected == "layers"
        assert "▸ 2 layers  ✗ failed" in text_on_screen(app)


async def test_it_does_not_jump_away_from_where_the_user_went() -> None:
    checkup = FakeCheckup(FAILED_REPORT, pause=0.005)
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        await finish(pilot)
        assert checkup_screen(app).selected == "memory"


async def test_when_nothing_failed_it_ends_at_the_verdict() -> None:
    app = DoctorApp(PLAN, FakeCheckup(HEALTHY_REPORT).start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        assert checkup_screen(app).selected == "verdict"
        assert "Float64 from the arrays to the weights" in text_on_screen(app)


async def test_next_and_back_stop_at_the_ends() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")
        assert checkup_screen(app).selected == "device"
        await pilot.press("right", "n", "n", "n", "n")
        assert checkup_screen(app).selected == "verdict"
        await pilot.press("p")
        assert checkup_screen(app).selected == "memory"
        await pilot.press(*["left"] * 9)
        assert checkup_screen(app).selected == "inputs"


async def test_a_number_goes_to_its_step() -> None:
    app = DoctorApp.of_report(RAISED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        for number, step in enumerate(("inputs", "layers", "device", "casts", "memory", "verdict"), start=1):
            await pilot.press(str(number))
            assert checkup_screen(app).selected == step
            assert f"{number} {step.capitalize()}" in checkup_screen(app).sheet.text


async def test_the_page_scrolls_by_keys_and_starts_at_its_top_on_another_step() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        sheet = checkup_screen(app).sheet
        await pilot.press("down", "down")
        assert sheet.scroll_y == 2
        await pilot.press("up", "pagedown")
        assert sheet.scroll_y > 10
        await pilot.press("end")
        assert sheet.scroll_y == sheet.max_scroll_y
        await pilot.press("home")
        assert sheet.scroll_y == 0
        await pilot.press("end", "n")
        await pilot.pause()
        assert sheet.scroll_y == 0


async def test_a_rerun_examines_again_and_stays_on_the_step() -> None:
    checkup = FakeCheckup(FAILED_REPORT)
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        assert "r rerun" in text_on_screen(app)
        checkup.news = FakeCheckup(HEALTHY_REPORT).news
        await pilot.press("2", "r")
        await finish(pilot)
        assert (checkup.starts, checkup.closes) == (2, 2)
        assert checkup_screen(app).selected == "layers"
        assert "2 layers  ✓ passed" in text_on_screen(app)
        assert app.report == HEALTHY_REPORT


async def test_a_second_run_cannot_be_started_while_one_goes_on() -> None:
    checkup = FakeCheckup(FAILED_REPORT, stop_after=5)
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("r", "r")
        assert checkup.starts == 1


async def test_quitting_in_mid_run_closes_the_checkup_first() -> None:
    checkup = FakeCheckup(FAILED_REPORT, stop_after=5)
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test() as pilot:
        await pilot.pause(0.05)
        await pilot.press("q")
        for _ in range(50):
            if checkup.closes:
                break
            await asyncio.sleep(0.01)
    assert (checkup.starts, checkup.closes) == (1, 1)
    assert app.return_value is None


async def test_quitting_a_rerun_returns_the_report_before() -> None:
    checkup = FakeCheckup(FAILED_REPORT)
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test() as pilot:
        await finish(pilot)
        checkup.stop_after = 3
        await pilot.press("r")
        await pilot.pause(0.05)
        await pilot.press("q")
        await pilot.pause(0.1)
    assert checkup.closes == 2
    assert app.return_value == FAILED_REPORT


async def test_the_report_is_what_the_wizard_returns() -> None:
    app = DoctorApp(PLAN, FakeCheckup(FAILED_REPORT).start, confirm=False)
    async with app.run_test() as pilot:
        await finish(pilot)
        await pilot.press("q")
    assert app.return_value == FAILED_REPORT


async def broken_checkup() -> AsyncIterator[Progress]:
    yield PLAN
    raise RuntimeError("[/no] such thing")


async def silent_checkup() -> AsyncIterator[Progress]:
    yield PLAN


async def test_a_checkup_that_breaks_is_told_and_can_be_rerun() -> None:
    app = DoctorApp(PLAN, broken_checkup, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        shown = text_on_screen(app)
        assert "The checkup itself broke: RuntimeError: [/no] such" in shown
        assert "✗ crashed" in shown
        assert "r rerun" in shown


async def test_a_checkup_without_a_report_is_told() -> None:
    app = DoctorApp(PLAN, silent_checkup, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        assert "ended without a report" in text_on_screen(app)


async def test_the_log_is_live_and_bounded() -> None:
    checkup = FakeCheckup(FAILED_REPORT, stop_after=7)
    checkup.news[2] = type(checkup.news[2])(name="as-is", seconds=0.1, log=[f"[line {n}]" for n in range(1500)])  # type: ignore[call-arg]
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.05)
        await pilot.press("l")
        await pilot.pause()
        assert isinstance(app.screen, LogScreen)
        assert len(app.screen.shown) <= 1001
        assert "3/24 - loss: 0.4118" in text_on_screen(app)
        assert "lines left out" in text_on_screen(app)
        app.course.runs["as-is"].add_log(["one more [/line]"])
        app.screen.redraw()
        await pilot.pause()
        assert "one more [/line]" in text_on_screen(app)
        await pilot.press("n")
        await pilot.pause()
        assert "log of cpu-only" in text_on_screen(app)
        assert "one more" not in text_on_screen(app)
        await pilot.press("escape")
        assert isinstance(app.screen, CheckupScreen)


async def test_the_log_of_a_report_is_its_tail() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("l")
        await pilot.pause()
        assert "3/24 - loss: 0.4118" in text_on_screen(app)


async def test_why_shows_the_pages_of_the_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"F203": "## What it is\nLatched [/once] and for all."}
    monkeypatch.setattr("f64doctor.tui.why_screen.page_of", pages.get)
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(app.screen, WhyScreen)
        assert "F203  The global policy was latched" in text_on_screen(app)
        assert "Latched [/once] and for all." in text_on_screen(app)
        assert "1 of 2" in text_on_screen(app)
        await pilot.press("n")
        await pilot.pause()
        assert "The catalogue has no page about F207." in text_on_screen(app)
        await pilot.press("escape")
        assert isinstance(app.screen, CheckupScreen)


async def test_why_is_not_offered_where_there_is_no_finding() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        assert "w why" in text_on_screen(app)
        await pilot.press("1")
        await pilot.pause()
        assert "w why" not in text_on_screen(app)
        await pilot.press("w")
        assert isinstance(app.screen, CheckupScreen)


async def test_a_code_without_a_page_is_no_crash() -> None:
    app = DoctorApp.of_report(hostile_report("[/x]"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w")
        await pilot.pause()
        assert "The catalogue has no page about F499." in text_on_screen(app)


async def test_help_lists_every_key() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        shown = text_on_screen(app)
        for _, keys in KEYS:
            for key, what in keys:
                assert key in shown
                assert what in shown
        await pilot.press("escape")
        assert isinstance(app.screen, CheckupScreen)


async def test_the_command_palette_has_every_action_of_the_screen() -> None:
    app = DoctorApp(PLAN, FakeCheckup(FAILED_REPORT).start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        for start in (
            "Next step",
            "Previous step",
            "Why",
            "Log",
            "Rerun",
            "Help",
            "Quit",
            "Page down",
            "Dark or light",
        ):
            assert any(title.startswith(start) for title in titles)
        assert {"Go to inputs", "Go to layers", "Go to verdict"} <= set(titles)
        assert len(titles) == len(set(titles))
        await pilot.press("ctrl+p")
        await pilot.pause(0.2)
        await pilot.press(*"device", "enter")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert checkup_screen(app).selected == "device"


async def test_a_click_on_a_step_selects_it() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#steps", offset=(4, 3))
        assert checkup_screen(app).selected == "casts"
        await pilot.click("#steps", offset=(4, 6))
        assert checkup_screen(app).selected == "verdict"
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.click("#steps", offset=(25, 1))
        assert checkup_screen(app).selected == "memory"


async def test_a_click_on_a_key_presses_it() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        place = lines_on_screen(app)[-1].index("? help")
        await pilot.click("#keys", offset=(place, 0))
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("report", [FAILED_REPORT, HEALTHY_REPORT, RAISED_REPORT], ids=["failed", "healthy", "raised"])
async def test_every_size_shows_all_steps_with_sign_and_word(size: tuple[int, int], report: Report) -> None:
    app = DoctorApp.of_report(report)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = lines_on_screen(app)
        assert len(shown) == size[1]
        for check in report.checks:
            word = check.status.value
            assert any(check.name in line and (word in line or "unclear" in line) for line in shown)
        assert "f64doctor" in shown[0]
        assert "q quit" in shown[-1]


async def test_a_resize_sets_everything_anew() -> None:
    app = DoctorApp.of_report(RAISED_REPORT)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "inconclusive" in text_on_screen(app)
        for width, height in ((60, 20), (80, 24), (200, 60), (34, 10), (80, 24)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            shown = lines_on_screen(app)
            assert len(shown) == height
            assert all(len(line) == width for line in shown)
        assert "? unclear" in text_on_screen(app)


def assert_harmless(shown: str) -> None:
    for character in "\x1b\x00\x07\x9b\u202e\u2066\ud800\u2028":
        assert character not in shown


# Each text alone goes through every renderer in test_wizard_evidence; here what the screens do with them counts.
SHORT_TEXTS = [text for text in HOSTILE_TEXTS if len(text) < 600]


@pytest.mark.parametrize(
    "text",
    ["\n".join(SHORT_TEXTS), " ".join(SHORT_TEXTS), "x" * 10_000, "[/device:GPU:0]"],
    ids=["lines", "one-line", "endless", "markup"],
)
async def test_hostile_text_in_a_report_is_shown_and_does_nothing(text: str) -> None:
    app = DoctorApp.of_report(hostile_report(text))
    async with app.run_test(size=(80, 24)) as pilot:
        for keys in (("6",), ("w",), ("escape", "l")):
            await pilot.press(*keys)
            await pilot.pause()
            assert_harmless(text_on_screen(app))
        assert isinstance(app.screen, DoctorScreen)


async def test_hostile_text_in_the_news_is_shown_and_does_nothing() -> None:
    checkup = FakeCheckup(hostile_report("\n".join(SHORT_TEXTS)))
    app = DoctorApp(PLAN, checkup.start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        assert_harmless(text_on_screen(app))
        assert checkup_screen(app).selected == "inputs"


async def test_in_ascii_everything_is_ascii() -> None:
    app = DoctorApp.of_report(FAILED_REPORT, ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        for key in ("2", "6", "l", "escape", "question_mark", "escape", "w"):
            await pilot.press(key)
            await pilot.pause()
            assert text_on_screen(app).isascii()


async def test_without_colour_no_colour_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        styles = [
            segment.style
            for strip in strips
            for segment in strip.apply_filter(app._filters[-1], app.screen.background_colors[1])
            if segment.style
        ]
        assert all(style.color is None or style.color.is_default for style in styles)
        assert all(style.bgcolor is None or style.bgcolor.is_default for style in styles)
        assert "✗ failed" in text_on_screen(app)


async def test_colours_go_from_dark_to_light_and_back() -> None:
    app = DoctorApp.of_report(FAILED_REPORT)
    async with app.run_test() as pilot:
        await pilot.press("t")
        assert app.theme == "f64doctor-light"
        await pilot.press("t")
        assert app.theme == "f64doctor-dark"


async def test_nothing_is_drawn_while_nothing_changes() -> None:
    app = DoctorApp(PLAN, FakeCheckup(FAILED_REPORT).start, confirm=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await finish(pilot)
        await pilot.pause(0.1)
        drawn: list[object] = []
        original = app._display

        def display(screen: object, renderable: object) -> None:
            drawn.append(renderable)
            original(screen, renderable)  # type: ignore[arg-type]

        app._display = display  # type: ignore[method-assign]
        await asyncio.sleep(1.3)
        app.screen.redraw()  # type: ignore[attr-defined]
        await pilot.pause()
        assert drawn == []


async def test_the_mouse_can_be_left_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    async def run_async(self: object, *, mouse: bool = True, **options: object) -> None:
        asked.append(mouse)

    monkeypatch.setattr("textual.app.App.run_async", run_async)
    await DoctorApp.of_report(FAILED_REPORT, no_mouse=True).run_async()
    await DoctorApp.of_report(FAILED_REPORT).run_async()
    assert asked == [False, True]
