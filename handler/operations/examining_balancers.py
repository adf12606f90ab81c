"""The checks of `trimtab doctor` for balancers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from config.causes import REMEDIES, FailureCause
from config.errors import DriverError, Permanent
from config.model.balancers import Balancer, HaproxyBalancer, SharedListener
from config.model.catalogue import CloudstackRuleBalancer, Group, NetscalerBalancer, OctaviaBalancer, SimulatedCloud
from config.model.managed import ManagedBalancer
from config.units import GroupId
from handler.balancers.haproxy.examining import examine, versions_of
from handler.planning.exclusive import hindrance, remedy
from handler.ports.balancer import Balancer as Port
from handler.ports.balancer import registered_with
from handler.ports.examination import About, Check, CheckVerdict, Inspected, Look, fine, unknown, wrong

ACCESS = "access"
PLAYED = "is simulated by Trimtab itself: there is nothing to reach"
_CORRECT = "correct HAProxy's configuration as this message says, or the balancer's declaration"


def checks_of(balancer: Balancer, groups: Sequence[Group], driver_for: Callable[[Balancer], Port]) -> Iterator[Check]:
    """Return every check of one balancer.

    Args:
        balancer: the declaration.
        groups: whose members it serves.
        driver_for: makes its driver.
    """
    most = sum(group.maximum for group in groups)
    named = partial(Check, about=About.BALANCER, name=balancer.id)
    if words := _ours(balancer):
        yield named(what=ACCESS, look=lambda: fine(words))
        return
    yield named(what=ACCESS, look=partial(_lists_members, driver_for, balancer), remedy=REMEDIES[FailureCause.BALANCER])
    if exclusive := [group.id for group in groups if group.exclusive]:
        yield named(what="exclusive", look=partial(_has_only_members, driver_for, balancer, exclusive[0]))
    match balancer:
        case HaproxyBalancer():
            yield named(what="version", look=lambda: fine(versions_of(balancer)), remedy="use HAProxy 2.6 or later")
            yield named(what="settings", look=partial(_settings, driver_for, balancer, most))
        case CloudstackRuleBalancer() | NetscalerBalancer() | OctaviaBalancer():
            yield from _inspected(balancer, driver_for)
        case _:
            return


def _ours(balancer: Balancer) -> str:
    """Return why there is nothing to reach; empty: there is something."""
    match balancer:
        case SharedListener():
            return f"is held by the daemon itself, on {balancer.address}:{balancer.port}: there is nothing to reach"
        case ManagedBalancer(cloud=SimulatedCloud()):
            return PLAYED
        case _:
            return ""


def _inspected(balancer: Balancer, driver_for: Callable[[Balancer], Port]) -> Iterator[Check]:
    try:
        driver = driver_for(balancer)
    except Permanent:  # the access check reports it
        return
    if isinstance(driver, Inspected):
        yield from driver.checks(balancer.id)


def _lists_members(driver_for: Callable[[Balancer], Port], balancer: Balancer) -> Look:
    number = len(driver_for(balancer).registrations())
    return fine(f"answers and lists {number} member{'' if number == 1 else 's'}")


def _has_only_members(driver_for: Callable[[Balancer], Port], balancer: Balancer, group: GroupId) -> Look:
    foreign = registered_with(driver_for(balancer), None).foreign
    if foreign:
        return wrong(hindrance(group, balancer.id, foreign), remedy(group, balancer.id, foreign))
    return fine(f"has no machine that is not a member, as {group} wants")


def _settings(driver_for: Callable[[Balancer], Port], balancer: HaproxyBalancer, most: int) -> Look:
    try:
        driver_for(balancer).registrations()
    except DriverError:
        return unknown("not checked, since it does not list its members")
    findings = examine(balancer, most)
    grave = [finding.words for finding in findings if finding.grave]
    if grave:
        return wrong("; ".join(grave), _CORRECT)
    light = "; ".join(finding.words for finding in findings)
    return Look(verdict=CheckVerdict.OK, words=light or "has room for as many members as the groups may have")
