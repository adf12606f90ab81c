"""An edit of the file, as it is reported, and which entries a group uses, so which edits affect it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from config.model.catalogue import Catalogue
from config.model.counters import AlertedValue, Counter, HaproxyField, NetscalerField, PrometheusQuery
from config.model.effects import FirePolicy
from config.model.where import Where
from config.units import AlertId, GroupId, PolicyId


class Act(enum.Enum):
    """What an edit did to a key or to a whole entry."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One key that was edited, or one entry that was added or removed as a whole."""

    key: str
    """As it is shown to people: ``conditions.busy.above``."""
    act: Act
    before: str | None
    """As it was written; ``None``: it was not there, it is a whole entry, or it may be a secret."""
    after: str | None
    """Likewise, as it is written now."""
    file: str
    line: int
    """Where it stands now; of a removed value, the entry that held it."""
    groups: tuple[GroupId, ...]
    """Which groups it touches, itself or through what they use; sorted."""

    @property
    def words(self) -> str:
        """What changed, without the place.

        >>> Edit(key="groups.web.max", act=Act.CHANGED, before="8", after="9", file="f", line=1, groups=()).words
        'groups.web.max: 8 → 9'
        """
        if self.before is None and self.after is None:
            return f"{self.key}: {self.act.value}"
        return f"{self.key}: {self.before or 'not set'} → {self.after or 'not set'}"


def used(catalogue: Catalogue) -> Mapping[GroupId, frozenset[Where]]:
    """Return the entries that each group uses, itself included; references to missing entries are left out."""
    of_policies = {policy: frozenset(_of_policy(catalogue, policy)) for policy in catalogue.policies}
    of_alerts = {alert: frozenset(_of_alert(catalogue, alert, of_policies)) for alert in catalogue.alerts}
    alerts = _alerts_of(catalogue)
    return {
        group: frozenset(_of_group(catalogue, group)).union(
            *(of_policies[policy] for policy in catalogue.groups[group].policies if policy in of_policies),
            *(of_alerts[alert] for alert in alerts.get(group, ())),
        )
        for group in catalogue.groups
    }


def servers_of(counter: Counter) -> tuple[str, ...]:
    """Return the entries under ``sources`` that a counter is read from."""
    source = counter.source
    if isinstance(source, HaproxyField | NetscalerField | PrometheusQuery) and source.server is not None:
        return (source.server,)
    return ()


def _of_group(catalogue: Catalogue, group: GroupId) -> Iterator[Where]:
    declared = catalogue.groups[group]
    yield "groups", group
    yield "profiles", declared.profile
    if declared.profile in catalogue.profiles:
        yield "clouds", catalogue.profiles[declared.profile].cloud
    for use in declared.balancers:
        yield "balancers", use.balancer
        cloud = getattr(catalogue.balancers.get(use.balancer), "cloud", None)
        if cloud is not None:
            yield "clouds", cloud if isinstance(cloud, str) else cloud.id
    for name in declared.named:
        yield "policies", name
    for counter in declared.observed:
        yield from _of_counter(catalogue.counters.get(counter))
    if ("groups", group, "notify") not in catalogue.sites:
        yield ("notify",)


def _of_policy(catalogue: Catalogue, policy: PolicyId) -> Iterator[Where]:
    for name in catalogue.policies[policy].when:
        condition = catalogue.conditions.get(name)
        if condition is None:
            continue
        yield "conditions", name
        for counter in condition.counters:
            yield from _of_counter(catalogue.counters.get(counter))


def _of_counter(counter: Counter | None) -> Iterator[Where]:
    if counter is None:
        return
    yield "counters", counter.id
    for server in servers_of(counter):
        yield "sources", server
    if isinstance(counter.source, AlertedValue):
        yield "alerts", counter.source.alert


def _of_alert(catalogue: Catalogue, alert: AlertId, of_policies: Mapping[PolicyId, Iterable[Where]]) -> Iterator[Where]:
    yield "alerts", alert
    effect = catalogue.alerts[alert].effect
    if isinstance(effect, FirePolicy):
        yield "policies", effect.policy
        yield from of_policies.get(effect.policy, ())


def _alerts_of(catalogue: Catalogue) -> Mapping[GroupId, list[AlertId]]:
    found: dict[GroupId, list[AlertId]] = {}
    for alert in catalogue.alerts.values():
        for group in alert.groups:
            found.setdefault(group, []).append(alert.id)
    return found
