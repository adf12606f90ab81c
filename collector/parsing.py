"""Read numbers and JSON from text strictly: ambiguous input is refused."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from collector.samples import Reply

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def number(text: str) -> float | Reply:
    """Read a decimal number; anything else, infinities and units included, is MALFORMED.

    Stricter than ``float``: that also takes ``nan``, ``1_000`` and the digits of every script.

    >>> number(" 0.42"), number("7"), number("42 %"), number("nan"), number("1e999")
    (0.42, 7.0, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>)
    """
    compact = text.strip()
    if _NUMBER.fullmatch(compact) is None:
        return Reply.MALFORMED
    value = float(compact)
    return value if math.isfinite(value) else Reply.MALFORMED


class DuplicateKey(ValueError):
    """A JSON object has the same key twice."""


def loads(text: str | bytes) -> Any:  # noqa: ANN401  JSON as it came
    """Parse a document.

    >>> loads('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> loads(b'{"a": 1, "b": {"c": 2, "c": 3}}')
    Traceback (most recent call last):
    ...
    collector.parsing.DuplicateKey: the key 'c' is there twice

    Raises:
        DuplicateKey: an object has the same key twice.
        ValueError: the text is not JSON.
        RecursionError: the document is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise DuplicateKey(f"the key {twice[:60]!a} is there twice")
    return made


DECODER = json.JSONDecoder(object_pairs_hook=_once)
"""For documents that are parsed piece by piece."""
