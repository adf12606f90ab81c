"""What a file says, value by value. A statement is kept: a restart with an edited file then tells what a reload tells.

No secret is in it: a value that may be one is kept as a digest, which shows that it changed and nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from config.document.fields import is_hidden, mapping_at
from config.document.places import Plain
from config.document.sources import is_reference
from config.model.where import Where
from config.units import GroupId

Values: TypeAlias = Mapping[Where, str]
"""Where each value stands → how it is written, or a digest of it (`is_masked`)."""

HIDDEN: Final = "(hidden)"
_MASK = "\0"
_LONGEST = 60
"""Characters; a longer value is no help to a reader."""
_HIDDEN_KEYS = frozenset({"command", "context", "env", "extra", "metadata", "parameters", "user_data"})
"""Keys that people put secrets into, beside those that the document hides."""
_WITHOUT_ENTRIES = frozenset({"cloudstack_api", "mibs", "notify", "oidc", "outbound", "record", "store", "vault"})
"""Sections that have no entries of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The content of one file, as written."""

    values: Values
    used: Mapping[GroupId, frozenset[Where]]
    """Which entries each group went by."""


def entry_of(where: Where) -> Where:
    """Return the entry that a value belongs to.

    >>> entry_of(("conditions", "busy", "above")), entry_of(("record", "budget"))
    (('conditions', 'busy'), ('record',))
    """
    return where[:1] if where[0] in _WITHOUT_ENTRIES else where[:2]


def is_masked(text: str) -> bool:
    """Whether this stands for a value that must not be shown."""
    return text.startswith(_MASK)


def values_of(data: Mapping[str, Plain]) -> Values:
    """Return every value of a file by its place; a list of words or numbers is one value."""
    return dict(_leaves(dict(data), ()))


def veiled(value: Plain, where: Where) -> Plain:
    """Return a value as everyone may see it: what may be a secret is replaced by `HIDDEN`."""
    if isinstance(value, dict):
        return {name: veiled(each, (*where, name)) for name, each in value.items()}
    if isinstance(value, list):
        return [veiled(each, (*where, str(number))) for number, each in enumerate(value)]
    return HIDDEN if _may_be_secret(where, _text(value)) else value


def _leaves(value: Plain, where: Where) -> Iterator[tuple[Where, str]]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _leaves(each, (*where, name))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for number, each in enumerate(value):
            yield from _leaves(each, (*where, str(number)))
    elif where:
        text = _text(value)
        yield where, (text if _may_be_shown(where, text) else _masked(text))


def _text(value: Plain) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(map(_text, value)) or "[]"
        case dict():
            return "{}"
        case _:
            return str(value)


def _masked(text: str) -> str:
    return _MASK + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _may_be_shown(where: Where, text: str) -> bool:
    return len(text) <= _LONGEST and text.isprintable() and not _may_be_secret(where, text)


def _may_be_secret(where: Where, text: str) -> bool:
    return ("://" in text and ("@" in text or "?" in text)) or _is_secret(_kind_of_place(where))


def _kind_of_place(where: Where) -> Where:
    """The place without the name of the entry and without numbers: all entries of a section have the same keys."""
    named = where if where[0] in _WITHOUT_ENTRIES else (where[0], "*", *where[2:])
    return tuple("0" if part.isdigit() else part for part in named)


@lru_cache(maxsize=4096)
def _is_secret(where: Where) -> bool:
    if is_reference(mapping_at(where[:-1])):
        return False  # says where the secret is kept
    return bool(_HIDDEN_KEYS & {*where[1:]}) or any(is_hidden(where[:length]) for length in range(2, len(where) + 1))
