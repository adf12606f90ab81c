"""Instants, spans and ids: the bottom of the import graph."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final, NewType

Seconds = float
"""A span, in seconds."""

Instant = NewType("Instant", float)
"""A wall-clock instant: seconds since the epoch, UTC. Survives a restart, may jump."""

Monotonic = NewType("Monotonic", float)
"""A reading of a clock that never jumps. Means nothing after a restart."""

Fraction = NewType("Fraction", float)
"""A share of something, 0 to 1."""

CounterId = NewType("CounterId", str)
ConditionId = NewType("ConditionId", str)
PolicyId = NewType("PolicyId", str)
ProfileId = NewType("ProfileId", str)
BalancerId = NewType("BalancerId", str)
CloudId = NewType("CloudId", str)
GroupId = NewType("GroupId", str)
AccountId = NewType("AccountId", str)
DomainId = NewType("DomainId", str)
ROOT_ACCOUNT: Final = AccountId("root")
"""It has everything that the file declares."""
ROOT_DOMAIN: Final = DomainId("ROOT")
SourceId = NewType("SourceId", str)
"""Of a server that answers for whole groups: an entry of ``sources``."""
AlertId = NewType("AlertId", str)
HookId = NewType("HookId", str)
"""Of a webhook that takes alerts; made by Trimtab, no secret."""
PartName = NewType("PartName", str)
"""Of a part of every member of a profile."""
WorkerName = NewType("WorkerName", str)
"""Of one of several processes over one store (``run --worker NAME``), each on a machine of its own."""
WORKER_NAME: Final = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
"""Their pattern: that of a label of a host name, in small letters."""
WORKER_NAME_IN_WORDS: Final = "1 to 63 small letters, digits and hyphens, such as box1"
MemberName = NewType("MemberName", str)
"""The name of a member on its cloud; for members that Trimtab made, its launch id as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One reading of both clocks: quiet times use ``wall``, durations use ``steady``."""

    wall: Instant
    steady: Monotonic


_SPAN = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@functools.lru_cache(maxsize=1024)  # a large file writes the same few spans in every group
def parse_span(text: str) -> Seconds:
    """Read a duration such as ``90s``, ``5m``, ``1h30m`` or ``250ms``.

    Raises:
        ValueError: without a unit, negative, or anything else; the message says what was expected.

    >>> parse_span("1h30m")
    5400.0
    """
    compact = text.strip()
    parts = list(_SPAN.finditer(compact))
    if not parts or "".join(part.group(0) for part in parts).replace(" ", "") != compact.replace(" ", ""):
        expected = "a duration with a unit, such as 30s, 5m or 1h30m"
        raise ValueError(f"{text!r} is not {expected}")
    return sum(float(part["number"]) * _UNIT_SECONDS[part["unit"]] for part in parts)


def format_span(span: Seconds) -> str:
    """Write a duration as people say it: ``90s`` → ``1m30s``; fractions of a second only below a second.

    >>> format_span(5400.0), format_span(0.25), format_span(0)
    ('1h30m', '250ms', '0s')
    """
    if 0 < span < 1:
        return f"{round(span * 1000)}ms"
    rest, text = round(span), ""
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(_UNIT_SECONDS[unit]))
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def exact_span(span: Seconds) -> str:
    """Write a duration so that it reads back as the same: `format_span` rounds what is above a second.

    >>> exact_span(5400.0), exact_span(1.5), exact_span(0.25)
    ('1h30m', '1.5s', '250ms')
    """
    text = format_span(span)
    return text if parse_span(text) == span else f"{span:.9f}".rstrip("0").rstrip(".") + "s"
