"""Finds the local modules that a script imports, directly or through one another, and reads each of them once."""

from __future__ import annotations

import ast
import os
import sys
from collections import deque
from dataclasses import dataclass

from f64doctor.source.reading import parse, read_text, split_lines
from f64doctor.source.scopes import File, index
from f64doctor.source.search_path import added_folders

MOST_FILES = 500
MOST_LINES_IN_ALL = 100_000

_FOREIGN_FOLDERS = frozenset({"site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox", "__pypackages__"})


@dataclass(frozen=True, slots=True)
class Place:
    """A local module: its file (None for a folder without ``__init__.py``), and the folder of its submodules (None for none)."""

    path: str | None
    folder: str | None


class LocalModules:
    """The local files that belong to a script, in the order in which they were met, and how import statements lead to them."""

    def __init__(self, script: str, cwd: str) -> None:
        self.cwd = os.path.abspath(cwd or ".")
        self.script = os.path.normpath(os.path.join(self.cwd, script))
        self.roots: list[str] = [os.path.dirname(self.script)]
        self.files: dict[str, File] = {}
        self.places: dict[tuple[str, str], Place | None] = {}
        self.lines_parsed = 0
        self._follow()

    def absolute(self, dotted: str) -> Place | None:
        """The local module that an absolute import names, None when it is not local."""
        first, _, rest = dotted.partition(".")
        if first in sys.builtin_module_names:
            return None
        for root in self.roots:
            place = self._within(root, first)
            if place is None:
                continue
            for part in rest.split(".") if rest else []:
                place = self.child(place, part) if place is not None else None
            if place is not None:
                return place
        return None

    def relative(self, importer: str, level: int, dotted: str) -> Place | None:
        """The local module that a relative import in the file ``importer`` names."""
        folder = os.path.dirname(importer)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        place: Place | None = self._package(folder)
        for part in dotted.split(".") if dotted else []:
            place = self.child(place, part) if place is not None else None
        return place

    def source_of(self, node: ast.ImportFrom, importer: str) -> Place | None:
        """The local module that a from-import takes its names from."""
        if node.level:
            return self.relative(importer, node.level, node.module or "")
        return self.absolute(node.module or "")

    def child(self, place: Place, name: str) -> Place | None:
        """The submodule of a package, None when there is none."""
        return self._within(place.folder, name) if place.folder is not None else None

    def _package(self, folder: str) -> Place:
        path = os.path.join(folder, "__init__.py")
        return Place(path if os.path.isfile(path) else None, folder)

    def _within(self, folder: str, name: str) -> Place | None:
        key = (folder, name)
        if key not in self.places:
            self.places[key] = self._look(folder, name)
        return self.places[key]

    def _look(self, folder: str, name: str) -> Place | None:
        inner = os.path.join(folder, name)
        if "\0" in inner:
            return None
        package = self._package(inner)
        if package.path is None:
            if os.path.isfile(inner + ".py"):
                return None if self._foreign(inner + ".py", folder) else Place(inner + ".py", None)
            if not os.path.isdir(inner):
                return None
        return None if self._foreign(inner, folder) else package

    def _foreign(self, path: str, folder: str) -> bool:
        """Whether a path below ``folder`` belongs to an installed package or a virtual environment."""
        if os.path.basename(path) in _FOREIGN_FOLDERS or os.path.exists(os.path.join(path, "pyvenv.cfg")):
            return True
        real = os.path.realpath(path)
        inside = os.path.realpath(folder)
        if os.path.dirname(real) == inside:
            return False
        return any(part in _FOREIGN_FOLDERS for part in real.split(os.sep))

    def _follow(self) -> None:
        waiting = deque([self.script])
        self.files[self.script] = File(self.script, [], is_script=True)
        read: set[str] = set()
        unresolved: list[tuple[File, ast.Import | ast.ImportFrom]] = []
        while waiting:
            file = self.files[waiting.popleft()]
            read.add(file.path)
            self._read(file)
            unresolved.extend((file, found.node) for found in file.imports if not found.dead)
            added = self._add_roots(added_folders(file, self.cwd))
            current = unresolved if added else [(file, found.node) for found in file.imports if not found.dead]
            for importer, node in current:
                for path in self._targets(node, importer.path):
                    if path not in self.files and len(self.files) < MOST_FILES:
                        self.files[path] = File(path, [])
                        waiting.append(path)

    def _add_roots(self, folders: list[str]) -> bool:
        added = False
        for folder in folders:
            foreign = any(part in _FOREIGN_FOLDERS for part in folder.split(os.sep))
            if folder not in self.roots and not foreign and os.path.isdir(folder):
                self.roots.append(folder)
                added = True
        return added

    def _read(self, file: File) -> None:
        text, decodable = read_text(file.path)
        file.lines = split_lines(text)
        if not decodable or self.lines_parsed > MOST_LINES_IN_ALL:
            return
        tree = parse(text, file.lines)
        if tree is not None:
            self.lines_parsed += len(file.lines)
            index(file, tree)

    def _targets(self, node: ast.Import | ast.ImportFrom, importer: str) -> list[str]:
        """The files that an import statement runs, outermost package first."""
        places: list[Place | None] = []
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                places.extend(self.absolute(".".join(parts[: count + 1])) for count in range(len(parts)))
        else:
            parts = (node.module or "").split(".") if node.module else []
            for count in range(len(parts) + 1):
                dotted = ".".join(parts[:count])
                if node.level:
                    places.append(self.relative(importer, node.level, dotted))
                elif dotted:
                    places.append(self.absolute(dotted))
            source = places[-1] if places else None
            if source is not None:
                places.extend(self.child(source, alias.name) for alias in node.names if alias.name != "*")
        return [place.path for place in places if place is not None and place.path is not None]
