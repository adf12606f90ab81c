"""The YAML file as it is written: which keys there are, and what each of them takes.

This is the one place where pydantic is used for the file. `config.build.catalogue` turns a document into
`config.model.catalogue` values, `config.document.wording` turns pydantic's complaints into problems,
`config.document.schema` turns these classes into a JSON Schema.

Every field has a description and an example; the example also stands in for a wrong value while the rest of the file
is still judged. `later` names keys that Trimtab's design has and this version does not serve yet, and the feature that
each belongs to: they are refused by name. `hidden` names keys with values that may be secret: no message repeats them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, Strict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from config.document.addresses import Url
from config.document.balancers import BalancerDocument, BalancerUseDocument
from config.document.clouds import CloudDocument, GroupBudgetDocument
from config.document.cloudstack_api import CloudstackApiDocument
from config.document.conditions import ConditionDocument
from config.document.counters import CounterDocument
from config.document.declared import Declared, key, must
from config.document.listening import ListenDocument
from config.document.oidc import OidcDocument
from config.document.outbound import OutboundDocument
from config.document.pacing import FlapDampingDocument, PaceDocument
from config.document.policies import PolicyDocument
from config.document.profiles import ProfileDocument
from config.document.record import RecordDocument
from config.document.repair import RepairDocument
from config.document.rolling import RollDocument
from config.document.scalars import (
    AbsolutePath,
    BlindRule,
    Given,
    GroupName,
    Label,
    Name,
    PositiveSpan,
    Share,
    Span,
    Text,
    Yes,
)
from config.document.schedules import FreezeDocument
from config.document.sources import SealDocument, SecretDocument, SourceDocument
from config.document.storing import StoreDocument
from config.document.vault import VaultDocument
from config.model.catalogue import Mode, OnVanish, Projection, Victims
from config.model.effects import EffectKind, FrozenDirection
from config.model.observability import NoticeFormat, Severity


class AlertDocument(Declared):
    """An alert of Alertmanager or Grafana that means something here. Exactly one effect."""

    choice: ClassVar[tuple[str, ...]] = tuple(kind.value for kind in EffectKind)
    choice_of: ClassVar[str] = "the effect"

    match: Annotated[dict[Label, Text], Field(min_length=1)] = must(
        "Labels that the alert must have, each with exactly this value.", {"alertname": "WebSlow", "env": "prod"}
    )
    groups: Annotated[list[Name], Field(min_length=1)] = must("The groups that it may affect.", ["web"])
    group_label: Annotated[Label | None, Given] = key(
        "The label that names the one of these groups that is affected.", "service", left_out="all of them are"
    )
    fire: Annotated[Name | None, Given] = key(
        "Carry out this policy of the groups, once for each time that the alert begins.", "out"
    )
    floor: Annotated[Annotated[int, Field(ge=1)] | None, Given] = key(
        "While it fires: at least this many members.", 8, unit="members"
    )
    shield: Annotated[Yes | None, Given] = key("While it fires: no scale-in, except by a person.", True)
    freeze: Annotated[Annotated[FrozenDirection, Strict(False)] | None, Given] = key(
        "While it fires: no change of size in this direction, except by a person: in, out or both.", "in"
    )
    value: Annotated[Label | None, Given] = key(
        "While it fires: its label, annotation or (Grafana) entry of values of this name is a number, which counters "
        "can read.",
        "depth",
    )
    ttl: PositiveSpan = must(
        "How long it counts without being sent again, since its end may never arrive: longer than the sender's "
        "repeat interval.",
        "15m",
    )


_Lax = Strict(False)
"""Words of a closed list are written as text."""


class NotifyDocument(Declared):
    """Where notifications go when a group is in trouble, and when the trouble is over."""

    choice: ClassVar[tuple[str, ...]] = ("command", "url", "slack")
    choice_of: ClassVar[str] = "the receiver"
    together: ClassVar[tuple[str, ...]] = ("url", "secret")
    hidden: ClassVar[frozenset[str]] = frozenset({"command", "url", "secret", "slack"})

    command: Annotated[Annotated[list[Text], Field(min_length=1)] | None, Given] = key(
        "A program and its arguments; it gets the notice as JSON on its standard input.", ["/usr/local/bin/page"]
    )
    url: Annotated[Url | None, Given] = key(
        "An address that the notice is posted to as signed JSON; https, but on this machine.",
        "https://pager.example.org/trimtab",
    )
    secret: Annotated[SecretDocument | None, Given] = key(
        "What the signature is made with.", {"env": "NOTIFY_SECRET"}, left_out="none: it goes with url"
    )
    slack: Annotated[SecretDocument | None, Given] = key(
        "Where the address of an incoming webhook of Slack, or of what takes the same, is kept.", {"env": "SLACK_URL"}
    )
    format: Annotated[NoticeFormat, _Lax] = key(
        "How the notice is written for a url: alone, or as a CloudEvent.", "trimtab", default="trimtab"
    )
    decisions: bool = key("Whether changes of the desired size are sent, too.", True, default=False)
    on: list[Annotated[Severity, _Lax]] = key(
        "Of what: of errors, or of warnings too. An empty list: of nothing.",
        ["warning", "error"],
        ["error"],
        default=["warning", "error"],
    )

    @model_validator(mode="after")
    def _written_for_a_url(self) -> Self:
        if self.format is not NoticeFormat.TRIMTAB and self.url is None:
            raise PydanticCustomError("sentence", "format is for a url: leave it out", {"key": "format"})
        return self

    @field_validator("on")
    @classmethod
    def _with_errors(cls, value: list[Severity]) -> list[Severity]:
        if len(set(value)) < len(value):
            raise PydanticCustomError("sentence", "a word appears twice: keep one", {"key": ""})
        if value == [Severity.WARNING]:
            raise PydanticCustomError(
                "sentence", "a warning alone would leave errors out: write [error] or [warning, error]", {"key": ""}
            )
        return value


class GroupDocument(Declared):
    """A fleet of like members and the rules that size it."""

    hidden: ClassVar[frozenset[str]] = frozenset({"notify"})

    profile: Name = must("What new members are made of.", "web")
    balancers: list[BalancerUseDocument] = key("Where members serve.", [{"use": "edge", "port": 8080}], default=[])
    exclusive: bool = key(
        "Whether its balancers are for machines that Trimtab made or adopted alone: over the API and by attach the "
        "group gets none with others, and others that come later are reported.",
        True,
        default=False,
    )
    min: Annotated[int, Field(ge=0, le=10**6)] = must("Least number of members.", 2, unit="members")
    max: Annotated[int, Field(ge=0, le=10**6)] = must("Greatest number of members.", 40, unit="members")
    initial: Annotated[int | None, Field(ge=0, le=10**6), Given] = key(
        "Size of a new group without any member, within min and max; used once.", 4, left_out="min", unit="members"
    )
    interval: PositiveSpan = key("How often the group is measured and judged.", "30s", default="30s")
    policies: list[Name] = key("The policies that size the group.", ["out", "in"], default=[])
    observe: list[Name] = key(
        "Counters that are measured and exported for their own sake; no size follows from them.", ["cpu"], default=[]
    )
    member_values: Annotated[int, Field(ge=0, le=1000)] = key(
        "Members whose own values are exported, the first by name; 0: only figures of all members together.",
        50,
        default=0,
        unit="members",
    )
    mode: Annotated[Mode, _Lax] = key(
        "off: nothing. advise: computes and records everything, touches nothing. act.", "act", default="act"
    )
    quiet_time: Span = key("Quiet after a resize by a person or by an alarm without a policy.", "5m", default="5m")
    blind: BlindRule = key(
        "While there is not enough data: hold, or raise to a floor.", "hold", "floor 3", default="hold"
    )
    drain: Span = key("How long a leaving member may finish its work.", "60s", default="60s")
    grace: Span = key("How long a member may take to stop by itself.", "120s", default="120s")
    build_timeout: PositiveSpan = key("A member not in service by then has failed to build.", "15m", default="15m")
    warm_up: Span = key(
        "After it came into service, how long a member counts in size but not in metrics.", "60s", default="60s"
    )
    on_vanish: Annotated[OnVanish, _Lax] = key(
        "A member that vanished is replaced, or shrinks the desired size.", "replace", default="replace"
    )
    repair: RepairDocument = key(
        "Which members are replaced automatically; off: none.", {"unhealthy": {"after": "2m"}}, default={}
    )
    victims: Annotated[Victims, _Lax] = key(
        "Which members are removed first, of those that are alike.", "zone_balance", default="oldest"
    )
    distrust: Share = key(
        "A listing that lacks a greater share of the members is not used until the loss is confirmed.",
        "30%",
        default="30%",
    )
    freshness: Annotated[int, Field(ge=1, le=1000)] = key(
        "Intervals after which the newest value is stale.", 3, default=3, unit="intervals"
    )
    projection: Annotated[Projection, _Lax] = key(
        "on: a scale-in after which a policy would want to grow the group again is made smaller, or refused.",
        "off",
        default="on",
    )
    budget: GroupBudgetDocument = key("How much may be created for this group.", {"per_hour": 60}, default={})
    roll: RollDocument = key(
        "What a roll to a new profile may cost, unless the command says otherwise.", {"surge": "25%"}, default={}
    )
    max_growth: Annotated[PaceDocument | None, Given] = key(
        "How many members policies and alarms may add in a span of time.",
        {"count": 4, "percent": "100%", "per": "5m"},
        left_out="no limit",
    )
    max_shrinkage: Annotated[PaceDocument | None, Given] = key(
        "How many members policies and alarms may take away in a span of time.",
        {"percent": "10%", "per": "10m"},
        left_out="no limit",
    )
    flap_damping: Annotated[FlapDampingDocument | None, Given] = key(
        "When the size keeps changing direction, hold it high for a while.",
        {"reversals": 4, "within": "1h", "hold": "30m"},
        left_out="it may keep changing",
    )
    stabilisation: Annotated[PositiveSpan | None, Given] = key(
        "Policies shrink the group to no fewer members than the most that were advised in so long.",
        "5m",
        left_out="each evaluation counts alone",
    )
    keep_growth: Annotated[PositiveSpan | None, Given] = key(
        "How long policies and alarms do not shrink the group after it grew; growth never waits for it.",
        "15m",
        left_out="quiet times alone decide",
    )
    freeze: list[FreezeDocument] = key(
        "When policies and alarms leave the size alone; persons, bounds, floors and repair go on.",
        [{"schedule": "0 22 * * fri", "duration": "58h", "timezone": "Europe/Paris", "direction": "in"}],
        default=[],
    )
    service: Annotated[Name | None, Given] = key(
        "Groups of the same service scale one at a time, and take turns.", "shop", left_out="it scales by itself"
    )
    notify: Annotated[NotifyDocument | None, Given] = key(
        "Where notifications about this group go, instead of the receiver for all groups.",
        {"command": ["/usr/local/bin/page", "web"]},
        left_out="the receiver for all groups",
    )


class Document(Declared):
    """What Trimtab is to keep: counters, conditions, policies, the groups that they size, and alerts from outside."""

    later: ClassVar[Mapping[str, str]] = {"services": "services"}

    hidden: ClassVar[frozenset[str]] = frozenset({"profiles", "notify", "store", "vault"})

    mibs: list[AbsolutePath] = key(
        "Folders with MIB files of one's own: their objects can then be named like the well-known ones.",
        ["/etc/trimtab/mibs"],
        default=[],
    )
    sources: dict[Name, SourceDocument] = key(
        "Servers that answer for whole groups: Prometheus, HAProxy's statistics page, NetScaler.",
        {"prom": {"prometheus": {"url": "http://127.0.0.1:9090"}}},
        default={},
    )
    counters: dict[Name, CounterDocument] = key(
        "What can be measured.", {"cpu": {"snmp": "UCD-SNMP-MIB::ssCpuUser.0"}}, default={}
    )
    conditions: dict[Name, ConditionDocument] = key(
        "Comparisons of counters with thresholds: true, false or unknown.",
        {"busy": {"counter": "cpu", "above": 80}},
        default={},
    )
    policies: dict[Name, PolicyDocument] = key(
        "When to adjust the size, and how.", {"out": {"when": ["busy"], "duration": "120s", "add": 2}}, default={}
    )
    clouds: dict[Name, CloudDocument] = key("Where members come from.", {"local": {"process": {}}}, default={})
    balancers: dict[Name, BalancerDocument] = key(
        "What spreads work over members.", {"edge": {"shared_listener": {"listen": "127.0.0.1:8080"}}}, default={}
    )
    profiles: dict[Name, ProfileDocument] = key(
        "Recipes that new members are made from.", {"web": {"cloud": "local", "command": ["/usr/bin/web"]}}, default={}
    )
    groups: dict[GroupName, GroupDocument] = key(
        "The fleets.", {"web": {"profile": "web", "min": 2, "max": 40, "policies": ["out"]}}, default={}
    )
    alerts: dict[Name, AlertDocument] = key(
        "Alerts of Alertmanager or Grafana, and what each does here.",
        {"slow": {"match": {"alertname": "WebSlow"}, "groups": ["web"], "fire": "out", "ttl": "15m"}},
        default={},
    )
    notify: Annotated[NotifyDocument | None, Given] = key(
        "Where notifications about groups in trouble go; a group may name its own receiver.",
        {"command": ["/usr/local/bin/page"]},
        left_out="nothing is sent",
    )
    writable: bool = key(
        "Whether a setting that a person applies is written into this file, in place of the value that stands there.",
        True,
        default=False,
    )
    record: Annotated[RecordDocument | None, Given] = key(
        "Keep every sample of every tick, for export and replay.",
        {"budget": "10GiB", "whole": "7d", "then": "5m"},
        left_out="nothing is recorded",
    )
    listen: Annotated[ListenDocument | None, Given] = key(
        "The TCP address for the API, the console and webhooks, and what protects it.",
        {"address": "127.0.0.1:8460"},
        left_out="127.0.0.1:8460, in clear",
    )
    oidc: Annotated[OidcDocument | None, Given] = key(
        "A provider that persons log in to the console with, and which users they are.",
        {
            "issuer": "https://login.example.org/realms/ops",
            "client_id": "trimtab",
            "claim": "email",
            "users": {"ada@example.org": "ada"},
        },
        left_out="passwords alone",
    )
    outbound: Annotated[OutboundDocument | None, Given] = key(
        "Where URLs that are declared over the API may lead.",
        {"allow_private": ["10.20.0.0/16"]},
        left_out="to public addresses only",
    )
    seal: Annotated[SealDocument | None, Given] = key(
        "The key that secrets in the store are encrypted under.",
        {"key": {"file": "/etc/trimtab/seal-key"}},
        left_out="seal-key in the state directory, made when it is first needed",
    )
    vault: Annotated[VaultDocument | None, Given] = key(
        "HashiCorp Vault or OpenBao, where secrets are kept that are referred to by path and field.",
        {"url": "https://vault.example.org:8200", "token": {"file": "/etc/trimtab/vault-token"}},
        left_out="there is none",
    )
    cloudstack_api: Annotated[CloudstackApiDocument | None, Given] = key(
        "CloudStack's query API: which clouds its zones are, and which balancers its load-balancer rules are.",
        {"zones": {"7c0a5a1e-4f5e-4c8b-9a43-2f4b7f0d2c11": {"cloud": "stack"}}},
        left_out="it is not served",
    )
    store: Annotated[StoreDocument | None, Given] = key(
        "The PostgreSQL database that holds the state.",
        {"url": "postgresql://trimtab@db.example.org/trimtab", "password": {"env": "TRIMTAB_DATABASE"}},
        left_out="SQLite, in the state directory",
    )
