"""JSON as OneFlow takes it → plain values, and the place of each of them.

Comments (``//`` and ``/* */``) are allowed wherever blanks are; commas at the end are not. Source: RFC 8259, and
OneFlow's parser for the comments.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from typing import Final

from config.document.places import ParsedText, Plain
from config.errors import DeclarationError, Problem
from config.model.catalogue import Site
from config.model.where import Where, dotted

_BLANK: Final = re.compile(r"(?:[ \t\n\r]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORD: Final = re.compile(r"true|false|null")
_HALF: Final = re.compile("[\ud800-\udfff]")
_LONGEST = 1 << 20
"""Characters; OpenNebula's own documents are far shorter."""
_DEEPEST = 32
_MOST_DIGITS = 40


def read_json(content: bytes, file: str) -> ParsedText:
    """Read a JSON text with an object at the top level; ``file`` is its name in problems.

    Raises:
        DeclarationError: with one problem, which names line and column.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8: save the file as UTF-8"
        raise DeclarationError((Problem(file=file, line=line, column=1, message=message),)) from error
    reader = _Reader(text, file)
    if len(text) > _LONGEST:
        raise reader.refusal(0, f"longer than {_LONGEST} characters: is this a service template?")
    data = reader.whole()
    return ParsedText(file=file, data=data, keys=reader.keys, values=reader.values, problems=tuple(reader.problems))


class _Reader:
    """Walks along a text once; writes down where each key and each value stands."""

    def __init__(self, text: str, file: str) -> None:
        self.keys: dict[Where, Site] = {}
        self.values: dict[Where, Site] = {}
        self.problems: list[Problem] = []
        self._text = text
        self._file = file
        self._place = 0
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def whole(self) -> dict[str, Plain]:
        self._blank()
        if not self._text.startswith("{", self._place):
            raise self._expected("an object: {")
        data = self._object(())
        self._blank()
        if self._place < len(self._text):
            raise self._expected("the end")
        return data

    def refusal(self, place: int, text: str) -> DeclarationError:
        site = self._site(place)
        message = f"column {site.column}: {text}"
        return DeclarationError((Problem(file=self._file, line=site.line, column=site.column, message=message),))

    def _expected(self, what: str) -> DeclarationError:
        found = ascii(self._text[self._place]) if self._place < len(self._text) else "the end of the file"
        return self.refusal(self._place, f"not JSON: expected {what}, found {found}")

    def _site(self, place: int) -> Site:
        line = bisect_right(self._lines, place)
        return Site(file=self._file, line=line, column=place - self._lines[line - 1] + 1)

    def _blank(self) -> None:
        found = _BLANK.match(self._text, self._place)
        self._place = found.end() if found else self._place
        if self._text.startswith("/*", self._place):
            raise self.refusal(self._place, "not JSON: a comment begins here and does not end")

    def _takes(self, sign: str) -> bool:
        self._blank()
        taken = self._text.startswith(sign, self._place)
        self._place += len(sign) if taken else 0
        return taken

    def _value(self, where: Where) -> Plain:
        self._blank()
        self.values[where] = self._site(self._place)
        if len(where) > _DEEPEST:
            raise self.refusal(self._place, "nested too deeply")
        match self._text[self._place : self._place + 1]:
            case "{":
                return self._object(where)
            case "[":
                return self._array(where)
            case '"':
                return self._string('text in "…", on one line')
            case _:
                return self._scalar()

    def _object(self, where: Where) -> dict[str, Plain]:
        self._takes("{")
        result: dict[str, Plain] = {}
        while result or not self._takes("}"):
            self._blank()
            here = self._site(self._place)
            key = self._string('a key in "…"')
            if key in result:
                self._twice((*where, key), here)
            self.keys[*where, key] = here
            if not self._takes(":"):
                raise self._expected(":")
            result[key] = self._value((*where, key))
            if self._ended("}"):
                break
        return result

    def _array(self, where: Where) -> list[Plain]:
        self._takes("[")
        result: list[Plain] = []
        while result or not self._takes("]"):
            result.append(self._value((*where, str(len(result)))))
            if self._ended("]"):
                break
        return result

    def _ended(self, bracket: str) -> bool:
        if self._takes(bracket):
            return True
        if not self._takes(","):
            raise self._expected(f", or {bracket}")
        return False

    def _twice(self, where: Where, here: Site) -> None:
        message = f"{dotted(where)} appears twice; it is first on line {self.keys[where].line}"
        self.problems.append(Problem(file=self._file, line=here.line, column=here.column, message=message))

    def _string(self, what: str) -> str:
        found = _STRING.match(self._text, self._place)
        if found is None:
            raise self._expected(what)
        try:
            text = str(json.loads(found[0]))
        except json.JSONDecodeError as error:
            raise self.refusal(self._place + error.pos, "not JSON: \\ begins nothing known here") from error
        if _HALF.search(text):
            raise self.refusal(self._place, "half of a character (a lone surrogate) stands in this text")
        self._place = found.end()
        return text

    def _scalar(self) -> Plain:
        if word := _WORD.match(self._text, self._place):
            self._place = word.end()
            return {"true": True, "false": False, "null": None}[word[0]]
        found = _NUMBER.match(self._text, self._place)
        if found is None:
            raise self._expected("a value")
        number = float(found[0])
        if len(found[0]) > _MOST_DIGITS or not math.isfinite(number):
            raise self.refusal(self._place, f"a number of more than {_MOST_DIGITS} digits, or too large")
        self._place = found.end()
        return number if set(found[0]) & set(".eE") else int(found[0])
