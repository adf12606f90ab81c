"""Registrations with a balancer: which are ours, the names of created parts, and changes made one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, assert_never

from config.errors import DriverError, Permanent
from config.units import BalancerId, MemberName
from handler.planning.launches import LaunchId
from handler.ports.balancer import (
    MemberMove,
    RegistrationChange,
)


class TakesMoves(Protocol):
    """An object with the four moves of `handler.ports.balancer.Balancer`."""

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Register a member."""
        ...

    def enable(self, member: MemberName) -> None:
        """Give it work."""
        ...

    def drain(self, member: MemberName) -> None:
        """Give it no new work."""
        ...

    def leave(self, member: MemberName) -> None:
        """Deregister it."""
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
        Permanent: a join has no address.
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
    """Return the member's name, if it is a launch id: foreign registrations are never touched.

    Raises:
        Permanent: the name is not a launch id.
    """
    if LaunchId.parse(member) is None:
        raise Permanent(f"{member!r} is not a launch id: foreign registrations are never touched")
    return member


def mark_of(installation: str, balancer: BalancerId) -> str:
    """Return the name of all parts of a balancer that Trimtab creates.

    >>> mark_of("k3f9ab", BalancerId("front"))
    'trimtab-k3f9ab-front'
    """
    return f"trimtab-{installation}-{balancer}"
