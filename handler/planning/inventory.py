"""Compares what a pass saw with what the store remembers, so that an older store is noticed. Pure."""

from __future__ import annotations

from handler.planning.world import Member, Phase, ServerState, World
from trigger.guards.older import Inventory

_SETTLED = (Phase.MADE, Phase.IN_SERVICE)


def inventory_of(world: World, desired: int | None) -> Inventory:
    """Count the machines that are there, and say whether the store remembers exactly these."""
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
