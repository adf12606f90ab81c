"""Run the checks of `trimtab doctor` in parallel, within one deadline. They change nothing."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from config.causes import REMEDIES, FailureCause
from config.errors import DriverError, Permanent, TrimtabError
from config.model.balancers import Balancer
from config.model.catalogue import Catalogue, Cloud, Group, SimulatedCloud
from config.units import BalancerId, CloudId, ProfileId, Seconds
from handler.operations.examining_balancers import ACCESS, PLAYED
from handler.operations.examining_balancers import checks_of as checks_of_balancer
from handler.planning.causes import understood
from handler.ports.balancer import Balancer as BalancerPort
from handler.ports.examination import (
    UNREACHED,
    About,
    Check,
    CheckVerdict,
    DoctorFinding,
    Examined,
    Look,
    fine,
    unknown,
    wrong,
)
from handler.ports.orchestrator import Orchestrator
from handler.runtime import clock

_PARALLEL = 8
"""Checks at a time: a busy cloud answers a larger burst no sooner."""
_LAST = (CheckVerdict.OK, CheckVerdict.UNKNOWN, CheckVerdict.PROBLEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """Make drivers. A driver is made with its first check, and sends nothing before that."""

    cloud: Callable[[Cloud], Orchestrator]
    balancer: Callable[[Balancer], BalancerPort]


def examined(catalogue: Catalogue, drivers: Drivers, within: Seconds) -> tuple[DoctorFinding, ...]:
    """Run all checks; return problems last. A check without an answer ``within`` this time is a problem too."""
    checks = tuple(checks_of(catalogue, drivers))
    looks = _without_echoes(catalogue, checks, asked(checks, within))
    findings = (_finding(catalogue, check, look) for check, look in zip(checks, looks, strict=True))
    return tuple(sorted(findings, key=lambda finding: _LAST.index(finding.verdict)))


def checks_of(catalogue: Catalogue, drivers: Drivers) -> Iterator[Check]:
    """Return the checks of every cloud, of its profiles that groups use, and of every balancer, in the file's order."""
    for cloud in catalogue.clouds.values():
        yield from _of_cloud(catalogue, cloud, drivers)
    for balancer in catalogue.balancers.values():
        yield from checks_of_balancer(balancer, _behind(catalogue, balancer.id), drivers.balancer)


def asked(checks: Sequence[Check], within: Seconds) -> tuple[Look, ...]:
    """Run the checks; return their results in order. A check that exceeds the time is left running in its thread."""
    waiting: queue.SimpleQueue[tuple[int, Check]] = queue.SimpleQueue()
    answered: queue.SimpleQueue[tuple[int, Look]] = queue.SimpleQueue()
    for numbered in enumerate(checks):
        waiting.put(numbered)
    for _ in range(min(_PARALLEL, len(checks))):
        threading.Thread(target=_work, args=(waiting, answered), daemon=True, name="doctor").start()
    late = wrong(f"no answer within {within:g} s", UNREACHED)
    looks, until = [late] * len(checks), clock.moment().steady + within
    for _ in checks:
        try:
            number, look = answered.get(timeout=max(until - clock.moment().steady, 0.0))
        except queue.Empty:
            break
        looks[number] = look
    return tuple(looks)


def _work(waiting: queue.SimpleQueue[tuple[int, Check]], answered: queue.SimpleQueue[tuple[int, Look]]) -> None:
    while True:
        try:
            number, check = waiting.get_nowait()
        except queue.Empty:
            return
        answered.put((number, _look(check)))


def _look(check: Check) -> Look:
    try:
        return check.look()
    except DriverError as error:
        understanding = understood(error)
        remedy = _fix(check, error, understanding.cause)
        return wrong(understanding.words.removesuffix(f": {remedy}"), remedy)
    except TrimtabError as error:
        return wrong(str(error), CORRECT)


def _fix(check: Check, error: DriverError, cause: FailureCause | None) -> str:
    """Return the fix: the driver's, else the cause's, else, for a bare refusal, the check's own."""
    if error.remedy or cause is not None:
        return error.remedy or REMEDIES[cause or FailureCause.SERVICE]
    return (check.remedy or CORRECT) if isinstance(error, Permanent) else UNREACHED


