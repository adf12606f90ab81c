"""Decide whether a balancer is missing, and whether that counts as *not found*.

A balancer is registered, unreadable or not found:

===========  ===========================================================  =============================================
Answer       What the driver does                                         What convergence does
===========  ===========================================================  =============================================
registered   returns the registrations of its members                     registers, drains and removes as always
unreadable   raises `Transient` or `Permanent`                            no member leaves: it may still get work there
not found    raises `NotFound`, at every look for three intervals         members leave without draining there
===========  ===========================================================  =============================================

The count is kept in memory: a restart begins it anew, and so does any other answer, a gap between two looks, and a
clock that was set back. It is never shortened.

A balancer that Trimtab created may lack a part that Trimtab did not delete. Its parts are found by their names. A
listing without one may be wrong, or another account's: created again at once, the balancer would exist twice. So the
part is queried by the id that was stored at its creation. A definite not-found for this id is the proof, as siblings
are for a balancer that a person created: the id identifies the object, and the only load balancer of a project has no
siblings.

Source: DESIGN.md "Moving"; docs/adr/0015.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from config.causes import FailureCause
from config.errors import NotFound, Permanent
from config.model.managed import ManagedBalancer, ManagedPart, made_parts, pinned_address
from config.units import Instant, Seconds
from handler.planning.provisioning import NAMES, BalancerProvision, PartStatus
from handler.ports.balancer import Provisioner

INTERVALS = 3
"""For so many intervals of the group the balancer has to be missing…"""
LOOKS = 3
"""…and at so many looks at least."""
_GAP: Seconds = 60.0
"""Two looks farther apart than this, and than three intervals, prove nothing about the time between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A balancer that was missing at every look since an instant."""

    since: Instant
    last: Instant
    """The last look."""
    looks: int = 1

    def proved_from(self, interval: Seconds) -> Instant:
        """When the balancer counts as not found at the earliest; ``interval`` is the group's."""
        return Instant(self.since + INTERVALS * interval)

    def is_proved(self, interval: Seconds) -> bool:
        """Whether the balancer counts as not found."""
        return self.looks >= LOOKS and self.last >= self.proved_from(interval)


def missed(before: Absence | None, now: Instant, interval: Seconds) -> Absence:
    """Count one more look at which the balancer was missing.

    >>> first = missed(None, Instant(1000.0), 30.0)
    >>> third = missed(missed(first, Instant(1045.0), 30.0), Instant(1090.0), 30.0)
    >>> first.is_proved(30.0), third.is_proved(30.0)
    (False, True)
    >>> missed(third, Instant(1200.0), 30.0).since  # no look for longer than three intervals
    1200.0
    """
    if before is None or not 0 <= now - before.last <= max(INTERVALS * interval, _GAP):
        return Absence(since=now, last=now)
    return replace(before, last=now, looks=before.looks + 1)


def check_made(port: Provisioner, binding: BalancerProvision | None, found: Mapping[ManagedPart, PartStatus]) -> None:
    """Check that what was made of a balancer is still there.

    Args:
        port: the balancer.
        binding: what was made of it, as it was written down; ``None``: nothing was.
        found: what there is of it now.

    Raises:
        NotFound: a part does not exist any more.
        Permanent: a part exists, and not under the name that Trimtab gave it.
        DriverError: the cloud does not answer whether a part exists.
    """
    if binding is None or (lost := _first_lost(port.declared, binding, found)) is None:
        return
    part, known = lost
    if port.is_gone(part, known):
        raise NotFound(f"its {NAMES[part]} {known} does not exist any more", cause=FailureCause.BALANCER)
    message = f"its {NAMES[part]} {known} exists, and is not found by the name or tag that Trimtab gave it"
    raise Permanent(
        message, cause=FailureCause.BALANCER, remedy="give it back: until then nothing is made in its place"
    )


def _first_lost(
    declared: ManagedBalancer, binding: BalancerProvision, found: Mapping[ManagedPart, PartStatus]
) -> tuple[ManagedPart, str] | None:
    """The first part, in the order of making, that was made and is not found; what belongs to it is gone with it."""
    own = made_parts(declared)
    return next(
        ((part, binding.parts[part.value]) for part in own if part.value in binding.parts and part not in found), None
    )


def remade_words(declared: ManagedBalancer, error: NotFound, found: Mapping[ManagedPart, PartStatus]) -> str:
    """Return the message that a balancer is created again, and what happens to its address.

    >>> from config.units import BalancerId, CloudId
    >>> front = ManagedBalancer(id=BalancerId("front"), on=CloudId("lab"), cloud=None)
    >>> remade_words(front, NotFound("its load balancer 7 does not exist any more"), {})[:86]
    'balancer front: its load balancer 7 does not exist any more: it is made anew, perhaps '
    """
    return f"balancer {declared.id}: {error}: it is made anew, {_address(declared, found)}"


def _address(declared: ManagedBalancer, found: Mapping[ManagedPart, PartStatus]) -> str:
    pinned = pinned_address(declared)
    if pinned is None and (ManagedPart.LOADBALANCER in found or ManagedPart.ADDRESS in found):
        return "with the address that it had"
    if pinned is not None:
        return f"with the address {pinned}"
    key = "vip.address" if declared.rule is None else "rule.address"
    return f"perhaps with another address: see that clients find it, and declare {key} to keep one"
