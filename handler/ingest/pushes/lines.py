r"""Reads ``KEY=VALUE`` lines, as every client of OneGate sends them, and as forms.

One rule serves all: lines end at a line's end or an ampersand, percent signs are decoded, and values may stand in
quotes. A plus sign stays one, since numbers have it. ``onegate vm update`` wraps its lines in a form of its own.

>>> [(entry.name, entry.value) for entry in read(b"CPU=42\nORDERS_PENDING = 7")]
[('CPU', 42.0), ('ORDERS_PENDING', 7.0)]
>>> [(entry.name, entry.value) for entry in read(b"data=CPU%3D42%0AJOBS%3D7&type=1")]
[('CPU', 42.0), ('JOBS', 7.0)]

Sources: OpenNebula's ``onegate`` client and OneGate server, versions 4.14 to 7.0, as they behave on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, unquote_plus

from collector.parsing import number
from collector.samples import Reply
from handler.ingest.pushes.pushed_values import MalformedPush, PushedEntry, TooMany, UnreadablePush, quoted, whole

_LINE = re.compile(r"\r?\n|\\n")
"""``onegate --data`` has lines parted by a backslash and an n."""
_ERASE = "2"
_READY = frozenset({("READY", "YES"), ("READY", "NO")})
"""Every contextualised machine reports it: not a number, and not a mistake."""


def read(body: bytes) -> tuple[PushedEntry, ...] | UnreadablePush:
    """Read a body.

    Total: any bytes give values, or what was not understood.
    """
    try:
        parts = body.decode().split("&")
    except UnicodeDecodeError:
        return UnreadablePush(message="expected lines KEY=VALUE in UTF-8")
    wrapped = dict(_pair(unquote_plus(part)) for part in parts[:_WRAPPED])
    try:
        if {"data", "type"} <= wrapped.keys():
            inner = _lines(wrapped["data"])
            return whole(_erased(inner) if wrapped["type"] == _ERASE else _values(inner))
        return whole(_values(line for part in parts for line in _lines(unquote(part))))
    except MalformedPush as error:
        return UnreadablePush(message=str(error))
    except TooMany as error:
        return UnreadablePush(message=str(error), too_large=True)


_WRAPPED = 8
"""``onegate`` sends its options along: so many keys its form has at most."""


def _lines(text: str) -> list[str]:
    return [line for line in _LINE.split(text) if line and not line.isspace()]


def _pair(line: str) -> tuple[str, str]:
    """Key and value, blanks around them left away; the value is empty where there is none."""
    key, _, value = line.partition("=")
    return key.strip(), value.strip()


def _values(lines: Iterable[str]) -> Iterator[PushedEntry]:
    for line in lines:
        key, text = _pair(line)
        if not key or "=" not in line:
            raise MalformedPush(f"expected KEY=VALUE, found {quoted(line)}")
        bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
        if (key, bare.upper()) not in _READY:
            yield PushedEntry(name=key, value=_number(key, bare))


def _erased(lines: Iterable[str]) -> Iterator[PushedEntry]:
    return (PushedEntry(name=line.strip(), value=None) for line in lines)


def _number(key: str, text: str) -> float:
    value = number(text)
    if isinstance(value, Reply):
        raise MalformedPush(f"expected a number for {quoted(key)}, found {quoted(text)}")
    return value
