"""Folders of an operator's own MIBs → a lexicon with their objects, and everything that is wrong with them.

Nothing is ever fetched: what a MIB imports is built in (`config.counters.mib_objects`) or stands in one of the folders.
Each
file is parsed once and then kept in a cache, by its content, so that the next reading takes milliseconds. A cache that
cannot be read or written costs time, and is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from config.counters.mib_cache import dump_modules, load_modules
from config.counters.mib_objects import Gap, link
from config.counters.mib_syntax import MibSyntaxError, Module, import_line, is_mib, modules_of
from config.counters.objects import KnownObject, Lexicon
from config.counters.well_known import ENTRIES

_LARGEST = 8 * 2**20
_MOST_SYMBOLS = 3
_CERTAINLY = frozenset((".mib", ".my"))
"""What a file is called that must be a MIB; another may be a note beside them."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class MibProblem:
    """One thing that is wrong with one folder, or with a MIB in it."""

    folder: int
    """Its place among the folders."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    folder: int
    path: Path
    text: str


@dataclass(slots=True, kw_only=True)
class _Shelf:
    """The modules that were found so far, and the file of each."""

    modules: dict[str, Module] = field(default_factory=dict)
    files: dict[str, _File] = field(default_factory=dict)
    faults: list[MibProblem] = field(default_factory=list)


def read_mibs(folders: Sequence[str], cache: Path | None) -> tuple[Lexicon, tuple[MibProblem, ...]]:
    """Name the objects of some folders' MIBs beside the well-known ones. Arguments: as of `read_objects`."""
    objects, faults = read_objects(folders, cache)
    return Lexicon.of((*ENTRIES, *objects), whole=not faults), faults


def read_objects(folders: Sequence[str], cache: Path | None) -> tuple[tuple[KnownObject, ...], tuple[MibProblem, ...]]:
    """Read every MIB of some folders; folders in them are left alone.

    Args:
        folders: absolute paths; of a module that stands in several of them in the same words, the first counts.
        cache: where parsed MIBs are kept; ``None``: nowhere.
    """
    shelf = _Shelf()
    for number, folder in enumerate(folders):
        files = tuple(_files(number, Path(folder), shelf.faults))
        if not files and not any(fault.folder == number for fault in shelf.faults):
            shelf.faults.append(MibProblem(folder=number, message=f"the folder {folder} holds no MIB"))
        for file in files:
            _shelve(file, cache, shelf)
    linked = link(shelf.modules.values())
    shelf.faults.extend(_unmet(linked.gaps, shelf))
    return linked.objects, tuple(sorted(set(shelf.faults)))


def _files(number: int, folder: Path, faults: list[MibProblem]) -> Iterator[_File]:
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except (OSError, ValueError) as error:
        faults.append(MibProblem(folder=number, message=f"the folder {folder} cannot be read: {_why(error)}"))
        return
    for path in paths:
        try:
            text = _text(path)
        except (OSError, ValueError) as error:
            faults.append(MibProblem(folder=number, message=f"{path} cannot be read: {_why(error)}"))
            continue
        if text is not None and is_mib(text):
            yield _File(folder=number, path=path, text=text)
        elif text is not None and path.suffix.lower() in _CERTAINLY:
            message = f"{path}: no MIB, for want of DEFINITIONS ::= BEGIN: take it out of the folder"
            faults.append(MibProblem(folder=number, message=message))


def _text(path: Path) -> str | None:
    """What a file says, in UTF-8 or, as old MIBs are, in Latin-1; ``None`` for folders and devices."""
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _shelve(file: _File, cache: Path | None, shelf: _Shelf) -> None:
    try:
        modules = _parsed(file.text, cache)
    except MibSyntaxError as error:
        message = f"{file.path}:{error.line}: {error}: correct the MIB, or take it out of the folder"
        shelf.faults.append(MibProblem(folder=file.folder, message=message))
        return
    for module in modules:
        if shelf.modules.setdefault(module.name, module) is module:
            shelf.files[module.name] = file
        elif shelf.modules[module.name] != module:
            message = f"{file.path}: {shelf.files[module.name].path} defines another {module.name}: keep one of the two"
            shelf.faults.append(MibProblem(folder=file.folder, message=message))


def _unmet(gaps: Iterable[Gap], shelf: _Shelf) -> Iterator[MibProblem]:
    """One fault for all that a module misses of another."""
    for (name, wanted), group in groupby(gaps, key=lambda gap: (gap.module, gap.wanted)):
        file, symbols = shelf.files[name], [gap.symbol for gap in group]
        shown = ", ".join(symbols[:_MOST_SYMBOLS]) + (", …" if len(symbols) > _MOST_SYMBOLS else "")
        line = import_line(file.text, wanted) if wanted else 1
        message = f"{file.path}:{line}: {name} {_unmet_words(shown, name, wanted, shelf)}"
        yield MibProblem(folder=file.folder, message=message)


def _unmet_words(shown: str, name: str, wanted: str, shelf: _Shelf) -> str:
    if not wanted:
        return f"uses {shown}, which it neither defines nor imports: correct the MIB"
    if wanted == name:
        return f"defines {shown} by itself: correct the MIB"
    if wanted in shelf.modules:
        where = shelf.files[wanted].path
        return f"imports {shown} from {wanted}, and {where} does not define it: same age?"
    return f"imports {shown} from {wanted}, which is in none of the folders: put the file of {wanted} there"


def _parsed(text: str, cache: Path | None) -> tuple[Module, ...]:
    if cache is None:
        return modules_of(text)
    kept = cache / f"{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}.json"
    try:
        return load_modules(kept.read_bytes())
    except (OSError, ValueError):
        modules = modules_of(text)
    _keep(kept, dump_modules(modules))
    return modules


def _keep(file: Path, content: bytes) -> None:
    """Write a file whole or not at all: others may be reading, or writing the same."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as written:
                written.write(content)
            Path(name).replace(file)
        except OSError:
            Path(name).unlink(missing_ok=True)
