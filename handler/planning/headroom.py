"""Compute how many more members a cloud's quotas allow. Pure.

A cloud limits several things at once (machines, cores, memory), and shows how much of each is used. The scarcest of
them, divided by what one more member takes of it, decides how many members fit. Since limits are kept apart by name,
groups with members of different sizes share one limit of a thousand cores as they share one of ten machines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_MANY = 1e9
"""A limit that leaves so many members is no limit."""

_TINY = 1e-9
"""Clouds count parts of cores in binary fractions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimit:
    """One limit, and how much of it is used."""

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
    """How many more members fit, and which limit stops the next one."""

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
    """Return how many more members fit; ``None``: without a limit.

    A limit that is exceeded already (it was lowered) leaves none. Of limits that leave the same, the first is named.

    Args:
        quotas: of one cloud, for members of one profile.
        promised: what is about to be used and not counted yet, by the names of the limits.

    >>> machines = Quota(limit=UsageLimit(what="machines", used=7, most=20), each=1)
    >>> cores = Quota(limit=UsageLimit(what="cores", used=30, most=40), each=4)
    >>> headroom_of([machines, cores], {"cores": 4.0})
    Headroom(members=1, by='cores 34 of 40, and each takes 4')
    >>> headroom_of([Quota(limit=UsageLimit(what="machines", used=7, most=None), each=1)], {}) is None
    True
    """
    left = (_left(quota, promised.get(quota.limit.what, 0.0)) for quota in quotas)
    return min((each for each in left if each is not None), key=lambda each: each.members, default=None)


def _left(quota: Quota, promised: float) -> Headroom | None:
    most, used = quota.limit.most, quota.limit.used + promised
    if most is None or quota.each <= 0:
        return None
    fitting = max(most - used, 0.0) / quota.each + _TINY
    if not fitting < _MANY:  # infinity and NaN are no limits either
        return None
    takes = "" if quota.each == 1 else f", and each takes {shown(quota.each)}"
    return Headroom(members=math.floor(fitting), by=f"{UsageLimit(what=quota.limit.what, used=used, most=most)}{takes}")
