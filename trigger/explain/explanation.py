"""Explain a decision for one group at one moment, as a value that can be stored, compared and put into words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from aggregator.frames import Aggregate, Cell, Insufficient, Lack, WindowKey
from aggregator.specs import window_key, window_keys
from config.model.adjustments import FollowForecast
from config.model.catalogue import Catalogue, Compare, Condition, ExpressionCondition, Group, Mode, Policy
from config.model.counters import Counter, Per
from config.model.expressions import Dialect
from config.model.freezes import Freezing, freezing
from config.model.schedules import BoundInForce, ScheduledChange, next_time
from config.units import ConditionId, CounterId, GroupId, Instant, PolicyId, Seconds
from trigger.conditions.judging import held_against
from trigger.explain.basis import Basis, basis_of
from trigger.guards.stabilisation import Stabilising, stabilising
from trigger.policies.schedules import bounded, limits_at
from trigger.policies.signals import lasting
from trigger.reasons import Reason
from trigger.requests import (
    Clamp,
    Decision,
    Fleet,
    FleetPause,
    GroupState,
    Pause,
    Queued,
    Quiet,
    RequestCause,
    RequestOutcome,
    Signal,
)
from trigger.verdicts import Advice, Aim, ConditionVerdict, Evaluation, Foreseen, StreakCount, TakenStep, Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionExplanation:
    """One condition as one policy judged it: the value, its members, its age and the threshold."""

    condition: ConditionId
    counter: CounterId
    unit: str
    across: str
    """As the file has it: ``avg``, ``highest 3``."""
    aggregate: str
    window: Seconds
    compare: Compare
    threshold: float
    truth: Truth
    value: float | None
    """``None``: no value; ``lack`` has the reason."""
    low: float | None
    """Least value with the missing answers; ``None`` if unbounded or if no member answered."""
    high: float | None
    heard: int
    expected: int
    age: Seconds | None
    lack: Lack | None
    left_out: int = 0
    """Members that are not counted, since they warm up."""
    per_member: float | None = None
    """The declared threshold per member, if ``threshold`` is a multiple of it."""
    per_group: bool = False
    """The counter has one value for the whole group: it is not aggregated across members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermExplanation:
    """One aggregate that an expression names; the fields mean the same as in `ConditionExplanation`."""

    name: str
    """As in the expression: ``cpu.p95``."""
    counter: CounterId
    unit: str
    across: str
    aggregate: str
    window: Seconds
    value: float | None
    low: float | None
    high: float | None
    heard: int
    expected: int
    age: Seconds | None
    lack: Lack | None
    left_out: int = 0
    per_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionExplanation:
    """One expression as one policy judged it."""

    condition: ConditionId
    expression: str
    dialect: Dialect
    truth: Truth
    terms: tuple[TermExplanation, ...]


