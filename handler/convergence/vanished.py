"""A balancer that Trimtab made, and of which a part is not there any more though Trimtab was not told to delete it.

Its parts are found by their names. A listing that lacks one may be wrong, or another account's: made anew at once, the
balancer would be there twice. So the cloud is asked for the part by the id that was written down when it was made. The
cloud's word that this id does not exist is the proof, as siblings are for a balancer that a person made: the id says
which object is meant, and the only load balancer of a project has no siblings.

Source: DESIGN.md "Moving"; docs/adr/0015.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.causes import Cause
from config.errors import NotFound, Permanent
from config.model.managed import ManagedBalancer, Part, made_parts, pinned_address
from handler.planning.provisioning import NAMES, Binding, PartStatus
from handler.ports.balancer import Provisioner


def check_made(port: Provisioner, binding: Binding | None, found: Mapping[Part, PartStatus]) -> None:
    """Check that what was made of a balancer is still there.

    Args:
        port: the balancer.
        binding: what was made of it, as it was written down; ``None``: nothing was.
        found: what there is of it now.

    Raises:
        NotFound: a part does not exist any more.
        Permanent: a part exists, and not under the name that Trimtab gave it.
        DriverError: the cloud does not say whether a part exists.
    """
    if binding is None or (lost := _first_lost(port.declared, binding, found)) is None:
        return
    part, known = lost
    if port.is_gone(part, known):
        raise NotFound(f"its {NAMES[part]} {known} does not exist any more", cause=Cause.BALANCER)
    said = f"its {NAMES[part]} {known} exists, and is not found by the name or tag that Trimtab gave it"
    raise Permanent(said, cause=Cause.BALANCER, mend="give it back: until then nothing is made in its place")


def _first_lost(
    declared: ManagedBalancer, binding: Binding, found: Mapping[Part, PartStatus]
) -> tuple[Part, str] | None:
    """The first part, in the order of making, that was made and is not found; what belongs to it is gone with it."""
    own = made_parts(declared)
    return next(
        ((part, binding.parts[part.value]) for part in own if part.value in binding.parts and part not in found), None
    )


def said_remade(declared: ManagedBalancer, error: NotFound, found: Mapping[Part, PartStatus]) -> str:
    """Say that a balancer is made anew, and what becomes of the address that clients come to.

    >>> from config.units import BalancerId, CloudId
    >>> front = ManagedBalancer(id=BalancerId("front"), on=CloudId("lab"), cloud=None)
    >>> said_remade(front, NotFound("its load balancer 7 does not exist any more"), {})[:86]
    'balancer front: its load balancer 7 does not exist any more: it is made anew, perhaps '
    """
    return f"balancer {declared.id}: {error}: it is made anew, {_address(declared, found)}"


def _address(declared: ManagedBalancer, found: Mapping[Part, PartStatus]) -> str:
    pinned = pinned_address(declared)
    if pinned is None and (Part.LOADBALANCER in found or Part.ADDRESS in found):
        return "with the address that it had"
    if pinned is not None:
        return f"with the address {pinned}"
    key = "vip.address" if declared.rule is None else "rule.address"
    return f"perhaps with another address: see that clients find it, and declare {key} to keep one"
