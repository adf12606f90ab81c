"""The tags by which the store distinguishes classes (``"type"``), independent of their names in the code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aggregator.frames import Aggregate, Insufficient
from config.build.wire import TAGS as DECLARED
from config.document.entities import Entity
from handler.planning.desired import Definition
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.world import Attempts
from handler.ports.alerts import TokenHash
from handler.ports.canaries import Canary, CanaryDay, FleetFigures
from handler.ports.declarations import EntityChange
from handler.ports.notices import DecisionNotice, Notice
from handler.ports.settings import AppliedSettings, SettingValue
from trigger.explain.basis import Basis
from trigger.explain.explanation import (
    AnswerExplanation,
    Coming,
    ConditionExplanation,
    Explanation,
    ExpressionExplanation,
    PolicyExplanation,
    TermExplanation,
)
from trigger.explain.recorded_inputs import RecordedInputs
from trigger.guards.stabilisation import Stabilising
from trigger.requests import (
    Ceiling,
    Clamp,
    Fleet,
    FleetPause,
    GroupState,
    Observed,
    OlderStore,
    Queued,
    Quiet,
    Request,
    ServiceTurn,
    Shrunk,
    Signal,
    SizeChange,
    Watched,
)
from trigger.verdicts import Aim, Foreseen, Hold, PolicyStreak, StreakCount, TakenStep

TAGS: Final[Mapping[type, str]] = {
    **DECLARED,
    Aggregate: "Aggregate",
    Insufficient: "Insufficient",
    Definition: "Definition",
    Notice: "Notice",
    DecisionNotice: "DecisionNotice",
    BalancerProvision: "Binding",
    Roll: "Roll",
    TokenHash: "TokenHash",
    Attempts: "Attempts",
    Basis: "Basis",
    AnswerExplanation: "AnswerExplanation",
    Coming: "Coming",
    ConditionExplanation: "ConditionExplanation",
    Explanation: "Explanation",
    ExpressionExplanation: "ExpressionExplanation",
    PolicyExplanation: "PolicyExplanation",
    TermExplanation: "TermExplanation",
    RecordedInputs: "Given",
    Ceiling: "Ceiling",
    Clamp: "Clamp",
    Fleet: "Fleet",
    FleetPause: "FleetPause",
    GroupState: "GroupState",
    SizeChange: "Move",
    Observed: "Observed",
    OlderStore: "OlderStore",
    Queued: "Queued",
    Quiet: "Quiet",
    Request: "Request",
    Shrunk: "Shrunk",
    Signal: "Signal",
    ServiceTurn: "Turn",
    Watched: "Watched",
    Stabilising: "Stabilising",
    Aim: "Aim",
    Foreseen: "Foreseen",
    StreakCount: "Counted",
    Hold: "Hold",
    PolicyStreak: "Streak",
    TakenStep: "Taken",
    Entity: "Entity",
    EntityChange: "EntityChange",
    AppliedSettings: "AppliedSettings",
    SettingValue: "SettingValue",
    Canary: "Canary",
    CanaryDay: "CanaryDay",
    FleetFigures: "FleetFigures",
}
"""Every class that can be stored. Add a line for a new one; a tag never changes, and no two are equal."""
