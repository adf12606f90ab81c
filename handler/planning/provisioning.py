"""Plan the balancers that Trimtab creates: which parts exist, and the next one to create or delete. Pure.

Parts are created one after the other, each when the one before is active; they are deleted in the reverse order. Parts
that the file names by id are never changed. While a part is pending, the next pass checks again.

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
    """The state of a part."""

    PENDING = "pending"
    """It is being made, changed or deleted: nothing else can be done to it, nor to what it belongs to."""
    BEGUN = "begun"
    """Its creation was recorded at the cloud, and perhaps no more: it can be continued or undone."""
    LEAVING = "leaving"
    """It is being deleted; the request may be repeated, since its progress is not known."""
    ACTIVE = "active"
    ERROR = "error"
    """It failed, and can only be deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """One part that exists."""

    id: str
    """The cloud's own."""
    state: Provision
    word: str
    """The cloud's own, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerProvision:
    """The parts created for a group: recorded before the first creation, and forgotten after the last deletion."""

    balancer: BalancerId
    parts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The last seen id of each part, by its name in `ManagedPart`."""
    pending_since: Instant | None = None
    """Since when it has been pending without a break; ``None``: it is not pending."""


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
    """A part is pending: check again later."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """Only a person can do something about it."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """All parts are as declared."""


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
    """Return all parts that are needed to serve, created by Trimtab or not, in order; a pool implies its listener."""
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
    """Return the next act towards a balancer that serves."""
    own = made_parts(declared)
    for part in needed_parts(declared):
        status = found.get(part)
        if part in own and (status is None or status.state is Provision.BEGUN):
            return Make(part=part)
        if status is None:
            return Stuck(why=f"balancer {declared.id}: {NAMES[part]} {_given(declared)[part]} does not exist")
        if status.state is not Provision.ACTIVE:
            return _unready(declared, part, status)
    return Provisioned()


def next_to_unmake(declared: ManagedBalancer, found: Mapping[ManagedPart, PartStatus]) -> Act:
    """Return the next act towards deleting all parts that Trimtab created."""
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
    return Stuck(why=f"{what}: delete it at the cloud by hand")


def closed(declared: ManagedBalancer, found: Mapping[ManagedPart, PartStatus]) -> str:
    """Return why no member can be registered now; empty: members can."""
    match next_to_make(declared, found):
        case Make(part=part):
            return f"balancer {declared.id}: its {NAMES[part]} is not created yet"
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


def overdue_words(why: str, pending: Seconds) -> str:
    """Return the message that a part has been pending for too long.

    >>> overdue_words("balancer lb: pool 7 is PENDING_CREATE", 312.0)
    'balancer lb: pool 7 is PENDING_CREATE for 5m12s: ask the cloud operator to repair it'
    """
    return f"{why} for {format_span(float(int(pending)))}: ask the cloud operator to repair it"
