"""Balancers that Trimtab makes itself: where they can be made, and for whom."""

from __future__ import annotations

from collections.abc import Iterator

from config.clouds import OpenstackCloud, SimulatedCloud
from config.findings import Finding
from config.managed import ManagedBalancer
from config.model import Catalogue, Group
from config.units import BalancerId
from config.where import Where

_MAKERS = (SimulatedCloud, OpenstackCloud)
"""Kinds of cloud that make balancers."""


def made(catalogue: Catalogue) -> Iterator[ManagedBalancer]:
    """Those of a catalogue."""
    return (balancer for balancer in catalogue.balancers.values() if isinstance(balancer, ManagedBalancer))


def named(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """Every place that names a cloud to make a balancer on: where, of which section, which name."""
    for balancer in made(catalogue):
        yield (*_here(balancer), "cloud"), "clouds", balancer.on


def makers(catalogue: Catalogue) -> Iterator[Finding]:
    """Find balancers of clouds that make none."""
    for balancer in made(catalogue):
        if balancer.cloud is not None and not isinstance(balancer.cloud, _MAKERS):
            message = (
                f"the cloud {balancer.on} makes no balancers, nor can HAProxy's runtime API or a shared listener: "
                "declare one that exists"
            )
            yield Finding((*_here(balancer), "cloud"), message, (("clouds", balancer.on),))


def owners(catalogue: Catalogue) -> Iterator[Finding]:
    """Find balancers that would be made for several groups: none of them could say when it is to be deleted."""
    first: dict[BalancerId, Group] = {}
    for group, where, balancer in _uses(catalogue):
        before = first.setdefault(balancer.id, group)
        if before is not group:
            message = (
                f"{balancer.id} is made for the group {before.id}, and deleted with it: declare another one, or one "
                "that exists"
            )
            leans = (("balancers", balancer.id), ("groups", before.id, "balancers"))
            yield Finding(where, message, leans)


def elsewhere(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups whose members are on another cloud than the balancer that is made for them."""
    for group, where, balancer in _uses(catalogue):
        profile = catalogue.profiles.get(group.profile)
        if profile is not None and balancer.cloud is not None and profile.cloud != balancer.on:
            message = f"{balancer.id} is made on the cloud {balancer.on}, and members come from {profile.cloud}"
            leans = (("balancers", balancer.id), ("groups", group.id, "profile"), ("profiles", profile.id, "cloud"))
            yield Finding(where, message, leans)


def _uses(catalogue: Catalogue) -> Iterator[tuple[Group, Where, ManagedBalancer]]:
    for group in catalogue.groups.values():
        for index, use in enumerate(group.balancers):
            balancer = catalogue.balancers.get(use.balancer)
            if isinstance(balancer, ManagedBalancer):
                yield group, ("groups", group.id, "balancers", str(index), "use"), balancer


def _here(balancer: ManagedBalancer) -> Where:
    return ("balancers", balancer.id, "managed")
