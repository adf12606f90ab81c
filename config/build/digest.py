"""The configuration hash: one name for everything that a catalogue declares."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

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
    match value:
        case enum.Enum():
            return value.value
        case Mapping():
            return {str(key): _canonical(item) for key, item in value.items()}
        case tuple():
            return [_canonical(item) for item in value]
        case float():
            return value if value else 0.0
        case None | bool() | int() | str():
            return value
        case _ if type(value) in TAGS:
            return {"type": TAGS[type(value)], **dict(_said(value))}
        case _:
            raise TypeError(
                f"the model holds a {type(value).__name__}, which has no tag: give it one in config/build/wire.py"
            )


def _said(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # any dataclass
    for field in dataclasses.fields(value):
        said = getattr(value, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if said != default:
            yield name_of(field), _canonical(said)
