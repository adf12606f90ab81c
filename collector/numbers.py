"""Numbers that arrive as text."""

from __future__ import annotations

import math
import re

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
