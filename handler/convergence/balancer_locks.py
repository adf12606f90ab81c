"""Leases that let one group at a time change a balancer that several groups share.

A pass takes the lease of each balancer that it is about to change, makes its changes, and releases the lease: it never
holds one while it gathers a world or creates members. No pass waits for a lease: if another group holds it, the changes
are left to the next pass. A lease has a deadline, after which its owner begins no further change: a long pass gives way
to others, and an owner that hangs in a call blocks no group for ever.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from config.units import BalancerId, GroupId, Instant, Seconds
from trigger.moving import moved

TERM: Seconds = 30.0
"""For so long changes may be begun under one lease."""

_LONGEST_CALL: Seconds = 60.0
"""After its deadline a lease is taken away from an owner that has not given it back: no driver's call takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The group that changes a balancer now, and until when it may begin changes."""

    owner: GroupId
    deadline: Instant
    number: int
    """Of all leases, this one: it stays the same when the deadline follows the clock."""


class BalancerLeases:
    """The leases of all balancers. Safe to call from any thread."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._leases: dict[BalancerId, Lease] = {}
        self._numbers = itertools.count(1)

    def follow(self, step: Seconds) -> None:
        """Keep the remaining time of every lease after the clock was set by ``step``."""
        with self._turn:
            self._leases = dict(moved(self._leases, Mapping[BalancerId, Lease], step))

    @contextmanager
    def taken(
        self, balancers: Iterable[BalancerId], owner: GroupId, clock: Callable[[], Instant]
    ) -> Iterator[Callable[[BalancerId], bool]]:
        """Take those leases that no group holds, and release them at the end.

        Yields:
            Whether a change of a balancer may be begun now.
        """
        now = clock()
        mine = {balancer: lease for balancer in balancers if (lease := self._take(balancer, owner, now)) is not None}
        try:
            yield lambda balancer: balancer in mine and self._lasts(balancer, mine[balancer], clock())
        finally:
            with self._turn:
                for balancer, lease in mine.items():
                    if self._is_there(balancer, lease):
                        del self._leases[balancer]

    def _lasts(self, balancer: BalancerId, lease: Lease, now: Instant) -> bool:
        with self._turn:
            return self._is_there(balancer, lease) and now < self._leases[balancer].deadline

    def _is_there(self, balancer: BalancerId, lease: Lease) -> bool:
        there = self._leases.get(balancer)
        return there is not None and there.number == lease.number

    def _take(self, balancer: BalancerId, owner: GroupId, now: Instant) -> Lease | None:
        with self._turn:
            there = self._leases.get(balancer)
            if there is not None and now < there.deadline + _LONGEST_CALL:
                return None
            lease = Lease(owner=owner, deadline=Instant(now + TERM), number=next(self._numbers))
            self._leases[balancer] = lease
            return lease
