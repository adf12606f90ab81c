"""The declared model as the core sees it: frozen, resolved, free of YAML.

`config.document.file` builds these from a file; nothing here reads or checks text. Every default of DESIGN.md's
declared model has been applied, so no reader of these values has to know one.
"""

from __future__ import annotations

import enum
from collections import Counter as Counts
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.model.access import PUBLIC, SecretRef, ServerSource, SnmpAccess, VaultAccess
from config.model.adjustments import Action
from config.model.adjustments import Adjustment as Adjustment  # noqa: PLC0414 part of the model to its readers
from config.model.adjustments import AdjustmentVerb as AdjustmentVerb  # noqa: PLC0414 part of the model to its readers
from config.model.balancers import Balancer
from config.model.balancers import CloudstackRuleBalancer as CloudstackRuleBalancer  # noqa: PLC0414 part of the model
from config.model.balancers import NetscalerBalancer as NetscalerBalancer  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import Cloud as Cloud  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import CloudstackCloud as CloudstackCloud  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import EventBus
from config.model.clouds import LibvirtCloud as LibvirtCloud  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import OneflowCloud as OneflowCloud  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import OpennebulaCloud as OpennebulaCloud  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import OpenstackCloud as OpenstackCloud  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import ProcessCloud as ProcessCloud  # noqa: PLC0414 part of the model to its readers
from config.model.clouds import SimulatedCloud as SimulatedCloud  # noqa: PLC0414 part of the model to its readers
from config.model.cloudstack_api import CloudstackApi
from config.model.counters import Counter
from config.model.daemon import ListenOn, OidcProvider, PostgresqlPlace
from config.model.effects import Alert
from config.model.expressions import Expression
from config.model.freezes import FreezeWindow
from config.model.managed import ManagedBalancer as ManagedBalancer  # noqa: PLC0414 part of the model to its readers
from config.model.observability import Notify, Recording
from config.model.openstack import OctaviaBalancer as OctaviaBalancer  # noqa: PLC0414 part of the model to its readers
from config.model.outbound import Outbound
from config.model.pacing import STOCK, FlapDamping, Pace
from config.model.pacing import Budget as Budget  # noqa: PLC0414 part of the model to its readers
from config.model.pacing import Granted as Granted  # noqa: PLC0414 part of the model to its readers
from config.model.parts import MemberPart
from config.model.recipes import CloudstackRecipe as CloudstackRecipe  # noqa: PLC0414 part of the model to its readers
from config.model.recipes import NoProgram as NoProgram  # noqa: PLC0414 part of the model to its readers
from config.model.recipes import OneflowRecipe as OneflowRecipe  # noqa: PLC0414 part of the model to its readers
from config.model.recipes import OpennebulaRecipe as OpennebulaRecipe  # noqa: PLC0414 part of the model to its readers
from config.model.recipes import OpenstackRecipe as OpenstackRecipe  # noqa: PLC0414 part of the model to its readers
from config.model.recipes import ProcessRecipe as ProcessRecipe  # noqa: PLC0414 part of the model to its readers
from config.model.recipes import Recipe as Recipe  # noqa: PLC0414 part of the model to its readers
from config.model.reductions import Reduce, Reduction
from config.model.repair import DEFAULTS as REPAIR
from config.model.repair import Repair
from config.model.rolling import NO_HURRY, RollBudgets
from config.model.schedules import QuietScope as QuietScope  # noqa: PLC0414 part of the model to its readers
from config.model.schedules import Schedule
from config.units import (
    AlertId,
    BalancerId,
    CloudId,
    ConditionId,
    CounterId,
    Fraction,
    GroupId,
    PolicyId,
    ProfileId,
    Seconds,
    SourceId,
    WorkerName,
)

# Conditions: a comparison that is TRUE, FALSE or UNKNOWN.


