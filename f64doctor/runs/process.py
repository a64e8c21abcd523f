"""One run of the target: its process group is started, read, bounded in time, and ended whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import time
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from f64doctor.observe import Run
from f64doctor.observe.events import AnyEvent, End, Failure
from f64doctor.runs.lifeline import Lifeline
from f64doctor.runs.log import Log
from f64doctor.runs.protocol import Reader
from f64doctor.runs.scratch import Scratch

PROBE = Path(__file__).resolve().parent.parent / "probe"
# Between "end yourself" and the kill that cannot be refused.
GRACE_SECONDS = 2.0
POLL_SECONDS = 0.25


class RunNews(msgspec.Struct):
    """What became known since the last news; ``run`` is filled as the run goes on and complete when ``over``."""

    run: Run
    events: list[AnyEvent]
    log: list[str]
    seconds: float
    resident_bytes: int | None
    over: bool = False


async def run_target(
    name: str,
    interpreter: str,
    script: str,
    arguments: list[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    steps: int | None,
    time_limit: float,
    hide_devices: bool = False,
    jit: bool | None = None,
    shown: str | None = None,
    allow_writes: bool = True,
) -> AsyncGenerator[RunNews, None]:
    """Run the script under the probe and tell what happens, a few times a second; the last news has ``over`` set.

    ``hide_devices``: the script's own settings of CUDA_VISIBLE_DEVICES and its like are ignored, and plug-in devices are hidden. ``jit``: whether
    XLA compiles (None: as the script has it). ``shown``: the script's path as ``sys.argv[0]``
    shall have it. ``allow_writes``: what the script writes, deletes and sends is not held back. The run and all that came of it is ended when it is over,
    when it has run for ``time_limit`` seconds, when the caller stops listening, and when this process dies.
    """
    run = Run(name=name)
    reader, log = Reader(), Log()
    began = time.monotonic()
    # Pipes of our own for both, rather than asyncio's: its wait() would last until the last holder of the script's stdout is gone.
    read_end, write_end = os.pipe()
    log_end, stdout_end = os.pipe()
    scratch: Scratch | None = None
    lifeline: Lifeline | None = None
    family: Descendants | None = None
    events: list[AnyEvent] = []
    lines: list[str] = []
    listeners: list[asyncio.Task[None]] = []
    transports: list[asyncio.BaseTransport] = []
    try:
        try:
            scratch = Scratch()
            options = {
                "fd": write_end,
                "steps": steps,
                "hide": hide_devices,
                "jit": jit,
                **scratch.options(allow_writes),
            }
            entry = shown if shown is not None and os.path.isfile(os.path.join(cwd, shown)) else script
            lifeline = await Lifeline.start(
                [interpreter, "-u", str(PROBE), json.dumps(options), entry, *arguments],
                cwd=cwd,
                environment=scratch.environment(environment, allow_writes),
                output=stdout_end,
                pass_fds=(write_end,),
                scratch=scratch.folder,
                guard=None if allow_writes else scratch.writable_natively((cwd, os.path.dirname(script)), environment),
            )
        except OSError as error:
            what = (
                "a folder for temporary files could not be made"
                if scratch is None
                else f"{interpreter} could not be started"
            )
            run.trouble = f"{what}: {error.strerror or error}"
            yield RunNews(run, [], [], 0.0, None, over=True)
            return
        family = Descendants(lifeline.group)
        loop = asyncio.get_running_loop()
        streams = []
        for descriptor in (read_end, log_end):
            stream = asyncio.StreamReader(limit=2**20)
            transport, _ = await loop.connect_read_pipe(
                functools.partial(asyncio.StreamReaderProtocol, stream), os.fdopen(descriptor, "rb", 0)
            )
            transports.append(transport)
            streams.append(stream)
        os.close(write_end)
        os.close(stdout_end)
        read_end = write_end = log_end = stdout_end = -1

        async def listen(stream: asyncio.StreamReader, take: object) -> None:
            while data := await stream.read(2**16):
                if take is reader:
                    events.extend(reader.feed(data))
                else:
                    lines.extend(log.feed(data))
                    del lines[:-LINES_A_NEWS]

        listeners = [loop.create_task(listen(streams[0], reader)), loop.create_task(listen(streams[1], log))]
        ended = lifeline.over
        assert ended is not None
        timed_out = False
        while not ended.done():
            await asyncio.wait([ended], timeout=POLL_SECONDS)
            seconds = time.monotonic() - began
            resident = family.resident()
            if resident is not None:
                run.peak_bytes = max(run.peak_bytes or 0, resident)
            if not ended.done() and seconds > time_limit:
                timed_out = True
                await _end_group(lifeline, ended)
            run.events.extend(events)
            yield RunNews(run, _taken(events), _taken(lines), seconds, resident)
        # Children that outlive the script may hold the pipes open: they were ended, and so the pipes run dry.
        family.kill()
        await asyncio.wait(listeners, timeout=GRACE_SECONDS)
        reader.close()
        log.close()
        run.events.extend(events)
        run.seconds = time.monotonic() - began
        run.undecoded = reader.undecoded
        run.left_behind = lifeline.ended
        run.log, run.log_lines_dropped = log.tail(), log.dropped
        run.notices = log.notices
        _judge_end(run, lifeline.code, timed_out)
        yield RunNews(run, _taken(events), _taken(lines), run.seconds, None, over=True)
    finally:
        if lifeline is not None:
            await asyncio.shield(lifeline.let_go())
        if family is not None:
            family.kill()
        for listener in listeners:
            listener.cancel()
        for opened in transports:
            opened.close()
        for descriptor in (read_end, write_end, log_end, stdout_end):
            if descriptor >= 0:
                os.close(descriptor)
        if scratch is not None:
            scratch.remove()


LINES_A_NEWS = 200


def _taken(items: list[AnyEvent] | list[str]) -> list:  # type: ignore[type-arg]
    taken = list(items)
    items.clear()
    return taken


async def _end_group(lifeline: Lifeline, ended: asyncio.Task[None]) -> None:
    lifeline.signal(signal.SIGTERM)
    await asyncio.wait([ended], timeout=GRACE_SECONDS)
    if not ended.done():
        lifeline.signal(signal.SIGKILL)
        await asyncio.wait([ended], timeout=GRACE_SECONDS)


def _judge_end(run: Run, code: int | None, timed_out: bool) -> None:
    """Set the outcome from what the probe said and how the process ended."""
    run.exit_code = code
    end = next((event for event in reversed(run.events) if isinstance(event, End)), None)
    if timed_out:
        run.outcome = "timed-out"
    elif code is None:
        run.outcome = "killed"
        run.trouble = "the process that watched over the run was ended by something else"
    elif code < 0:
        run.outcome = "killed"
        with contextlib.suppress(ValueError):
            run.signal = signal.Signals(-code).name
    elif end is not None:
        run.outcome = end.outcome
    elif any(isinstance(event, Failure) for event in run.events):
        run.outcome = "raised"
    else:
        run.outcome = "exited" if code else "completed"


class Descendants:
    """The run's process and all that it was seen to start, also what has left its group since."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: dict[int, Any] = {}

    def resident(self) -> int | None:
        """Resident bytes of the process and its children, or None when it is gone."""
        import psutil

        try:
            process = psutil.Process(self._pid)
            total = int(process.memory_info().rss)
            for child in process.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    self._seen.setdefault(child.pid, child)
                    total += int(child.memory_info().rss)
            return total
        except psutil.Error:
            return None

    def kill(self) -> None:
        """End those that are still there; a number that was given to another process since is left alone."""
        import psutil

        for process in self._seen.values():
            with contextlib.suppress(psutil.Error):
                if process.is_running():
                    process.kill()
