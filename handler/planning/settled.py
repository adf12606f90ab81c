"""Separate the settled members of a group from those that are planned one by one. Pure.

Most members of most groups serve where they should, and need nothing: planning counts them, and
looks closer only if some of them have to leave. A group of a million is planned in about a second that way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from config.model.catalogue import Victims
from config.units import BalancerId, MemberName
from handler.planning.world import Health, Member, Phase, Registration, RegistrationState, ServerState, World

_NONE: Mapping[MemberName, Registration] = MappingProxyType({})


def sifted(world: World) -> tuple[list[Member], list[Member]]:
    """Return the settled members, and all others; both in the world's order.

    A settled member is SERVING (`handler.planning.roles`), and no rule of planning has a step or a wait for it while it
    stays.
    """
    registrations = {balancer: view.registrations or _NONE for balancer, view in world.balancer_views.items()}
    settled: list[Member] = []
    others: list[Member] = []
    for member in world.members:
        (settled if _is_settled(member, registrations) else others).append(member)
    return settled, others


def _is_settled(member: Member, registrations: Mapping[BalancerId, Mapping[MemberName, Registration]]) -> bool:
    """Return whether a member is in service, listed, not to be replaced, and works on all its balancers."""
    record, server = member.record, member.server
    if record is None or server is None or record.phase is not Phase.IN_SERVICE:
        return False
    if server.state is not ServerState.RUNNING or record.leaving is not None or record.detaching:
        return False
    if record.absent_at is not None or record.failing_since is not None or record.lost_at is not None:
        return False
    for balancer, _ in record.balancers:
        registration = registrations.get(balancer, _NONE).get(member.name)
        if (
            registration is None
            or registration.state is not RegistrationState.SERVING
            or registration.health is Health.FAILING
        ):
            return False
        if registration.id is not None and (balancer, registration.id) not in record.registrations:
            return False
    return True


def nominees(settled: Sequence[Member], count: int, order: Victims) -> Sequence[Member]:
    """Return the settled members that could be among the first ``count`` to leave; no others could.

    By age these are few. Any other order compares them all, including those that stay.
    """
    if count <= 0:
        return ()
    match order:
        case Victims.OLDEST | Victims.NEWEST:
            return _by_age(settled, count, newest=order is Victims.NEWEST)
        case Victims.OLDEST_PROFILE | Victims.LEAST_CONNECTIONS | Victims.ZONE_BALANCE | Victims.RANDOM:
            return settled
        case _:
            assert_never(order)


def _by_age(settled: Sequence[Member], count: int, *, newest: bool) -> Sequence[Member]:
    free = [member for member in settled if member.record is not None and not member.record.protected]
    if count >= len(free):
        return free
    sequences = [member.record.sequence for member in free if member.record is not None]
    last = sorted(sequences)[-count if newest else count - 1]
    return [member for member, own in zip(free, sequences, strict=True) if (own >= last if newest else own <= last)]
