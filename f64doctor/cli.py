"""The command line: reads what the user asks for, lets the wizard or a report show it, and sets the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from f64doctor import __version__

if TYPE_CHECKING:
    from f64doctor.progress import Progress
    from f64doctor.report import Report
    from f64doctor.settings import Settings
    from f64doctor.target import Target
    from f64doctor.tui.app import DoctorApp

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

NOTHING_FOUND = 0
FOUND = 1
WRONG_USAGE = 2
NO_CONCLUSION = 3
INTERRUPTED = 130

WIDEST_REPORT = 110
"""Cells beyond which lines of a report become hard to read, however wide the terminal is."""

NO_TARGET = "name a script to examine, as in `f64doctor train.py`"

DESCRIPTION = """\
Examines a Keras/TensorFlow script that should compute in double precision: why it fails, why it is slow, or where it
silently is not double precision at all. The script runs for a few training steps, watched, in its own interpreter and
folder; it is not changed. Five checks judge what was seen, each one ruling out a cheaper cause than the next: inputs,
layers, device, casts, memory."""

TARGET_HELP = (
    "A Python script, or a report saved with --save. Without it the wizard asks for one. ARGS go to the script."
)

EXAMPLES = (
    ("f64doctor train.py", "examine it in the wizard"),
    ("f64doctor train.py -- --epochs 5", "the same, with arguments for the script"),
    ("f64doctor train.py --non-interactive", "print the report"),
    ("f64doctor train.py --format json", "the same, for programs"),
    ("f64doctor train.py --no-run", "read the source only"),
    ("f64doctor --explain F203", "what a finding means"),
)

EXIT_STATUSES = (
    (NOTHING_FOUND, "nothing at or above --fail-on"),
    (FOUND, "findings"),
    (WRONG_USAGE, "wrong usage, or a target that cannot be read"),
    (NO_CONCLUSION, "no conclusion: the script failed for another reason, ran out of time, or TensorFlow is missing"),
    (INTERRUPTED, "interrupted"),
)

SETTINGS_HELP = """\
Each option but --explain may also stand in [tool.f64doctor] of the nearest pyproject.toml (time-limit = 60) or in the
environment (F64DOCTOR_TIME_LIMIT=60). An option wins, then the environment, then the file."""


RUNNING, JUDGING, SHOWING, OTHER = "How the script runs", "What is judged", "How it is shown", "Other"


class Trouble(Exception):
    """What ends the command before a report is shown: a sentence for stderr, lines to show under it, and the exit status."""

    def __init__(self, sentence: str, exit_status: int = WRONG_USAGE, detail: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.exit_status = exit_status
        self.detail = detail


class GroupedOption(click.Option):
    """An option that knows under which heading of ``--help`` it stands."""

    def __init__(self, *args: Any, group: str = OTHER, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class HelpfulCommand(click.Command):
    """A command whose ``--help`` has its options in groups, examples, and the exit status."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the usage as the contract has it."""
        formatter.write_usage(ctx.command_path, "TARGET [OPTIONS] [-- ARGS...]")

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the whole help."""
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(DESCRIPTION.replace("\n", " "))
        with formatter.section("Target"):
            formatter.write_text(TARGET_HELP)
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                groups.setdefault(getattr(parameter, "group", OTHER), []).append(record)
        width = max(len(name) for records in groups.values() for name, _ in records)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), words) for name, words in records])
        with formatter.section("Settings"):
            formatter.write_text(SETTINGS_HELP.replace("\n", " "))
        with formatter.section("Examples"):
            for line, words in EXAMPLES:
                formatter.write(f"{'':{formatter.current_indent}}{line:45}  {words}\n")
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status), words) for status, words in EXIT_STATUSES])


def option(name: str, group: str, words: str, metavar: str | None = None, *, repeatable: bool = False) -> Decorator:
    """An option whose value is read by ``settings``, so that a bad value is told alike wherever it came from; a flag without a metavar."""
    if metavar is None:
        return click.option(
            name, cls=GroupedOption, group=group, help=words, is_flag=True, flag_value=True, default=None
        )
    return click.option(name, cls=GroupedOption, group=group, help=words, metavar=metavar, multiple=repeatable)


@click.command(cls=HelpfulCommand, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("target", required=False)
@option(
    "--python", RUNNING, "The interpreter that has your TensorFlow. Default: the active virtual environment's.", "PATH"
)
@option("--cwd", RUNNING, "The folder in which the script runs. Default: the current one.", "DIR")
@option("--steps", RUNNING, "Training steps to observe in each fit, or `all`. Default: 3.", "N")
@option("--time-limit", RUNNING, "For one run of the script. Default: 300.", "SECONDS")
@option("--no-run", RUNNING, "Read the source only, run nothing.")
@option("--allow-writes", RUNNING, "Let the script write, delete and send for real. Default: held back.")
@option("--yes", RUNNING, "Start without asking.")
@option("--check", JUDGING, "Only this check; repeatable.", "NAME", repeatable=True)
@option("--skip", JUDGING, "Not this check; repeatable.", "NAME", repeatable=True)
@option("--fail-on", JUDGING, "error, warning or never: what makes the exit status 1. Default: warning.", "LEVEL")
@option("--non-interactive", SHOWING, "Print the report, open no wizard.")
@option("--format", SHOWING, "text or json; implies --non-interactive. Default: text.", "NAME")
@option("--output", SHOWING, "Write the report there instead of to stdout; implies --non-interactive.", "FILE")
@option("--save", SHOWING, "Also save the full report (.f64.json), to be opened later or elsewhere.", "FILE")
@option("--no-mask", SHOWING, "Leave names, addresses, secrets and home folders in the report as they are.")
@option("--no-mouse", SHOWING, "Leave the mouse to the terminal, to select text with it.")
@option("--ascii", SHOWING, "Use ASCII signs only.")
@option("--verbose", SHOWING, "Show the script's log, and what each check verified.")
@option("--quiet", SHOWING, "No narration on stderr.")
@click.option(
    "--explain", cls=GroupedOption, group=OTHER, metavar="CODE", help="Explain a finding (F203) or list a family (F2)."
)
@click.version_option(__version__, message="f64doctor %(version)s", help="Show the version.")
def command(**asked: Any) -> dict[str, Any]:
    """Gives back what the user asked for; the work is done by ``main``, outside of click."""
    return asked


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line asks for and gives the exit status. Prints a sentence, never a traceback, for what the user can mend."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options, script_arguments = split_arguments(given)
    try:
        asked = command.main(args=options, prog_name="f64doctor", standalone_mode=False)
        if not isinstance(asked, dict):
            return int(asked or 0)
        return attend(asked, script_arguments)
    except click.ClickException as error:
        return complain(error.format_message(), "f64doctor --help tells what can be asked.")
    except Trouble as trouble:
        return complain(trouble.sentence, trouble.detail, trouble.exit_status)
    except (click.Abort, KeyboardInterrupt):
        return complain("interrupted", exit_status=INTERRUPTED)
    except Exception:
        import traceback

        traceback.print_exc()
        return complain("this is a fault of f64doctor, not of your script", exit_status=NO_CONCLUSION)


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The doctor's own arguments, and those after the first ``--``, which belong to the script as they are."""
    if "--" not in arguments:
        return list(arguments), ()
    place = list(arguments).index("--")
    return list(arguments[:place]), tuple(arguments[place + 1 :])


