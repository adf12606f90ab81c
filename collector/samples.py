"""What one poll brought back, column by column.

A `Layout` names the series and is the *same object* from tick to tick while nobody comes or goes, so that every
later stage may keep what it worked out for it. A `Scrape` holds one row of readings in that order. A reading that
did not come is not a number: its `Reply` says why, and its value must not be looked at.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping
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
"""How far a sample's time may be ahead of the clock of the machine that sends it, or pushes it."""
_LONGEST_SAID = 200


class Reply(enum.IntEnum):
    """What became of one question. Only OK carries a value; TIMEOUT is what silence is called."""

    TIMEOUT = 0
    OK = 1
    REFUSED = 2
    AUTH = 3
    NO_SUCH_COUNTER = 4
    MALFORMED = 5
    """Including NaN and infinities: a value is finite."""
    UNREACHABLE = 6
    """The source itself (a balancer's socket, say) did not answer; no member is to blame."""
    RATE_LIMITED = 7
    """Asked too often, by the source's own word."""
    STALE = 8
    """An answer, but of a time that is over."""
    INCOMPLETE = 9
    """By the source's own word not the whole answer: a warning, or a partial response."""
    UNTRUSTED = 10
    """The other side's certificate is expired, for another name, or signed by nobody whom we believe."""
    AMBIGUOUS = 11
    """Several values where one is due."""
    OUTSIDE_RANGE = 12
    """A number, but outside the range that its counter declares: it was not heard."""
    FUTURE = 13
    """Stamped with a time that is still to come, by more than clocks differ."""
    PUT_OFF = 14
    """Not read: answers of this kind have cost more processor time than their share."""

    @property
    def word(self) -> str:
        """What it is called in recordings, metrics, answers and the log."""
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
    """One counter of one member, or (``member`` is ``None``) of the group as a whole."""

    group: GroupId
    counter: CounterId
    member: MemberName | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Series in order: sorted by group, then counter, then member, so each (group, counter) is one run."""

    series: tuple[Series, ...]
    counted: Bools
    """(series,) False: polled to have a baseline, but warming up and left out of metrics."""


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
    """Seconds since the answering agent began to count; NaN where the source cannot tell."""
    reply: Codes
    """`Reply` codes."""
    said: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    """What a failure was in the source's own words, by row; for people. Only where it has any."""


class Sheet:
    """A scrape in the making: everything is TIMEOUT until someone puts an answer.

    Sources write to it as answers arrive, so a deadline needs no book-keeping: what is not there did not come.
    """

    __slots__ = ("layout", "replied_at", "reply", "said", "uptime", "value")

    def __init__(self, layout: Layout) -> None:
        count = len(layout.series)
        self.layout = layout
        self.value: Floats = np.zeros(count)
        self.replied_at: Floats = np.zeros(count)
        self.uptime: Floats = np.full(count, np.nan)
        self.reply: Codes = np.zeros(count, dtype=np.uint8)
        self.said: dict[int, str] = {}

    def put(self, index: int, value: float, *, at: float, uptime: float = np.nan) -> None:
        """Write down an answer; one that is not finite, or of no finite time, becomes MALFORMED."""
        if not math.isfinite(value):
            self.fail(index, Reply.MALFORMED, f"{value} is not a number to count with")
            return
        if not math.isfinite(at):
            self.fail(index, Reply.MALFORMED, f"{at} is not a time at which anything was measured")
            return
        self.value[index] = value
        self.replied_at[index] = at
        self.uptime[index] = uptime
        self.reply[index] = Reply.OK
        self.said.pop(index, None)

    def fail(self, index: int, reply: Reply, said: str = "") -> None:
        """Write down why there is no answer.

        Args:
            index: the row.
            reply: anything but OK.
            said: the source's own words, without secrets; put on one line, and cut off after 200 characters.
        """
        self.reply[index] = reply
        if said:
            self.said[index] = one_line(said)

    def close(self, at: Moment) -> Scrape:
        """Hand over what came; later answers change nothing, since the arrays are copied."""
        return Scrape(
            layout=self.layout,
            at=at,
            value=self.value.copy(),
            replied_at=self.replied_at.copy(),
            uptime=self.uptime.copy(),
            reply=self.reply.copy(),
            said=MappingProxyType(dict(self.said)),
        )


@functools.lru_cache(maxsize=1024)  # a refused answer says the same of all its rows
def one_line(said: str) -> str:
    r"""Make foreign words fit to be shown in a log or a terminal.

    >>> one_line("no\n such\x1b[1m  metric")
    'no such?[1m metric'
    """
    words = " ".join(said[: 2 * _LONGEST_SAID].split())
    return "".join(letter if letter.isprintable() else "?" for letter in words)[:_LONGEST_SAID]
