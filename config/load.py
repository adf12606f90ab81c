"""A file → a catalogue, or every problem that it has."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from config.build import build
from config.check import check
from config.document import Document
from config.errors import DeclarationError, Problem
from config.model import Catalogue, Site
from config.places import Reading, read_places
from config.salvage import salvage
from config.where import Where
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
    found, refused = list(reading.problems), frozenset[Where]()
    try:
        document = Document.model_validate(reading.data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        found.extend(problems_of(errors, reading))
        rest = salvage(reading.data, errors)
        document, refused = rest.document, rest.refused
    catalogue = build(document, _sites(reading))
    found.extend(check(catalogue, refused))
    if found:
        raise DeclarationError(tuple(sorted(set(found))))
    return catalogue


def _sites(reading: Reading) -> dict[Where, Site]:
    """Sections and entities are where their key stands, all else where its value begins."""
    return {**reading.values, **{where: site for where, site in reading.keys.items() if len(where) <= _ENTITY}}


def _refusal(file: str, line: int, message: str) -> DeclarationError:
    return DeclarationError((Problem(file=file, line=line, column=1, message=message),))