def complain(sentence: str, detail: str = "", exit_status: int = WRONG_USAGE) -> int:
    """Says on stderr why there is no report, and gives the exit status on."""
    from f64doctor.render.escape import visible_lines

    for line in (*visible_lines(f"f64doctor: {sentence}"), *visible_lines(detail)):
        write(sys.stderr, line + "\n")
    return exit_status


def attend(asked: Mapping[str, Any], script_arguments: tuple[str, ...]) -> int:
    """Does what was asked for, and gives the exit status. Raises ``Trouble``."""
    if asked["explain"] is not None:
        return explain(asked["explain"])

    from f64doctor.settings import SettingsError, load_settings
    from f64doctor.target import TargetError, read_target

    here = Path.cwd()
    text = asked["target"]
    flags = {name.replace("_", "-"): value for name, value in asked.items() if name not in ("target", "explain")}
    try:
        settings, origins = load_settings(flags, os.environ, folder_of(text, here))
        in_wizard = is_interactive(settings, origins["format"] != "default", sys.stdin, sys.stdout, os.environ)
        if text is None:
            if not in_wizard:
                raise Trouble(NO_TARGET)
            target = ask_for_target(lambda typed: read_target(typed, script_arguments, here, python=settings.python))
        else:
            target = read_target(text, script_arguments, here, python=settings.python)
    except SettingsError as error:
        raise Trouble(str(error)) from error
    except TargetError as error:
        raise Trouble(error.sentence, detail=error.detail) from error
    refuse_bad_files(settings, target)
    return show_in_wizard(target, settings) if in_wizard else print_report(target, settings)


