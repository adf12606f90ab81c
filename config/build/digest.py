"""The configuration hash: one name for everything that a catalogue declares."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Any, Final

from config.build.wire import TAGS, name_of


def digest_of(*sections: Mapping[Any, object]) -> str:
    """SHA-256, in hex, over the canonical JSON of the model's sections.

    The text it was read from has no part in it: comments, the order of keys, ``60s`` or ``1m`` change nothing. The type
    of each value has: two kinds of balancer with like fields differ. Fields that are as they are by default have none
    either: what a later release lets people declare changes no digest of what does not declare it.
    """
    canonical = json.dumps([_canonical(section) for section in sections], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _canonical(value: object) -> object:
    if type(value) in _AS_THEY_ARE:  # the most frequent first
        return value
    if (tag := TAGS.get(type(value))) is not None:
        return {"type": tag, **dict(_changed_fields(value))}
    match value:
        case enum.Enum():
            return value.value
        case Mapping():
            return {str(key): _canonical(item) for key, item in value.items()}
        case tuple():
            return [_canonical(item) for item in value]
        case float():
            return value if value else 0.0
        case _:
            raise TypeError(
                f"the model holds a {type(value).__name__}, which has no tag: give it one in config/build/wire.py"
            )


_AS_THEY_ARE: Final = frozenset({NoneType, str, bool, int})


def _changed_fields(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # any dataclass
    for attribute, name, default in _written(type(value)):  # type: ignore[arg-type]  # a class can be hashed
        held = getattr(value, attribute)
        if held is not default and held != default:
            yield name, _canonical(held)


@cache
def _written(of: Any) -> tuple[tuple[str, str, object], ...]:  # noqa: ANN401  # any dataclass
    """Attribute, written name and default of each field; ten thousand values are of few classes."""
    return tuple(
        (
            field.name,
            name_of(field),
            field.default if field.default_factory is dataclasses.MISSING else field.default_factory(),
        )
        for field in dataclasses.fields(of)
    )
