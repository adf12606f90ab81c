"""What speaks against this daemon and its store: claims of others, and a fleet that the store does not know. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from config.units import MemberName
from handler.planning.launches import Claim
from handler.planning.world import Member, Phase, Server, ServerState, World
from trigger.guards.outdated_requests import Inventory

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


def oldest(servers: Iterable[Server]) -> Sequence[Server]:
    """Return the machines that are to bear the claim: the oldest that are not being deleted."""
    there = (server for server in servers if server.state is not ServerState.DELETING)
    return heapq.nsmallest(BEARERS, there, key=lambda server: (server.created_at, server.name))


def unclaimed(servers: Iterable[Server], own: Claim) -> tuple[MemberName, ...]:
    """Return those of the oldest members that do not bear our own claim yet."""
    return tuple(server.name for server in oldest(servers) if server.claim != own)


_SETTLED = (Phase.MADE, Phase.IN_SERVICE)


def inventory_of(world: World, desired: int | None) -> Inventory:
    """Count the listed machines, and return whether the store remembers exactly these."""
    present = [member for member in world.members if _is_present(member)]
    known = sum(_is_remembered(member) for member in present)
    exact = len(world.members) == len(present) == known == desired
    return Inventory(
        found=len(present),
        ahead=world.ahead,
        agrees=world.complete and exact and not world.untraced and not world.relisted,
    )


def _is_present(member: Member) -> bool:
    return member.server is not None and member.server.state is not ServerState.DELETING


def _is_remembered(member: Member) -> bool:
    return member.record is not None and member.record.phase in _SETTLED