def folder_of(text: str | None, here: Path) -> Path:
    """The folder from which pyproject.toml is looked for: the target's."""
    if not text or "\0" in text:
        return here
    return Path(os.path.abspath(here / Path(text).expanduser())).parent


def is_interactive(
    settings: Settings, format_given: bool, stdin: TextIO | None, stdout: TextIO | None, environ: Mapping[str, str]
) -> bool:
    """True when the wizard should open: nobody asked for a report, and there is a person at a capable terminal."""
    if settings.non_interactive or format_given or settings.output is not None:
        return False
    if environ.get("TERM") == "dumb" or environ.get("CI", "").lower() not in ("", "0", "false"):
        return False
    return is_terminal(stdin) and is_terminal(stdout)


def is_terminal(stream: TextIO | None) -> bool:
    """True when a stream is open and leads to a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def ask_for_target(read: Callable[[str], Target]) -> Target:
    """Asks for a script until one can be read."""
    from f64doctor.target import TargetError

    while True:
        typed = str(click.prompt("Script to examine", err=True)).strip().strip("'\"")
        try:
            return read(typed)
        except TargetError as error:
            complain(error.sentence, error.detail)


def refuse_bad_files(settings: Settings, target: Target) -> None:
    """Raises ``Trouble`` for a report that could not be written, before any time is spent on making it."""
    places: dict[str, str] = {}
    for name, file in (("--output", settings.output), ("--save", settings.save)):
        if file is None or file == "-":
            continue
        path = os.path.realpath(file)
        folder = os.path.dirname(path)
        if path == os.path.realpath(target.path):
            raise Trouble(f"{name} {file} would overwrite the target")
        if path in places:
            raise Trouble(f"{places[path]} and {name} name the same file")
        if os.path.isdir(path):
            raise Trouble(f"{name} {file} is a folder")
        if not os.path.isdir(folder):
            raise Trouble(f"{name} {file} cannot be written: there is no folder {folder}")
        if not os.access(path if os.path.exists(path) else folder, os.W_OK):
            raise Trouble(f"{name} {file} cannot be written: permission denied")
        places[path] = name


def print_report(target: Target, settings: Settings) -> int:
    """Examines the target, tells the progress on stderr, and puts the report where it belongs."""
    from f64doctor.narration import Narrator

    narrator = Narrator(
        sys.stderr,
        live=is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb",
        quiet=settings.quiet,
        verbose=settings.verbose,
        ascii_only=settings.ascii_only,
    )
    if target.kind == "report":
        report = saved_report(target)
    else:
        report = examine_to_the_end(target, settings, narrator.tell, narrator.wipe)
    report = shareable(report, settings)
    kept_well = keep_report(report, settings)
    if settings.output is None or settings.output == "-":
        write_report(report, settings)
    elif keep(settings.output, formatted(report, settings)):
        narrator.say(f"report written to {settings.output}")
    else:
        kept_well = False
        write_report(report, settings)
    return exit_status(report, settings.fail_on) if kept_well else WRONG_USAGE


def examine_to_the_end(
    target: Target, settings: Settings, tell: Callable[[Progress], None], wipe: Callable[[], None]
) -> Report:
    """The report of a checkup that nobody watches but ``tell``. Raises ``Trouble`` when there is none."""
    import asyncio
    from contextlib import aclosing

    from f64doctor.checkup import InterpreterError, examine
    from f64doctor.progress import Finished

    async def follow() -> Report | None:
        end_on_signals()
        report = None
        async with aclosing(examine(target, settings)) as news:
            async for item in news:
                tell(item)
                if isinstance(item, Finished):
                    report = item.report
        return report

    try:
        report = asyncio.run(follow())
    except (asyncio.CancelledError, KeyboardInterrupt):
        wipe()
        raise Trouble("interrupted", INTERRUPTED) from None
    except InterpreterError as error:
        wipe()
        raise Trouble(str(error), error.exit_status) from error
    wipe()
    if report is None:
        raise Trouble("the checkup ended without a report", NO_CONCLUSION)
    return report


def end_on_signals() -> None:
    """Lets the first signal to end cancel the running task, so that it ends its child processes; a second one ends at once.

    A signal that was ignored when we started (as ``nohup`` does) stays ignored.
    """
    import asyncio
    import contextlib
    import signal

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signals = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]

    def end() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
        if task is not None:
            task.cancel()

    for number in signals:
        if signal.getsignal(number) is not signal.SIG_IGN:
            # Signals can be handled in the main thread only; elsewhere the caller ends the task.
            with contextlib.suppress(RuntimeError, ValueError, NotImplementedError):
                loop.add_signal_handler(number, end)


def show_in_wizard(target: Target, settings: Settings) -> int:
    """Opens the wizard; when it is closed, leaves the beginning of the report in the terminal."""
    app = wizard(target, settings)
    app.run(mouse=not settings.no_mouse)
    report = app.report
    if report is None:
        raise Trouble("ended before there was a report", INTERRUPTED)
    from f64doctor.render.text import render_head

    report = shareable(report, settings)
    write(sys.stdout, render_head(report, **text_options(settings)))
    return exit_status(report, settings.fail_on) if keep_report(report, settings) else WRONG_USAGE


def wizard(target: Target, settings: Settings) -> DoctorApp:
    """The wizard on a saved report, or on a checkup that it will start. Raises ``Trouble`` when neither can be had."""
    if target.kind == "report":
        report = saved_report(target)
        from f64doctor.tui.app import DoctorApp

        return DoctorApp.of_report(report, ascii_only=settings.ascii_only, no_mouse=settings.no_mouse)
    from f64doctor.checkup import InterpreterError, examine, plan

    try:
        planned = plan(target, settings)
    except InterpreterError as error:
        raise Trouble(str(error), error.exit_status) from error
    from f64doctor.tui.app import DoctorApp

    return DoctorApp(
        planned,
        lambda: examine(target, settings),
        confirm=not settings.assume_yes,
        ascii_only=settings.ascii_only,
        no_mouse=settings.no_mouse,
    )


def saved_report(target: Target) -> Report:
    """The report that was saved in a file. Raises ``Trouble`` when it cannot be read."""
    from f64doctor.target import TargetError, read_report

    try:
        return read_report(target)
    except TargetError as error:
        raise Trouble(error.sentence, detail=error.detail) from error


def exit_status(report: Report, fail_on: str) -> int:
    """What the report means for a program: 1 for findings at or above the level ``fail_on``, 3 when nothing could be concluded, else 0."""
    from f64doctor.report import Severity, Status

    levels = {"error": {Severity.ERROR}, "warning": {Severity.ERROR, Severity.WARNING}, "never": set()}[fail_on]
    if any(finding.severity in levels for finding in report.findings):
        return FOUND
    if report.verdict.status in (Status.INCONCLUSIVE, Status.SKIPPED, Status.CRASHED):
        return NO_CONCLUSION
    return NOTHING_FOUND


def formatted(report: Report, settings: Settings, **options: Any) -> str:
    """The report in the format that the settings name."""
    if settings.format == "json":
        from f64doctor.render.json import render_json

        return render_json(report)
    from f64doctor.render.text import render_text

    return render_text(report, **{"ascii_only": settings.ascii_only, "verified": settings.verbose, **options})


def write_report(report: Report, settings: Settings) -> None:
    """Writes the report to stdout; JSON is UTF-8 whatever the terminal's encoding is."""
    text = formatted(report, settings, **text_options(settings))
    buffer = getattr(sys.stdout, "buffer", None)
    if settings.format == "json" and buffer is not None:
        write_bytes(buffer, text.encode())
    else:
        write(sys.stdout, text)


