"""A file → a catalogue, or every problem that it has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from config.bounds import MOST_BYTES, MOST_PROBLEMS
from config.build.catalogue import build
from config.checks.answering import installed
from config.checks.catalogue import check
from config.counters.objects import Lexicon
from config.counters.well_known import WELL_KNOWN
from config.document.file import Document
from config.document.places import ParsedText, read_places, walked
from config.document.salvage import salvage
from config.document.statement import values_of
from config.document.wording import problems_of
from config.errors import DeclarationError, Problem
from config.gc_pause import uncollected
from config.holiday_calendars import CalendarDays, CalendarFaultError, read_calendar
from config.model.catalogue import Catalogue, Site
from config.model.where import Where, dotted
from config.settings import cache_directory

_ENTITY = 2
_CALENDAR = ("forecast", "holidays", "calendar")
_CHARACTERS = 10
"""Of a value with its key, at least."""


def load(path: Path) -> Catalogue:
    """Read the declared model from a file.

    Raises:
        DeclarationError: the file is refused as a whole; one problem per cause, in the order of lines.
    """
    return parse(_text_of(path), str(path))


def read(path: Path) -> ParsedText:
    """Read a file's values and their places; `catalogue_of` judges them.

    Raises:
        DeclarationError: as `load`, if it cannot be read at all.
    """
    text = _text_of(path)
    with uncollected(len(text) // _CHARACTERS):
        return read_places(text, str(path))


def _text_of(path: Path) -> str:
    file = str(path)
    try:
        with path.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _refusal(file, 1, f"cannot be read: {why}") from error
    if len(content) > MOST_BYTES:
        allowed = f"{MOST_BYTES // 1024 // 1024} MiB"
        raise _refusal(
            file, 1, f"longer than {allowed}: is this a file of Trimtab? Divide it between two daemons if so"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(file, line, f"byte 0x{content[error.start]:02x} is not UTF-8: save the file as UTF-8") from error


def parse(text: str, file: str) -> Catalogue:
    """Read the declared model from a text; ``file`` is its name in problems.

    Raises:
        DeclarationError: as `load`.
    """
    with uncollected(len(text) // _CHARACTERS):
        return _judged(read_places(text, file))


def catalogue_of(reading: ParsedText) -> Catalogue:
    """Judge what a text says, and build the catalogue.

    Raises:
        DeclarationError: as `load`.
    """
    with uncollected(len(reading.values)):
        return _judged(reading)


def _judged(reading: ParsedText) -> Catalogue:
    lexicon, wrong_mibs = _lexicon(reading)
    calendars, wrong_calendars = _calendars(reading)
    found, refused = [*reading.problems, *wrong_mibs, *wrong_calendars], frozenset[Where]()
    try:
        document = Document.model_validate(reading.data, context=lexicon)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        found.extend(problems_of(errors[:MOST_PROBLEMS], reading))
        if len(errors) > MOST_PROBLEMS:
            raise DeclarationError(_bounded(found, more=True)) from error
        rest = salvage(reading.data, errors, lexicon)
        document, refused = rest.document, rest.refused
    catalogue = build(document, _sites(reading), calendars)
    found.extend(check(catalogue, refused, installed(catalogue)))
    if found:
        raise DeclarationError(_bounded(found))
    return replace(catalogue, written=MappingProxyType(values_of(reading.data)))


def _bounded(found: Iterable[Problem], *, more: bool = False) -> tuple[Problem, ...]:
    """Put problems in the order of lines; the last one says so where ``more`` were not looked for, or are left out."""
    problems = sorted(set(found))
    if len(problems) < MOST_PROBLEMS and not more:
        return tuple(problems)
    problems = problems[:MOST_PROBLEMS]
    last = problems[-1]
    message = f"there may be more problems than these {len(problems):,}: correct these, and check again"
    return (*problems, replace(last, column=last.column + 1, message=message))


def _lexicon(reading: ParsedText) -> tuple[Lexicon, tuple[Problem, ...]]:
    """What objects are called in this file: the well-known names, and those of the MIBs that it names."""
    written = reading.data.get("mibs")
    entries = enumerate(written) if isinstance(written, list) else ()
    folders = [(place, path) for place, path in entries if isinstance(path, str) and re.fullmatch("/[^\0]*", path)]
    if not folders:
        return WELL_KNOWN, ()
    from config.counters.mibs import read_mibs  # most files name no MIBs, and pay nothing for them

    cache = cache_directory(os.environ)
    lexicon, faults = read_mibs([path for _, path in folders], None if cache is None else cache / "mibs")
    return lexicon, tuple(_of_mibs(folders[fault.folder][0], fault.message, reading) for fault in faults)


def _of_mibs(place: int, message: str, reading: ParsedText) -> Problem:
    where = "mibs", str(place)
    return reading.problem(reading.site(where), f"{dotted(where)}: {message}")


def _calendars(reading: ParsedText) -> tuple[Mapping[str, CalendarDays], tuple[Problem, ...]]:
    """Read the calendar files that forecasts name."""
    found, faults = dict[str, CalendarDays](), list[Problem]()
    for where, path in walked(reading.data.get("policies"), ("policies",)):
        if where[2:] != _CALENDAR or not isinstance(path, str) or not re.fullmatch("/[^\0]*", path):
            continue
        try:
            found[path] = found[path] if path in found else read_calendar(Path(path))
        except CalendarFaultError as error:
            faults.append(reading.problem(reading.site(where), f"{dotted(where)}: {path}: {error}"))
    return found, tuple(faults)


def _sites(reading: ParsedText) -> dict[Where, Site]:
    """Sections and entities are where their key stands, all else where its value begins."""
    return {**reading.values, **{where: site for where, site in reading.keys.items() if len(where) <= _ENTITY}}


def _refusal(file: str, line: int, message: str) -> DeclarationError:
    return DeclarationError((Problem(file=file, line=line, column=1, message=message),))
