"""Balancers that Trimtab makes: what of one is there, and what to do next so that it is, or is no more. Pure.

One part is made after the other, each when the one before is active; parts are deleted in the reverse order. Nothing is
done to what the file says exists already. Where a part is pending, the next pass looks again.

Source: Senlin's load-balancing policy (binding of load balancer, listener, pool and monitor; ``lb_status_timeout``);
Octavia's provisioning states.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.model.managed import ManagedBalancer, ManagedPart, made_parts
from config.units import BalancerId, Instant, Seconds, format_span


class Provision(enum.Enum):
    """How a part is."""

    PENDING = "pending"
    """It is being made, changed or deleted: nothing else can be done to it, nor to what it belongs to."""
    BEGUN = "begun"
    """That it is to be made was written down there, and perhaps no more: it can be made on, or undone."""
    LEAVING = "leaving"
    """It is being deleted, and may be asked so again: nobody knows that it goes on."""
    ACTIVE = "active"
    ERROR = "error"
    """It came to nothing, and can only be deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """One part that is there."""

    id: str
    """The cloud's own."""
    state: Provision
    word: str
    """The cloud's own, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerProvision:
    """What was made for a group: written down before anything is, and forgotten after the last part is gone."""

    balancer: BalancerId
    parts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """By its name in `ManagedPart`: the id of each that was seen last."""
    pending_since: Instant | None = None
    """Since when it has been pending without a break; ``None``: it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Make:
    """This part must exist."""

    part: ManagedPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmake:
    """This part must not exist."""

    part: ManagedPart
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """A part is pending: there is nothing to do but to look again."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """Only a person can do something about it."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """All is as it should be."""


Act = Make | Unmake | Await | Stuck | Provisioned

NAMES = {
    ManagedPart.LOADBALANCER: "load balancer",
    ManagedPart.LISTENER: "listener",
    ManagedPart.POOL: "pool",
    ManagedPart.HEALTHMONITOR: "health monitor",
    ManagedPart.ADDRESS: "address",
    ManagedPart.RULE: "rule",
    ManagedPart.STICKINESS: "stickiness policy",
    ManagedPart.HEALTHCHECK: "health check",
}
_UNDER_WAY = (Provision.PENDING, Provision.BEGUN, Provision.LEAVING)


def needed_parts(declared: ManagedBalancer) -> tuple[ManagedPart, ...]:
    """All parts that it takes to serve, made here or not, in order. A pool that exists has its listener."""
    own = made_parts(declared)
    return tuple(part for part in ManagedPart if part in own or _given(declared).get(part) is not None)


def _given(declared: ManagedBalancer) -> Mapping[ManagedPart, str | None]:
    monitor = declared.health_monitor
    return {
        ManagedPart.LOADBALANCER: declared.loadbalancer,
        ManagedPart.LISTENER: None,
        ManagedPart.POOL: declared.pool.id,
        ManagedPart.HEALTHMONITOR: None if monitor is None else monitor.id,
        ManagedPart.ADDRESS: None if declared.rule is None else declared.rule.address,
    }


def next_to_make(declared: ManagedBalancer, found: Mapping[ManagedPart, PartStatus]) -> Act:
    """Say what comes next on the way to a balancer that serves."""
    own = made_parts(declared)
    for part in needed_parts(declared):
        status = found.get(part)
        if part in own and (status is None or status.state is Provision.BEGUN):
            return Make(part=part)
        if status is None:
            return Stuck(why=f"balancer {declared.id}: {NAMES[part]} {_given(declared)[part]} is not there")
        if status.state is not Provision.ACTIVE:
            return _unready(declared, part, status)
    return Provisioned()


def next_to_unmake(declared: ManagedBalancer, found: Mapping[ManagedPart, PartStatus]) -> Act:
    """Say what comes next on the way to there being nothing of it that was made here."""
    for part in reversed(made_parts(declared)):
        status = found.get(part)
        if status is not None and status.state is Provision.PENDING:
            return _unready(declared, part, status)
        if status is not None:
            return Unmake(part=part, id=status.id)
    return Provisioned()


def _unready(declared: ManagedBalancer, part: ManagedPart, status: PartStatus) -> Await | Stuck:
    what = f"balancer {declared.id}: {NAMES[part]} {status.id} is {status.word}"
    if status.state in _UNDER_WAY:
        return Await(why=what)
    return Stuck(why=f"{what}: it can only be deleted, there, by a person")


def closed(declared: ManagedBalancer, found: Mapping[ManagedPart, PartStatus]) -> str:
    """Say why nobody can be seated now; empty: they can."""
    match next_to_make(declared, found):
        case Make(part=part):
            return f"balancer {declared.id}: its {NAMES[part]} is not made yet"
        case Await(why=why) | Stuck(why=why):
            return why
        case _:
            return ""


def bound(binding: BalancerProvision, found: Mapping[ManagedPart, PartStatus], now: Instant) -> BalancerProvision:
    """Bring a binding up to date with what was found."""
    pending = any(status.state in _UNDER_WAY for status in found.values())
    since = binding.pending_since if binding.pending_since is not None else now
    return BalancerProvision(
        balancer=binding.balancer,
        parts=MappingProxyType({part.value: found[part].id for part in ManagedPart if part in found}),
        pending_since=since if pending else None,
    )


def overdue(declared: ManagedBalancer, binding: BalancerProvision, now: Instant) -> Seconds | None:
    """For how long it has been pending, if that is too long."""
    if binding.pending_since is None:
        return None
    pending = now - binding.pending_since
    return pending if pending >= declared.lb_status_timeout else None


def said_overdue(why: str, pending: Seconds) -> str:
    """Say that a part has been pending for too long.

    >>> said_overdue("balancer lb: pool 7 is PENDING_CREATE", 312.0)
    'balancer lb: pool 7 is PENDING_CREATE, for 5m12s: whoever runs the cloud has to look after it'
    """
    return f"{why}, for {format_span(float(int(pending)))}: whoever runs the cloud has to look after it"