def text_options(settings: Settings) -> dict[str, Any]:
    """How text should be set for what stdout leads to: its width, its colours, its characters."""
    import shutil

    from f64doctor.render.text import SIGNS

    is_shown = is_terminal(sys.stdout)
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "".join(SIGNS.values()).encode(encoding)
        can_show_signs = True
    except (UnicodeEncodeError, LookupError):
        can_show_signs = False
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return {
        "width": min(shutil.get_terminal_size((80, 24)).columns, WIDEST_REPORT) if is_shown else 80,
        "color": is_shown and not plain,
        "ascii_only": settings.ascii_only or not can_show_signs,
    }


def keep_report(report: Report, settings: Settings) -> bool:
    """Saves the full report where ``--save`` says; False when that failed, after the report went to stdout in full instead."""
    if settings.save is None:
        return True
    from f64doctor.render.json import render_json

    text = render_json(report)
    if keep(settings.save, text):
        return True
    if settings.output is not None or settings.format != "json":
        write(sys.stdout, text)
    return False


def shareable(report: Report, settings: Settings) -> Report:
    """The report as it may be printed and saved: masked, unless ``--no-mask`` was given."""
    if settings.no_mask:
        return report
    import platform

    from f64doctor.render.masking import Known, masked, secrets_of

    try:
        import pwd

        user = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        user = os.environ.get("USER", "")
    home, host = os.path.expanduser("~"), platform.node()
    hosts = tuple(dict.fromkeys(filter(None, (host, host.partition(".")[0]))))
    return masked(report, Known("" if home == "~" else home, user, hosts, secrets_of(os.environ)))


