"""What the section ``cloudstack_api`` may name."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.catalogue import Catalogue, CloudstackCloud
from config.model.cloudstack_api import ApiZone
from config.model.where import Where
from config.units import CloudId


def named(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """Yield every place that names an entity: where, of which section, which name."""
    api = catalogue.cloudstack_api
    if api is None:
        return
    for zone_id, zone in api.zones.items():
        for where, cloud in _clouds_of(zone_id, zone):
            yield where, "clouds", cloud
    for rule_id, rule in api.rules.items():
        yield ("cloudstack_api", "rules", rule_id, "use"), "balancers", rule.balancer


def clouds(catalogue: Catalogue) -> Iterator[Finding]:
    """Find zones of clouds that profiles of CloudStack mean nothing to."""
    api = catalogue.cloudstack_api
    for zone_id, zone in () if api is None else api.zones.items():
        for where, cloud in _clouds_of(zone_id, zone):
            if cloud in catalogue.clouds and not isinstance(catalogue.clouds[cloud], CloudstackCloud):
                message = f"the cloud {cloud} is not of kind cloudstack: name one that is"
                yield Finding(where, message, (("clouds", cloud),))


def rules(catalogue: Catalogue) -> Iterator[Finding]:
    """Find names of rules that stand twice: the groups could not be told apart."""
    api = catalogue.cloudstack_api
    seen: dict[str, str] = {}
    for rule_id, rule in () if api is None else api.rules.items():
        if rule.name in seen:
            where = ("cloudstack_api", "rules", rule_id, "name")
            yield Finding(where, f"{rule.name!a} is the name of {seen[rule.name]}, too: give each rule its own")
        seen.setdefault(rule.name, rule_id)


def _clouds_of(zone_id: str, zone: ApiZone) -> Iterator[tuple[Where, CloudId]]:
    """Yield every cloud that a zone names, and where."""
    at = ("cloudstack_api", "zones", zone_id)
    yield (*at, "cloud"), zone.cloud
    for user, cloud in zone.acts_as.items():
        yield (*at, "acts_as", user), cloud
