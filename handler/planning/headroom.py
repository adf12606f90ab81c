"""What a cloud's quotas leave for more members. Pure.

A cloud limits several things at once (machines, cores, memory), and says how much of each is used. How many members
fit is what the scarcest of them leaves, counted in what one more member takes of it. Since limits are kept apart by
name, groups whose members are of different sizes share one of a thousand cores as they share one of ten machines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_MANY = 1e9
"""Whoever leaves room for so many members limits nobody."""

_TINY = 1e-9
"""Clouds count parts of cores in binary fractions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimit:
    """What may be used of something, and what is."""

    what: str
    """In the plural: ``machines``."""
    used: float
    most: float | None
    """``None``: as much as there is."""

    def __str__(self) -> str:
        """``machines 2 of 20``."""
        used = shown(self.used)
        return (
            f"{self.what} {used} without a limit" if self.most is None else f"{self.what} {used} of {shown(self.most)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One limit of a cloud, and what a new member takes of it."""

    limit: UsageLimit
    each: float
    """In the limit's own unit; 0: nothing, or not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """How many more members fit, and what stops the next one."""

    members: int
    by: str
    """The limit that binds, in the cloud's words: ``cores 40 of 40``."""


def shown(amount: float) -> str:
    """Write an amount without needless digits.

    >>> shown(2.50), shown(1048576.0), shown(40)
    ('2.5', '1048576', '40')
    """
    return f"{amount:.15g}"


def headroom_of(quotas: Iterable[Quota], promised: Mapping[str, float]) -> Headroom | None:
    """Say how many more members fit; ``None``: as many as anybody likes.

    What is over its limit already (it was lowered) leaves room for nobody. Of limits that leave the same, the first
    is told.

    Args:
        quotas: of one cloud, for members of one profile.
        promised: what is about to be used, and not counted yet, by the names of the limits.

    >>> machines = Quota(limit=UsageLimit(what="machines", used=7, most=20), each=1)
    >>> cores = Quota(limit=UsageLimit(what="cores", used=30, most=40), each=4)
    >>> headroom_of([machines, cores], {"cores": 4.0})
    Headroom(members=1, by='cores 34 of 40, and each takes 4')
    >>> headroom_of([Quota(limit=UsageLimit(what="machines", used=7, most=None), each=1)], {}) is None
    True
    """
    rooms = [_left(quota, promised.get(quota.limit.what, 0.0)) for quota in quotas]
    return min((room for room in rooms if room is not None), key=lambda room: room.members, default=None)


def _left(quota: Quota, promised: float) -> Headroom | None:
    most, used = quota.limit.most, quota.limit.used + promised
    if most is None or quota.each <= 0:
        return None
    fitting = max(most - used, 0.0) / quota.each + _TINY
    if not fitting < _MANY:  # neither are infinity and what is no number
        return None
    takes = "" if quota.each == 1 else f", and each takes {shown(quota.each)}"
    return Headroom(members=math.floor(fitting), by=f"{UsageLimit(what=quota.limit.what, used=used, most=most)}{takes}")
