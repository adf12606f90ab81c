"""Groups that are exclusive: foreign machines have no place at their balancers. Pure.

Source: CloudStack's autoscale (2012), "Operations not supported": autoscaled machines and explicitly bound ones cannot
be behind one load-balancer rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from config.model.balancers import Balancer
from config.model.catalogue import Catalogue, Group
from config.units import BalancerId, GroupId

_NAMED = 3
"""Foreign machines that a message names."""


def occupied(group: GroupId, balancer: BalancerId, foreign: Sequence[str]) -> str:
    """Return why foreign machines at a balancer hinder an exclusive group, and what to do.

    >>> occupied(GroupId("web"), BalancerId("front"), ["db"])
    'db is registered with front and is not ours, and web is exclusive: take it out of front, or exclusive out of web'
    >>> occupied(GroupId("web"), BalancerId("front"), ["a", "b", "c", "d"]).split(":")[0]
    'a, b, c and 1 more are registered with front and are not ours, and web is exclusive'
    """
    return f"{hindrance(group, balancer, foreign)}: {remedy(group, balancer, foreign)}"


def hindrance(group: GroupId, balancer: BalancerId, foreign: Sequence[str]) -> str:
    """Return the first half of `occupied`."""
    more = len(foreign) - _NAMED
    named = ", ".join(foreign[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    are = "is" if len(foreign) == 1 else "are"
    return f"{named} {are} registered with {balancer} and {are} not ours, and {group} is exclusive"


def remedy(group: GroupId, balancer: BalancerId, foreign: Sequence[str]) -> str:
    """Return the second half of `occupied`."""
    return f"take {'it' if len(foreign) == 1 else 'them'} out of {balancer}, or exclusive out of {group}"


def to_be_read(before: Catalogue, after: Catalogue, groups: Collection[GroupId]) -> Iterator[tuple[Group, Balancer]]:
    """Yield the balancers that exclusive groups would gain, or that groups have which would become exclusive.

    Args:
        before: what is declared.
        after: what would be.
        groups: those of ``after`` that are looked at.
    """
    for name in sorted(groups):
        group, earlier = after.groups[name], before.groups.get(name)
        if not group.exclusive:
            continue
        had = () if earlier is None or not earlier.exclusive else (use.balancer for use in earlier.balancers)
        for balancer in sorted({use.balancer for use in group.balancers} - set(had)):
            yield group, after.balancers[balancer]
