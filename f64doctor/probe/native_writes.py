"""Leads to the overlay what is written past Python's ``open``: TensorFlow's own file system, checkpoints, event files, records, HDF5, SQLite, OpenCV."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any, Callable

from . import rewire
from .imports import ImportWatch
from .overlay import Overlay
from .writes import Redirected

# Larger databases are not copied only because they are opened.
_LARGEST_DATABASE = 256 * 2**20
_REMOTE = ("gs://", "s3://", "s3a://", "hdfs://", "viewfs://", "har://", "abfs://", "http://", "https://")


class NativeWrites:
    """Wrappers put on each library the moment the script has imported it."""

    def __init__(self, overlay: Overlay, imports: ImportWatch) -> None:
        self._overlay = overlay
        self._imports = imports
        self._given: dict[str, str] = {}

    def hold_back(self) -> None:
        """Wait for the libraries."""
        python = "tensorflow.python."
        after = self._imports.after
        after(python + "lib.io._pywrap_file_io", self._file_system)
        after(python + "lib.io.tf_record", lambda m: self._method(m.TFRecordWriter, "__init__", self._fresh))
        after(python + "util._pywrap_events_writer", self._event_files)
        after("tensorflow.python.client._pywrap_events_writer", self._event_files)
        after(python + "ops.gen_io_ops", self._file_operations)
        after(python + "ops.gen_dataset_ops", self._dataset_operations)
        after(python + "ops.gen_experimental_dataset_ops", self._dataset_operations)
        after(python + "data.ops.readers", self._readers)
        after(python + "checkpoint.functional_saver", self._savers)
        after(python + "checkpoint.checkpoint_management", self._checkpoint_state)
        after(python + "training.saver", self._old_saver)
        after(
            python + "training.py_checkpoint_reader", lambda m: self._function(m, "NewCheckpointReader", self._prefix)
        )
        after(python + "saved_model.save", lambda m: self._function(m, "save_and_return_nodes", self._tree, place=1))
        after(python + "saved_model.load", lambda m: self._function(m, "load_partial", self._reading))
        after(python + "ops.summary_ops_v2", self._summaries)
        after(python + "profiler.profiler_v2", lambda m: self._function(m, "start", self._tree))
        after(
            python + "debug.lib.dumping_callback",
            lambda m: self._function(m, "enable_dump_debug_info", self._tree),
        )
        after("h5py._hl.files", lambda m: self._method(m.File, "__init__", self._hdf5))
        after("_sqlite3", self._databases)
        after("cv2", self._pictures)

    # -- putting a path in place of another

    def _changed(self, lead: Callable[[Any, Any, Any], Any], place: int, args: Any, kwargs: Any) -> Any:
        """The arguments with the path at ``place`` (or the first keyword that names one) led elsewhere by ``lead(path, args, kwargs)``."""
        if len(args) > place:
            return (*args[:place], lead(args[place], args, kwargs), *args[place + 1 :]), kwargs
        for name in _PATH_NAMES:
            if name in kwargs:
                return args, {**kwargs, name: lead(kwargs[name], args, kwargs)}
        return args, kwargs

    def _function(self, module: ModuleType, name: str, lead: Callable[[Any, Any, Any], Any], place: int = 0) -> None:
        def around(original: Any, args: Any, kwargs: Any) -> Any:
            args, kwargs = self._changed(lead, place, args, kwargs)
            return original(*args, **kwargs)

        rewire.change_in_place(getattr(module, name, None), around)

    def _method(self, cls: Any, name: str, lead: Callable[[Any, Any, Any], Any]) -> None:
        def around(original: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            args, kwargs = self._changed(lead, 0, args, kwargs)
            return original(instance, *args, **kwargs)

        rewire.wrap_method(cls, name, around)

    def _each(self, value: Any, lead: Callable[[Any], Any]) -> Any:
        """``value`` with each path in it led elsewhere: text, bytes, a path, a list, or an eager tensor of strings."""
        if isinstance(value, (str, bytes)) or hasattr(value, "__fspath__"):
            return lead(value)
        if isinstance(value, (list, tuple)):
            led = [self._each(item, lead) for item in value]
            return value if all(new is old for new, old in zip(led, value)) else led
        if hasattr(value, "numpy") and getattr(getattr(value, "dtype", None), "name", "") == "string":
            try:
                given = value.numpy()
            except Exception:  # noqa: BLE001 - a tensor of a graph has no value yet
                return value
            if isinstance(given, bytes):
                found = lead(given)
                changed = found is not given and found != given
            else:
                flat = given.reshape(-1).tolist()
                found = [lead(item) for item in flat]
                changed = found != flat
            if changed:
                constant = sys.modules["tensorflow.python.framework.constant_op"]
                return constant.constant(found, dtype="string", shape=value.shape)
        return value

    # -- where paths lead

    def local(self, path: Any) -> Any:
        """A path on this machine for a path or address: one in the overlay stands for what lies on a remote store."""
        name = os.fsdecode(os.fspath(path))
        if name.startswith("file://"):
            return name[7:]
        if name.startswith(_REMOTE):
            scheme, _, rest = name.partition("://")
            return "/.remote/{}/{}".format(scheme, rest)
        return name if "://" not in name else None

    def _reading(self, path: Any, *unused: Any) -> Any:
        def lead(one: Any) -> Any:
            local = self.local(one)
            if local is None or not self._overlay.touched:
                return one
            if local.startswith("/.remote/"):
                above = self._overlay.root + local
                return _alike(above, one) if os.path.exists(above) else one
            place = self._overlay.for_reading(local)
            return one if place == local else _alike(place, one)

        return self._each(path, lead)

    def _prefix(self, path: Any, *unused: Any) -> Any:
        """The same for the prefix of a checkpoint's files."""

        def lead(one: Any) -> Any:
            local = self.local(one)
            if local is None or not self._overlay.touched:
                return one
            logical = local if local.startswith("/.remote/") else self._overlay.resolve(local)
            above = self._overlay.root + logical
            folder, start = os.path.split(above)
            try:
                names = os.listdir(folder)
            except OSError:
                return one
            return _alike(above, one) if any(name.startswith(start) for name in names) else one

        return self._each(path, lead)

    def _writing(self, path: Any, keep: bool = False) -> Any:
        def lead(one: Any) -> Any:
            local = self.local(one)
            if local is None:
                return one
            if local.startswith("/.remote/"):
                above = self._overlay.root + local
                os.makedirs(os.path.dirname(above), exist_ok=True)
                self._overlay.note("file", os.fsdecode(os.fspath(one)))
                return _alike(above, one)
            try:
                place = self._overlay.for_writing(local, keep)
            except OSError:
                return one  # TensorFlow meets the same error, and says it in its own words
            return one if place == local else _alike(place, one)

        return self._each(path, lead)

    def _fresh(self, path: Any, *unused: Any) -> Any:
        return self._writing(path)

    def _fresh_prefix(self, path: Any, *unused: Any) -> Any:
        """The prefix of the files of a new checkpoint, whose folder TensorFlow makes when it is not there."""

        def lead(one: Any) -> Any:
            led = self._writing_with_folder(one)
            if led is not one:
                place, given = os.fsdecode(os.fspath(led)), os.fsdecode(os.fspath(one))
                self._given[place] = given
                self._given[os.path.dirname(place)] = os.path.dirname(given)
            return led

        return self._each(path, lead)

    def _writing_with_folder(self, path: Any, *unused: Any) -> Any:
        """A file whose folder TensorFlow makes when it is not there."""

        def lead(one: Any) -> Any:
            local = self.local(one)
            if local is not None and not local.startswith("/.remote/"):
                logical = self._overlay.resolve(local)
                folder = os.path.dirname(logical)
                if not self._overlay.passes(logical) and not self._overlay.exists(folder):
                    os.makedirs(self._overlay.root + folder, exist_ok=True)
            return self._writing(one)

        return self._each(path, lead)

    def _back(self, path: Any) -> Any:
        """A path as the script gave it, for one that lies in the overlay."""
        text = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
        if not text.startswith(self._overlay.root):
            return path
        for led, given in sorted(self._given.items(), key=lambda item: -len(item[0])):
            if text.startswith(led):
                return _alike(given + text[len(led) :], path)
        return _alike(text[len(self._overlay.root) :], path)

    def _tree(self, path: Any, *unused: Any) -> Any:
        """A folder that the library makes with its parents and fills by itself."""

        def lead(one: Any) -> Any:
            local = self.local(one)
            if local is None or not local:
                return one
            logical = local if local.startswith("/.remote/") else self._overlay.resolve(local)
            if self._overlay.passes(logical):
                return one
            above = self._overlay.root + logical
            os.makedirs(above, exist_ok=True)
            self._overlay.note("file", logical if not local.startswith("/.remote/") else os.fsdecode(os.fspath(one)))
            return _alike(above, one)

        return self._each(path, lead)

    # -- TensorFlow

    def _file_system(self, module: ModuleType) -> None:
        overlay = self._overlay

        def replace(name: str, act: Callable[..., Any]) -> None:
            original = getattr(module, name, None)
            if original is not None:
                setattr(module, name, _Caller(original, act))

        for name in ("FileExists", "IsDirectory", "Stat", "BufferedInputStream", "ReadFileToString", "HasAtomicMove"):
            replace(name, lambda original, path, *rest: original(self._reading(path), *rest))

        def writable(original: Any, path: Any, mode: Any, *rest: Any) -> Any:
            return original(self._writing(path, keep="a" in os.fsdecode(mode) or "+" in os.fsdecode(mode)), mode, *rest)

        def made(original: Any, path: Any, *rest: Any) -> Any:
            local = self.local(path)
            if local is None:
                return original(path, *rest)
            logical = local if local.startswith("/.remote/") else overlay.resolve(local)
            if overlay.passes(logical) or overlay.exists(logical):
                return original(self._reading(path), *rest)
            os.makedirs(overlay.root + logical)
            overlay.note("folder", logical)
            return None

        def deleted(original: Any, path: Any, *rest: Any) -> Any:
            local = self.local(path)
            if local is None or local.startswith("/.remote/"):
                if local is None or os.path.exists(overlay.root + local):
                    return original(self._reading(path), *rest)
                overlay.note("deletion", os.fsdecode(path))
                return None
            logical = overlay.resolve(local, False)
            if overlay.passes(logical) or not overlay.exists(logical):
                return original(self._reading(path), *rest)
            if overlay.is_folder(logical):
                return overlay.rmtree(logical)
            return overlay.unlink(local)

        def children(original: Any, path: Any, *rest: Any) -> Any:
            local = self.local(path)
            if not overlay.touched or local is None or local.startswith("/.remote/"):
                return original(self._reading(path), *rest)
            logical = overlay.resolve(local)
            if overlay.passes(logical) or not overlay.is_folder(logical):
                return original(self._reading(path), *rest)
            return [name for name, _ in overlay.names(logical)]

        def matching(original: Any, pattern: Any, *rest: Any) -> Any:
            local = self.local(pattern)
            found = original(pattern, *rest)
            if not overlay.touched or local is None:
                return found
            here = overlay.folder() + "/"
            whole = local if local.startswith("/") else here + local
            if overlay.passes(whole):
                return found
            seen = [one for one in found if not overlay.is_hidden(overlay.resolve(os.fsdecode(one)))]
            start = len(overlay.root) + (0 if local.startswith("/") else len(here))
            for one in original(_alike(overlay.root + whole, pattern), *rest):
                name = _alike(os.fsdecode(one)[start:], one)
                if name not in seen:
                    seen.append(name)
            return seen

        def renamed(original: Any, source: Any, target: Any, overwrite: Any = False, *rest: Any) -> Any:
            here, there = self.local(source), self.local(target)
            if here is None or there is None or here.startswith("/.remote/") or there.startswith("/.remote/"):
                return original(self._reading(source), self._writing(target), overwrite, *rest)
            if not overlay.exists(overlay.resolve(here)) or (not overwrite and overlay.exists(overlay.resolve(there))):
                return original(self._reading(source), self._reading(target), False, *rest)
            return overlay.rename(here, there)

        def copied(original: Any, source: Any, target: Any, overwrite: Any = False, *rest: Any) -> Any:
            there = self.local(target)
            is_there = there is not None and os.path.exists(there)
            if is_there and not overwrite:
                return original(self._reading(source), self._reading(target), False, *rest)
            return original(self._reading(source), self._writing(target), True, *rest)

        replace("WritableFile", writable)
        for name in ("CreateDir", "RecursivelyCreateDir"):
            replace(name, made)
        for name in ("DeleteFile", "DeleteRecursively"):
            replace(name, deleted)
        replace("GetChildren", children)
        replace("GetMatchingFiles", matching)
        replace("RenameFile", renamed)
        replace("CopyFile", copied)

    def _event_files(self, module: ModuleType) -> None:
        original = module.EventsWriter
        module.EventsWriter = _Caller(original, lambda make, path: make(self._writing(path)))  # type: ignore[attr-defined]

    def _file_operations(self, module: ModuleType) -> None:
        for name in ("save_v2", "save", "save_slices"):
            self._function(module, name, self._fresh_prefix)
        self._function(module, "write_file", self._writing_with_folder)
        for name in ("restore_v2", "restore", "restore_slice"):
            self._function(module, name, self._prefix)
        self._function(module, "read_file", self._reading)
        self._function(module, "matching_files", self._pattern)

        def merged(original: Any, args: Any, kwargs: Any) -> Any:
            args, kwargs = self._changed(self._prefix, 0, args, kwargs)
            args, kwargs = self._changed(self._fresh_prefix, 1, args, kwargs)
            return original(*args, **kwargs)

        rewire.change_in_place(getattr(module, "merge_v2_checkpoints", None), merged)

    def _pattern(self, path: Any, *unused: Any) -> Any:
        """A pattern that is matched in the overlay when something there matches it, else where it always was."""

        def lead(one: Any) -> Any:
            local = self.local(one)
            if local is None or not self._overlay.touched or local.startswith("/.remote/"):
                return one
            import glob

            whole = self._overlay.root + (local if local.startswith("/") else self._overlay.folder() + "/" + local)
            return _alike(whole, one) if glob.glob(whole) else one

        return self._each(path, lead)

    def _dataset_operations(self, module: ModuleType) -> None:
        for name in vars(module):
            if name.endswith(("record_dataset", "record_dataset_v2", "line_dataset", "csv_dataset", "csv_dataset_v2")):
                self._function(module, name, self._reading)
        for name in ("save_dataset", "save_dataset_v2"):
            self._function(module, name, self._tree, place=1)
        self._function(module, "load_dataset", self._reading)
        for name in ("cache_dataset", "cache_dataset_v2"):
            self._function(module, name, lambda path, *_: self._writing(path) if _has_text(path) else path, place=1)

    def _readers(self, module: ModuleType) -> None:
        """Datasets over files, which take names apart inside of a graph: they are led elsewhere before."""
        self._function(module, "_create_or_validate_filenames_dataset", self._reading)

    def _checkpoint_state(self, module: ModuleType) -> None:
        """The file ``checkpoint`` says where checkpoints lie: as the script gave the paths."""

        def around(original: Any, args: Any, kwargs: Any) -> Any:
            def back(value: Any) -> Any:
                return [self._back(one) for one in value] if isinstance(value, list) else self._back(value)

            return original(*map(back, args), **{name: back(value) for name, value in kwargs.items()})

        rewire.change_in_place(getattr(module, "update_checkpoint_state_internal", None), around)

    def _savers(self, module: ModuleType) -> None:
        for name in ("MultiDeviceSaver", "_SingleDeviceSaver"):
            cls = getattr(module, name, None)
            if cls is not None:
                self._method(cls, "save", self._fresh_prefix)
                self._method(cls, "restore", self._prefix)

    def _old_saver(self, module: ModuleType) -> None:
        """Savers of graphs: the path goes into a session, where it cannot be changed any more."""

        def save(original: Any, saver: Any, args: Any, kwargs: Any) -> Any:
            led, named = self._changed(self._fresh_prefix, 1, args, kwargs)
            return self._back(original(saver, *led, **named))

        def restore(original: Any, saver: Any, args: Any, kwargs: Any) -> Any:
            led, named = self._changed(self._prefix, 1, args, kwargs)
            return original(saver, *led, **named)

        rewire.wrap_method(module.Saver, "save", save)
        rewire.wrap_method(module.Saver, "restore", restore)

    def _summaries(self, module: ModuleType) -> None:
        for name in ("create_file_writer_v2", "create_file_writer"):
            self._function(module, name, self._tree)

    # -- others

    def _hdf5(self, path: Any, args: Any, kwargs: Any) -> Any:
        mode = (args[1] if len(args) > 1 else kwargs.get("mode")) or "r"
        if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
            return path
        if mode == "r":
            return self._overlay.for_reading(path)
        if mode in ("w-", "x", "r+") and (os.path.exists(path) != (mode == "r+")):
            return self._overlay.for_reading(path)  # an error, which h5py says best itself
        place = self._overlay.for_writing(path, keep=mode in ("a", "r+"))
        if mode == "a" and place != path and not os.path.exists(path):
            return place
        return place

    def _databases(self, module: ModuleType) -> None:
        def connect(original: Any, args: Any, kwargs: Any) -> Any:
            path = args[0] if args else kwargs.get("database")
            if kwargs.get("uri") or not (isinstance(path, (str, bytes)) or hasattr(path, "__fspath__")):
                return original(*args, **kwargs)
            text = os.fsdecode(os.fspath(path))
            if text in ("", ":memory:") or (os.path.exists(text) and os.path.getsize(text) > _LARGEST_DATABASE):
                return original(*args, **kwargs)
            try:
                place = self._overlay.for_writing(text, keep=True)
            except OSError:
                return original(*args, **kwargs)
            return original(place, *args[1:], **{key: kwargs[key] for key in kwargs if key != "database"})

        wrapper = Redirected(module.connect, connect)
        for name in ("_sqlite3", "sqlite3.dbapi2", "sqlite3"):
            holder = sys.modules.get(name)
            if holder is not None and getattr(holder, "connect", None) is wrapper._original:
                holder.connect = wrapper  # type: ignore[attr-defined]

    def _pictures(self, module: ModuleType) -> None:
        for name in ("imwrite", "imwritemulti"):
            original = getattr(module, name, None)
            if original is not None:
                setattr(module, name, _Caller(original, lambda make, path, *rest: make(self._fresh(path), *rest)))


class _Caller:
    """Stands for a function or class of an extension module."""

    def __init__(self, original: Any, act: Callable[..., Any]) -> None:
        self._original = original
        self._act = act

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return self._original(*args, **kwargs)
        return self._act(self._original, *args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_original"], name)


_PATH_NAMES = (
    "file_prefix",
    "prefix",
    "filepattern",
    "export_dir",
    "logdir",
    "dump_root",
    "filename",
    "filenames",
    "pattern",
    "path",
    "name",
    "save_path",
    "destination_prefix",
)


def _alike(path: str, given: Any) -> Any:
    """A path as bytes where bytes were given."""
    return os.fsencode(path) if isinstance(given, bytes) else path


def _has_text(value: Any) -> bool:
    """Whether a file name, as text or as an eager tensor, is not empty."""
    try:
        return bool(value.numpy()) if hasattr(value, "numpy") else bool(value)
    except Exception:  # noqa: BLE001 - a tensor of a graph has no value yet
        return False
