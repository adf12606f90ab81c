"""The result of one poll, column by column.

A `Layout` names the series and is the *same object* from tick to tick until a member comes or goes, so later stages may
cache what they derive from it. A `Scrape` holds one row of readings in that order. A missing reading is not a number:
its `Reply` gives the reason, and its value must not be used.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from config.units import CounterId, GroupId, MemberName, Moment, Seconds

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint8]


AHEAD_AT_MOST: Seconds = 60.0
"""How far a sample's time may be ahead of the sender's clock."""
_LONGEST_DETAIL = 200


class Reply(enum.IntEnum):
    """The outcome of one question. Only OK carries a value; TIMEOUT means silence."""

    TIMEOUT = 0
    OK = 1
    REFUSED = 2
    AUTH = 3
    NO_SUCH_COUNTER = 4
    MALFORMED = 5
    """Includes NaN and infinities: a value is finite."""
    UNREACHABLE = 6
    """The source itself (a balancer's socket, say) did not answer; no member has failed."""
    RATE_LIMITED = 7
    """The source reports too many requests."""
    STALE = 8
    """An answer, but an outdated one."""
    INCOMPLETE = 9
    """The source itself reports an incomplete answer: a warning, or a partial response."""
    UNTRUSTED = 10
    """The server's certificate has expired, is for another name, or has no trusted signer."""
    AMBIGUOUS = 11
    """Several values where one is expected."""
    OUTSIDE_RANGE = 12
    """A number outside its counter's declared range: it counts as no answer."""
    FUTURE = 13
    """The sample's time is in the future, by more than clocks may differ."""
    PUT_OFF = 14
    """Not read: such answers have cost more processor time than their share."""

    @property
    def word(self) -> str:
        """Return its name in recordings, metrics, answers and the log."""
        return _WORDS[self]


_WORDS: Final[Mapping[Reply, str]] = {
    Reply.TIMEOUT: "timeout",
    Reply.OK: "ok",
    Reply.REFUSED: "refused",
    Reply.AUTH: "auth",
    Reply.NO_SUCH_COUNTER: "no_such_counter",
    Reply.MALFORMED: "malformed",
    Reply.UNREACHABLE: "unreachable",
    Reply.RATE_LIMITED: "rate_limited",
    Reply.STALE: "stale",
    Reply.INCOMPLETE: "incomplete",
    Reply.UNTRUSTED: "untrusted",
    Reply.AMBIGUOUS: "ambiguous",
    Reply.OUTSIDE_RANGE: "outside_range",
    Reply.FUTURE: "future",
    Reply.PUT_OFF: "put_off",
}


class Series(NamedTuple):
    """One counter of one member, or (``member`` is ``None``) of the whole group."""

    group: GroupId
    counter: CounterId
    member: MemberName | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Series in order: sorted by group, then counter, then member, so each (group, counter) is one run."""

    series: tuple[Series, ...]
    counted: Bools
    """(series,) False: the member is warming up; it is polled for a baseline, but left out of metrics."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scrape:
    """The readings of one poll. All arrays have one entry per series of ``layout``."""

    layout: Layout
    at: Moment
    """When the poll began."""
    value: Floats
    """As read, before rates and scale; 0.0 and meaningless unless ``reply`` is OK."""
    replied_at: Floats
    """Steady seconds at which the answer arrived; 0.0 unless OK."""
    uptime: Floats
    """Seconds since the answering agent began to count; NaN: the source does not report it."""
    reply: Codes
    """`Reply` codes."""
    details: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    """A failure in the source's own words, by row, for people; only if there are any."""


class Sheet:
    """A scrape in the making: every row is TIMEOUT until a source writes an answer.

    Sources write answers as they arrive, so a deadline needs no bookkeeping: a missing answer did not arrive.
    """

    __slots__ = ("details", "layout", "replied_at", "reply", "uptime", "value")

    def __init__(self, layout: Layout) -> None:
        count = len(layout.series)
        self.layout = layout
        self.value: Floats = np.zeros(count)
        self.replied_at: Floats = np.zeros(count)
        self.uptime: Floats = np.full(count, np.nan)
        self.reply: Codes = np.zeros(count, dtype=np.uint8)
        self.details: dict[int, str] = {}

    def put(self, index: int, value: float, *, at: float, uptime: float = np.nan) -> None:
        """Record an answer; a value or a time that is not finite becomes MALFORMED."""
        if not math.isfinite(value):
            self.fail(index, Reply.MALFORMED, f"{value} is not a finite number")
            return
        if not math.isfinite(at):
            self.fail(index, Reply.MALFORMED, f"{at} is not a valid time of measurement")
            return
        self.value[index] = value
        self.replied_at[index] = at
        self.uptime[index] = uptime
        self.reply[index] = Reply.OK
        self.details.pop(index, None)

    def put_all(
        self, rows: Sequence[int], values: Sequence[float], *, at: Sequence[float], uptimes: Sequence[float]
    ) -> None:
        """Write down many answers, as `put` does with each.

        Args:
            rows: each once.
            values: one for each row.
            at: when they came, one for each row.
            uptimes: one for each row.
        """
        read, came = np.array(values, dtype=np.float64), np.array(at)
        if not (np.isfinite(read).all() and np.isfinite(came).all()):
            for row, value, moment, uptime in zip(rows, values, at, uptimes, strict=True):
                self.put(row, value, at=moment, uptime=uptime)
            return
        where = np.array(rows, dtype=np.intp)
        self.value[where] = read
        self.replied_at[where] = came
        self.uptime[where] = uptimes
        self.reply[where] = Reply.OK
        if self.details:
            for row in rows:
                self.details.pop(row, None)

    def fail(self, index: int, reply: Reply, detail: str = "") -> None:
        """Record why there is no answer.

        Args:
            index: the row.
            reply: anything but OK.
            detail: the source's own words, without secrets; shortened to one line of 200 characters.
        """
        self.reply[index] = reply
        if detail:
            self.details[index] = one_line(detail)

    def close(self, at: Moment) -> Scrape:
        """Return the answers so far; later ones change nothing, since the arrays are copied."""
        return Scrape(
            layout=self.layout,
            at=at,
            value=self.value.copy(),
            replied_at=self.replied_at.copy(),
            uptime=self.uptime.copy(),
            reply=self.reply.copy(),
            details=MappingProxyType(dict(self.details)),
        )


@functools.lru_cache(maxsize=1024)  # a refused answer gives all its rows the same words
def one_line(detail: str) -> str:
    r"""Make foreign words fit to be shown in a log or a terminal.

    >>> one_line("no\n such\x1b[1m  metric")
    'no such?[1m metric'
    """
    words = " ".join(detail[: 2 * _LONGEST_DETAIL].split())
    return "".join(letter if letter.isprintable() else "?" for letter in words)[:_LONGEST_DETAIL]
