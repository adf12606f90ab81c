"""What speaks against this daemon and its store: claims of others, and a fleet that the store does not know. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from config.units import GroupId, Instant, MemberName
from handler.planning.launches import Claim
from handler.planning.world import Member, Phase, Server, ServerState, World
from trigger.guards.outdated_requests import ListingCheck

BEARERS = 3
"""The oldest members of each cloud that bear the claim, besides all that are made under it."""


def next_claim(stored: Claim | None, seen: Iterable[Claim], nonce: str) -> Claim:
    """Make the claim that is above what the store remembers and what members bear.

    >>> next_claim(Claim(counter=4, nonce="aaaaaaaa"), [Claim(counter=6, nonce="bbbbbbbb")], "cccccccc").text
    '7-cccccccc'
    """
    counters = [claim.counter for claim in seen]
    return Claim(counter=max((stored.counter if stored else 0, *counters)) + 1, nonce=nonce)


def rival_of(own: Claim, seen: Iterable[Claim]) -> Claim | None:
    """Return the highest claim that is not below our own and has another nonce; ``None``: there is none.

    >>> own = Claim(counter=4, nonce="aaaaaaaa")
    >>> rival_of(own, [own, Claim(counter=3, nonce="bbbbbbbb")]) is None
    True
    >>> rival_of(own, [Claim(counter=4, nonce="bbbbbbbb"), own]).text
    '4-bbbbbbbb'
    """
    rivals = (claim for claim in seen if claim.nonce != own.nonce and claim.counter >= own.counter)
    return max(rivals, default=None)


def claims_on(servers: Iterable[Server]) -> tuple[Claim, ...]:
    """Return the claims that these machines bear."""
    return tuple(server.claim for server in servers if server.claim is not None)


class ClaimBearers:
    """The machines of one cloud that are to bear the claim: the oldest that are not being deleted.

    Groups are listed one after another. A listing costs by its own length: the cloud's other groups are looked at again
    only if an oldest machine has left this one.
    """

    def __init__(self) -> None:
        self._oldest: dict[GroupId, Sequence[Server]] = {}
        self._bearers: list[tuple[GroupId, Server]] = []

    def listed(self, group: GroupId, servers: Iterable[Server]) -> None:
        """Take a group's machines in, in place of those that it had before."""
        there = (server for server in servers if server.state is not ServerState.DELETING)
        mine = heapq.nsmallest(BEARERS, there, key=_age)
        self._oldest[group] = mine
        staying = {server.name for server in mine}
        if all(of != group or server.name in staying for of, server in self._bearers):
            others = [each for each in self._bearers if each[0] != group]
            self._bearers = _first([*others, *((group, server) for server in mine)])
        else:
            self._look_at_all()

    def forget(self, group: GroupId) -> None:
        """A group is gone: its machines are no members any more."""
        if self._oldest.pop(group, None):
            self._look_at_all()

    def unclaimed(self, own: Claim) -> tuple[MemberName, ...]:
        """Return the bearers that do not bear our own claim yet, oldest first."""
        return tuple(server.name for _, server in self._bearers if server.claim != own)

    def _look_at_all(self) -> None:
        self._bearers = _first([(group, server) for group, servers in self._oldest.items() for server in servers])


def _first(servers: Sequence[tuple[GroupId, Server]]) -> list[tuple[GroupId, Server]]:
    return heapq.nsmallest(BEARERS, servers, key=lambda each: _age(each[1]))


def _age(server: Server) -> tuple[Instant, MemberName]:
    return server.created_at, server.name


_SETTLED = (Phase.MADE, Phase.IN_SERVICE)


def inventory_of(world: World, desired: int | None) -> ListingCheck:
    """Count the listed machines, and return whether the store remembers exactly these."""
    present = [member for member in world.members if _is_present(member)]
    known = sum(_is_remembered(member) for member in present)
    exact = len(world.members) == len(present) == known == desired
    return ListingCheck(
        found=len(present),
        ahead=world.ahead,
        agrees=world.complete and exact and not world.untraced and not world.relisted,
    )


def _is_present(member: Member) -> bool:
    return member.server is not None and member.server.state is not ServerState.DELETING


def _is_remembered(member: Member) -> bool:
    return member.record is not None and member.record.phase in _SETTLED
