"""Convert objects of a document to fields of our dataclasses, strictly by their types, one problem per cause."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NewType, get_type_hints

from config.build.strict import Read, Unfit, is_tuple, only, strict, tuple_reader
from config.build.wire import name_of
from config.document.wording import show
from config.errors import DeclarationError, Problem
from config.model.where import Where, dotted, hint
from config.units import Fraction, Instant, parse_span
from handler.snapshots.text import Places, Twice

if TYPE_CHECKING:
    from config.document.places import Plain

MOST_PROBLEMS: Final = 20
"""People read no more."""

_LONGEST_NAME: Final = 255
_LONGEST_TEXT: Final = 1000
_LONGEST_LIST: Final = 10**6
_LONGEST_SPAN: Final = 40
_A_SPAN: Final = "a duration: seconds, or one with a unit, such as 30s"
_MOST: Final = 10**15
_EPOCH: Final = Instant(0.0)
_FARTHEST: Final = 1e12
"""Seconds."""


class _Field(NamedTuple):
    name: str
    type: object


class FoundProblems:
    """Collects the problems of a document."""

    def __init__(self, file: str, places: Places) -> None:
        self._file = file
        self._places = places
        self._found: list[Problem] = []

    def add(self, where: Where, message: str) -> None:
        """Note a problem.

        Raises:
            DeclarationError: there are `MOST_PROBLEMS` problems.
        """
        line, column = self._places.line_and_column(where)
        text = f"{dotted(where)}: {message}" if where else message
        self._found.append(Problem(file=self._file, line=line, column=column, message=text))
        if len(self._found) == MOST_PROBLEMS:
            self.conclude()

    def conclude(self) -> None:
        """Refuse the document if it has problems.

        Raises:
            DeclarationError: with every noted problem.
        """
        if self._found:
            raise DeclarationError(tuple(sorted(self._found)))


class Part:
    """One object of a document. ``at`` is the moment that ``5m ago`` counts from."""

    def __init__(
        self, found: Plain, where: Where, problems: FoundProblems, *, at: Instant = _EPOCH, short: str = ""
    ) -> None:
        """``short`` names the field that may replace the object: ``"serving"`` for ``{"state": "serving"}``."""
        self.where = where
        self.problems = problems
        self.at = at
        self._is_short = bool(short) and not isinstance(found, (dict, list))
        self._is_wrong = not self._is_short and not isinstance(found, dict)
        self._data: Mapping[str, Plain] = {short: found} if self._is_short else {}
        if self._is_wrong:
            problems.add(where, f"{show(found)} is not an object")
        elif isinstance(found, dict):
            self._data = {key: value for key, value in found.items() if not self._is_twice(key, value)}

    def _is_twice(self, key: str, value: Plain) -> bool:
        if isinstance(value, Twice):
            self.problems.add((*self.where, key), "is given twice")
            return True
        return False

    def names(self) -> Iterator[str]:
        """Yield the keys that are valid names; note the others as problems."""
        for key in self._data:
            try:
                yield _read_name(key, str)
            except Unfit as error:
                self.wrong(key, f"{show(key)} is not {error.expected}")

    def is_null(self, key: str) -> bool:
        """Tell whether a key is present with the value null."""
        return key in self._data and self._data[key] is None

    def part(self, key: str, *, short: str = "") -> Part | None:
        """Return the object under a key; ``None`` if it is missing or null."""
        found = self._data.get(key)
        return None if found is None else self._part(found, key, short)

    def parts(self, key: str) -> Iterator[Part]:
        """Yield the objects of the list under a key."""
        found = self._data.get(key, [])
        if not isinstance(found, list):
            self.wrong(key, f"{show(found)} is not a list")
            return
        for index, item in enumerate(found):
            yield self._part(item, key, "", str(index))

    def _part(self, found: Plain, key: str, short: str, *more: str) -> Part:
        return Part(found, (*self.where, key, *more), self.problems, at=self.at, short=short)

    def wrong(self, key: str, message: str) -> None:
        """Note a problem with the value of a key."""
        self.problems.add(self.where if self._is_short else (*self.where, key), message)

    def needs(self, key: str, example: str) -> bool:
        """Tell whether a key is present; note a missing one as a problem."""
        if key not in self._data and not self._is_wrong:
            self.problems.add(self.where, f"{key} is missing: write, for example, {example}")
        return key in self._data

    def known(self, keys: Collection[str]) -> None:
        """Note unknown keys as problems."""
        for key in self._data.keys() - set(keys):
            self.wrong(key, f"unknown key{hint(key, keys)}")

    def fields(self, kind: type, *, elsewhere: Collection[str] = (), apart: Collection[str] = ()) -> dict[str, Any]:
        """Return the fields of a dataclass that are given and valid.

        Fields in ``elsewhere`` are not allowed here; the caller reads the fields in ``apart`` itself.
        """
        own = [key for key in _fields_of(kind) if key not in elsewhere and key not in apart]
        self.known((*own, *apart))
        return self.some(kind, own)

    def some(self, kind: type, keys: Collection[str]) -> dict[str, Any]:
        """Return those of a few fields of a dataclass that are given and valid; keys are as documents spell them."""
        known = _fields_of(kind)
        return {known[key].name: value for key in keys for value in self.values(key, known[key].type)}

    def values(self, key: str, kind: object) -> Iterator[Any]:
        """Yield the value of a key if it is given and valid."""
        if key not in self._data:
            return
        found = self._data[key]
        try:
            yield _reader(kind)(_moment(found, self.at) if kind in _MOMENTS else found, kind)
        except Unfit as error:
            self.wrong(key, f"{show(found)} is not {error.expected}")


@cache
def _fields_of(kind: type) -> Mapping[str, _Field]:
    """Return the fields by their names in documents."""
    hints = get_type_hints(kind)
    return {name_of(field): _Field(field.name, hints[field.name]) for field in fields(kind)}


_CONVERTER: Final = strict("cannot be in a document")
_reader = cache(_CONVERTER.get_structure_hook)
_MOMENTS: Final = (Instant, Instant | None)


def _moment(found: Plain, at: Instant) -> Plain:
    """Convert ``5m ago`` and ``in 30s`` to instants; return anything else as it is."""
    if isinstance(found, str):
        before, after = found.removesuffix(" ago"), found.removeprefix("in ")
        if before != found:
            return at - _span(before)
        if after != found:
            return at + _span(after)
    return found


def _read_instant(found: Plain, _: object) -> float:
    if type(found) in (int, float):
        return _bounded(found)
    raise Unfit("a moment: seconds since 1970, or one such as 5m ago or in 30s", found)


def _read_span(found: Plain, _: object) -> float:
    if isinstance(found, str):
        return _span(found)
    if type(found) in (int, float) and _bounded(found) >= 0:
        return _bounded(found)
    raise Unfit(_A_SPAN, found)


def _span(text: str) -> float:
    try:
        return _bounded(parse_span(text[:_LONGEST_SPAN]))
    except ValueError as error:
        raise Unfit(_A_SPAN, text) from error


def _bounded(number: Any) -> float:  # noqa: ANN401  # a number of JSON
    if not abs(number) <= _FARTHEST:  # not a number is one of these, too
        raise Unfit("a moment or duration within thirty thousand years", number)
    return float(number)


def _read_fraction(found: Plain, _: object) -> float:
    if type(found) in (int, float) and 0 <= _bounded(found) <= 1:
        return _bounded(found)
    raise Unfit("a share: a number from 0 to 1", found)


def _is_name(found: Plain) -> bool:
    return isinstance(found, str) and 0 < len(found) <= _LONGEST_NAME and found.isprintable()


def _is_text(found: Plain) -> bool:
    return (
        isinstance(found, str)
        and len(found) <= _LONGEST_TEXT
        and not any("\ud800" <= each <= "\udfff" for each in found)
    )


def _list_reader(kind: object) -> Read:
    inner = tuple_reader(kind, _CONVERTER)

    def read(found: Plain, _: object) -> object:
        if isinstance(found, list) and len(found) <= _LONGEST_LIST:
            return inner(found, kind)
        raise Unfit(f"a list of at most {_LONGEST_LIST}", found)

    return read


_read_name = only(f"a name: up to {_LONGEST_NAME} printable characters", _is_name)
_CONVERTER.register_structure_hook_factory(is_tuple, _list_reader)
_CONVERTER.register_structure_hook_func(lambda kind: isinstance(kind, NewType), _read_name)
for _kind, _read in (
    (Instant, _read_instant),
    (Fraction, _read_fraction),
    (float, _read_span),
    (str, only(f"text of up to {_LONGEST_TEXT} characters", _is_text)),
    (bool, only("true or false", lambda found: isinstance(found, bool))),
    (int, only("a whole number, and not a huge one", lambda found: type(found) is int and abs(found) <= _MOST)),
):
    _CONVERTER.register_structure_hook(_kind, _read)
