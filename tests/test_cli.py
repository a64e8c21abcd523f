"""The command line with a checkup that is made up: what it prints where, and which exit status it gives."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import click
import pytest

from f64doctor import cli
from f64doctor.progress import (
    CheckJudged,
    CheckStarted,
    EnvironmentKnown,
    Finished,
    Planned,
    Progress,
    RunEnded,
    RunProgress,
    RunStarted,
)
from f64doctor.render.json import render_json
from f64doctor.render.text import render_head, render_text
from f64doctor.report import Report, Severity, Status, TargetReport, decode
from f64doctor.settings import Settings
from f64doctor.target import Target
from tests.reports import LATE_SETTING, NOTE, WARNING, failed_report, healthy_report, with_verdict


class InterpreterError(Exception):
    """As ``f64doctor.checkup`` has it."""

    def __init__(self, sentence: str, exit_status: int) -> None:
        super().__init__(sentence)
        self.exit_status = exit_status


PLANNED = Planned(TargetReport("script", "train.py"), "/venv/bin/python", ["as-is"], 3, 300.0)


class Checkup:
    """A checkup that gives a report at once, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.report = failed_report()
        self.trouble: Exception | None = None
        self.asked: list[tuple[Target, Settings]] = []
        self.was_closed = False

    def plan(self, target: Target, settings: Settings) -> Planned:
        if self.trouble:
            raise self.trouble
        return PLANNED

    async def examine(self, target: Target, settings: Settings) -> AsyncIterator[Progress]:
        self.asked.append((target, settings))
        try:
            if self.trouble:
                raise self.trouble
            yield PLANNED
            yield RunStarted("as-is", "the script as it is")
            yield RunProgress("as-is", 1.0, steps=1, loss=0.5, resident_bytes=2**20, log=["hello \x1b[1mworld"])
            yield RunProgress("as-is", 1.1, steps=1, loss=0.5)
            yield RunProgress("as-is", 2.5, steps=3, loss=0.25)
            yield RunEnded(self.report.runs[0])
            yield EnvironmentKnown(self.report.environment)
            yield CheckStarted("inputs")
            for check in self.report.checks:
                yield CheckJudged(check, self.report.findings_of(check.name))
            yield Finished(self.report)
        finally:
            self.was_closed = True


