"""Turn a frame into advice: judge every policy of one group at one tick, before any guard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, assert_never

from aggregator.frames import Frame
from aggregator.specs import window_key, window_keys
from config.model.adjustments import Action, Adjustment, FollowForecast, Steps, Tracking, outright
from config.model.catalogue import AnyCondition, Catalogue, Condition, ExpressionCondition, Group, Policy
from config.units import GroupId, Moment, PolicyId
from trigger.conditions.expression_conditions import judge_expression
from trigger.conditions.judging import at_least, conjunction, held_against, judge
from trigger.conditions.timers import Kept, Progress, progress
from trigger.policies.foresight import truth_of
from trigger.policies.projection import headroom
from trigger.policies.stepping import taken
from trigger.policies.tracking import aim
from trigger.reasons import Reason
from trigger.requests import Request, RequestCause
from trigger.verdicts import (
    NO_PROJECTION,
    Advice,
    ConditionVerdict,
    Evaluation,
    Foreseen,
    RequestedChange,
    TakenStep,
    Truth,
)


class _Known(NamedTuple):
    """What a policy may need beside its conditions."""

    size: int | None
    """The desired size."""
    foreseen: Foreseen | None
    """What its forecast says; ``None``: it has none, or nothing is foreseen yet."""


NOTHING_FORESEEN: Mapping[PolicyId, Foreseen] = MappingProxyType({})
"""Of a group without forecasts."""


def evaluate(  # noqa: PLR0913 - the inputs of a tick
    catalogue: Catalogue,
    group: GroupId,
    frame: Frame,
    holds: Mapping[PolicyId, Kept],
    now: Moment,
    *,
    size: int | None = None,
    foreseen: Mapping[PolicyId, Foreseen] = NOTHING_FORESEEN,
) -> Evaluation:
    """Judge every policy of ``group`` and carry its holds over this tick.

    Args:
        catalogue: the snapshot for which ``frame`` was made.
        group: a group of the catalogue.
        frame: this tick's cells; every window of `aggregator.specs.keys_for` has one.
        holds: of the last evaluation; none after a restart, and reduced by `trigger.conditions.timers.restarted`
            after a policy fired.
        now: when the frame was taken.
        size: the desired size that conditions per member use; ``None``: not yet, and they are UNKNOWN.
        foreseen: what the forecasts of the group's policies say at this tick (`trigger.policies.forecasting`).
    """
    declared = catalogue.groups[group]
    advices = []
    kept: dict[PolicyId, Kept] = {}
    for policy in (catalogue.policies[name] for name in declared.policies):
        verdicts = _verdicts(catalogue, declared, policy, frame, size)
        known = _Known(size, foreseen.get(policy.id))
        truth = _combined(policy, verdicts, known)
        come = progress(policy, holds.get(policy.id), truth, now.steady, declared.interval)
        if come.kept is not None:
            kept[policy.id] = come.kept
        advices.append(_advice(catalogue, policy, truth, verdicts, come, known))
    shrinking = any(advice.reason is None and advice.action.may_shrink for advice in advices)
    load = headroom(catalogue, advices, size) if shrinking else NO_PROJECTION
    return Evaluation(group=group, at=now, advices=tuple(advices), holds=kept, carried=holds, headroom=load, size=size)


def requests_from(catalogue: Catalogue, evaluation: Evaluation) -> tuple[Request, ...]:
    """Make the request of every policy that is ready, in the order of the group's policies.

    A policy that is no longer declared makes none: a reload may have replaced the catalogue since the evaluation.
    """
    return tuple(
        request_of(catalogue.policies[advice.policy], advice.adjustment, evaluation.group, evaluation.at)
        for advice in evaluation.advices
        if advice.reason is None and advice.adjustment is not None and advice.policy in catalogue.policies
    )


def _verdicts(
    catalogue: Catalogue, group: Group, policy: Policy, frame: Frame, size: int | None
) -> tuple[ConditionVerdict, ...]:
    conditions = (catalogue.conditions[name] for name in policy.when)
    return tuple(_verdict(condition, policy, group, frame, size) for condition in conditions)


def _verdict(condition: AnyCondition, policy: Policy, group: Group, frame: Frame, size: int | None) -> ConditionVerdict:
    shrinking = policy.adjustment.may_shrink
    match condition:
        case Condition():
            cell = frame.cells[window_key(condition, policy, group)]
            if condition.per_member and size is None:
                return ConditionVerdict(condition=condition.id, truth=Truth.UNKNOWN, cells=(cell,))
            return judge(held_against(condition, size), cell, shrinking=shrinking)
        case ExpressionCondition():
            cells = [frame.cells[key] for key in window_keys(condition, policy, group)]
            return judge_expression(condition, cells, shrinking=shrinking)
        case _:
            assert_never(condition)


def _combined(policy: Policy, verdicts: tuple[ConditionVerdict, ...], known: _Known) -> Truth:
    if isinstance(policy.adjustment, FollowForecast):
        return truth_of(known.foreseen, known.size)
    truths = [verdict.truth for verdict in verdicts]
    return conjunction(truths) if policy.enough is None else at_least(policy.enough, truths)


def _advice(
    catalogue: Catalogue,
    policy: Policy,
    truth: Truth,
    verdicts: tuple[ConditionVerdict, ...],
    come: Progress,
    known: _Known,
) -> Advice:
    change, step = _adjustment(catalogue, policy.adjustment, verdicts, known)
    reason = _reason(truth, ready=come.ready)
    advice = Advice(
        policy=policy.id,
        action=policy.adjustment,
        adjustment=change,
        taken=step,
        truth=truth,
        verdicts=verdicts,
        reason=reason,
        held=come.held,
        needed=come.needed,
        in_a_row=come.in_a_row,
    )
    return replace(advice, reason=Reason.ADVISED) if reason is None and advice.advises else advice


def _adjustment(
    catalogue: Catalogue, action: Action, verdicts: tuple[ConditionVerdict, ...], known: _Known
) -> tuple[RequestedChange | None, TakenStep | None]:
    """Return a policy's adjustment now, and the step that it takes."""
    if isinstance(action, Adjustment):
        return action, None
    if isinstance(action, FollowForecast):
        return known.foreseen, None
    condition = catalogue.conditions[action.by]
    if not isinstance(condition, Condition):
        return outright(action), None
    match action:
        case Steps():
            sharers = max(known.size or 1, 1) if condition.per_member else 1
            step = taken(action, held_against(condition, known.size), verdicts, sharers=sharers)
            return outright(action) if step is None else step.adjustment, step
        case Tracking():
            return aim(action, condition, verdicts), None
        case _:
            assert_never(action)


def _reason(truth: Truth, *, ready: bool) -> Reason | None:
    if truth is Truth.FALSE:
        return Reason.NOT_MET
    if truth is Truth.UNKNOWN:
        return Reason.BLIND
    return None if ready else Reason.HOLDING


def request_of(policy: Policy, change: RequestedChange, group: GroupId, at: Moment) -> Request:
    """Make the request of a policy that is ready at a moment."""
    return Request(
        id=f"{policy.id}@{at.wall:.3f}",
        group=group,
        cause=RequestCause.POLICY,
        by=policy.id,
        adjustment=change,
        policy=policy.id,
        quiet_time=policy.quiet_time,
        quiet_scope=policy.quiet_scope,
    )
