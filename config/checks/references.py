"""Which entities name which others, and names that stand for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from config.build.targets import owner_of
from config.checks import alerts, answering, balancers, cloudstack_api
from config.checks.findings import Finding, as_written
from config.model.catalogue import Catalogue, Condition
from config.model.counters import AlertedValue
from config.model.effects import FirePolicy
from config.model.where import Where, hint
from config.settings import secret_owners


def unknown(catalogue: Catalogue) -> Iterator[Finding]:
    """Find names that stand for nothing."""
    sections = {
        "sources": {str(name) for name in catalogue.sources},
        "counters": {str(name) for name in catalogue.counters},
        "conditions": {str(name) for name in catalogue.conditions},
        "policies": {owner_of(name) for name in (*catalogue.policies, *catalogue.schedules)},
        "clouds": {str(name) for name in catalogue.clouds},
        "balancers": {str(name) for name in catalogue.balancers},
        "profiles": {str(name) for name in catalogue.profiles},
        "groups": {str(name) for name in catalogue.groups},
        "alerts": {str(name) for name in catalogue.alerts},
    }
    for where, section, name in named(catalogue):
        if name not in sections[section]:
            message = f"{name!a} is not among the {section}{hint(name, sections[section])}"
            yield Finding(where, message, ((section, name),))


def named(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """Yield every place that names an entity: where, of which section, which name."""
    yield from _named_by_alerts(catalogue)
    yield from answering.named(catalogue)
    yield from balancers.named(catalogue)
    yield from cloudstack_api.named(catalogue)
    yield from _named_by_conditions(catalogue)
    for policy in catalogue.policies.values():
        for index, name in enumerate(policy.when):
            yield ("policies", policy.id, "when", str(index)), "conditions", name
    for profile in catalogue.profiles.values():
        yield ("profiles", profile.id, "cloud"), "clouds", profile.cloud
    for group in catalogue.groups.values():
        here = ("groups", group.id)
        yield (*here, "profile"), "profiles", group.profile
        for index, use in enumerate(group.balancers):
            yield (*here, "balancers", str(index), "use"), "balancers", use.balancer
        for index, policy_id in enumerate(group.named):
            yield (*here, "policies", str(index)), "policies", policy_id
        for index, counter in enumerate(group.observed):
            yield (*here, "observe", str(index)), "counters", counter


def _named_by_conditions(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    for condition in catalogue.conditions.values():
        place = "counter" if isinstance(condition, Condition) else "expression"
        for counter in condition.counters:
            yield ("conditions", condition.id, place), "counters", counter


def _named_by_alerts(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """As `named`: the entries that alerts name, and the entries that name alerts."""
    for counter in catalogue.counters.values():
        if isinstance(counter.source, AlertedValue):
            yield ("counters", counter.id, "alert"), "alerts", counter.source.alert
    for alert in catalogue.alerts.values():
        if isinstance(alert.effect, FirePolicy):
            yield alerts.effect_at(alert), "policies", alert.effect.policy
        for index, group in enumerate(alert.groups):
            yield ("alerts", alert.id, "groups", str(index)), "groups", group


def repeats(catalogue: Catalogue) -> Iterator[Finding]:
    """A name that stands twice in one list."""
    seen: set[tuple[Where, str]] = set()
    for where, section, name in named(catalogue):
        holder = (*where[:3], section)
        if where[2] in {"when", "policies", "balancers", "groups", "observe"} and (holder, name) in seen:
            yield Finding(where, f"{name!a} appears twice in this list")
        seen.add((holder, name))


def users(catalogue: Catalogue) -> Mapping[Where, Mapping[Where, Where]]:
    """Return the users of each entity that is named: entity → its users → the place in each that names it first.

    Entities are as they are declared: what a target stands for belongs to its policy.
    """
    found: dict[Where, dict[Where, Where]] = {}
    for where, section, name in named(catalogue):
        place = as_written(catalogue, where)
        used = as_written(catalogue, (section, name))[:_ENTITY]
        if used != place[:_ENTITY]:
            found.setdefault(used, {}).setdefault(place[:_ENTITY], place)
    return found


def needed(catalogue: Catalogue, keys: Iterable[Where]) -> frozenset[Where]:
    """Return some entities with everything that they name, and what that names."""
    uses: dict[Where, set[Where]] = {}
    for used, by in users(catalogue).items():
        for user in by:
            uses.setdefault(user, set()).add(used)
    found, left = set[Where](), list(keys)
    while left:
        key = left.pop()
        if key not in found:
            found.add(key)
            left.extend(uses.get(key, ()))
    return frozenset(found)


_ENTITY = 2
"""Length of the path to an entity: section and id."""


def unreachable_secrets(catalogue: Catalogue) -> Iterator[Finding]:
    """Find secrets that are in a vault which the file does not say how to reach."""
    if catalogue.vault is None:
        for ref, where in secret_owners(catalogue):
            if ref.vault is not None:
                yield Finding(where, f"{ref.place} is out of reach: the file has no section vault", (("vault",), where))
