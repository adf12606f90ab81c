"""By what names declared values go where they outlive the process: in digests, in the store, in files and answers.

A class goes by its tag and a field by its name of today, for good, whatever they are called here later: a digest that
changed would have every member replaced, and a value of an unknown tag cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field
from typing import Any, Final

from config.model.access import (
    Basic,
    BearerToken,
    HaproxyStats,
    HttpAccess,
    NetscalerStats,
    PrometheusServer,
    SecretRef,
    SnmpAccess,
    SnmpUser,
    Trust,
)
from config.model.adjustments import Adjustment, Capacity, FollowForecast, KeptLevel, Step, Steps, Tracking
from config.model.balancers import (
    CloudstackRuleBalancer,
    HaproxyBalancer,
    NetscalerBalancer,
    ServerTemplate,
    SharedListener,
)
from config.model.calendars import Calendar
from config.model.catalogue import (
    BalancerUse,
    Condition,
    ExpressionCondition,
    Group,
    InARow,
    Policy,
    Profile,
    ReadyProbe,
    Site,
    Term,
)
from config.model.clouds import (
    Calls,
    CloudstackCloud,
    LibvirtCloud,
    OneflowCloud,
    OpennebulaCloud,
    OpenstackCloud,
    ProcessCloud,
    SimulatedCloud,
)
from config.model.counters import (
    AlertedValue,
    CloudstackField,
    Counter,
    FixedAddress,
    GnocchiMetric,
    HaproxyField,
    HttpValue,
    JsonPick,
    MemberAddress,
    MetricPick,
    NetscalerField,
    NovaField,
    OpennebulaAttribute,
    PluginValue,
    PrometheusQuery,
    PushedValue,
    SnmpObject,
)
from config.model.edits import Edit
from config.model.effects import Alert, BringValue, FirePolicy, Freeze, RaiseFloor, Shield
from config.model.expressions import (
    And,
    Calculation,
    Comparison,
    Expression,
    Fallback,
    FunctionCall,
    Name,
    Negative,
    Not,
    NumberLiteral,
    Or,
)
from config.model.freezes import FreezeWindow, Freezing
from config.model.holidays import Holidays
from config.model.libvirt import LibvirtHost, LibvirtRecipe
from config.model.made_rule import HealthCheck, MadeRule, Stickiness
from config.model.managed import HealthMonitor, ListenerSpec, ManagedBalancer, PoolSpec, SessionPersistence, Vip
from config.model.observability import Notify, NotifyCommand, NotifySlack, NotifyUrl, Recording
from config.model.openstack import ApplicationCredential, CloudsYaml, OctaviaBalancer, OpenstackAccess
from config.model.pacing import Budget, FlapDamping, Granted, Pace
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Volume
from config.model.recipes import (
    Attribute,
    BootVolume,
    CloudstackRecipe,
    NoProgram,
    OneflowRecipe,
    OpennebulaRecipe,
    OpenstackRecipe,
    ProcessRecipe,
    Reach,
    ResourceLimits,
)
from config.model.reductions import Rank
from config.model.repair import HealthRepair, Repair
from config.model.rolling import Allowance, RollBudgets
from config.model.schedules import BoundInForce, LastsFor, Once, ScheduledChange, ScheduledLimit
from config.model.simulation import Behaviour, BootTime, CallFaults, CallRate, Incident, ListingFaults
from config.units import Moment

TAGS: Final[Mapping[type, str]] = {
    Basic: "Basic",
    BearerToken: "Bearer",
    HaproxyStats: "HaproxyStats",
    HttpAccess: "HttpAccess",
    NetscalerStats: "NetscalerStats",
    PrometheusServer: "PrometheusServer",
    SecretRef: "SecretRef",
    SnmpAccess: "SnmpAccess",
    SnmpUser: "SnmpUser",
    Trust: "Trust",
    Adjustment: "Adjustment",
    Step: "Step",
    Steps: "Steps",
    Tracking: "Tracking",
    Capacity: "Capacity",
    KeptLevel: "KeptLevel",
    Holidays: "Holidays",
    FollowForecast: "Forecast",
    CloudstackRuleBalancer: "CloudstackRuleBalancer",
    NetscalerBalancer: "NetscalerBalancer",
    Budget: "Budget",
    Granted: "Granted",
    Calendar: "Calendar",
    Calls: "Calls",
    CloudstackCloud: "CloudstackCloud",
    LibvirtCloud: "LibvirtCloud",
    OneflowCloud: "OneflowCloud",
    OpennebulaCloud: "OpennebulaCloud",
    OpenstackCloud: "OpenstackCloud",
    ProcessCloud: "ProcessCloud",
    SimulatedCloud: "SimulatedCloud",
    AlertedValue: "AlertedValue",
    CloudstackField: "CloudstackField",
    Counter: "Counter",
    FixedAddress: "FixedAddress",
    GnocchiMetric: "GnocchiMetric",
    HaproxyField: "HaproxyField",
    HttpValue: "HttpValue",
    JsonPick: "JsonPick",
    MemberAddress: "MemberAddress",
    MetricPick: "MetricPick",
    NetscalerField: "NetscalerField",
    NovaField: "NovaField",
    OpennebulaAttribute: "OpennebulaAttribute",
    PluginValue: "PluginValue",
    PrometheusQuery: "PrometheusQuery",
    PushedValue: "PushedValue",
    SnmpObject: "SnmpObject",
    Edit: "Edit",
    Alert: "Alert",
    BringValue: "BringValue",
    FirePolicy: "FirePolicy",
    Freeze: "Freeze",
    RaiseFloor: "RaiseFloor",
    Shield: "Shield",
    And: "And",
    Calculation: "Calculation",
    FunctionCall: "Call",
    Comparison: "Comparison",
    Expression: "Expression",
    Fallback: "Fallback",
    Name: "Name",
    Negative: "Negative",
    Not: "Not",
    NumberLiteral: "Number",
    Or: "Or",
    FreezeWindow: "FreezeWindow",
    Freezing: "Freezing",
    HealthCheck: "HealthCheck",
    MadeRule: "MadeRule",
    Stickiness: "Stickiness",
    HealthMonitor: "HealthMonitor",
    ListenerSpec: "Listener",
    ManagedBalancer: "ManagedBalancer",
    PoolSpec: "Pool",
    SessionPersistence: "SessionPersistence",
    Vip: "Vip",
    BalancerUse: "BalancerUse",
    Condition: "Condition",
    ExpressionCondition: "ExpressionCondition",
    Group: "Group",
    HaproxyBalancer: "HaproxyBalancer",
    InARow: "InARow",
    Policy: "Policy",
    Profile: "Profile",
    ReadyProbe: "ReadyProbe",
    ServerTemplate: "ServerTemplate",
    SharedListener: "SharedListener",
    Site: "Site",
    Term: "Term",
    Notify: "Notify",
    NotifyCommand: "NotifyCommand",
    NotifyUrl: "NotifyUrl",
    NotifySlack: "NotifySlack",
    ApplicationCredential: "ApplicationCredential",
    CloudsYaml: "CloudsYaml",
    OctaviaBalancer: "OctaviaBalancer",
    OpenstackAccess: "OpenstackAccess",
    FlapDamping: "FlapDamping",
    Pace: "Pace",
    FloatingAddress: "Address",
    MemberPart: "Part",
    NetworkPort: "Port",
    Volume: "Volume",
    Attribute: "Attribute",
    BootVolume: "BootVolume",
    CloudstackRecipe: "CloudstackRecipe",
    NoProgram: "NoProgram",
    LibvirtHost: "LibvirtHost",
    LibvirtRecipe: "LibvirtRecipe",
    OneflowRecipe: "OneflowRecipe",
    OpennebulaRecipe: "OpennebulaRecipe",
    OpenstackRecipe: "OpenstackRecipe",
    ProcessRecipe: "ProcessRecipe",
    Reach: "Reach",
    Recording: "Recording",
    Rank: "Rank",
    HealthRepair: "HealthRepair",
    Repair: "Repair",
    ResourceLimits: "ResourceLimits",
    Allowance: "Allowance",
    RollBudgets: "RollBudgets",
    LastsFor: "Lasting",
    Once: "Once",
    ScheduledChange: "ScheduledChange",
    ScheduledLimit: "ScheduledLimit",
    BoundInForce: "Standing",
    Behaviour: "Behaviour",
    BootTime: "BootTime",
    CallFaults: "CallFaults",
    CallRate: "CallRate",
    Incident: "Incident",
    ListingFaults: "ListingFaults",
    Moment: "Moment",
}
"""Every class of this package that is stored or part of a digest. A new one gets its line here; no tag ever changes."""


def name_of(field: Field[Any]) -> str:
    """Say under what name a field is written: its own, or, since it was renamed, the one that it had before.

    >>> from dataclasses import dataclass, field, fields
    >>> @dataclass
    ... class Record:
    ...     leaving: bool
    ...     registrations: int = field(metadata={"wire": "seats"})
    >>> [name_of(each) for each in fields(Record)]
    ['leaving', 'seats']
    """
    name: str = field.metadata.get("wire", field.name)
    return name
