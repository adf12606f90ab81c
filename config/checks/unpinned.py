"""Balancers that Trimtab makes at an address that the cloud chooses: warnings of `config.checks.lint`."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.catalogue import Catalogue
from config.model.clouds import SimulatedCloud
from config.model.managed import ManagedBalancer, pinned_address


def unpinned(catalogue: Catalogue) -> Iterator[Finding]:
    """Find load balancers that might come back with another address if they were deleted."""
    for balancer in catalogue.balancers.values():
        if not isinstance(balancer, ManagedBalancer) or isinstance(balancer.cloud, SimulatedCloud):
            continue
        if balancer.rule is None and pinned_address(balancer) is None:  # a rule's acquired address outlives the rule
            message = (
                "no address is written, so the cloud chooses one whenever the balancer is made: if it were deleted, "
                "Trimtab would make it anew, perhaps with another address: write address"
            )
            yield Finding(("balancers", balancer.id, "managed", "vip"), message)