CORRECT = "correct the setting that this message names, in the file or on the other side, and run doctor again"
"""The fix where nothing more is known."""
_OF_THE_CLOUD = frozenset({UNREACHED, REMEDIES[FailureCause.CREDENTIALS]})
"""Fixes of problems that concern all of a cloud."""


def _without_echoes(catalogue: Catalogue, checks: Sequence[Check], looks: Sequence[Look]) -> tuple[Look, ...]:
    """Report once that a cloud or balancer does not answer or denies access, not again for each of its checks."""
    closed = {
        (check.about, check.name): {look.remedy, *_OF_THE_CLOUD} - {CORRECT, ""}
        for check, look in zip(checks, looks, strict=True)
        if check.what == ACCESS and look.verdict is CheckVerdict.PROBLEM
    }

    def is_echo(check: Check, look: Look) -> bool:
        return check.what != ACCESS and look.remedy in closed.get(_endpoint_of(catalogue, check), ())

    echoes = (is_echo(check, look) for check, look in zip(checks, looks, strict=True))
    return tuple(_ECHO[check.about] if echo else look for check, look, echo in zip(checks, looks, echoes, strict=True))


_NOT_CHECKED = "not checked, since the cloud does not answer or denies access"
_ECHO = {
    About.CLOUD: unknown(_NOT_CHECKED),
    About.PROFILE: unknown(_NOT_CHECKED),
    About.BALANCER: unknown("not checked, for the reason that its access check gives"),
}


def _endpoint_of(catalogue: Catalogue, check: Check) -> tuple[About, str]:
    """Return the cloud or balancer that a check asks."""
    if check.about is About.PROFILE:
        return About.CLOUD, catalogue.profiles[ProfileId(check.name)].cloud
    return check.about, check.name


def _finding(catalogue: Catalogue, check: Check, look: Look) -> DoctorFinding:
    groups = tuple(group.id for group in _concerned(catalogue, check))
    return DoctorFinding(
        about=check.about,
        name=check.name,
        what=check.what,
        groups=groups,
        verdict=look.verdict,
        words=look.words,
        remedy=look.remedy,
    )


def _concerned(catalogue: Catalogue, check: Check) -> Iterable[Group]:
    match check.about:
        case About.CLOUD:
            return _on(catalogue, CloudId(check.name))
        case About.PROFILE:
            return [group for group in catalogue.groups.values() if group.profile == check.name]
        case About.BALANCER:
            return _behind(catalogue, BalancerId(check.name))


# Clouds


def _of_cloud(catalogue: Catalogue, cloud: Cloud, drivers: Drivers) -> Iterator[Check]:
    named = partial(Check, about=About.CLOUD, name=cloud.id)
    if isinstance(cloud, SimulatedCloud):
        yield named(what=ACCESS, look=lambda: fine(PLAYED))
        return
    driver = drivers.cloud(cloud)
    yield named(what=ACCESS, look=partial(_members, driver))
    if isinstance(driver, Examined):
        groups = _on(catalogue, cloud.id)
        used = dict.fromkeys(group.profile for group in groups)
        yield from driver.checks([catalogue.profiles[profile] for profile in used], _most(groups))


def _members(driver: Orchestrator) -> Look:
    listing = driver.list_all()
    if not listing.complete:
        return wrong(f"machines cannot be listed completely: {listing.because}", UNREACHED)
    return fine(f"answers and allows listing machines: {_counted(len(listing.servers), 'member')} of ours")


# Groups


def _on(catalogue: Catalogue, cloud: CloudId) -> list[Group]:
    return [group for group in catalogue.groups.values() if catalogue.profiles[group.profile].cloud == cloud]


def _behind(catalogue: Catalogue, balancer: BalancerId) -> list[Group]:
    return [group for group in catalogue.groups.values() if balancer in {use.balancer for use in group.balancers}]


def _most(groups: Iterable[Group]) -> int:
    return sum(group.maximum for group in groups)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
