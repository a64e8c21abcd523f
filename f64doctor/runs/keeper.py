"""The parent of one run: starts the probe, ends all that came of it when it is over or when the doctor is gone, and takes the scratch folder away.

It is a process of its own, in a session of its own, started as ``PYTHON -I -S keeper.py ORDER`` with the reading end of a pipe as its stdin. The doctor
holds the other end and never writes: when the doctor ends, however it ends, the pipe does too. As a child subreaper (Linux) it inherits what
left the run's group or session, so that a daemon is found by descent and not by name.

ORDER is JSON: ``argv`` (bytes as Latin-1), ``status``, ``pass`` (descriptors for the probe), ``scratch``, ``guard`` (folders that native code may
write to, or null). On ``status`` it writes JSON lines: ``{"pid": N}`` or ``{"error": ERRNO}``, then ``{"code": N, "ended": COUNT}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
SECONDS_TO_END = 3.0


def main() -> None:
    """Start what was ordered, and stay until it is over and the doctor has let go, or until the doctor is gone."""
    order: dict[str, Any] = json.loads(sys.argv[1])
    status = int(order["status"])
    os.set_inheritable(status, False)
    become_subreaper()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    group = start(order, status)
    if group:
        stay(group, status, wake)
    remove(order.get("scratch"))


def start(order: dict[str, Any], status: int) -> int:
    """Start the probe and tell its process number, or why there is none (then 0)."""
    argv = [word.encode("latin-1") for word in order["argv"]]
    failed, failing = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            os.dup2(nowhere, 0)
            for descriptor in order["pass"]:
                os.set_inheritable(descriptor, True)
            if order.get("guard") is not None:
                sys.path.append(os.path.dirname(os.path.abspath(__file__)))
                import guard  # type: ignore[import-not-found]

                guard.confine(order["guard"])
            os.execve(argv[0], argv, os.environb)
        except OSError as error:
            os.write(failing, str(error.errno or 1).encode())
        finally:
            os._exit(127)
    os.close(failing)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    for descriptor in (nowhere, *order["pass"]):
        os.close(descriptor)
    code = os.read(failed, 32)
    os.close(failed)
    if code:
        tell(status, {"error": int(code)})
        os.waitpid(pid, 0)
        return 0
    tell(status, {"pid": pid})
    return pid


def stay(group: int, status: int, wake: int) -> None:
    """Wait for the end of the probe or of the doctor, and end the rest."""
    is_over = False
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            code = reap(group)
            if code is not None and not is_over:
                is_over = True
                tell(status, {"code": code, "ended": end_all(group)})
        if 0 in ready and not os.read(0, 4096):
            end_all(group)
            return


def reap(group: int) -> int | None:
    """Take note of every child that has ended; the exit status of the probe (negative: the signal) when it was among them."""
    code = None
    while True:
        try:
            pid, state = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == group:
            code = os.waitstatus_to_exitcode(state)


def end_all(group: int) -> int:
    """Kill whatever descends from this process; how many there were."""
    killed: set[int] = set()
    deadline = time.monotonic() + SECONDS_TO_END
    while time.monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        family = descendants()
        for pid in family:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed.update(family)
        reap(0)
        if not family and has_no_children():
            break
        time.sleep(0.005)
    return len(killed - {group})


def has_no_children() -> bool:
    """Whether nothing is left that this process would have to wait for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def descendants() -> list[int]:
    """The process numbers of all descendants that still run, as /proc tells; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def become_subreaper() -> None:
    """Let orphans of this run become children of this process (Linux; elsewhere they are found by their group only)."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def tell(status: int, fact: dict[str, int]) -> None:
    """Tell the doctor one fact; it may be gone."""
    with contextlib.suppress(OSError):
        os.write(status, json.dumps(fact).encode() + b"\n")


def remove(folder: str | None) -> None:
    """Take a folder away, also when what lies in it was made read-only."""
    if not folder or not os.path.isdir(folder):
        return
    import shutil

    for place, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            os.chmod(place, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
