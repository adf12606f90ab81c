"""Seats on a balancer: which are ours to touch, what is called ours, and many changes made one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, assert_never

from config.errors import DriverError, Permanent
from config.units import BalancerId, MemberName
from handler.planning.launches import LaunchId
from handler.ports.balancer import MemberMove, RegistrationChange


class TakesMoves(Protocol):
    """What takes the four moves, as `handler.ports.balancer.Balancer` says them."""

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Seat a member."""
        ...

    def enable(self, member: MemberName) -> None:
        """Give it work."""
        ...

    def drain(self, member: MemberName) -> None:
        """Give it nothing new."""
        ...

    def leave(self, member: MemberName) -> None:
        """Forget it."""
        ...


def one_by_one(balancer: TakesMoves, changes: Sequence[RegistrationChange]) -> list[DriverError | None]:
    """Make changes, as `handler.ports.balancer.Batched.apply` answers them."""
    failed: dict[MemberName, DriverError] = {}
    answers: list[DriverError | None] = []
    for change in changes:
        if change.member not in failed:
            try:
                make(balancer, change)
            except DriverError as error:
                failed[change.member] = error
        answers.append(failed.get(change.member))
    return answers


def make(balancer: TakesMoves, change: RegistrationChange) -> None:
    """Make one change.

    Raises:
        Permanent: a member is to join, and it is not said where.
    """
    match change.move:
        case MemberMove.JOIN:
            if change.at is None:
                raise Permanent(f"{change.member} has no address to join with")
            balancer.join(change.member, *change.at)
        case MemberMove.ENABLE:
            balancer.enable(change.member)
        case MemberMove.DRAIN:
            balancer.drain(change.member)
        case MemberMove.LEAVE:
            balancer.leave(change.member)
        case _:
            assert_never(change.move)


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
