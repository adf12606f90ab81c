"""Read JSON: an object with ``values`` of its sender, or a list of them, for many members and groups.

>>> read(b'{"values": {"ORDERS_PENDING": 12}}')[0].value
12.0
>>> read(b'[{"member": "web-k3f9ab-1", "values": {"CPU": "42 %"}}]').message
'expected a number at [0].values."CPU", found "42 %"'
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from handler.ingest.pushes.pushed_values import MalformedPush, PushedEntry, TooMany, UnreadablePush, quoted, whole

_KEYS = ("values", "member", "group")


def read(body: bytes) -> tuple[PushedEntry, ...] | UnreadablePush:
    """Read a body.

    Total: any bytes give values, or what was not understood.
    """
    try:
        document = json.loads(body, object_pairs_hook=_object)
    except MalformedPush as error:
        return UnreadablePush(message=str(error))
    except (ValueError, RecursionError):
        return UnreadablePush(message=f"expected JSON, found {len(body)} bytes that are none")
    entries = document if isinstance(document, list) else [document]
    try:
        return whole(_all(entries, listed=isinstance(document, list)))
    except RecursionError:  # of what is quoted: that takes a little more room than reading it did
        return UnreadablePush(message=f"expected JSON, found {len(body)} bytes that are nested too deeply")
    except MalformedPush as error:
        return UnreadablePush(message=str(error))
    except TooMany as error:
        return UnreadablePush(message=str(error), too_large=True)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse a key that occurs twice, since its meaning is unclear."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise MalformedPush(f"the key {quoted(key)} is there twice in one object")
        found[key] = value
    return found


def _all(entries: Sequence[object], *, listed: bool) -> Iterator[PushedEntry]:
    for index, entry in enumerate(entries):
        yield from _entry(entry, f"[{index}]" if listed else "")


def _entry(entry: object, at: str) -> Iterator[PushedEntry]:
    if not isinstance(entry, dict):
        raise MalformedPush(f'expected an object with "values"{_place(at)}, found {quoted(entry)}')
    strange = next((key for key in entry if key not in _KEYS), None)
    if strange is not None:
        raise MalformedPush(f"expected only {', '.join(_KEYS)}{_place(at)}, found {quoted(strange)}")
    values, dot = entry.get("values"), "." if at else ""
    if not isinstance(values, dict):
        raise MalformedPush(f"expected an object at {at}{dot}values, found {quoted(values)}")
    member, group = _word(entry, "member", at + dot), _word(entry, "group", at + dot)
    for name, value in values.items():
        yield PushedEntry(
            name=name, value=_number(value, f"{at}{dot}values.{quoted(name)}"), member=member, group=group
        )


def _word(entry: dict[str, object], key: str, at: str) -> str | None:
    word = entry.get(key)
    if word is not None and not isinstance(word, str):
        raise MalformedPush(f"expected a name at {at}{key}, found {quoted(word)}")
    return word


def _number(written: object, at: str) -> float | None:
    if written is None:
        return None
    if isinstance(written, int | float) and not isinstance(written, bool):
        try:
            value = float(written)
        except OverflowError:
            value = math.inf
        if math.isfinite(value):
            return value
    raise MalformedPush(f"expected a number at {at}, found {quoted(written)}")


def _place(at: str) -> str:
    return f" at {at}" if at else ""
