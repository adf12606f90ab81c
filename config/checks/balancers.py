"""Check balancers against clouds: where Trimtab makes them itself, for which groups, and at what address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.balancers import HaproxyBalancer
from config.model.catalogue import Catalogue, CloudstackRecipe, Group, OctaviaBalancer, OpenstackCloud
from config.model.clouds import CloudstackCloud, SimulatedCloud
from config.model.managed import ManagedBalancer, pinned_address
from config.model.where import Where
from config.units import BalancerId

_MAKERS = (SimulatedCloud, OpenstackCloud, CloudstackCloud)
"""Kinds of cloud that make balancers."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def made(catalogue: Catalogue) -> Iterator[ManagedBalancer]:
    """Those of a catalogue."""
    return (balancer for balancer in catalogue.balancers.values() if isinstance(balancer, ManagedBalancer))


def named(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """Every place where a balancer names its cloud: where, of which section, which name."""
    for balancer in catalogue.balancers.values():
        if isinstance(balancer, ManagedBalancer):
            yield (*_managed(balancer), "cloud"), "clouds", balancer.on
        elif isinstance(balancer, OctaviaBalancer):
            yield _cloud_of_pool(balancer), "clouds", balancer.cloud


def makers(catalogue: Catalogue) -> Iterator[Finding]:
    """Find balancers of clouds that make none."""
    for balancer in made(catalogue):
        if balancer.cloud is not None and not isinstance(balancer.cloud, _MAKERS):
            message = (
                f"the cloud {balancer.on} makes no balancers, and neither HAProxy's runtime API nor a shared "
                "listener can make one: declare one that exists"
            )
            yield Finding((*_managed(balancer), "cloud"), message, (("clouds", balancer.on),))


def shapes(catalogue: Catalogue) -> Iterator[Finding]:
    """Find rules to be made outside CloudStack, and managed balancers on CloudStack that are no rule."""
    for balancer in made(catalogue):
        if not isinstance(balancer.cloud, _MAKERS):
            continue
        leans = (("clouds", balancer.on), (*_managed(balancer), "cloud"))
        is_rule, of_rules = balancer.rule is not None, isinstance(balancer.cloud, CloudstackCloud)
        if is_rule and not of_rules:
            message = f"a rule is CloudStack's, and the cloud {balancer.on} is none: write vip or loadbalancer"
            yield Finding((*_managed(balancer), "rule"), message, leans)
        if of_rules and not is_rule:
            given = "vip" if balancer.vip is not None else "loadbalancer"
            message = f"{given} is Octavia's, and the cloud {balancer.on} is CloudStack: write rule"
            yield Finding((*_managed(balancer), given), message, leans)


def ports(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups with members that serve on another port than the one that their rule leads to."""
    for group, where, balancer in _uses(catalogue):
        use = group.balancers[int(where[-2])]
        if balancer.rule is not None and balancer.rule.private_port != use.port:
            message = f"{use.port} is not the private_port of {balancer.id}, {balancer.rule.private_port}"
            leans = (("balancers", balancer.id), where)
            yield Finding((*where[:-1], "port"), message, leans)


def networks(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups with members outside the network of their rule, as far as names tell."""
    for group, where, balancer in _uses(catalogue):
        profile = catalogue.profiles.get(group.profile)
        recipe = None if profile is None else profile.recipe
        wanted = None if balancer.rule is None else balancer.rule.network
        if not isinstance(recipe, CloudstackRecipe) or wanted is None or _by_id(wanted, *recipe.networks):
            continue
        if recipe.networks and wanted not in recipe.networks:
            message = f"{balancer.id} is made in the network {wanted}, and members are in {', '.join(recipe.networks)}"
            leans = (("balancers", balancer.id), ("groups", group.id, "profile"), ("profiles", group.profile))
            yield Finding(where, message, leans)


def _by_id(*written: str) -> bool:
    return any(_UUID.fullmatch(each) for each in written)


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
    """Find groups with members on another cloud than the balancer that is made for them."""
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


def _managed(balancer: ManagedBalancer) -> Where:
    return ("balancers", balancer.id, "managed")


def pools(catalogue: Catalogue) -> Iterator[Finding]:
    """Find pools on clouds that have no Octavia."""
    for balancer in catalogue.balancers.values():
        if not isinstance(balancer, OctaviaBalancer) or balancer.cloud not in catalogue.clouds:
            continue
        if not isinstance(catalogue.clouds[balancer.cloud], OpenstackCloud):
            message = f"{balancer.cloud} is no cloud of OpenStack, and Octavia is a part of one"
            yield Finding(_cloud_of_pool(balancer), message, (("clouds", balancer.cloud),))


def _cloud_of_pool(balancer: OctaviaBalancer) -> Where:
    return ("balancers", balancer.id, "octavia", "cloud")


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


def maps(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups with members that two balancers would keep under one entry of one map of HAProxy."""
    for group in catalogue.groups.values():
        first: dict[tuple[str, str, int], HaproxyBalancer] = {}
        for index, use in enumerate(group.balancers):
            balancer = catalogue.balancers.get(use.balancer)
            if not isinstance(balancer, HaproxyBalancer) or balancer.template is None:
                continue
            places = [(socket, balancer.template.map, use.port) for socket in balancer.sockets]
            others = {first.setdefault(place, balancer).id for place in places} - {balancer.id}
            if others:
                other = min(others)
                message = (
                    f"{balancer.id} has the map of {other}, {balancer.template.map}: a member at port {use.port} has "
                    "one entry there, which the first of the two removes: give each of them a map of its own"
                )
                leans = (("balancers", balancer.id), ("balancers", other))
                yield Finding(("groups", group.id, "balancers", str(index), "use"), message, leans)