@pytest.fixture
def checkup(monkeypatch: pytest.MonkeyPatch) -> Checkup:
    """The made-up checkup in place of the real one."""
    made_up = Checkup()
    module = ModuleType("f64doctor.checkup")
    vars(module).update(plan=made_up.plan, examine=made_up.examine, InterpreterError=InterpreterError)
    monkeypatch.setitem(sys.modules, "f64doctor.checkup", module)
    return made_up


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, in which the command is given, and an environment that says nothing."""
    (tmp_path / "train.py").write_text("print(1)\n")
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "TERM", "NO_COLOR", "VIRTUAL_ENV", *(key for key in os.environ if key.startswith("F64DOCTOR_"))):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


# What goes where


def test_the_report_goes_to_stdout_and_the_narration_to_stderr(
    checkup: Checkup, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train.py"]) == 1
    out, err = capsys.readouterr()
    assert out == render_text(failed_report())
    assert err.splitlines() == [
        "train.py: to run as-is; 3 steps of each fit, 300 s a run at most",
        "what it writes, deletes and sends is held back; --allow-writes lets it through",
        "run as-is: started (the script as it is)",
        "run as-is: step 1, loss 0.5, 1.0 s, 1.0 MiB",
        "run as-is: step 3, loss 0.25, 2.5 s",
        "run as-is: stopped after 4.2 s, 3 steps",
        "TensorFlow 2.21.0, Keras 3.15.1, CPU only",
        "inputs: passed",
        "layers: failed",
        "device: not judged",
        "casts: passed",
        "memory: passed",
    ]


def test_quiet_says_nothing_on_stderr(checkup: Checkup, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["train.py", "--quiet"])
    out, err = capsys.readouterr()
    assert out == render_text(failed_report())
    assert err == ""


def test_verbose_shows_the_log_and_what_was_verified(checkup: Checkup, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["train.py", "--verbose"])
    out, err = capsys.readouterr()
    assert out == render_text(failed_report(), verified=True)
    assert "| hello world" in err.splitlines()
    assert "layers: failed · 1 finding" in err.splitlines()
    assert "interpreter: /venv/bin/python" in err.splitlines()


def test_json_is_the_report_and_nothing_else(checkup: Checkup, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train.py", "--format", "json"]) == 1
    assert decode(capsys.readouterr().out.encode()) == failed_report()


def test_output_goes_to_the_file_and_stdout_stays_empty(
    checkup: Checkup, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train.py", "--format", "json", "--output", "out.json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == "report written to out.json"
    assert json.loads((folder / "out.json").read_text())["verdict"]["root_cause"] == "F203"


def test_output_to_a_dash_is_stdout(checkup: Checkup, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["train.py", "--output", "-"])
    assert capsys.readouterr().out == render_text(failed_report())
    assert [entry.name for entry in folder.iterdir()] == ["train.py"]


def test_ascii_is_ascii(checkup: Checkup, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["train.py", "--ascii"])
    out, err = capsys.readouterr()
    assert (out + err).isascii()


def test_the_settings_and_the_arguments_of_the_script_reach_the_checkup(checkup: Checkup, folder: Path) -> None:
    options = (
        "--steps all --time-limit 9 --no-run --check inputs --check casts --skip casts --fail-on never --yes --cwd ."
    )
    cli.main(["train.py", *options.split(), "--", "--steps", "5", "--", "-x"])
    target, settings = checkup.asked[0]
    assert target == Target("script", str(folder / "train.py"), "train.py", ("--steps", "5", "--", "-x"))
    assert (settings.steps, settings.time_limit, settings.no_run, settings.wanted()) == (None, 9.0, True, ("inputs",))
    assert (settings.fail_on, settings.assume_yes, settings.cwd) == ("never", True, ".")


def test_the_active_virtual_environment_runs_the_script(
    checkup: Checkup, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setenv("VIRTUAL_ENV", str(folder / "venv"))
    cli.main(["train.py"])
    assert checkup.asked[0][1].python == str(folder / "venv" / "bin" / "python")


def test_settings_come_from_the_pyproject_of_the_target(
    checkup: Checkup, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text("[tool.f64doctor]\nsteps = 7\n")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    cli.main(["../train.py"])
    assert checkup.asked[0][1].steps == 7


# Saved reports


def test_a_report_that_was_saved_is_opened_again_without_a_run(
    checkup: Checkup, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["train.py", "--save", "r.f64.json", "--quiet"])
    first = capsys.readouterr().out
    assert cli.main(["r.f64.json"]) == 1
    assert capsys.readouterr().out == first
    assert len(checkup.asked) == 1


def test_a_damaged_report_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "r.f64.json").write_text('{"schema_version": 1, "f64doctor": "0.1.0"}')
    assert cli.main(["r.f64.json"]) == 2
    assert capsys.readouterr().err.startswith("f64doctor: r.f64.json is a damaged report: ")


# Files that cannot be written


@pytest.mark.parametrize("flag", ["--output", "--save"])
def test_a_file_that_cannot_be_written_is_told_before_anything_runs(
    checkup: Checkup, folder: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    assert cli.main(["train.py", flag, "no/where.txt"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"f64doctor: {flag} no/where.txt cannot be written: there is no folder {folder}/no\n"
    assert checkup.asked == []


@pytest.mark.parametrize("flag", ["--output", "--save"])
def test_the_target_is_never_overwritten(checkup: Checkup, capsys: pytest.CaptureFixture[str], flag: str) -> None:
    assert cli.main(["train.py", flag, "./train.py"]) == 2
    assert capsys.readouterr().err == f"f64doctor: {flag} ./train.py would overwrite the target\n"


def test_output_and_save_are_two_files(checkup: Checkup, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train.py", "--output", "a", "--save", "./a"]) == 2
    assert capsys.readouterr().err == "f64doctor: --output and --save name the same file\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_report_that_could_not_be_written_in_the_end_goes_to_stdout(
    checkup: Checkup, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train.py", "--output", "/dev/full"]) == 2
    out, err = capsys.readouterr()
    assert out == render_text(failed_report())
    assert err.splitlines()[-1] == "f64doctor: /dev/full cannot be written: No space left on device"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_report_that_could_not_be_saved_goes_to_stdout_in_full(
    checkup: Checkup, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train.py", "--save", "/dev/full"]) == 2
    out = capsys.readouterr().out
    assert out == render_json(failed_report()) + render_text(failed_report())


# Exit status


@pytest.mark.parametrize(
    ("report", "level", "status"),
    [
        (failed_report(), "warning", 1),
        (failed_report(), "error", 1),
        (failed_report(), "never", 0),
        (healthy_report(), "warning", 0),
        (with_verdict(Status.WARNING, WARNING), "warning", 1),
        (with_verdict(Status.WARNING, WARNING), "error", 0),
        (with_verdict(Status.INFO, NOTE), "warning", 0),
        (with_verdict(Status.INCONCLUSIVE), "warning", 3),
        (with_verdict(Status.INCONCLUSIVE), "never", 3),
        (with_verdict(Status.INCONCLUSIVE, NOTE), "warning", 3),
        (with_verdict(Status.INCONCLUSIVE, WARNING), "error", 3),
        (with_verdict(Status.INCONCLUSIVE, LATE_SETTING), "error", 1),
        (with_verdict(Status.SKIPPED), "error", 3),
    ],
)
def test_the_exit_status_follows_the_findings_and_the_level(report: Report, level: str, status: int) -> None:
    assert cli.exit_status(report, level) == status


def test_a_level_is_about_severity() -> None:
    assert LATE_SETTING.severity is Severity.ERROR
    assert WARNING.severity is Severity.WARNING


@pytest.mark.parametrize("status", [2, 3])
def test_an_interpreter_that_will_not_do_gives_its_own_exit_status(
    checkup: Checkup, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    checkup.trouble = InterpreterError("there is no TensorFlow in /usr/bin/python3", status)
    assert cli.main(["train.py"]) == status
    assert capsys.readouterr().err == "f64doctor: there is no TensorFlow in /usr/bin/python3\n"


def test_a_fault_of_the_doctor_is_no_finding(checkup: Checkup, capsys: pytest.CaptureFixture[str]) -> None:
    checkup.trouble = RuntimeError("broken inside")
    assert cli.main(["train.py"]) == 3
    err = capsys.readouterr().err
    assert "RuntimeError: broken inside" in err
    assert err.endswith("f64doctor: this is a fault of f64doctor, not of your script\n")


# Wrong usage: a sentence and 2, never a traceback


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a script to examine, as in `f64doctor train.py`"),
        (["--", "train.py"], "name a script to examine, as in `f64doctor train.py`"),
        (["nix.py"], "there is no file nix.py"),
        (["train.py", "--steps", "no"], 'steps is "no" (from --steps): it must be a whole number from 1 on, or all'),
        (["train.py", "--format", "pdf"], 'format is "pdf" (from --format): it must be text or json'),
        (["train.py", "--verbose", "--quiet"], "verbose and quiet exclude each other (from --verbose and --quiet)"),
        (["bad\x1b[31m.py"], r"there is no file bad\x1b[31m.py"),
        (["bad\udce9.py"], r"there is no file bad\udce9.py"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(
    checkup: Checkup, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"f64doctor: {sentence}\n"


@pytest.mark.parametrize("arguments", [["--nonsense"], ["train.py", "other.py"], ["train.py", "--steps"], ["--diff"]])
def test_what_click_refuses_is_told_with_the_way_to_help(
    checkup: Checkup, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert cli.main(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("f64doctor: ")
    assert lines[1:] == ["f64doctor --help tells what can be asked."]


def test_a_syntax_error_is_shown_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.py").write_text("for i in range(3)\n    pass\n")
    assert cli.main(["train.py"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("f64doctor: train.py, line 1 is no valid Python: expected ':'")
    assert lines[1:] == ["  1 | for i in range(3)", "    |                  ^"]


# Help


def test_help_has_every_option_the_examples_and_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: f64doctor TARGET [OPTIONS] [-- ARGS...]\n")
    for parameter in cli.command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in out
    assert "f64doctor train.py -- --epochs 5" in out
    assert "130  interrupted" in out
    assert max(map(len, out.splitlines())) <= 100


def test_what_is_not_there_yet_is_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])
    out = capsys.readouterr().out
    assert not {"--diff", "--fix", "sarif", "junit", "html", "need"} & set(out.replace(",", " ").split())


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == "f64doctor 0.1.0\n"


# The catalogue


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of two pages."""
    from f64doctor import catalogue

    folder = tmp_path / "pages"
    folder.mkdir()
    for code, words in (("F203", "latched too early"), ("F204", "an explicit float32")):
        head = f"---\ncode: {code}\ncheck: layers\ntitle: {words}\nseverity: error\n---\n"
        (folder / f"{code}.md").write_text(f"{head}\n# {words}\n\n## What it is\n\nA thing.\n")
    monkeypatch.setattr(catalogue, "pages_folder", lambda: folder)
    catalogue.read_page.cache_clear()
    return folder


