"""What is declared and has no effect, since nothing that counts names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.checks.findings import Finding
from config.model.catalogue import Catalogue
from config.model.counters import AlertedValue
from config.model.edits import servers_of
from config.model.effects import BringValue

_WITHOUT_EFFECT: Mapping[str, str] = {
    "sources": "no counter asks it",
    "counters": "no condition reads it, so it is never measured",
    "conditions": "no policy asks for it, so it is never judged",
    "policies": "no group follows it, so it changes no size",
    "clouds": "no profile names it",
    "balancers": "no group serves behind it",
    "profiles": "no group is made of it",
}
"""Section → why an entry that nobody names has no effect. Groups and alerts have one by themselves."""


def unused(catalogue: Catalogue) -> Iterator[Finding]:
    """Find every entry that nothing names, and alerts whose value no counter takes."""
    named = _named(catalogue)
    for section, why in _WITHOUT_EFFECT.items():
        entries = getattr(catalogue, section)
        for name in (*entries, *catalogue.schedules) if section == "policies" else entries:
            if str(name) not in named[section]:
                yield Finding((section, name), f"{why}: use it, or remove it")
    origins = (counter.source for counter in catalogue.counters.values())
    taken = {source.alert for source in origins if isinstance(source, AlertedValue)}
    for alert in catalogue.alerts.values():
        if isinstance(alert.effect, BringValue) and alert.id not in taken:
            message = f"no counter takes the value: declare one, as counters: {{NAME: {{alert: {alert.id}}}}}"
            yield Finding(("alerts", alert.id, "value"), message)


def _named(catalogue: Catalogue) -> Mapping[str, set[str]]:
    """Section → the names that something asks for."""
    groups = catalogue.groups.values()
    return {
        "sources": {server for counter in catalogue.counters.values() for server in servers_of(counter)},
        "counters": {name for condition in catalogue.conditions.values() for name in condition.counters},
        "conditions": {name for policy in catalogue.policies.values() for name in policy.when},
        "policies": {name for group in groups for name in (*group.policies, *(each.id for each in group.schedules))},
        "clouds": {profile.cloud for profile in catalogue.profiles.values()},
        "balancers": {use.balancer for group in groups for use in group.balancers},
        "profiles": {group.profile for group in groups},
    }
