"""Leads Python's own file functions to the overlay: ``open``, the functions of ``os`` and ``shutil.rmtree``, under every name that they have."""

from __future__ import annotations

import builtins
import io
import os
import stat as modes
import sys
import threading
from typing import Any, Callable, Iterator, Optional

from . import overlay as real
from .overlay import Overlay

Act = Callable[..., Any]


class Redirected:
    """Stands for a built-in function: has its name, pickles as it, and is no descriptor, so that a class may hold it as it held the built-in."""

    def __init__(self, original: Any, act: Act) -> None:
        self._original = original
        self._act = act
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "__text_signature__"):
            try:
                setattr(self, name, getattr(original, name))
            except AttributeError:
                pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do what is done instead."""
        return self._act(self._original, args, kwargs)

    def __repr__(self) -> str:
        return repr(self._original)

    def __reduce_ex__(self, protocol: Any) -> str:
        return str(self._original.__name__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_original"], name)

    @property
    def __signature__(self) -> Any:
        import inspect

        return inspect.signature(self._original)


class Writes:
    """The wrappers around Python's file functions."""

    def __init__(self, overlay: Overlay, guarded: bool) -> None:
        self.overlay = overlay
        self._guarded = guarded
        self._inside = threading.local()

    def hold_back(self) -> None:
        """Put the wrappers in place."""
        from shutil import rmtree  # before the functions that it tests for change their identity

        replaced: dict[int, Redirected] = {}
        for name, act in self._acts():
            original = getattr(os, name, None)
            if original is not None and id(original) not in replaced:
                replaced[id(original)] = Redirected(original, act)
        for original, act in ((io.open, self._opened), (io.open_code, self._read_one), (rmtree, self._rmtree)):
            replaced[id(original)] = Redirected(original, act)
        self._put(replaced)
        if not self._guarded:
            sys.addaudithook(self._audit)

    def _put(self, replaced: dict[int, Redirected]) -> None:
        """Put the wrappers under every name that a module loaded so far has for an original."""
        import _io
        import posix

        for module in [builtins, io, os, posix, _io, *list(sys.modules.values())]:
            names = getattr(module, "__dict__", None)
            if not isinstance(names, dict) or module is real or module is sys.modules[__name__]:
                continue
            for name, value in list(names.items()):
                wrapper = replaced.get(id(value))
                if wrapper is not None and wrapper._original is value:
                    names[name] = wrapper
        for name in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks", "supports_effective_ids"):
            able = getattr(os, name)
            able.update([wrapper for wrapper in replaced.values() if wrapper._original in able])
        accessor = getattr(sys.modules.get("pathlib"), "_NormalAccessor", None)
        for name, value in list(vars(accessor).items()) if accessor is not None else []:
            inner = value.__func__ if isinstance(value, staticmethod) else value
            wrapper = replaced.get(id(inner))
            if wrapper is not None and wrapper._original is inner:
                setattr(accessor, name, wrapper)

    # -- the last line: whatever found a way past the wrappers

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _CHANGES or getattr(self._inside, "on", None):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return
        for path in args[: 2 if event == "os.rename" else 1]:
            if isinstance(path, (str, bytes)):
                logical = self.overlay.resolve(os.fsdecode(path), False)
                if not self.overlay.passes(logical) and (
                    event != "open" or not os.path.exists(logical) or os.path.isfile(logical)
                ):
                    raise PermissionError(13, "held back by f64doctor, see --allow-writes", path)

    def _calling(self, shown: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call on the second floor; an error names the path that the script gave."""
        self._inside.on = getattr(self._inside, "on", 0) + 1
        try:
            return function(*args, **kwargs)
        except OSError as error:
            if error.filename is not None and not isinstance(error.filename, int):
                error.filename = shown
            raise
        finally:
            self._inside.on -= 1

    # -- the wrappers

    def _acts(self) -> Iterator[tuple[str, Act]]:
        for name in ("stat", "access", "listdir", "listxattr", "getxattr", "statvfs", "pathconf"):
            yield name, self._listdir if name == "listdir" else self._read_one
        for name in ("lstat", "readlink"):
            yield name, self._read_link
        for name in ("chmod", "chown", "utime", "setxattr", "removexattr", "truncate", "lchown"):
            yield name, self._change_one
        yield "open", self._os_open
        yield "scandir", self._scandir
        yield "chdir", self._chdir
        yield "getcwd", self._getcwd
        yield "getcwdb", self._getcwdb
        yield "mkdir", self._one(self.overlay.mkdir)
        yield "rmdir", self._one(self.overlay.rmdir)
        for name in ("remove", "unlink"):
            yield name, self._one(self.overlay.unlink)
        for name in ("rename", "replace"):
            yield name, self._two(self.overlay.rename)
        yield "link", self._two(self.overlay.link)
        yield "symlink", self._two(self.overlay.symlink)
        for name in ("mkfifo", "mknod"):
            yield name, self._made

    def _path(self, args: Any, kwargs: Any, name: str = "path", place: int = 0, descriptor: str = "dir_fd") -> Any:
        """The path argument, relative to a folder's descriptor where one is given; None where there is no path to lead elsewhere."""
        path = args[place] if len(args) > place else kwargs.get(name)
        if path is None or isinstance(path, int):
            return None
        try:
            text = os.fsdecode(os.fspath(path))
        except TypeError:
            return None
        if not text or "\0" in text:
            return None
        folder = kwargs.get(descriptor)
        if folder is not None and not text.startswith("/"):
            try:
                base = real.real_readlink("/proc/self/fd/{}".format(folder))
            except OSError:
                return None
            if base.startswith(self.overlay.root):
                base = base[len(self.overlay.root) :]
            return base + "/" + text
        return path

    def _with(self, args: Any, kwargs: Any, path: Any, name: str = "path", place: int = 0) -> tuple[Any, Any]:
        """The same arguments with another path."""
        kwargs = {key: value for key, value in kwargs.items() if key != "dir_fd"}
        if len(args) > place:
            return (*args[:place], path, *args[place + 1 :]), kwargs
        return args, {**kwargs, name: path}

    def _read_one(self, original: Any, args: Any, kwargs: Any) -> Any:
        if not self.overlay.touched:
            return original(*args, **kwargs)
        path = self._path(args, kwargs)
        if path is None:
            return original(*args, **kwargs)
        follow = kwargs.get("follow_symlinks", True)
        place = self.overlay.for_reading(path, follow)
        if place is path and "dir_fd" not in kwargs:
            return original(*args, **kwargs)
        changed, named = self._with(args, kwargs, place)
        return self._calling(args[0] if args else path, original, *changed, **named)

    def _read_link(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(args, kwargs) if self.overlay.touched else None
        if path is None:
            return original(*args, **kwargs)
        changed, named = self._with(args, kwargs, self.overlay.for_reading(path, False))
        return self._calling(path, original, *changed, **named)

    def _change_one(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(args, kwargs)
        if path is None:
            return original(*args, **kwargs)

        def change() -> Any:
            place = self.overlay.copied_up(path, kwargs.get("follow_symlinks", True))
            changed, named = self._with(args, kwargs, place)
            return original(*changed, **named)

        return self._calling(path, change)

    def _one(self, act: Act) -> Act:
        def called(original: Any, args: Any, kwargs: Any) -> Any:
            path = self._path(args, kwargs)
            if path is None:
                return original(*args, **kwargs)
            changed, named = self._with(args, kwargs, path)
            return self._calling(path, act, *changed, **named)

        return called

    def _two(self, act: Act) -> Act:
        def called(original: Any, args: Any, kwargs: Any) -> Any:
            source = self._path(args, kwargs, "src", 0, "src_dir_fd")
            target = self._path(args, kwargs, "dst", 1, "dir_fd" if "dir_fd" in kwargs else "dst_dir_fd")
            if act == self.overlay.symlink:
                source = args[0] if args else kwargs.get("src")
            if source is None or target is None:
                return original(*args, **kwargs)
            return self._calling(source, act, source, target)

        return called

    def _made(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(args, kwargs)
        if path is None:
            return original(*args, **kwargs)

        def make() -> Any:
            changed, named = self._with(args, kwargs, self.overlay.for_writing(path))
            return original(*changed, **named)

        return self._calling(path, make)

    def _os_open(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(args, kwargs)
        flags = args[1] if len(args) > 1 else kwargs.get("flags", 0)
        mode = args[2] if len(args) > 2 else kwargs.get("mode", 0o777)
        if path is None or not isinstance(flags, int):
            return original(*args, **kwargs)
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND) and not self.overlay.touched:
            return original(*args, **kwargs)
        return self._calling(path, self.overlay.open, path, flags, mode)

    def _opened(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(args, kwargs, "file")
        mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
        if path is None or not isinstance(mode, str) or len(args) > 7 or kwargs.get("opener") is not None:
            return original(*args, **kwargs)
        if not self.overlay.touched and not any(letter in mode for letter in "wax+"):
            return original(*args, **kwargs)
        return self._calling(path, original, *args, **{**kwargs, "opener": self._opener})

    def _opener(self, path: Any, flags: int) -> int:
        return self.overlay.open(path, flags, 0o666)

    def _listdir(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = (args[0] if args else kwargs.get("path")) if self.overlay.touched else 0
        if isinstance(path, int):
            return original(*args, **kwargs)
        names = [name for name, _ in self._names(path)]
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def _names(self, path: Any) -> list[tuple[str, str]]:
        logical = self.overlay.resolve(os.fsdecode(os.fspath("." if path is None else path)))

        def names() -> list[tuple[str, str]]:
            if not self.overlay.is_folder(logical):
                real.real_listdir(self.overlay.place(logical))  # raises what it would raise
            return list(self.overlay.names("" if logical == "/" else logical))

        found: list[tuple[str, str]] = self._calling(path, names)
        return found

    def _scandir(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = (args[0] if args else kwargs.get("path")) if self.overlay.touched else 0
        if isinstance(path, int):
            return original(*args, **kwargs)
        base = os.fspath("." if path is None else path)
        return Entries([Entry(base, name, folder) for name, folder in self._names(path)])

    def _chdir(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(args, kwargs) if self.overlay.touched else None
        if path is None:
            return original(*args, **kwargs)
        return self._calling(path, original, self.overlay.working(self.overlay.resolve(os.fsdecode(os.fspath(path)))))

    def _getcwd(self, original: Any, args: Any, kwargs: Any) -> Any:
        return self.overlay.folder()

    def _getcwdb(self, original: Any, args: Any, kwargs: Any) -> Any:
        return os.fsencode(self.overlay.folder())

    def _rmtree(self, original: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(args, kwargs)
        if path is None:
            return original(*args, **kwargs)
        logical = self.overlay.resolve(os.fsdecode(os.fspath(path)), False)
        if self.overlay.passes(logical) or not self.overlay.is_folder(logical):
            return original(*args, **kwargs)
        try:
            self._calling(path, self.overlay.rmtree, logical)
        except OSError:
            if not (args[1] if len(args) > 1 else kwargs.get("ignore_errors")):
                raise
        return None


_CHANGES = frozenset(
    "open os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.utime".split()  # noqa: SIM905 - reads better as words
)


class Entry:
    """A directory entry as ``os.scandir`` gives it, of a folder of which parts lie elsewhere."""

    def __init__(self, base: Any, name: str, folder: str) -> None:
        self.name: Any = os.fsencode(name) if isinstance(base, bytes) else name
        self.path: Any = os.path.join(base, self.name)
        self._place = (folder or "") + "/" + name

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return "<DirEntry {!r}>".format(self.name)

    def _is(self, test: Callable[[int], bool], follow_symlinks: bool) -> bool:
        try:
            return test(self.stat(follow_symlinks=follow_symlinks).st_mode)
        except FileNotFoundError:
            return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """As ``os.DirEntry.stat``."""
        if follow_symlinks and modes.S_ISLNK(real.real_lstat(self._place).st_mode):
            return os.stat(self.path)
        return real.real_lstat(self._place)

    def inode(self) -> int:
        """As ``os.DirEntry.inode``."""
        return real.real_lstat(self._place).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """As ``os.DirEntry.is_dir``."""
        return self._is(modes.S_ISDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """As ``os.DirEntry.is_file``."""
        return self._is(modes.S_ISREG, follow_symlinks)

    def is_symlink(self) -> bool:
        """As ``os.DirEntry.is_symlink``."""
        return self._is(modes.S_ISLNK, False)

    def is_junction(self) -> bool:
        """As ``os.DirEntry.is_junction``."""
        return False


class Entries:
    """An iterator as ``os.scandir`` gives it."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries: Optional[Iterator[Entry]] = iter(entries)

    def __iter__(self) -> "Entries":
        return self

    def __next__(self) -> Entry:
        if self._entries is None:
            raise StopIteration
        return next(self._entries)

    def __enter__(self) -> "Entries":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the entries."""
        self._entries = None
