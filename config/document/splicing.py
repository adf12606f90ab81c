"""Replace single values of a YAML text where they stand; all else stays as it is, comments and spaces included."""

from __future__ import annotations

import re
from collections.abc import Mapping

from config.document.places import ParsedText, Plain, read_places, walked
from config.errors import DeclarationError, Refused
from config.model.where import Where, dotted

_SCALAR = re.compile(
    r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,\[\]{}#&*!|>'"][^,\[\]{}\n#]*?)(?=\s*(?:[,\]}]|$|\s#))""", re.M
)
"""A number, a duration or a few words, plain or in quotes, on one line."""


def spliced(text: str, reading: ParsedText, values: Mapping[Where, str]) -> str:
    """Return the text with these values in place of those that stand there.

    Args:
        text: YAML.
        reading: of this very text.
        values: what is to stand in which place, as YAML writes it.

    Raises:
        Refused: a value is written in a way that this cannot replace, or another key shares it through an alias.
    """
    after, places = text, dict[int, Where]()
    by_place = sorted(values, key=lambda where: _offset(text, reading, where), reverse=True)
    for where in by_place:
        found = _scalar(text, reading, where)
        first = places.setdefault(found.start(), where)
        if first is where:
            after = after[: found.start()] + values[where] + after[found.end() :]
        elif values[first] != values[where]:
            raise _shared(reading, first, where)
    _require_only(reading, after, values)
    return after


def scalar_at(text: str, reading: ParsedText, where: Where) -> str:
    """Return a value as it is written, its quotes included.

    Raises:
        Refused: as `spliced`.
    """
    return _scalar(text, reading, where)[0]


def _scalar(text: str, reading: ParsedText, where: Where) -> re.Match[str]:
    found = _SCALAR.match(text, _offset(text, reading, where))
    if found is None:
        raise _unlike(reading, where)
    return found


def _offset(text: str, reading: ParsedText, where: Where) -> int:
    """Return where a value begins, in characters."""
    site = reading.values.get(where)
    if site is None:
        raise Refused(f"{reading.file}: {dotted(where)} is not written in this file, so it cannot be replaced there")
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: site.line - 1]) + site.column - 1


def _require_only(reading: ParsedText, after: str, values: Mapping[Where, str]) -> None:
    """Make sure that the new text says otherwise in these places, and nowhere else."""
    first = next(iter(values), ())
    try:
        now = _leaves(read_places(after, reading.file).data)
    except DeclarationError as error:
        raise _unlike(reading, first) from error
    before = _leaves(reading.data)
    changed = {where for where in before.keys() | now.keys() if before.get(where) != now.get(where)}
    if others := sorted(changed - values.keys()):
        raise _shared(reading, first, others[0])


def _shared(reading: ParsedText, where: Where, other: Where) -> Refused:
    return Refused(
        f"{reading.file}:{reading.site(where).line}: {dotted(where)} is shared with {dotted(other)}: write the value "
        "in both places instead of an alias"
    )


def _leaves(data: dict[str, Plain]) -> Mapping[Where, Plain]:
    return {where: value for where, value in walked(data, ()) if not isinstance(value, dict | list)}


def _unlike(reading: ParsedText, where: Where) -> Refused:
    return Refused(
        f"{reading.file}:{reading.site(where).line}: {dotted(where)} cannot be replaced as it is written: expected a "
        "number or a duration on one line, without an anchor or a tag"
    )
