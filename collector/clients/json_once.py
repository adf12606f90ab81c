"""JSON in which no object has a key twice: which value of such a key is meant cannot be known."""

from __future__ import annotations

import json
from typing import Any


class Twice(ValueError):
    """A key is there twice."""


def loads(text: str | bytes) -> Any:  # noqa: ANN401  JSON as it came
    """Parse a document.

    >>> loads('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> loads(b'{"a": 1, "b": {"c": 2, "c": 3}}')
    Traceback (most recent call last):
    ...
    collector.clients.json_once.Twice: the key 'c' is there twice

    Raises:
        Twice: a key is there twice.
        ValueError: it is not JSON.
        RecursionError: it is too deep.
    """
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise Twice(f"the key {twice[:60]!a} is there twice")
    return made


DECODER = json.JSONDecoder(object_pairs_hook=_once)
"""For documents that are parsed piece by piece."""
