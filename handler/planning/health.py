"""Judge which members fail the health checks of their balancers, and whether that is believed. Pure.

# Note [Who checks the checker]

A failing check means that its balancer does not reach the member: the cause may be the member, the network between
them, or the balancer. So it is believed only if the balancer finds another member of the group healthy at the same
time, never for all serving members, and not for more than `config.model.repair.HealthRepair.budget` at once. While it
is not believed, no member's time of failing runs: when a broken network works again, the members that recover last are
not replaced.

A member without a check, or without a result, is neither healthy nor failing: that neither begins nor ends a time of
failing.

Source: DESIGN.md "What it promises", 1; the grace period and health checks of AWS Auto Scaling groups, which have no
such limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from config.model.repair import HealthRepair
from config.units import BalancerId, Instant, MemberName
from handler.planning.roles import MemberRole, Role
from handler.planning.world import Health, Leaving, Member, Record, RegistrationState, World

_NAMED = 5
"""Members that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthTerms:
    """The rule and limits that health is judged by."""

    rule: HealthRepair
    at_most: int
    """The rule's budget for the group's size."""
    accepted: bool
    """A person ordered convergence: more than the budget are believed, but never all."""
    now: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """The judgement of the health of a group's members."""

    failing: frozenset[MemberName] = frozenset()
    """Members whose failing is believed."""
    due: frozenset[MemberName] = frozenset()
    """Those of them that have failed for long enough to be replaced."""
    doubted: frozenset[MemberName] = frozenset()
    """Members that fail too, but without belief: no step follows."""
    begun: frozenset[MemberName] = frozenset()
    """Members whose time of failing begins now; the record is to keep it."""
    over: frozenset[MemberName] = frozenset()
    """Members whose time of failing is over, or does not count."""
    stopped: str = ""
    """Why no step follows for the doubted members, for people; empty: there are none."""


def checkup(world: World, roles: Sequence[MemberRole], settled: int, terms: HealthTerms | None) -> Checkup:
    """Judge the health of the serving members.

    Args:
        world: as it was gathered.
        roles: its members and their roles, without the settled ones, none of which fails.
        settled: the number of settled members.
        terms: the rule and limits; ``None``: no member is replaced for its health.
    """
    since = {
        member.name: member.record.failing_since
        for member, _ in roles
        if member.record is not None and member.record.failing_since is not None
    }
    marked = set(since)
    if terms is None:
        return Checkup(over=frozenset(marked))
    trusted = frozenset(balancer for balancer in world.balancer_views if _finds_healthy(world, balancer))
    serving = [(member, member.record) for member, seen in roles if seen is Role.SERVING and member.record is not None]
    judged = [(member, record) for member, record in serving if not _is_warming(record, terms)]
    reports = {member.name: _report(member, record, world, trusted) for member, record in judged}
    unbelieved = {name for name, (_, believed) in reports.items() if not believed}
    failing = {name for name, (health, believed) in reports.items() if believed and health is Health.FAILING}
    leaving = sum(_is_leaving(member, seen) for member, seen in roles)
    all_fail = bool(failing) and len(failing) == len(serving) + settled
    too_many = bool(failing) and len(failing) + leaving > terms.at_most
    if all_fail or (too_many and not terms.accepted):
        doubted = frozenset(unbelieved | failing)
        return Checkup(
            doubted=doubted,
            over=frozenset(marked & doubted) | _answering(reports, marked),
            stopped=_because(doubted, terms, all_of=all_fail),
        )
    return Checkup(
        failing=frozenset(failing),
        due=frozenset(name for name in failing if too_many or _is_due(since.get(name), terms)),
        doubted=frozenset(unbelieved),
        begun=frozenset(failing - marked),
        over=frozenset(marked & unbelieved) | _answering(reports, marked),
        stopped=_because(unbelieved, terms, all_of=True) if unbelieved else "",
    )


def _is_leaving(member: Member, seen: Role) -> bool:
    """Return whether a member leaves since it failed; a STUCK removal holds up no other repair."""
    return seen is not Role.STUCK and member.record is not None and member.record.leaving is Leaving.UNHEALTHY


def _is_warming(record: Record, terms: HealthTerms) -> bool:
    since = record.in_service_at
    return since is not None and 0 <= terms.now - since < terms.rule.warm_up  # before it: the clock was set back


def _is_due(since: Instant | None, terms: HealthTerms) -> bool:
    return since is not None and terms.now - since >= terms.rule.after


def _finds_healthy(world: World, balancer: BalancerId) -> bool:
    registrations = world.balancer_views[balancer].registrations
    return registrations is not None and any(
        registration.health is Health.HEALTHY for registration in registrations.values()
    )


def _report(member: Member, record: Record, world: World, trusted: frozenset[BalancerId]) -> tuple[Health | None, bool]:
    """Return a member's health over all its balancers, and whether that is believed.

    One failing check is enough; ``None``: no balancer checks the member.
    """
    heard = {balancer: _health(member.name, world, balancer) for balancer, _ in record.balancers}
    failed = [balancer for balancer, health in heard.items() if health is Health.FAILING]
    if failed:
        return Health.FAILING, any(balancer in trusted for balancer in failed)
    if Health.UNKNOWN in heard.values():
        return Health.UNKNOWN, True
    return (Health.HEALTHY if Health.HEALTHY in heard.values() else None), True


def _health(name: MemberName, world: World, balancer: BalancerId) -> Health | None:
    balancer_view = world.balancer_views.get(balancer)
    registration = (
        None if balancer_view is None or balancer_view.registrations is None else balancer_view.registrations.get(name)
    )
    if registration is None or registration.state is not RegistrationState.SERVING:
        return Health.UNKNOWN  # not read, lost, or set aside
    return registration.health


def _answering(reports: dict[MemberName, tuple[Health | None, bool]], marked: set[MemberName]) -> frozenset[MemberName]:
    well = {Health.HEALTHY, None}
    return frozenset(name for name in marked if name in reports and reports[name][0] in well)


def _because(names: Iterable[MemberName], terms: HealthTerms, *, all_of: bool) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    failing = f"{', '.join(shown[:_NAMED])}{more} {'fails' if len(shown) == 1 else 'fail'} the health check"
    if all_of:
        return f"{failing}, and their balancer finds no member healthy: the fault may be its own, so none is replaced"
    return (
        f"{failing}, more than {terms.at_most} at once (repair.unhealthy.at_most): none is replaced until fewer fail, "
        "or until trimtab converge"
    )