def keep(file: str, text: str) -> bool:
    """Writes a file whole; False, after a sentence on stderr, when that failed."""
    try:
        Path(file).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        complain(f"{file} cannot be written: {error.strerror or error}")
        return False
    return True


def explain(asked: str) -> int:
    """Prints the catalogue's page of a finding, or the list of a family. Raises ``Trouble`` for a code that there is not."""
    from f64doctor import catalogue

    code = asked.strip().upper()
    if code in catalogue.codes():
        write(sys.stdout, catalogue.page(code))
        return NOTHING_FOUND
    members = catalogue.family(code)
    if not members:
        known = ", ".join(catalogue.codes()) or "none"
        raise Trouble(f"the catalogue has no page for {asked}; its codes: {known}")
    for member in members:
        matter = catalogue.front_matter(member)
        write(sys.stdout, f"{member}  {matter['check']:7}  {matter['severity']:7}  {matter['title']}\n")
    write(sys.stdout, f"\nf64doctor --explain {members[0]} shows one in full.\n")
    return NOTHING_FOUND


def write(stream: TextIO | None, text: str) -> None:
    """Writes text and flushes it. A reader who has gone, as ``head`` does, is no failure; what cannot be encoded is escaped."""
    if stream is None:
        return
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        let_go(stream)


def write_bytes(stream: Any, data: bytes) -> None:
    """Writes bytes and flushes them; see ``write``."""
    try:
        stream.write(data)
        stream.flush()
    except BrokenPipeError:
        let_go(stream)


def let_go(stream: Any) -> None:
    """Leads a broken stream to nowhere, so that the interpreter's last flush does not complain about it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
