"""A file → a catalogue, or every problem that it has."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from config.build import build
from config.check import check
from config.document import Document
from config.errors import DeclarationError, Problem
from config.model import Catalogue, Site
from config.objects import Lexicon
from config.places import Reading, read_places
from config.plugins import installed
from config.salvage import salvage
from config.settings import cache_directory
from config.statement import values_of
from config.well_known import WELL_KNOWN
from config.where import Where, dotted
from config.wording import problems_of

_ENTITY = 2


def load(path: Path) -> Catalogue:
    """Read the declared model from a file.

    Raises:
        DeclarationError: the file is refused as a whole; one problem per cause, in the order of lines.
    """
    file = str(path)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _refusal(file, 1, f"cannot be read: {why}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(file, line, f"byte 0x{content[error.start]:02x} is not UTF-8: save the file as UTF-8") from error
    return parse(text, file)


def parse(text: str, file: str) -> Catalogue:
    """Read the declared model from a text; ``file`` is its name in problems.

    Raises:
        DeclarationError: as `load`.
    """
    reading = read_places(text, file)
    lexicon, wrong_mibs = _lexicon(reading)
    found, refused = [*reading.problems, *wrong_mibs], frozenset[Where]()
    try:
        document = Document.model_validate(reading.data, context=lexicon)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        found.extend(problems_of(errors, reading))
        rest = salvage(reading.data, errors, lexicon)
        document, refused = rest.document, rest.refused
    catalogue = build(document, _sites(reading))
    found.extend(check(catalogue, refused, installed(catalogue)))
    if found:
        raise DeclarationError(tuple(sorted(set(found))))
    return replace(catalogue, written=MappingProxyType(values_of(reading.data)))


def _lexicon(reading: Reading) -> tuple[Lexicon, tuple[Problem, ...]]:
    """What objects are called in this file: the well-known names, and those of the MIBs that it names."""
    written = reading.data.get("mibs")
    entries = enumerate(written) if isinstance(written, list) else ()
    folders = [(place, path) for place, path in entries if isinstance(path, str) and re.fullmatch("/[^\0]*", path)]
    if not folders:
        return WELL_KNOWN, ()
    from config.mibs import read_mibs  # most files name no MIBs, and pay nothing for them

    cache = cache_directory(os.environ)
    lexicon, faults = read_mibs([path for _, path in folders], None if cache is None else cache / "mibs")
    return lexicon, tuple(_of_mibs(folders[fault.folder][0], fault.message, reading) for fault in faults)


def _of_mibs(place: int, message: str, reading: Reading) -> Problem:
    where = "mibs", str(place)
    return reading.problem(reading.site(where), f"{dotted(where)}: {message}")


def _sites(reading: Reading) -> dict[Where, Site]:
    """Sections and entities are where their key stands, all else where its value begins."""
    return {**reading.values, **{where: site for where, site in reading.keys.items() if len(where) <= _ENTITY}}


def _refusal(file: str, line: int, message: str) -> DeclarationError:
    return DeclarationError((Problem(file=file, line=line, column=1, message=message),))