Measured: TypeAlias = ConditionExplanation | TermExplanation
"""An explanation with a value, a unit, and a number of members that answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyExplanation:
    """One policy: its conditions, how long they have held, and the one reason."""

    policy: PolicyId
    truth: Truth
    reason: Reason
    held: Seconds
    needed: Seconds
    in_a_row: StreakCount | None = None
    """For a policy that counts evaluations instead of time."""
    conditions: tuple[ConditionExplanation, ...]
    """Conditions that compare one counter."""
    expressions: tuple[ExpressionExplanation, ...] = ()
    """Conditions that judge an expression."""
    enough: int | None = None
    """How many of both must be TRUE; ``None``: all of them."""
    taken: TakenStep | None = None
    """The step that a policy with steps takes."""
    aim: Aim | None = None
    """The aim of a missed target."""
    foreseen: Foreseen | None = None
    """What its forecast says; ``None``: it has none, or none yet."""
    forecasts: bool = False
    """The policy has a forecast."""

    @property
    def truths(self) -> tuple[Truth, ...]:
        """The truths of all conditions, of both kinds."""
        return (*(judged.truth for judged in self.conditions), *(judged.truth for judged in self.expressions))

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Every aggregate by which the policy was judged."""
        return (*self.conditions, *(term for judged in self.expressions for term in judged.terms))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerExplanation:
    """One request and its answer."""

    request: str
    cause: RequestCause
    by: str
    reason: Reason
    wanted: int | None
    clamps: tuple[Clamp, ...]
    until: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """A schedule that changes the size, and when it does so next."""

    schedule: ScheduledChange
    at: Instant | None
    """``None``: never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One group at one tick."""

    group: GroupId
    at: Instant
    digest: str
    """Configuration hash."""
    mode: Mode
    pause: Pause
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    advised_to: int | None
    minimum: int
    """The bounds then in force: the declared ones, as schedules moved them."""
    maximum: int
    in_service: int
    policies: tuple[PolicyExplanation, ...]
    answers: tuple[AnswerExplanation, ...]
    quiets: tuple[Quiet, ...]
    signals: tuple[Signal, ...] = ()
    leaving: int = 0
    """Members that leave; they are not measured."""
    freezes: tuple[Freezing, ...] = ()
    """The group's freeze windows, active or not."""
    stabilising: Stabilising | None = None
    """The lower advice for which scale-ins by policies wait."""
    limits: tuple[BoundInForce, ...] = ()
    """The group's floors and ceilings by schedule, in force or not."""
    coming: tuple[Coming, ...] = ()
    """The group's schedules that change the size, and when each is due next."""
    queued: Queued | None = None
    """The request that waits for the group's turn in its service."""
    ahead: GroupId | None = None
    """The group that scales first."""
    fleet_pause: FleetPause | None = None
    """The pause of all groups; ``pause`` is the group's own."""
    basis: Basis | None = None
    """The inputs, to decide once more (`explain.basis`); ``None``: not kept, or a reload replaced the catalogue."""

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Every aggregate by which a policy was judged: policy by policy, conditions, then terms of expressions."""
        return tuple(each for policy in self.policies for each in policy.measured)


def explain(
    catalogue: Catalogue,
    group: Group,
    evaluation: Evaluation | None,
    decision: Decision,
    fleet: Fleet,
    state: GroupState | None = None,
) -> Explanation:
    """Collect all inputs of a decision.

    Args:
        catalogue: the snapshot that was evaluated.
        group: as given to `trigger.decide.decide`; an orphaned group is no longer in the catalogue.
        evaluation: as given to `decide`; a policy that has left the catalogue since is left out.
        decision: the result of `decide`.
        fleet: as given to `decide`.
        state: likewise; ``None``: the explanation gets no basis.
    """
    answers = decision.answers
    reasons = {each.request.policy: each.reason for each in answers if each.request.cause is RequestCause.POLICY}
    advices, size = ((), None) if evaluation is None else (evaluation.advices, evaluation.size)
    now = decision.at.wall
    bounds = bounded(group, decision.state, now)
    return Explanation(
        group=group.id,
        at=now,
        digest=catalogue.digest,
        mode=group.mode,
        pause=decision.state.pause,
        reason=decision.reason,
        desired_from=decision.desired_from,
        desired_to=decision.desired_to,
        advised_to=decision.advised_to,
        minimum=bounds.minimum,
        maximum=bounds.maximum,
        in_service=fleet.in_service,
        policies=tuple(
            _policy(catalogue, group, advice, reasons.get(advice.policy, decision.reason), size)
            for advice in advices
            if advice.policy in catalogue.policies
        ),
        answers=tuple(_answer(answer) for answer in answers),
        quiets=tuple(quiet for quiet in decision.state.quiets if quiet.until > now),
        signals=lasting(decision.state, now).signals,
        leaving=fleet.leaving,
        freezes=tuple(freezing(window, now) for window in group.freezes),
        stabilising=stabilising(group, decision.state, now),
        limits=limits_at(group, now),
        coming=_coming(group, now),
        fleet_pause=decision.state.fleet_pause,
        queued=decision.state.turn.queued,
        ahead=fleet.ahead,
        basis=None if state is None else basis_of(catalogue, group, evaluation, decision, fleet, state),
    )


def _coming(group: Group, now: Instant) -> tuple[Coming, ...]:
    changes = (schedule for schedule in group.schedules if isinstance(schedule, ScheduledChange))
    return tuple(Coming(schedule=change, at=next_time(change.times, now)) for change in changes)


def _policy(
    catalogue: Catalogue, group: Group, advice: Advice, answered: Reason, size: int | None
) -> PolicyExplanation:
    policy = catalogue.policies[advice.policy]
    return PolicyExplanation(
        policy=advice.policy,
        truth=advice.truth,
        reason=answered if advice.reason is None else advice.reason,
        held=advice.held,
        needed=advice.needed,
        in_a_row=advice.in_a_row,
        conditions=tuple(
            _condition(catalogue, group, policy, verdict, held_against(condition, size))
            for verdict in advice.verdicts
            if isinstance(condition := catalogue.conditions.get(verdict.condition), Condition)
        ),
        expressions=tuple(
            _expression(catalogue, group, policy, verdict, condition)
            for verdict in advice.verdicts
            if isinstance(condition := catalogue.conditions.get(verdict.condition), ExpressionCondition)
        ),
        enough=policy.enough,
        taken=advice.taken,
        aim=advice.adjustment if isinstance(advice.adjustment, Aim) else None,
        foreseen=advice.adjustment if isinstance(advice.adjustment, Foreseen) else None,
        forecasts=isinstance(advice.action, FollowForecast),
    )


def _condition(
    catalogue: Catalogue, group: Group, policy: Policy, verdict: ConditionVerdict, condition: Condition
) -> ConditionExplanation:
    key, (cell,) = window_key(condition, policy, group), verdict.cells
    value, low, high, age, lack = _measured(cell)
    return ConditionExplanation(
        condition=condition.id,
        counter=key.counter,
        unit=catalogue.counters[key.counter].unit,
        across=key.across.value,
        aggregate=key.aggregate.value,
        window=key.window,
        compare=condition.compare,
        threshold=condition.threshold,
        truth=verdict.truth,
        value=value,
        low=low,
        high=high,
        heard=cell.heard,
        expected=cell.expected,
        age=age,
        lack=lack,
        left_out=cell.left_out,
        per_member=_declared_threshold(catalogue, condition) if condition.per_member else None,
        per_group=catalogue.counters[key.counter].per is Per.GROUP,
    )


def _declared_threshold(catalogue: Catalogue, condition: Condition) -> float | None:
    declared = catalogue.conditions[condition.id]
    return declared.threshold if isinstance(declared, Condition) else None


def _expression(
    catalogue: Catalogue, group: Group, policy: Policy, verdict: ConditionVerdict, condition: ExpressionCondition
) -> ExpressionExplanation:
    keys = window_keys(condition, policy, group)
    return ExpressionExplanation(
        condition=condition.id,
        expression=condition.expression.text,
        dialect=condition.expression.dialect,
        truth=verdict.truth,
        terms=tuple(
            _term(term.name, key, catalogue.counters[key.counter], cell)
            for term, key, cell in zip(condition.terms, keys, verdict.cells, strict=True)
        ),
    )


def _term(name: str, key: WindowKey, counter: Counter, cell: Cell) -> TermExplanation:
    value, low, high, age, lack = _measured(cell)
    return TermExplanation(
        name=name,
        counter=key.counter,
        unit=counter.unit,
        across=key.across.value,
        aggregate=key.aggregate.value,
        window=key.window,
        value=value,
        low=low,
        high=high,
        heard=cell.heard,
        expected=cell.expected,
        age=age,
        lack=lack,
        left_out=cell.left_out,
        per_group=counter.per is Per.GROUP,
    )


def _measured(cell: Cell) -> tuple[float | None, float | None, float | None, Seconds | None, Lack | None]:
    """Value, low, high, age, lack."""
    match cell:
        case Aggregate():
            return cell.value, _bounded(cell.low), _bounded(cell.high), cell.age, None
        case Insufficient():
            return None, _bounded(cell.low), _bounded(cell.high), None, cell.because
        case _:
            assert_never(cell)


def _bounded(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _answer(answer: RequestOutcome) -> AnswerExplanation:
    request = answer.request
    return AnswerExplanation(
        request=request.id,
        cause=request.cause,
        by=request.by,
        reason=answer.reason,
        wanted=answer.wanted,
        clamps=answer.clamps,
        until=answer.until,
    )
