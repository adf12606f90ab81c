"""How each member stands on its balancers, as the last pass saw it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from config.units import BalancerId, MemberName
from handler.planning.member_details import balancers_of
from handler.planning.world import BalancerView, Health, Member, Phase, Registration, RegistrationState, World

_STATES: Final = {
    RegistrationState.PARKED: "gets no work",
    RegistrationState.SERVING: "serving",
    RegistrationState.DRAINING: "draining",
    RegistrationState.PARTLY: "gets work from some processes only",
}


@dataclass(frozen=True, slots=True)
class ShownRegistration:
    """One member on one of its balancers."""

    text: str
    is_trouble: bool
    """The balancer cannot tell, does not exist, fails the member's health check, or lacks it while it serves."""


def shown_registrations(world: World | None) -> Mapping[MemberName, tuple[ShownRegistration, ...]]:
    """Return each member's balancers, those that it was made with first; ``None``: no pass has been made yet."""
    if world is None:
        return {}
    shown = {member.name: tuple(_shown(member, world)) for member in world.members}
    return {name: registrations for name, registrations in shown.items() if registrations}


def _shown(member: Member, world: World) -> Iterator[ShownRegistration]:
    for balancer in balancers_of(member, world):
        view = world.balancer_views.get(balancer)
        if view is not None:
            yield _on(balancer, view, member)


def _on(balancer: BalancerId, view: BalancerView, member: Member) -> ShownRegistration:
    if view.not_found:
        return ShownRegistration(f"{balancer}: not found", is_trouble=True)
    if view.registrations is None:
        because = f" ({view.because})" if view.because else ""
        return ShownRegistration(f"{balancer}: unreadable{because}", is_trouble=True)
    found = view.registrations.get(member.name)
    if found is None:
        serves = member.record is not None and member.record.phase is Phase.IN_SERVICE
        return ShownRegistration(f"{balancer}: not registered", is_trouble=serves)
    return ShownRegistration(f"{balancer}: {', '.join(_words(found))}", is_trouble=found.health is Health.FAILING)


def _words(found: Registration) -> Iterator[str]:
    yield _STATES[found.state]
    if found.state is RegistrationState.DRAINING and found.connections is not None:
        yield "1 connection left" if found.connections == 1 else f"{found.connections} connections left"
    if found.health is Health.FAILING:
        yield "fails its health check"
    if found.note:
        yield found.note
