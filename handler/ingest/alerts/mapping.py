"""What the alerts of a payload mean here: alerts × declared alerts × what the webhook may do → acts on groups.

* An alert means something by labels that are exactly those declared; its group is one that is declared, too.
* ``DatasourceNoData`` and ``DatasourceError``, and whatever Grafana says it fires for want of data, mean that the
  source is blind: no scale-in, and never a policy, a floor or a value. Such an alert lacks the labels that its query
  would have given, so what it lacks is taken to fit: blind are all groups that it may be about.
* Grafana resolves an alert for want of data, too, if configured to. That ends nothing: what lasts ends by its time to
  live.

Source: the mapping table of docs/alerts.md.
"""

from __future__ import annotations

import enum
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from config.model.catalogue import AdjustmentVerb, Catalogue, Policy
from config.model.effects import Alert, BringValue, EffectKind, FirePolicy, Freeze, RaiseFloor, Shield, kind_of
from config.units import AlertId, GroupId, Instant, PolicyId
from handler.ingest.alerts.notifications import ReceivedAlert
from handler.ports.alerts import AlertStatus, StoredHook
from trigger.policies.signals import blinded, signals_of
from trigger.requests import Signal
from trigger.verdicts import Direction

MEANINGS_AT_MOST = 5_000
"""Of one payload: alerts times groups. Beyond it the event loop would be held for too long."""

_NAME = "alertname"
_RULE_NAME = "rulename"
_NO_DATA = frozenset({"DatasourceNoData", "DatasourceError"})
_STATE_REASON = "grafana_state_reason"
_NO_DATA_REASONS = frozenset({"NoData", "Error"})
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)

