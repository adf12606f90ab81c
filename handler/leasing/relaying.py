"""What became of a request that a standby has put down for the holder. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from config.units import Seconds

STALE_AFTER: Seconds = 120.0
"""No holder carries out a request that has waited for so long: its caller has given up."""
ANY_EPOCH = -1
"""Of a request that was answered before a holder took it up: any holder carries it out, whenever it is one."""
KEPT_AT_MOST = 1_000
"""Such requests of all standbys."""
KEPT_BYTES = 16 * 1024 * 1024
"""Of them all, as they are stored."""
AT_ONCE = 8
"""The most requests that a holder takes up in one turn."""
A_REQUEST = "a request"
"""What is notified when a standby has put a request down. When one is answered, that is its id."""


_WINDOW = 1024
"""How many requests of one standby may overtake one another. It has far fewer under way, and the oldest are taken up
first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDown:
    """A request as a holder takes it up."""

    id: str
    worker: str
    """That was asked."""
    epoch: int
    """Of the lease when it was put down: no holder of another one carries it out. Or `ANY_EPOCH`."""
    request: str
    """Sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayProgress:
    """How far a request has come, as it was read."""

    taken_up: int | None
    """The epoch of the holder that took it up; ``None``: none has."""
    answer: str | None
    """Sealed; empty: the holder could not read the request. ``None``: there is none yet."""
    epoch: int
    """Of the lease now."""


class RelayOutcome(enum.Enum):
    """What a caller can be told."""

    WAITING = enum.auto()
    """No holder has taken it up: it can still be withdrawn."""
    UNDER_WAY = enum.auto()
    ANSWERED = enum.auto()
    UNKNOWN = enum.auto()
    """The holder that took it up has lost the lease, and left no answer: it may have been carried out, or not."""


def outcome_of(progress: RelayProgress) -> RelayOutcome:
    """Judge a request. It is carried out at most once: another holder does not take it up again.

    >>> [outcome_of(RelayProgress(taken_up=4, answer=None, epoch=epoch)) for epoch in (4, 5)]
    [<RelayOutcome.UNDER_WAY: 2>, <RelayOutcome.UNKNOWN: 4>]
    """
    if progress.answer is not None:
        return RelayOutcome.ANSWERED
    if progress.taken_up is None:
        return RelayOutcome.WAITING
    return RelayOutcome.UNDER_WAY if progress.taken_up == progress.epoch else RelayOutcome.UNKNOWN


def numbered_id(sender: str, number: int) -> str:
    """Return the id of a request; ``sender`` is that of one process for as long as it stands by."""
    return f"{sender}-{number}"


@dataclass(slots=True)
class TakenUp:
    """Which requests of one epoch were taken up: of each standby the newest number, and which of those just before.

    So many requests take no more memory than few. Times would not do: a person who can write into the database can put
    an old request down with a new time.

    Source: the anti-replay window of RFC 4303, 3.4.3.
    """

    _newest: dict[str, int] = field(default_factory=dict)
    _before: dict[str, int] = field(default_factory=dict)
    """By sender: bit n is set if the request n before the newest was taken up."""

    def is_new(self, id: str) -> bool:
        """Note a request; whether it was not taken up before. One far older than the newest counts as taken up.

        >>> taken_up = TakenUp()
        >>> [taken_up.is_new(numbered_id("b", number)) for number in (0, 2, 1, 2, 2000, 3)]
        [True, True, True, False, True, False]
        """
        sender, _, digits = id.partition("-")
        number = int(digits or 0)
        newest, before = self._newest.get(sender, number), self._before.get(sender, 0)
        if number > newest:
            before <<= min(number - newest, _WINDOW)
            newest = number
        bit = 1 << min(newest - number, _WINDOW)
        if newest - number >= _WINDOW or before & bit:
            return False
        self._newest[sender], self._before[sender] = newest, (before | bit) & ((1 << _WINDOW) - 1)
        return True
