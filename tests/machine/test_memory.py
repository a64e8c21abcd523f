"""Limits of memory are found wherever the kernel writes them: recorded files stand for /proc and /sys."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from f64doctor.machine import memory
from f64doctor.machine.memory import (
    Group,
    Mount,
    ancestry,
    control_groups,
    group_limit,
    group_room,
    parse_counts,
    parse_memberships,
    parse_mounts,
    read_memory,
    read_oom_kills,
)
from f64doctor.report import MemoryLimit

GIB = 2**30

HYBRID_CGROUP = """\
9:name=systemd:/
4:cpu,memory:/docker/abc
1:cpu:/
0::/system.slice/run
"""

MOUNTINFO = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/my\\040unified rw shared:9 - cgroup2 cgroup2 rw
"""


def test_the_groups_of_both_versions_are_read() -> None:
    assert parse_memberships(HYBRID_CGROUP) == {1: "/docker/abc", 2: "/system.slice/run"}


def test_a_membership_may_have_colons_in_its_path() -> None:
    assert parse_memberships("0::/a:b\n") == {2: "/a:b"}


def test_only_hierarchies_that_limit_memory_are_read_from_mountinfo() -> None:
    assert parse_mounts(MOUNTINFO) == [
        Mount(1, "/docker/abc", "/sys/fs/cgroup/memory"),
        Mount(2, "/", "/sys/fs/cgroup/my unified"),
    ]


def test_nonsense_in_mountinfo_is_passed_over() -> None:
    assert parse_mounts("\nwhat - is\n1 2 3 - cgroup2 x rw\n") == []


def make(folder: Path, **files: str | int) -> Path:
    """A group with these files; ``memory_max=…`` is memory.max."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("memory_", "memory.", 1)).write_text(f"{content}\n")
    return folder


def test_a_group_and_all_its_ancestors_count_nearest_first(tmp_path: Path) -> None:
    make(tmp_path / "a" / "b")
    assert ancestry(Mount(2, "/", str(tmp_path)), "/a/b") == [tmp_path / "a" / "b", tmp_path / "a", tmp_path]


def test_in_a_container_the_membership_of_the_host_is_taken_from_the_mounted_root(tmp_path: Path) -> None:
    make(tmp_path / "inner")
    assert ancestry(Mount(1, "/docker/abc", str(tmp_path)), "/docker/abc/inner") == [tmp_path / "inner", tmp_path]
    assert ancestry(Mount(1, "/docker/abc", str(tmp_path)), "/docker/abc") == [tmp_path]
    assert ancestry(Mount(1, "/docker/abc", str(tmp_path)), "/docker/abcdef") == [tmp_path]


def test_a_membership_outside_of_the_namespace_is_that_of_the_mount(tmp_path: Path) -> None:
    assert ancestry(Mount(2, "/", str(tmp_path)), "/../other") == [tmp_path]


def test_version_2_limits_and_max_is_none(tmp_path: Path) -> None:
    group = Group(2, make(tmp_path, memory_max=4 * GIB))
    assert group_limit(group) == MemoryLimit(4 * GIB, str(tmp_path / "memory.max"))
    make(tmp_path, memory_max="max")
    assert group_limit(group) is None


def test_version_1_limits_and_a_huge_number_is_none(tmp_path: Path) -> None:
    group = Group(1, make(tmp_path, memory_limit_in_bytes=4 * GIB))
    assert group_limit(group) == MemoryLimit(4 * GIB, str(tmp_path / "memory.limit_in_bytes"))
    make(tmp_path, memory_limit_in_bytes=9223372036854771712)
    assert group_limit(group) is None


def test_a_group_without_the_file_sets_no_limit(tmp_path: Path) -> None:
    assert group_limit(Group(2, tmp_path)) is None
    assert group_room(Group(2, tmp_path)) is None


def test_room_is_what_the_limit_leaves_and_cached_files_can_go(tmp_path: Path) -> None:
    folder = make(tmp_path, memory_max=4 * GIB, memory_current=3 * GIB, memory_stat=f"anon 1\ninactive_file {GIB}")
    assert group_room(Group(2, folder)) == 2 * GIB


def test_room_is_never_negative(tmp_path: Path) -> None:
    folder = make(tmp_path, memory_limit_in_bytes=GIB, memory_usage_in_bytes=2 * GIB)
    assert group_room(Group(1, folder)) == 0


def test_counts_are_read_and_other_lines_are_passed_over() -> None:
    assert parse_counts("low 0\noom_kill 3\nnonsense\nrss -1\n") == {"low": 0, "oom_kill": 3}


@pytest.fixture
def container(tmp_path: Path) -> Path:
    """A /proc/self whose process is in the version 2 group /job/run, which is limited by its parent too."""
    top = tmp_path / "cgroup"
    make(top)
    make(top / "job", memory_max=2 * GIB, memory_current=GIB)
    make(top / "job" / "run", memory_max=8 * GIB, memory_current=GIB, memory_events="oom 5\noom_kill 4")
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text("0::/job/run\n")
    (proc / "mountinfo").write_text(f"41 31 0:38 / {top} rw shared:9 - cgroup2 cgroup2 rw\n")
    return proc


def test_the_smallest_limit_of_all_ancestors_wins(container: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "physical_memory", lambda: (24 * GIB, 20 * GIB))
    monkeypatch.setattr(memory, "address_space_limit", lambda: None)
    report = read_memory(container)
    assert (report.total_bytes, report.available_bytes) == (24 * GIB, GIB)
    assert [limit.bytes for limit in report.limits] == [8 * GIB, 2 * GIB]
    assert report.limits[1].source.endswith("cgroup/job/memory.max")


def test_without_limits_what_is_available_is_what_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "physical_memory", lambda: (24 * GIB, 20 * GIB))
    monkeypatch.setattr(memory, "address_space_limit", lambda: None)
    report = read_memory(tmp_path)
    assert (report.available_bytes, report.limits) == (20 * GIB, [])


def test_what_nobody_tells_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "physical_memory", lambda: (None, None))
    monkeypatch.setattr(memory, "address_space_limit", lambda: None)
    assert read_memory(tmp_path).available_bytes is None
    assert read_oom_kills(tmp_path) is None


def test_kills_are_counted_in_the_own_group(container: Path) -> None:
    assert read_oom_kills(container) == 4


def test_kills_are_counted_in_version_1_too(tmp_path: Path) -> None:
    make(tmp_path / "v1", memory_oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 2")
    (tmp_path / "cgroup").write_text("4:memory:/\n")
    (tmp_path / "mountinfo").write_text(f"35 31 0:32 / {tmp_path / 'v1'} rw - cgroup cgroup rw,memory\n")
    assert [group.version for group in control_groups(tmp_path)] == [1]
    assert read_oom_kills(tmp_path) == 2


def test_a_limit_of_the_address_space_is_named_after_ulimit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (6 * GIB, resource.RLIM_INFINITY))
    assert memory.address_space_limit() == MemoryLimit(6 * GIB, "ulimit -v (RLIMIT_AS)")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert memory.address_space_limit() is None


def test_this_machine_has_memory() -> None:
    report = read_memory()
    assert report.total_bytes is not None
    assert report.available_bytes is not None
    assert 0 < report.available_bytes <= report.total_bytes