_DIRECTIONS: Mapping[AdjustmentVerb, frozenset[Direction]] = {
    AdjustmentVerb.ADD: frozenset({Direction.OUT}),
    AdjustmentVerb.REMOVE: frozenset({Direction.IN}),
    AdjustmentVerb.SET: frozenset(Direction),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What a webhook may do."""

    groups: frozenset[GroupId]
    """Empty: every group."""
    effects: frozenset[EffectKind]
    directions: frozenset[Direction]
    """Which way it may move a size. A policy that sets one needs both; shields, freezes and values move none."""


EVERYTHING = Permissions(groups=frozenset(), effects=frozenset(EffectKind), directions=frozenset(Direction))


class Why(enum.Enum):
    """Why an alert that means something does nothing."""

    NOT_PERMITTED = "not_permitted"
    """The webhook may not do this, or not to this group."""
    NO_SUCH_GROUP = "no_such_group"
    """The label that names the group names none of the declared alert's groups."""
    NO_START = "no_start"
    """Without a start or an id, a policy would be fired again by every repetition."""
    NO_NUMBER = "no_number"
    """There is no number where the value should be."""
    OVER = "over"
    """It was resolved before it fired: the notifications came in the wrong order."""
    BEGUN_AGAIN = "begun_again"
    """Resolved is an earlier one; the same alert has begun again since."""
    RESOLVED_BLIND = "resolved_blind"
    """Resolved only for want of data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """Request the execution of a policy."""

    policy: PolicyId


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Begin or renew what lasts."""

    signals: tuple[Signal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAlert:
    """End all that lasts of it, and its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bring:
    """Bring a reading."""

    value: float
    until: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """Do nothing, for a reason."""

    why: Why


Act = Fire | Begin | EndAlert | Bring | Nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What one alert means for one group, by one declared alert."""

    id: str
    """The same for every repetition: of (declared alert, fingerprint, start or episode, status). A
    policy's request has it."""
    group: GroupId | None
    """``None`` only with NO_SUCH_GROUP."""
    alert: AlertId
    received: ReceivedAlert
    act: Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """What a payload means."""

    meanings: tuple[Meaning, ...]
    unmatched: int
    """Alerts that fit no declared one."""
    too_many: bool = False
    """It means more than `MEANINGS_AT_MOST`; nothing of it is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """A catalogue's alerts, found by a label."""

    policies: Mapping[PolicyId, Policy]
    alerts: Mapping[AlertId, Alert]
    by_label: Mapping[tuple[str, str], tuple[Alert, ...]] = field(repr=False)

    @classmethod
    def of(cls, catalogue: Catalogue) -> Rules:
        """Index a catalogue's alerts, each under one of its labels: the alert's name if that is declared."""
        by_label: dict[tuple[str, str], tuple[Alert, ...]] = {}
        for alert in catalogue.alerts.values():
            label = _NAME if _NAME in alert.match else min(alert.match)
            key = (label, alert.match[label])
            by_label[key] = (*by_label.get(key, ()), alert)
        return cls(policies=catalogue.policies, alerts=catalogue.alerts, by_label=by_label)


def mapped(rules: Rules, alerts: Sequence[ReceivedAlert], may: Permissions, now: Instant) -> Mapped:
    """Return the meanings of alerts, in their order. Total; depends on nothing else."""
    meanings: list[Meaning] = []
    unmatched = 0
    for received in alerts:
        found = [
            meaning for alert in _fitting(rules, received) for meaning in _meanings(rules, alert, received, may, now)
        ]
        unmatched += not found
        meanings += found
        if len(meanings) > MEANINGS_AT_MOST:
            return Mapped(meanings=(), unmatched=0, too_many=True)
    return Mapped(meanings=tuple(meanings), unmatched=unmatched)


def permissions_of(hook: StoredHook) -> Permissions:
    """What a webhook may do."""
    return Permissions(
        groups=frozenset(hook.groups), effects=frozenset(hook.effects), directions=frozenset(hook.directions)
    )


def is_blind(received: ReceivedAlert) -> bool:
    """Return whether it is about missing data, not about values."""
    return (
        received.no_data
        or received.labels.get(_NAME) in _NO_DATA
        or (received.status is AlertStatus.FIRING and received.annotations.get(_STATE_REASON) in _NO_DATA_REASONS)
    )


def _labels(received: ReceivedAlert) -> Mapping[str, str]:
    """Its labels; a ``DatasourceNoData`` goes by the name of its rule."""
    if received.labels.get(_NAME) not in _NO_DATA or _RULE_NAME not in received.labels:
        return received.labels
    return {**received.labels, _NAME: received.labels[_RULE_NAME]}


def _fitting(rules: Rules, received: ReceivedAlert) -> Iterator[Alert]:
    labels, lenient = _labels(received), is_blind(received) and not received.no_data
    for pair in labels.items():
        for alert in rules.by_label.get(pair, ()):
            if all(
                labels.get(label) == value or (lenient and _NAME in alert.match and label not in labels)
                for label, value in alert.match.items()
            ):
                yield alert


def _meanings(rules: Rules, alert: Alert, received: ReceivedAlert, may: Permissions, now: Instant) -> Iterator[Meaning]:
    known = meaning_id(alert.id, received)
    groups = _groups(alert, received)
    if not groups:
        yield Meaning(id=known, group=None, alert=alert.id, received=received, act=Nothing(why=Why.NO_SUCH_GROUP))
        return
    act = _act(alert, received, now)
    permitted = is_blind(received) or _permitted(rules, alert, may)
    for group in groups:
        allowed = permitted and (not may.groups or group in may.groups)
        done = act if allowed else Nothing(why=Why.NOT_PERMITTED)
        yield Meaning(id=known, group=group, alert=alert.id, received=received, act=done)


def meaning_id(alert: AlertId, received: ReceivedAlert) -> str:
    """The id that all repetitions of one alert, start (or episode) and status share."""
    began = repr(received.starts_at) if received.episode is None else received.episode
    text = f"{received.fingerprint} {began} {received.status.value}"
    return f"{alert}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _groups(alert: Alert, received: ReceivedAlert) -> Sequence[GroupId]:
    if alert.group_label is None:
        return alert.groups
    named = received.labels.get(alert.group_label)
    if named is None and is_blind(received):
        return alert.groups
    return (alert.groups[alert.groups.index(GroupId(named))],) if named in alert.groups else ()


def _permitted(rules: Rules, alert: Alert, may: Permissions) -> bool:
    match alert.effect:
        case FirePolicy(policy=policy):
            ways = _DIRECTIONS[rules.policies[policy].adjustment.verb]
        case RaiseFloor():
            ways = frozenset({Direction.OUT})
        case Shield() | Freeze() | BringValue():
            ways = frozenset()
        case _:
            assert_never(alert.effect)
    return kind_of(alert.effect) in may.effects and ways <= may.directions


def _act(alert: Alert, received: ReceivedAlert, now: Instant) -> Act:
    if received.status is AlertStatus.RESOLVED:
        for_want_of_data = received.annotations.get(_STATE_REASON) in _NO_DATA_REASONS
        return Nothing(why=Why.RESOLVED_BLIND) if for_want_of_data and not is_blind(received) else EndAlert()
    match alert.effect:
        case FirePolicy(policy=policy) if not is_blind(received):
            known = received.starts_at is not None or received.episode is not None
            return Fire(policy=policy) if known else Nothing(why=Why.NO_START)
        case BringValue(field=name) if not is_blind(received):
            value = _number(received, name)
            if value is None:
                return Nothing(why=Why.NO_NUMBER)
            return Bring(value=value, until=Instant(now + alert.ttl))
        case _:
            since = received.starts_at if received.starts_at is not None else now
            if is_blind(received):
                return Begin(signals=(blinded(alert, received.fingerprint, since=since, now=now),))
            return Begin(signals=signals_of(alert, received.fingerprint, since=since, now=now))


def _number(received: ReceivedAlert, name: str) -> float | None:
    if name in received.values:
        return received.values[name]
    text = received.annotations.get(name, received.labels.get(name, ""))
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None
