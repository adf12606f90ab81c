"""Pools of Octavia and the clouds that they belong to. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.catalogue import Catalogue, OctaviaBalancer, OpenstackCloud
from config.model.where import Where


def named(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """Every pool's cloud: where it is named, of which section it is, and its name."""
    for balancer in catalogue.balancers.values():
        if isinstance(balancer, OctaviaBalancer):
            yield _at(balancer), "clouds", balancer.cloud


def reachable(catalogue: Catalogue) -> Iterator[Finding]:
    """Find pools on clouds that have no Octavia."""
    for balancer in catalogue.balancers.values():
        if not isinstance(balancer, OctaviaBalancer) or balancer.cloud not in catalogue.clouds:
            continue
        if not isinstance(catalogue.clouds[balancer.cloud], OpenstackCloud):
            message = f"{balancer.cloud} is no cloud of OpenStack, and Octavia is a part of one"
            yield Finding(_at(balancer), message, (("clouds", balancer.cloud),))


def _at(balancer: OctaviaBalancer) -> Where:
    return ("balancers", balancer.id, "octavia", "cloud")