def test_a_code_is_explained_by_its_page(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--explain", "f203"]) == 0
    assert capsys.readouterr().out == "# latched too early\n\n## What it is\n\nA thing.\n"


@pytest.mark.parametrize("asked", ["F2", "f2xx", "F20"])
def test_a_family_is_listed(pages: Path, capsys: pytest.CaptureFixture[str], asked: str) -> None:
    assert cli.main(["--explain", asked]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "F203  layers   error    latched too early",
        "F204  layers   error    an explicit float32",
        "",
        "f64doctor --explain F203 shows one in full.",
    ]


def test_a_code_without_a_page_is_told_with_those_that_have_one(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--explain", "F999"]) == 2
    assert capsys.readouterr().err == "f64doctor: the catalogue has no page for F999; its codes: F203, F204\n"


# The wizard


class MadeUpApp:
    """Stands for the wizard: remembers how it was opened, and runs the checkup to its end."""

    opened: ClassVar[list[dict[str, Any]]] = []
    finishes = True

    def __init__(self, plan: Any, start: Any, *, confirm: bool, ascii_only: bool, no_mouse: bool) -> None:
        self.report: Report | None = None
        self.start = start
        self.opened.append({"plan": plan, "confirm": confirm, "ascii_only": ascii_only, "no_mouse": no_mouse})

    @classmethod
    def of_report(cls, report: Report, *, ascii_only: bool, no_mouse: bool) -> MadeUpApp:
        app = cls(None, None, confirm=False, ascii_only=ascii_only, no_mouse=no_mouse)
        app.report = report
        return app

    def run(self, *, mouse: bool) -> Report | None:
        self.opened[-1]["mouse"] = mouse
        if self.start is not None and self.finishes:
            import asyncio

            async def follow() -> None:
                async for news in self.start():
                    if isinstance(news, Finished):
                        self.report = news.report

            asyncio.run(follow())
        return self.report


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> type[MadeUpApp]:
    """The made-up wizard in place of the real one, at a terminal."""
    module = ModuleType("f64doctor.tui.app")
    vars(module).update(DoctorApp=MadeUpApp)
    monkeypatch.setitem(sys.modules, "f64doctor.tui.app", module)
    monkeypatch.setattr(cli, "is_terminal", lambda stream: True)
    monkeypatch.setattr(MadeUpApp, "opened", [])
    monkeypatch.setattr(MadeUpApp, "finishes", True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    return MadeUpApp


def test_at_a_terminal_the_wizard_opens_and_leaves_the_head_of_the_report(
    checkup: Checkup, app: type[MadeUpApp], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train.py"]) == 1
    assert app.opened == [
        {"plan": PLANNED, "confirm": True, "ascii_only": False, "no_mouse": False, "mouse": True},
    ]
    assert capsys.readouterr().out == render_head(failed_report())


def test_the_comforts_reach_the_wizard(checkup: Checkup, app: type[MadeUpApp]) -> None:
    cli.main(["train.py", "--yes", "--ascii", "--no-mouse"])
    assert app.opened == [{"plan": PLANNED, "confirm": False, "ascii_only": True, "no_mouse": True, "mouse": False}]


def test_the_wizard_saves_the_report_too(checkup: Checkup, app: type[MadeUpApp], folder: Path) -> None:
    cli.main(["train.py", "--save", "r.f64.json"])
    assert decode((folder / "r.f64.json").read_bytes()) == failed_report()


def test_a_saved_report_opens_in_the_wizard_without_a_run(checkup: Checkup, app: type[MadeUpApp], folder: Path) -> None:
    (folder / "r.f64.json").write_text(render_json(healthy_report()))
    assert cli.main(["r.f64.json"]) == 0
    assert app.opened[0]["confirm"] is False
    assert checkup.asked == []


def test_a_wizard_that_is_left_early_was_interrupted(
    checkup: Checkup, app: type[MadeUpApp], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "finishes", False)
    assert cli.main(["train.py"]) == 130
    assert capsys.readouterr() == ("", "f64doctor: ended before there was a report\n")


def test_without_tensorflow_the_wizard_does_not_open(checkup: Checkup, app: type[MadeUpApp]) -> None:
    checkup.trouble = InterpreterError("there is no TensorFlow", 3)
    assert cli.main(["train.py"]) == 3
    assert app.opened == []


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["--non-interactive"], {}),
        (["--format", "text"], {}),
        (["--output", "-"], {}),
        ([], {"TERM": "dumb"}),
        ([], {"CI": "true"}),
        ([], {"F64DOCTOR_FORMAT": "json"}),
        ([], {"F64DOCTOR_NON_INTERACTIVE": "1"}),
    ],
)
def test_what_asks_for_a_report_opens_no_wizard(
    checkup: Checkup,
    app: type[MadeUpApp],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    environ: dict[str, str],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["train.py", *arguments]) == 1
    assert app.opened == []


def test_stdin_that_is_no_terminal_opens_no_wizard(
    checkup: Checkup, app: type[MadeUpApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "is_terminal", lambda stream: stream is not sys.stdin)
    cli.main(["train.py"])
    assert app.opened == []


def test_without_a_target_the_wizard_asks_until_it_has_one(
    checkup: Checkup, app: type[MadeUpApp], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["nix.py", "'train.py'"])
    monkeypatch.setattr(click, "prompt", lambda *_, **__: next(answers))
    assert cli.main([]) == 1
    assert checkup.asked[0][0].shown == "train.py"
    assert "f64doctor: there is no file nix.py" in capsys.readouterr().err


# Real processes: signals, pipes and terminals


DRIVER = """
import asyncio, os, subprocess, sys, types
from f64doctor.report import decode
class InterpreterError(Exception): pass
def plan(target, settings): raise AssertionError
async def examine(target, settings):
    from f64doctor.progress import Finished, RunStarted
    child = subprocess.Popen(["sleep", "60"]) if "slow" in target.args else None
    try:
        yield RunStarted("as-is", "")
        if child:
            print("child", child.pid, file=sys.stderr, flush=True)
            await asyncio.sleep(60)
        with open("report.json", "rb") as file:
            yield Finished(decode(file.read()))
    finally:
        if child:
            child.kill(); child.wait()
            print("child ended", file=sys.stderr, flush=True)
module = types.ModuleType("f64doctor.checkup")
module.plan, module.examine, module.InterpreterError = plan, examine, InterpreterError
sys.modules["f64doctor.checkup"] = module
from f64doctor.cli import main
sys.exit(main())
"""


@pytest.fixture
def driver(folder: Path) -> list[str]:
    """A command that runs the real command line on a made-up checkup."""
    (folder / "driver.py").write_text(textwrap.dedent(DRIVER))
    (folder / "report.json").write_text(render_json(failed_report()))
    return [sys.executable, str(folder / "driver.py"), "train.py"]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1]), **changes}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_children_and_gives_130(driver: list[str], number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*driver, "--", "slow"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stderr is not None
    pid = 0
    for line in process.stderr:
        if line.startswith("child "):
            pid = int(line.split()[1])
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines() == ["child ended", "f64doctor: interrupted"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_reader_who_leaves_early_is_no_failure(driver: list[str]) -> None:
    command = f"{subprocess.list2cmdline(driver)} --quiet | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.stdout.splitlines()[0].startswith("f64doctor 0.1.0 · train.py")
    assert done.stdout.splitlines()[-1] == "1"
    assert done.stderr == ""


def test_a_closed_stdout_is_no_failure(driver: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*driver, "--quiet"], stdout=write_end, stderr=subprocess.PIPE, text=True, env=environment(), timeout=60
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_stdout_that_knows_ascii_only_gets_ascii_and_json_stays_utf_8(driver: list[str]) -> None:
    ascii_only = environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    text = subprocess.run([*driver, "--quiet"], capture_output=True, env=ascii_only, timeout=60)
    assert text.stdout.decode("ascii").splitlines()[2].startswith("x Not float64")
    document = subprocess.run([*driver, "--quiet", "--format", "json"], capture_output=True, env=ascii_only, timeout=60)
    assert decode(document.stdout) == failed_report()


def at_a_terminal(command: list[str], environ: dict[str, str]) -> tuple[int, str]:
    """The exit status of a command that runs at a terminal of its own, and all that it drew."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environ)
    drawn = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and select.select([terminal], [], [], 30)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        drawn += piece
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), drawn.decode()


def test_at_a_terminal_the_report_has_colours(driver: list[str]) -> None:
    status, drawn = at_a_terminal([*driver, "--non-interactive"], environment(TERM="xterm", COLUMNS="80", NO_COLOR=""))
    assert status == 1
    assert "\x1b[1;31m✗ Not float64" in drawn


def test_no_color_means_no_colour(driver: list[str]) -> None:
    _, drawn = at_a_terminal([*driver, "--non-interactive", "--quiet"], environment(TERM="xterm", NO_COLOR="1"))
    assert "Not float64" in drawn
    assert "\x1b" not in drawn


def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "f64doctor", "--version"], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "f64doctor 0.1.0\n")
