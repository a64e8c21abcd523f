"""The doctor's side of a keeper (see ``keeper``): starts one, hears what becomes of the run, and lets go."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

KEEPER = Path(__file__).with_name("keeper.py")
# The keeper takes three seconds at most to end what does not want to end.
PATIENCE_SECONDS = 5.0


class Told(msgspec.Struct, frozen=True):
    """One line of the keeper's."""

    pid: int | None = None
    error: int | None = None
    code: int | None = None
    ended: int = 0


class Lifeline:
    """A run that ends when this process does.

    ``group``: number of the probe's process and of its group; ``over``: done when the probe has ended and all that it left behind with it;
    ``code``: its exit status then, None when the keeper was lost; ``ended``: how many processes it left behind.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        end: int,
        stream: asyncio.StreamReader,
        transport: asyncio.BaseTransport,
    ) -> None:
        self._process = process
        self._end = end
        self._stream = stream
        self._transport = transport
        self.group = 0
        self.code: int | None = None
        self.ended = 0
        self.over: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        output: int,
        pass_fds: Sequence[int],
        scratch: str,
        guard: Sequence[str] | None,
    ) -> Lifeline:
        """Start ``argv`` under a keeper; stdout and stderr go to ``output``. Raises ``OSError`` when it cannot be started."""
        life_read, life_write = os.pipe()
        status_read, status_write = os.pipe()
        order = {
            "argv": [os.fsencode(word).decode("latin-1") for word in argv],
            "status": status_write,
            "pass": list(pass_fds),
            "scratch": scratch,
            "guard": None if guard is None else list(guard),
        }
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-S",
                str(KEEPER),
                json.dumps(order),
                cwd=cwd,
                env=environment,
                stdin=life_read,
                stdout=output,
                stderr=output,
                pass_fds=(status_write, *pass_fds),
                start_new_session=True,
            )
        except BaseException:
            os.close(life_write)
            os.close(status_read)
            raise
        finally:
            os.close(life_read)
            os.close(status_write)
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            functools.partial(asyncio.StreamReaderProtocol, stream), os.fdopen(status_read, "rb", 0)
        )
        lifeline = cls(process, life_write, stream, transport)
        first = await lifeline._next()
        if first is None or first.pid is None:
            error = first.error if first is not None else None
            await lifeline.let_go()
            raise OSError(error or 0, os.strerror(error) if error else "its keeper did not start")
        lifeline.group = first.pid
        lifeline.over = asyncio.get_running_loop().create_task(lifeline._hear_the_end())
        return lifeline

    async def _next(self) -> Told | None:
        line = await self._stream.readline()
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.json.decode(line, type=Told)
        return None

    async def _hear_the_end(self) -> None:
        last = await self._next()
        if last is not None:
            self.code, self.ended = last.code, last.ended

    def signal(self, number: int) -> None:
        """Send a signal to the probe's process group."""
        if self.group and (self.over is None or not self.over.done()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.group, number)

    async def let_go(self) -> None:
        """Have everything ended and the scratch folder removed, and wait for it."""
        if self._end >= 0:
            os.close(self._end)
            self._end = -1
        if self.over is not None:
            self.over.cancel()
        self._transport.close()
        try:
            await asyncio.wait_for(self._process.wait(), PATIENCE_SECONDS)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            if self.group:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.group, signal.SIGKILL)
