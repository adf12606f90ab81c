"""Read JSON text as plain values, and find the line of a value that has a problem.

Most files are valid and some are long, so places are searched only for problems.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from config.errors import DeclarationError, Problem
from config.model.where import Where

if TYPE_CHECKING:
    from config.document.places import Plain

LONGEST: Final = 64 << 20
"""Bytes: some 100,000 members."""

_BLANK: Final = re.compile(r"[ \t\n\r]*")


class Twice(str):
    """Stands for the value of a key that an object has twice."""

    __slots__ = ()


def read_text(content: bytes, file: str) -> tuple[dict[str, Plain], Places]:
    """Read a JSON text whose top level is an object; ``file`` is its name in problems.

    A repeated key has `Twice` as its value.

    Raises:
        DeclarationError: it is not JSON, not an object, or too long.
    """
    if len(content) > LONGEST:
        raise _refusal(file, 1, 1, f"longer than {LONGEST >> 20} MiB: too long to read")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(file, line, 1, f"byte 0x{content[error.start]:02x} is not UTF-8") from error
    try:
        found = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise _refusal(file, error.lineno, error.colno, f"column {error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise _refusal(file, 1, 1, "nested too deeply") from error
    except ValueError as error:
        raise _refusal(file, 1, 1, "a number of thousands of digits") from error
    if not isinstance(found, dict):
        raise _refusal(file, 1, 1, "expected an object: { … }")
    return found, Places(text)


def _object(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found[key] = Twice()
            seen.add(key)
    return found


def _refusal(file: str, line: int, column: int, message: str) -> DeclarationError:
    return DeclarationError((Problem(file=file, line=line, column=column, message=message),))


class Places:
    """Finds the places of values in a text that is valid JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decode = json.JSONDecoder().raw_decode
        self._reached: dict[Where, tuple[int, int]] = {}

    def line_and_column(self, where: Where) -> tuple[int, int]:
        """Return, from 1, the beginning of a value, or for a missing one, of the value that would contain it."""
        place = self._skip(0)
        for depth, part in enumerate(where):
            inner = self._inside(where[:depth], place, part)
            if inner is None:
                break
            place = inner
        return self._text.count("\n", 0, place) + 1, place - self._text.rfind("\n", 0, place)

    def _inside(self, outer: Where, place: int, part: str) -> int | None:
        match self._text[place]:
            case "{":
                return self._of_key(place, part)
            case "[" if part.isdigit():
                return self._of_item(outer, place, int(part))
            case _:
                return None

    def _of_key(self, place: int, wanted: str) -> int | None:
        place = self._skip(place + 1)
        while self._text[place] != "}":
            key, end = self._decode(self._text, place)
            place = self._skip(self._skip(end) + 1)
            if key == wanted:
                return place
            place = self._next(place)
        return None

    def _of_item(self, outer: Where, place: int, wanted: int) -> int | None:
        """Problems come in the order of the list, so the walk goes on where the last one ended."""
        index, place = self._reached.get(outer, (0, self._skip(place + 1)))
        while index < wanted and self._text[place] != "]":
            index, place = index + 1, self._next(place)
        self._reached[outer] = (index, place)
        return place

    def _next(self, place: int) -> int:
        """Skip the value at ``place`` and the comma after it."""
        place = self._skip(self._decode(self._text, place)[1])
        return self._skip(place + 1) if self._text[place] == "," else place

    def _skip(self, place: int) -> int:
        found = _BLANK.match(self._text, place)
        return place if found is None else found.end()
