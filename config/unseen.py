"""What a group waits for that nobody will ever tell it: warnings of `config.lint`."""

from __future__ import annotations

from collections.abc import Iterator

from config.findings import Finding
from config.model import Balancer, Catalogue, CloudstackRuleBalancer, ManagedBalancer, SharedListener


def unchecked(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups whose unhealthy members are to be replaced, and whose balancers check nobody's health."""
    for group in catalogue.groups.values():
        if group.repair.unhealthy is None or any(
            _may_check(catalogue.balancers[use.balancer]) for use in group.balancers
        ):
            continue
        named = ", ".join(use.balancer for use in group.balancers)
        whom = f"no balancer of the group says who is healthy ({named})" if named else "the group has no balancer"
        message = (
            f"{whom}, so nobody is ever seen to fail: leave it out, or have members serve behind a balancer "
            "that checks them (haproxy, netscaler, octavia, or managed with a health_monitor)"
        )
        yield Finding(("groups", group.id, "repair", "unhealthy"), message)


def _may_check(balancer: Balancer) -> bool:
    """Whether a balancer may know who is healthy; most of them are told elsewhere whether they check."""
    if isinstance(balancer, ManagedBalancer):
        return balancer.health_monitor is not None
    return not isinstance(balancer, SharedListener | CloudstackRuleBalancer)
