"""Which seats are ours to touch, and what is called ours."""

from __future__ import annotations

from config.errors import Permanent
from config.units import BalancerId, MemberName
from handler.planning.launches import LaunchId


def ours(member: MemberName) -> MemberName:
    """The member's name, if it is a launch id: the seats of others are never touched.

    Raises:
        Permanent: it is not.
    """
    if LaunchId.parse(member) is None:
        raise Permanent(f"{member!r} is not a launch id: seats of others are never touched")
    return member


def mark_of(installation: str, balancer: BalancerId) -> str:
    """The name that all parts of a balancer bear that is made.

    >>> mark_of("k3f9ab", BalancerId("front"))
    'trimtab-k3f9ab-front'
    """
    return f"trimtab-{installation}-{balancer}"
