"""Asks everything that `trimtab doctor` asks, side by side and within one deadline. Nothing is changed anywhere."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from config.causes import MENDING, FailureCause
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
    untold,
    wrong,
)
from handler.ports.orchestrator import Orchestrator
from handler.runtime import clock

_ABREAST = 8
"""Questions at a time: a burst of them is answered no sooner by a cloud that is busy."""
_LAST = (CheckVerdict.OK, CheckVerdict.UNKNOWN, CheckVerdict.PROBLEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """How drivers are had. They are made when their first check is, and ask nothing before."""

    cloud: Callable[[Cloud], Orchestrator]
    balancer: Callable[[Balancer], BalancerPort]


def examined(catalogue: Catalogue, drivers: Drivers, within: Seconds) -> tuple[DoctorFinding, ...]:
    """Ask, and answer problems last. What nobody answers ``within`` this time is a problem too."""
    checks = tuple(checks_of(catalogue, drivers))
    looks = _without_echoes(catalogue, checks, asked(checks, within))
    findings = (_finding(catalogue, check, look) for check, look in zip(checks, looks, strict=True))
    return tuple(sorted(findings, key=lambda finding: _LAST.index(finding.verdict)))


def checks_of(catalogue: Catalogue, drivers: Drivers) -> Iterator[Check]:
    """Every check of every cloud, of the profiles that groups use of it, and of every balancer, in the file's order."""
    for cloud in catalogue.clouds.values():
        yield from _of_cloud(catalogue, cloud, drivers)
    for balancer in catalogue.balancers.values():
        yield from checks_of_balancer(balancer, _most(_behind(catalogue, balancer.id)), drivers.balancer)


def asked(checks: Sequence[Check], within: Seconds) -> tuple[Look, ...]:
    """Answer each check, in their order. Whoever does not answer in time is left behind in a thread of its own."""
    waiting: queue.SimpleQueue[tuple[int, Check]] = queue.SimpleQueue()
    answered: queue.SimpleQueue[tuple[int, Look]] = queue.SimpleQueue()
    for numbered in enumerate(checks):
        waiting.put(numbered)
    for _ in range(min(_ABREAST, len(checks))):
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
        said = understood(error)
        mend = _mending(check, error, said.cause)
        return wrong(said.words.removesuffix(f": {mend}"), mend)
    except TrimtabError as error:
        return wrong(str(error), CORRECT)


def _mending(check: Check, error: DriverError, cause: FailureCause | None) -> str:
    """What to do: as the driver says, by the cause, as the check has it where the other side only says no."""
    if error.mend or cause is not None:
        return error.mend or MENDING[cause or FailureCause.SERVICE]
    return (check.mend or CORRECT) if isinstance(error, Permanent) else UNREACHED


CORRECT = "correct what these words name, in the file or over there, and ask again"
"""How to mend what nobody says more about."""
_OF_THE_CLOUD = frozenset({UNREACHED, MENDING[FailureCause.CREDENTIALS]})
"""How to mend what is wrong with a whole cloud."""


def _without_echoes(catalogue: Catalogue, checks: Sequence[Check], looks: Sequence[Look]) -> tuple[Look, ...]:
    """Say once that a cloud or balancer does not answer or let us in, and not again of all that it was to be asked."""
    closed = {
        (check.about, check.name): {look.mend, *_OF_THE_CLOUD} - {CORRECT, ""}
        for check, look in zip(checks, looks, strict=True)
        if check.what == ACCESS and look.verdict is CheckVerdict.PROBLEM
    }

    def is_echo(check: Check, look: Look) -> bool:
        return check.what != ACCESS and look.mend in closed.get(_of_whom(catalogue, check), ())

    echoes = (is_echo(check, look) for check, look in zip(checks, looks, strict=True))
    return tuple(_ECHO[check.about] if echo else look for check, look, echo in zip(checks, looks, echoes, strict=True))


_NOT_TOLD = "not told, since the cloud does not answer or let us in"
_ECHO = {
    About.CLOUD: untold(_NOT_TOLD),
    About.PROFILE: untold(_NOT_TOLD),
    About.BALANCER: untold("not told, for what is said of its access"),
}


def _of_whom(catalogue: Catalogue, check: Check) -> tuple[About, str]:
    """Who is asked."""
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
        mend=look.mend,
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
    return fine(f"answers, and lets us list machines: {_counted(len(listing.servers), 'member')} of ours")


# Groups


def _on(catalogue: Catalogue, cloud: CloudId) -> list[Group]:
    return [group for group in catalogue.groups.values() if catalogue.profiles[group.profile].cloud == cloud]


def _behind(catalogue: Catalogue, balancer: BalancerId) -> list[Group]:
    return [group for group in catalogue.groups.values() if balancer in {use.balancer for use in group.balancers}]


def _most(groups: Iterable[Group]) -> int:
    return sum(group.maximum for group in groups)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
