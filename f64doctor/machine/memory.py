"""The memory that a process may use here: what is free, and every limit that binds it, from ulimit and from control groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from f64doctor.report import MemoryLimit, MemoryReport

NO_LIMIT = 2**60
"""Bytes from which on a version 1 control group means no limit: the kernel writes the largest multiple of a page below 2**63."""

PROC_SELF = Path("/proc/self")


class Mount(NamedTuple):
    """A mounted control group hierarchy: version (1: the memory controller's own), the group at its top, where it is mounted."""

    version: int
    root: str
    point: str


class Group(NamedTuple):
    """A control group's folder, and the version of its files."""

    version: int
    folder: Path


def read_memory(proc: Path = PROC_SELF) -> MemoryReport:
    """Total bytes of the machine, bytes that this process may still take (the smallest of all limits), and the limits."""
    total, available = physical_memory()
    groups = list(control_groups(proc))
    limits = [limit for group in groups if (limit := group_limit(group))]
    room = [space for group in groups if (space := group_room(group)) is not None]
    if available is not None:
        room.append(available)
    if (address_space := address_space_limit()) is not None:
        limits.append(address_space)
        room.append(address_space.bytes)
    return MemoryReport(total_bytes=total, available_bytes=min(room, default=None), limits=limits)


def read_oom_kills(proc: Path = PROC_SELF) -> int | None:
    """How often the kernel has killed for memory in this process's control group and below; None when nobody counts."""
    counts = [count for group in own_groups(proc) if (count := group_oom_kills(group)) is not None]
    return max(counts, default=None)


def physical_memory() -> tuple[int | None, int | None]:
    """Bytes of the machine, and of them what can be had without swapping (MemAvailable)."""
    try:
        import psutil

        memory = psutil.virtual_memory()
    except Exception:
        # psutil raises whatever a strange /proc makes it raise; unknown is an answer, and the doctor goes on.
        return None, None
    return memory.total, memory.available


def address_space_limit() -> MemoryLimit | None:
    """The limit of ``ulimit -v``, which counts reserved addresses too, so that TensorFlow meets it early."""
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY or soft < 0 else MemoryLimit(soft, "ulimit -v (RLIMIT_AS)")


def control_groups(proc: Path = PROC_SELF) -> Iterator[Group]:
    """The control groups that can limit this process's memory: its own and every ancestor that is visible here."""
    memberships = parse_memberships(text_of(proc / "cgroup") or "")
    for mount in parse_mounts(text_of(proc / "mountinfo") or ""):
        membership = memberships.get(mount.version)
        if membership is None:
            continue
        for folder in ancestry(mount, membership):
            yield Group(mount.version, folder)


def own_groups(proc: Path = PROC_SELF) -> Iterator[Group]:
    """Of each hierarchy, the group that this process is in."""
    seen: set[int] = set()
    for group in control_groups(proc):
        if group.version not in seen:
            seen.add(group.version)
            yield group


def parse_memberships(text: str) -> dict[int, str]:
    """The group of a process by hierarchy version, from ``/proc/PID/cgroup``; of version 1 the memory controller's."""
    found = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            found[2] = path
        elif "memory" in controllers.split(","):
            found[1] = path
    return found


def parse_mounts(text: str) -> list[Mount]:
    """The mounted hierarchies that can hold memory limits, from ``/proc/PID/mountinfo``."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2":
            mounts.append(Mount(2, unescaped(fields[3]), unescaped(fields[4])))
        elif kind[0] == "cgroup" and "memory" in kind[2].split(","):
            mounts.append(Mount(1, unescaped(fields[3]), unescaped(fields[4])))
    return mounts


def unescaped(field: str) -> str:
    """A path of mountinfo, in which blanks and the like are octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def ancestry(mount: Mount, membership: str) -> list[Path]:
    """The folders of a group and of its ancestors up to the mount, nearest first.

    In a container the membership may be told from the host's point of view, or lie outside of what is mounted; then the mount's top is
    the group that counts.
    """
    point, parts = Path(mount.point), Path(membership).parts[1:]
    if mount.root != "/":
        root_parts = Path(mount.root).parts[1:]
        parts = parts[len(root_parts) :] if parts[: len(root_parts)] == root_parts else ()
    if ".." in parts:
        parts = ()
    folders = [point.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1)]
    return [folder for folder in folders if folder.is_dir()]


def group_limit(group: Group) -> MemoryLimit | None:
    """The limit that one group sets, or None."""
    file = group.folder / ("memory.max" if group.version == 2 else "memory.limit_in_bytes")
    limit = number_in(file)
    return None if limit is None or limit >= NO_LIMIT else MemoryLimit(limit, str(file))


def group_room(group: Group) -> int | None:
    """Bytes left below one group's limit, file pages that can be dropped counted as free; None where it sets none."""
    limit = group_limit(group)
    if limit is None:
        return None
    used = number_in(group.folder / ("memory.current" if group.version == 2 else "memory.usage_in_bytes"))
    if used is None:
        return limit.bytes
    counts = parse_counts(text_of(group.folder / "memory.stat") or "")
    droppable = counts.get("inactive_file" if group.version == 2 else "total_inactive_file", 0)
    return max(limit.bytes - max(used - droppable, 0), 0)


def group_oom_kills(group: Group) -> int | None:
    """How often the kernel killed for memory in a group, or None where it does not count."""
    file = group.folder / ("memory.events" if group.version == 2 else "memory.oom_control")
    return parse_counts(text_of(file) or "").get("oom_kill")


def parse_counts(text: str) -> dict[str, int]:
    """A file of lines ``key number``."""
    found = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if value.strip().isdigit():
            found[key] = int(value)
    return found


def number_in(file: Path) -> int | None:
    """The number that a file holds; None for ``max``, and for a file that is not there."""
    text = (text_of(file) or "").strip()
    return int(text) if text.isdigit() else None


def text_of(file: Path) -> str | None:
    """The text of a small system file, or None when it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
