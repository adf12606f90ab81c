"""The values of a push, independent of its format."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import dataclass

VALUES_AT_MOST = 2_000
"""In one request: the event loop is not held for longer than that takes."""

_QUOTED = 60


class PushShape(enum.Enum):
    """How a push is worded; the words are label values of metrics."""

    LINES = "lines"
    """``KEY=VALUE``, as OneGate's clients and ``curl --data`` send it."""
    JSON = "json"
    TEXT = "text"
    """Prometheus's text format."""
    OPENMETRICS = "openmetrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedEntry:
    """One value as it was sent, before it is known whether a counter reads it, and whether its sender may push it."""

    name: str
    value: float | None
    """Finite; ``None``: the earlier value is withdrawn."""
    member: str | None = None
    """By its name, or by its cloud's id; ``None``: not given."""
    group: str | None = None
    at: float | None = None
    """When it was measured, by the sender's clock, in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadablePush:
    """Why a body cannot be understood, in words for its sender."""

    message: str
    too_large: bool = False


class MalformedPush(ValueError):
    """A body of another shape than expected; the message says where, what was expected and what was found."""


class TooMany(ValueError):
    """A body with more values than are taken at once."""


def whole(entries: Iterable[PushedEntry]) -> tuple[PushedEntry, ...]:
    """All values of one request.

    Raises:
        MalformedPush: one value is given twice.
        TooMany: it is more than is taken at once.
    """
    known: dict[tuple[str, str | None, str | None], PushedEntry] = {}
    for one in entries:
        whose = (one.name, one.member, one.group)
        if whose in known:
            raise MalformedPush(f"{quoted(one.name)} is there twice: it is not clear which is meant")
        known[whose] = one
        if len(known) > VALUES_AT_MOST:
            raise TooMany(f"more than the {VALUES_AT_MOST} values that one request may bring")
    return tuple(known.values())


def quoted(word: object) -> str:
    r"""Quote a sender's text in a message: on one line, shortened.

    >>> quoted("two\nlines"), quoted([1])
    ('"two\\nlines"', '[1]')
    """
    text = json.dumps(word, default=repr)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