class Compare(enum.Enum):
    """The comparison of a condition, value on the left."""

    ABOVE = "above"
    AT_LEAST = "at_least"
    BELOW = "below"
    AT_MOST = "at_most"
    EQUALS = "equals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Aggregate ``counter`` ``across`` members, then over ``window``, and compare with ``threshold``."""

    id: ConditionId
    counter: CounterId
    across: Reduction = Reduce.AVG
    aggregate: Reduction = Reduce.AVG
    window: Seconds | None = None
    """``None``: one interval of the group that uses it."""
    compare: Compare
    threshold: float
    in_unit: str | None = None
    """The threshold was written in a unit that is none of its counter: `config.checks.catalogue` refuses it."""
    per_member: bool = False
    """The threshold is one member's share: the value is compared with it times the desired size."""
    quorum: float | None = None
    """0 < quorum ≤ 1: if this share of members has answered, the answer counts without the others."""

    @property
    def counters(self) -> tuple[CounterId, ...]:
        """Every counter that has to be measured for it."""
        return (self.counter,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One name of an expression, and the aggregate that it stands for."""

    name: str
    """As the expression has it: ``cpu``, ``cpu.p95``."""
    counter: CounterId
    aggregate: Reduction


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCondition:
    """Judge ``expression`` over aggregates: each counter ``across`` members, then over ``window``."""

    id: ConditionId
    expression: Expression
    terms: tuple[Term, ...]
    """Every name of the expression once, in the order of the text."""
    across: Reduction = Reduce.AVG
    window: Seconds | None = None
    """``None``: one interval of the group that uses it."""
    quorum: float | None = None
    """As for `Condition`, for each term by itself."""

    @property
    def counters(self) -> tuple[CounterId, ...]:
        """Every counter that has to be measured for it, once."""
        return tuple(dict.fromkeys(term.counter for term in self.terms))


AnyCondition = Condition | ExpressionCondition
"""Closed union of what a policy can ask."""


# Policies: conditions, how long they must hold, and what to do then.


class Holds(enum.Enum):
    """What must hold for the duration."""

    THROUGHOUT = "throughout"
    """Every evaluation of the duration was TRUE."""
    AVERAGE = "average"
    """The average over the duration satisfies the condition: CloudStack's virtual router."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InARow:
    """Instead of a duration: so many evaluations in a row, OneFlow's ``period_number`` and ``period``."""

    times: int
    """At least 1."""
    every: Seconds
    """Evaluations are no closer than this, nor than ticks are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When enough conditions have held for ``duration``, adjust; then be quiet for ``quiet_time``."""

    id: PolicyId
    when: tuple[ConditionId, ...]
    enough: int | None = None
    """How many of the conditions must be TRUE; ``None``: all of them."""
    duration: Seconds = 0.0
    in_a_row: InARow | None = None
    """Counted instead of ``duration``, which is then 0."""
    holds: Holds = Holds.THROUGHOUT
    adjustment: Action
    quiet_time: Seconds = 300.0
    quiet_scope: QuietScope = QuietScope.GROUP


# Balancers and profiles: where members serve, and what they are made of.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyProbe:
    """A member is ready when ``GET http://address:port/path`` answers 200 to 399; BROKEN if not ``within``."""

    path: str
    port: int
    within: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a new member is made of. A changed profile moves nothing that runs."""

    id: ProfileId
    cloud: CloudId
    recipe: Recipe
    snmp: SnmpAccess = PUBLIC
    ready: ReadyProbe | None = None
    parts: tuple[MemberPart, ...] = ()
    """In the order in which they are made, before the member's machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerUse:
    """Members serve ``port`` behind ``balancer``."""

    balancer: BalancerId
    port: int


# Groups.


class Mode(enum.Enum):
    """How far Trimtab goes for a group."""

    OFF = "off"
    ADVISE = "advise"
    """Computes and records everything, starts no quiet time, touches nothing."""
    ACT = "act"


class OnVanish(enum.Enum):
    """What a vanished member means."""

    REPLACE = "replace"
    SHRINK = "shrink"


class Projection(enum.Enum):
    """Whether a scale-in after which the group would want to grow again is held back."""

    ON = "on"
    OFF = "off"


MOST_MISSING = Fraction(0.3)
"""The default share of members that a listing may lack at once and still be used."""


class Victims(enum.Enum):
    """Which members are removed first of those that are alike."""

    OLDEST = "oldest"
    NEWEST = "newest"
    OLDEST_PROFILE = "oldest_profile"
    """Made of another profile than new members are now."""
    LEAST_CONNECTIONS = "least_connections"
    ZONE_BALANCE = "zone_balance"
    """In the zone that has the most."""
    RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A fleet of like members and the rules that size it."""

    id: GroupId
    profile: ProfileId
    balancers: tuple[BalancerUse, ...] = ()
    exclusive: bool = False
    """Foreign machines have no place at its balancers: it gets none with some, and those that come are reported."""
    minimum: int
    maximum: int
    initial: int | None = None
    """Size of a group that was never known before and has no member; ``None``: the least. Used once."""
    interval: Seconds = 30.0
    policies: tuple[PolicyId, ...] = ()
    """Policies with conditions."""
    schedules: tuple[Schedule, ...] = ()
    """Policies with a schedule, resolved."""
    named: tuple[PolicyId, ...] = ()
    """What the file lists: both, and what the size follows by one name."""
    observed: tuple[CounterId, ...] = ()
    """Counters that are measured and exported for their own sake."""
    member_values: int = 0
    """Members whose own values are exported."""
    mode: Mode = Mode.ACT
    quiet_time: Seconds = 300.0
    """After a resize by a person or an alarm without a policy."""
    blind_floor: int | None = None
    """``blind: floor N``: raise to N without enough data. ``None`` is ``blind: hold``."""
    drain: Seconds = 60.0
    grace: Seconds = 120.0
    """How long a member may take to stop by itself once it is destroyed."""
    build_timeout: Seconds = 900.0
    warm_up: Seconds = 60.0
    """After it came into service a member counts in size but not in metrics."""
    on_vanish: OnVanish = OnVanish.REPLACE
    repair: Repair = REPAIR
    victims: Victims = Victims.OLDEST
    distrust: Fraction = MOST_MISSING
    """0 < share ≤ 1: a listing that lacks more of the members is not used until the loss is confirmed."""
    freshness: int = 3
    """Intervals after which the newest value is stale."""
    projection: Projection = Projection.ON
    budget: Budget = STOCK
    roll: RollBudgets = NO_HURRY
    """Of a roll that does not say otherwise."""
    max_growth: Pace | None = None
    """What policies and alarms may add in a span of time."""
    max_shrinkage: Pace | None = None
    flap_damping: FlapDamping | None = None
    stabilisation: Seconds | None = None
    """The highest advice of so long wins for scale-in."""
    keep_growth: Seconds | None = None
    """No policy and no alarm shrinks the group for so long after it grew; growth never waits for it."""
    freezes: tuple[FreezeWindow, ...] = ()
    """When policies and alarms leave the size alone."""
    notify: Notify | None = None
    """Its own, or the one for all groups."""
    service: str | None = None
    """Groups of one service scale one at a time and take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a declaration stands, for messages that send people there."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Everything declared, as one immutable snapshot; one snapshot per tick."""

    digest: str
    """SHA-256 of the model's content, hex: the configuration hash shown with every decision."""
    sources: Mapping[SourceId, ServerSource] = field(default_factory=lambda: MappingProxyType({}))
    counters: Mapping[CounterId, Counter]
    conditions: Mapping[ConditionId, AnyCondition]
    policies: Mapping[PolicyId, Policy]
    """Policies with conditions."""
    schedules: Mapping[PolicyId, Schedule] = field(default_factory=lambda: MappingProxyType({}))
    """Policies with a schedule; no name is in both."""
    clouds: Mapping[CloudId, Cloud]
    balancers: Mapping[BalancerId, Balancer]
    profiles: Mapping[ProfileId, Profile]
    groups: Mapping[GroupId, Group]
    alerts: Mapping[AlertId, Alert] = field(default_factory=lambda: MappingProxyType({}))
    writable: bool = False
    """A setting that a person applies is written into the file. No decision depends on it, nor does the digest."""
    record: Recording | None = None
    """Keep every sample of every tick, and how; ``None``: the file does not ask for it.
    Nor does the digest depend on it."""
    listen: ListenOn = field(default_factory=ListenOn)
    """Where the daemon listens. No decision depends on it, nor does the digest."""
    seal: SecretRef | None = None
    """The key of the store's sealed secrets; ``None``: the state directory's own. Nor does the digest depend on it."""
    oidc: OidcProvider | None = None
    """Where persons may log in; ``None``: with passwords alone. Nor does the digest depend on it."""
    outbound: Outbound = field(default_factory=Outbound)
    """Where the URLs of `guarded` may lead. Nor does the digest depend on it."""
    guarded: frozenset[CounterId] = frozenset()
    """Counters whose URLs the file does not have: they are declared over the API."""
    vault: VaultAccess | None = None
    """Where secrets with a path are kept; ``None``: there is none. Nor does the digest depend on it."""
    cloudstack_api: CloudstackApi | None = None
    """What CloudStack's query API stands for; ``None``: it is not served. Nor does the digest depend on it."""
    store: PostgresqlPlace | None = None
    """Where the state is; ``None``: in a file of the state directory. Nor does the digest depend on it."""
    event_buses: Mapping[CloudId, EventBus] = field(default_factory=lambda: MappingProxyType({}))
    """Clouds whose events are listened to. No decision depends on them, nor does the digest."""
    on_workers: Mapping[tuple[str, str], tuple[WorkerName, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Clouds, balancers and sources that only some workers reach, as ``("clouds", "prod")``, and which: at least one.
    Nor does the digest depend on it: who acts changes no member."""
    written: Mapping[tuple[str, ...], str] = field(default_factory=lambda: MappingProxyType({}))
    """Every value of the file as it is written (`config.document.statement`); the digest does not depend on it."""
    sites: Mapping[tuple[str, ...], Site]
    """``("groups", "web")`` → where it is declared; ``("groups", "web", "min")`` → where that value is."""

    _granted: dict[CloudId, Granted] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `granted` has worked out before: a replay asks at every tick."""

    def granted(self, cloud: CloudId) -> Granted:
        """Return the budget of a cloud, given all groups that use it."""
        if not self._granted:
            maximum = Counts[CloudId]()
            for group in self.groups.values():
                maximum[self.profiles[group.profile].cloud] += group.maximum
            self._granted.update((name, each.budget.granted(maximum[name])) for name, each in self.clouds.items())
        return self._granted[cloud]
