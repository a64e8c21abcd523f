"""A second floor over the file system: what the script writes lies in the scratch folder, and the script finds it where it put it.

A *logical* path is absolute and free of links, as the script would see it. Its *place* is where its content really lies: in the overlay when the
script wrote it, else where it always was. What the script deleted is hidden, and stays on the disk. Nothing outside of the scratch folder is changed.
"""

from __future__ import annotations

import errno
import os
import stat as modes
import threading
from typing import Any, Callable, Iterator, Optional

real_open, real_stat, real_lstat, real_access = os.open, os.stat, os.lstat, os.access
real_listdir, real_scandir, real_readlink = os.listdir, os.scandir, os.readlink
real_mkdir, real_rmdir, real_unlink, real_replace = os.mkdir, os.rmdir, os.unlink, os.replace
real_chmod, real_utime, real_symlink, real_link = os.chmod, os.utime, os.symlink, os.link
real_getcwd, real_chdir = os.getcwd, os.chdir

# Devices, and what the kernel shows as files: nothing there is the user's.
_NEVER_HELD = ("/dev/", "/proc/", "/sys/")
_MOST_LINKS = 40
# Room that a copy leaves on the scratch folder's disk.
_ROOM = 64 * 2**20

Note = Callable[[str, str], None]


class Overlay:
    """Where paths lead. ``note(kind, path)`` hears of each path that is held back: kind is ``file``, ``folder`` or ``deletion``, or ``gone``
    for what the script made and then deleted or renamed itself."""

    def __init__(self, scratch: str, note: Note) -> None:
        self.scratch = os.path.join(scratch, "")
        self.root = os.path.join(scratch, "overlay")
        self.removed: set[str] = set()
        self._note = note
        self._touched = False
        self._folders: dict[str, str] = {}
        self._noting = threading.local()

    # -- where things are

    @property
    def touched(self) -> bool:
        """Whether anything was held back so far, by this process or by one that it started."""
        if not self._touched:
            try:
                real_lstat(self.root)
            except OSError:
                return False
            self._touched = True
        return True

    def note(self, kind: str, path: str) -> None:
        """Tell that something is held back. What is done while telling it is not told."""
        if not getattr(self._noting, "on", False):
            self._noting.on = True
            try:
                self._note(kind, path)
            finally:
                self._noting.on = False

    def passes(self, path: str) -> bool:
        """Whether an absolute path lies where everything is allowed."""
        return path.startswith(self.scratch) or path.startswith(_NEVER_HELD)

    def folder(self) -> str:
        """The logical working folder."""
        here = real_getcwd()
        return (here[len(self.root) :] or "/") if here.startswith(self.root) else here

    def resolve(self, path: str, follow: bool = True) -> str:
        """The logical path of what the script means by ``path``. ``follow``: a link at its end is followed."""
        if not path.startswith("/"):
            path = self.folder() + "/" + path
        head, _, tail = path.rstrip("/").rpartition("/")
        known = self._folders.get(head)
        if known is None:
            known = self._walk("", head)
            if len(self._folders) > 10_000:
                self._folders.clear()
            self._folders[head] = known
        if tail in ("", ".", ".."):
            return self._walk(known, tail) or "/"
        return self._walk(known, tail) if follow else known + "/" + tail

    def _walk(self, start: str, path: str) -> str:
        current, links = start, 0
        pending = path.split("/")[::-1]
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                current = current.rpartition("/")[0]
                continue
            candidate = current + "/" + part
            place = self.place(candidate)
            try:
                is_link = modes.S_ISLNK(real_lstat(place).st_mode)
            except (OSError, ValueError):
                is_link = False
            if not is_link or candidate.startswith("/proc/"):
                current = candidate
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = real_readlink(place)
            if target.startswith("/"):
                current = ""
            pending.extend(target.split("/")[::-1])
        return current

    def place(self, logical: str) -> str:
        """Where the content of a logical path lies; for what was deleted, a path at which nothing is."""
        if not self.touched or self.passes(logical):
            return logical
        above = self.root + logical
        if self._is_there(above) or self.is_hidden(logical):
            return above
        return logical

    def is_hidden(self, logical: str) -> bool:
        """Whether the script deleted what lies there on the disk, or a folder above it."""
        if not self.removed:
            return False
        while logical:
            if logical in self.removed:
                return True
            logical = logical.rpartition("/")[0]
        return False

    @staticmethod
    def _is_there(path: str) -> bool:
        try:
            real_lstat(path)
        except (OSError, ValueError):
            return False
        return True

    def working(self, logical: str) -> str:
        """Where to go for a working folder: where native code finds the user's files, unless the folder is the script's own."""
        return logical if self._on_disk(logical) is not None else self.place(logical)

    def exists(self, logical: str) -> bool:
        """Whether the script sees anything at a logical path."""
        return self._is_there(self.place(logical))

    def is_folder(self, logical: str) -> bool:
        """Whether the script sees a folder there."""
        try:
            return modes.S_ISDIR(real_lstat(self.place(logical)).st_mode)
        except OSError:
            return False

    def for_reading(self, path: Any, follow: bool = True) -> Any:
        """What to open instead of ``path`` to read it: ``path`` itself unless the script wrote, moved or deleted something on the way."""
        if isinstance(path, int) or not self.touched:
            return path
        name = os.fspath(path)
        text = os.fsdecode(name)
        if not text or "\0" in text:
            return path
        there = text if text.startswith("/") else self.folder() + "/" + text
        if self.passes(there):
            return path
        place = self.place(self.resolve(text, follow))
        if not place.startswith(self.root) and self._leads_to(there, place):
            return path
        return os.fsencode(place) if isinstance(name, bytes) else place

    def _leads_to(self, path: str, place: str) -> bool:
        """Whether the system itself finds ``place`` by the path that the script gave, over links that are not the overlay's."""
        if real_getcwd().startswith(self.root):
            return False
        if path == place:
            return True
        try:
            return os.path.samestat(real_stat(path), real_stat(place))
        except OSError:
            return not self._is_there(path) and not self._is_there(place)

    def names(self, logical: str) -> Iterator[tuple[str, str]]:
        """The names in a folder as the script sees it, and the folder in which each lies."""
        above = self.root + logical
        own = real_listdir(above) if self.touched and os.path.isdir(above) else []
        mine = set(own)
        if not self.is_hidden(logical):
            try:
                for name in real_listdir(logical or "/"):
                    if name not in mine and logical + "/" + name not in self.removed:
                        yield name, logical
            except OSError:
                if not own and not os.path.isdir(above):
                    raise
        elif not os.path.isdir(above):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), logical)
        for name in own:
            yield name, above

    # -- changes

    def for_writing(self, path: Any, keep: bool = False, follow: bool = True) -> Any:
        """What to open instead of ``path`` to write it, its folder made ready. ``keep``: what is there is copied first.

        Raises the ``OSError`` that writing there would raise.
        """
        name = os.fspath(path)
        text = os.fsdecode(name)
        logical = self.resolve(text, follow)
        if self.passes(logical):
            return path
        above = self.root + logical
        if not self._is_there(above):
            status = self._on_disk(logical)
            if status is None:
                self._ready(logical, path)
            else:
                if not (
                    modes.S_ISREG(status.st_mode) or modes.S_ISDIR(status.st_mode) or modes.S_ISLNK(status.st_mode)
                ):
                    return path  # a pipe, a terminal: not a file
                if not modes.S_ISLNK(status.st_mode) and not real_access(logical, os.W_OK):
                    raise _error(errno.EROFS if _is_read_only(logical) else errno.EACCES, path)
                self._make_folder(os.path.dirname(logical))
                if keep:
                    self._copy(logical, above, status)
        self.note("file", logical)
        return os.fsencode(above) if isinstance(name, bytes) else above

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        """``os.open`` on the second floor."""
        if getattr(os, "O_TMPFILE", 0) and flags & os.O_TMPFILE == os.O_TMPFILE:
            return real_open(self.scratch, flags, mode)
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            return real_open(self.for_reading(path, not flags & os.O_NOFOLLOW), flags, mode)
        logical = self.resolve(os.fsdecode(os.fspath(path)), not flags & os.O_NOFOLLOW)
        if self.passes(logical):
            return real_open(path, flags, mode)
        place = self.place(logical)
        try:
            status: Optional[os.stat_result] = real_lstat(place)
        except FileNotFoundError:
            status = None
        if status is None and not flags & os.O_CREAT:
            raise _error(errno.ENOENT, path)
        if status is not None:
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise _error(errno.EEXIST, path)
            if modes.S_ISDIR(status.st_mode):
                raise _error(errno.EISDIR, path)
        target = self.for_writing(path, keep=not flags & os.O_TRUNC, follow=not flags & os.O_NOFOLLOW)
        if status is not None and flags & os.O_TRUNC:
            flags, mode = flags | os.O_CREAT, modes.S_IMODE(status.st_mode) | 0o600
        return real_open(target, flags, mode)

    def mkdir(self, path: Any, mode: int = 0o777) -> None:
        """``os.mkdir`` on the second floor."""
        logical = self.resolve(os.fsdecode(os.fspath(path)), False)
        if self.passes(logical):
            real_mkdir(path, mode)
            return
        if self.exists(logical):
            raise _error(errno.EEXIST, path)
        self._ready(logical, path)
        real_mkdir(self.root + logical, mode | 0o700)
        self._folders.clear()
        self.note("folder", logical)

    def unlink(self, path: Any) -> None:
        """``os.unlink`` on the second floor."""
        logical = self.resolve(os.fsdecode(os.fspath(path)), False)
        if self.passes(logical):
            real_unlink(path)
            return
        if self.is_folder(logical):
            raise _error(errno.EISDIR, path)
        if not self.exists(logical):
            raise _error(errno.ENOENT, path)
        if self._is_there(self.root + logical):
            real_unlink(self.root + logical)
            self.note("gone", logical)
        self._hide(logical, path)

    def rmdir(self, path: Any) -> None:
        """``os.rmdir`` on the second floor."""
        logical = self.resolve(os.fsdecode(os.fspath(path)), False)
        if self.passes(logical):
            real_rmdir(path)
            return
        if not self.exists(logical):
            raise _error(errno.ENOENT, path)
        if not self.is_folder(logical):
            raise _error(errno.ENOTDIR, path)
        if next(self.names(logical), None) is not None:
            raise _error(errno.ENOTEMPTY, path)
        if self._is_there(self.root + logical):
            real_rmdir(self.root + logical)
        self._hide(logical, path)

    def rmtree(self, logical: str) -> None:
        """Delete a folder with all that the script sees in it."""
        for name, _ in list(self.names(logical)) if self.is_folder(logical) else []:
            child = logical + "/" + name
            if self._is_there(self.root + child):
                if modes.S_ISDIR(real_lstat(self.root + child).st_mode):
                    self.rmtree(child)
                else:
                    real_unlink(self.root + child)
        if self._is_there(self.root + logical):
            real_rmdir(self.root + logical)
        self._hide(logical, logical)

    def rename(self, source: Any, target: Any) -> None:
        """``os.rename`` and ``os.replace`` on the second floor."""
        here = self.resolve(os.fsdecode(os.fspath(source)), False)
        there = self.resolve(os.fsdecode(os.fspath(target)), False)
        if self.passes(here) and self.passes(there):
            real_replace(source, target)
            return
        place = self.place(here)
        try:
            status = real_lstat(place)
        except OSError as error:
            raise OSError(error.errno, error.strerror, source, None, target) from None
        if here == there:
            return
        is_folder = modes.S_ISDIR(status.st_mode)
        if self.exists(there):
            if self.is_folder(there) != is_folder:
                raise OSError(errno.ENOTDIR if is_folder else errno.EISDIR, "", source, None, target)
            if is_folder and next(self.names(there), None) is not None:
                raise _error(errno.ENOTEMPTY, target)
        above = there if self.passes(there) else self.root + there
        if above != there:
            if self._on_disk(there) is not None:
                self._make_folder(os.path.dirname(there))
                if is_folder:
                    self.removed.add(there)
            elif not self._is_there(above):
                self._ready(there, target)
        if is_folder:
            self._copy_tree(here, above)
        elif place == here and not self.passes(here):
            self._copy(here, above, status)
        else:
            real_replace(place, above)
            self.note("gone", here)
        if above != there:
            self.note("file", there)
        self._folders.clear()
        if not self.passes(here):
            if is_folder:
                self.rmtree(here)
            else:
                self._hide(here, source)

    def symlink(self, target: Any, path: Any) -> None:
        """``os.symlink`` on the second floor."""
        logical = self.resolve(os.fsdecode(os.fspath(path)), False)
        if self.passes(logical):
            real_symlink(target, path)
            return
        if self.exists(logical):
            raise _error(errno.EEXIST, path)
        self._ready(logical, path)
        real_symlink(target, self.root + logical)
        self._folders.clear()
        self.note("file", logical)

    def link(self, source: Any, path: Any) -> None:
        """``os.link`` on the second floor: a copy, since a second name of the user's file would let it be written."""
        logical = self.resolve(os.fsdecode(os.fspath(path)), False)
        place = self.for_reading(source, False)
        if self.exists(logical):
            raise _error(errno.EEXIST, path)
        above = logical if self.passes(logical) else self.root + logical
        if above != logical:
            self._ready(logical, path)
            self.note("file", logical)
        if str(place).startswith(self.scratch):
            real_link(place, above)
        else:
            self._copy(place, above, real_stat(place))

    def copied_up(self, path: Any, follow: bool = True) -> Any:
        """A copy of a file, or a folder of that name, on the second floor, to change what stands about it (mode, times)."""
        logical = self.resolve(os.fsdecode(os.fspath(path)), follow)
        if self.passes(logical):
            return path
        if self.is_folder(logical):
            self._make_folder(logical)
            self.note("folder", logical)
            return self.root + logical
        if not self.exists(logical):
            raise _error(errno.ENOENT, path)
        return self.for_writing(path, keep=True, follow=follow)

    # -- the parts of a change

    def _on_disk(self, logical: str) -> Optional[os.stat_result]:
        """What lies there on the disk and is not hidden."""
        if self.is_hidden(logical):
            return None
        try:
            return real_lstat(logical)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _ready(self, logical: str, shown: Any) -> None:
        """Make the folder for a new entry. Raises what making one there would raise."""
        parent = os.path.dirname(logical)
        if not self.exists(parent) and parent != "/":
            raise _error(errno.ENOENT, shown)
        if not self.is_folder(parent) and parent != "/":
            raise _error(errno.ENOTDIR, shown)
        if not self._is_there(self.root + parent) and not real_access(parent, os.W_OK | os.X_OK):
            raise _error(errno.EROFS if _is_read_only(parent) else errno.EACCES, shown)
        self._make_folder(parent)

    def _make_folder(self, logical: str) -> None:
        above = self.root + logical
        if os.path.isdir(above):
            return
        if logical not in ("", "/"):
            self._make_folder(os.path.dirname(logical))
        try:
            real_mkdir(above if logical else self.root, 0o700)
            status = real_stat(logical or "/")
            real_chmod(above, modes.S_IMODE(status.st_mode) | 0o700)
        except OSError:
            if not os.path.isdir(above):
                raise
        self._touched = True

    def _hide(self, logical: str, shown: Any) -> None:
        self._folders.clear()
        if self._on_disk(logical) is None:
            return
        parent = os.path.dirname(logical)
        if not real_access(parent, os.W_OK):
            raise _error(errno.EACCES, shown)
        self._make_folder(parent)
        self.removed.add(logical)
        self.note("deletion", logical)

    def _copy(self, source: str, target: str, status: os.stat_result) -> None:
        if modes.S_ISLNK(status.st_mode):
            real_symlink(real_readlink(source), target)
            return
        room = os.statvfs(self.scratch)
        if status.st_size > room.f_bavail * room.f_frsize - _ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source)
        reading = real_open(source, os.O_RDONLY | os.O_CLOEXEC)
        try:
            writing = real_open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                while data := os.read(reading, 2**20):
                    while data:
                        data = data[os.write(writing, data) :]
            finally:
                os.close(writing)
        finally:
            os.close(reading)
        real_chmod(target, modes.S_IMODE(status.st_mode) | 0o600)
        real_utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _copy_tree(self, logical: str, above: str) -> None:
        if not os.path.isdir(above):
            real_mkdir(above)
        for name, folder in list(self.names(logical)):
            place = folder + "/" + name
            status = real_lstat(place)
            if modes.S_ISDIR(status.st_mode):
                self._copy_tree(logical + "/" + name, above + "/" + name)
            elif modes.S_ISREG(status.st_mode) or modes.S_ISLNK(status.st_mode):
                self._copy(place, above + "/" + name, status)


def _error(number: int, path: Any) -> OSError:
    return OSError(number, os.strerror(number), path)


def _is_read_only(path: str) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
