"""From a frame to advice: what every policy of one group says at one tick, before any guard."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

from aggregator.frames import Frame
from aggregator.specs import window_key, window_keys
from config.adjustments import choices, outright
from config.model import AnyCondition, Catalogue, Condition, ExpressionCondition, Group, Policy
from config.units import GroupId, Moment, PolicyId
from trigger.conditions import at_least, conjunction, judge
from trigger.expression_conditions import judge_expression
from trigger.progress import Kept, Progress, progress
from trigger.projection import headroom
from trigger.reasons import Reason
from trigger.requests import Cause, Request
from trigger.stepping import taken
from trigger.verdicts import Advice, Evaluation, Taken, Truth, Verdict


def evaluate(
    catalogue: Catalogue, group: GroupId, frame: Frame, holds: Mapping[PolicyId, Kept], now: Moment
) -> Evaluation:
    """Judge every policy of ``group`` and carry its holds over this tick.

    Args:
        catalogue: the snapshot that ``frame`` was made for.
        group: a group of the catalogue.
        frame: this tick's cells; every window of `aggregator.specs.keys_for` has one.
        holds: those of the last evaluation; none after a restart, and what `trigger.progress.restarted` leaves of them
            after a policy fired.
        now: when the frame was taken.
    """
    declared = catalogue.groups[group]
    advices = []
    kept: dict[PolicyId, Kept] = {}
    for policy in (catalogue.policies[name] for name in declared.policies):
        verdicts = _verdicts(catalogue, declared, policy, frame)
        truth = _combined(policy, verdicts)
        come = progress(policy, holds.get(policy.id), truth, now.steady, declared.interval)
        if come.kept is not None:
            kept[policy.id] = come.kept
        step = taken(policy.adjustment, verdicts, catalogue.conditions)
        advices.append(_advice(policy, truth, verdicts, come, step))
    shrinking = any(advice.reason is None and advice.adjustment.may_shrink for advice in advices)
    room = headroom(catalogue, advices) if shrinking else math.inf
    return Evaluation(group=group, at=now, advices=tuple(advices), holds=kept, headroom=room)


def requests_from(catalogue: Catalogue, evaluation: Evaluation) -> tuple[Request, ...]:
    """Make the request of every policy that is ready, in the order of the group's policies.

    A policy that is no longer declared asks for nothing: the catalogue may have been exchanged since it was judged.
    """
    return tuple(
        _request(catalogue.policies[advice.policy], advice, evaluation)
        for advice in evaluation.advices
        if advice.reason is None and advice.policy in catalogue.policies
    )


def _verdicts(catalogue: Catalogue, group: Group, policy: Policy, frame: Frame) -> tuple[Verdict, ...]:
    conditions = (catalogue.conditions[name] for name in policy.when)
    return tuple(_verdict(condition, policy, group, frame) for condition in conditions)


def _verdict(condition: AnyCondition, policy: Policy, group: Group, frame: Frame) -> Verdict:
    shrinking = policy.adjustment.may_shrink
    match condition:
        case Condition():
            return judge(condition, frame.cells[window_key(condition, policy, group)], shrinking=shrinking)
        case ExpressionCondition():
            cells = [frame.cells[key] for key in window_keys(condition, policy, group)]
            return judge_expression(condition, cells, shrinking=shrinking)
        case _:
            assert_never(condition)


def _combined(policy: Policy, verdicts: tuple[Verdict, ...]) -> Truth:
    truths = [verdict.truth for verdict in verdicts]
    return conjunction(truths) if policy.enough is None else at_least(policy.enough, truths)


def _advice(policy: Policy, truth: Truth, verdicts: tuple[Verdict, ...], come: Progress, step: Taken | None) -> Advice:
    return Advice(
        policy=policy.id,
        adjustment=outright(policy.adjustment) if step is None else step.adjustment,
        choices=choices(policy.adjustment),
        taken=step,
        truth=truth,
        verdicts=verdicts,
        reason=_reason(truth, ready=come.ready),
        held=come.held,
        needed=come.needed,
        in_a_row=come.in_a_row,
    )


def _reason(truth: Truth, *, ready: bool) -> Reason | None:
    if truth is Truth.FALSE:
        return Reason.NOT_MET
    if truth is Truth.UNKNOWN:
        return Reason.BLIND
    return None if ready else Reason.HOLDING


def _request(policy: Policy, advice: Advice, evaluation: Evaluation) -> Request:
    return Request(
        id=f"{policy.id}@{evaluation.at.wall:.3f}",
        group=evaluation.group,
        cause=Cause.POLICY,
        by=policy.id,
        adjustment=advice.adjustment,
        policy=policy.id,
        quiet_time=policy.quiet_time,
        quiet_scope=policy.quiet_scope,
    )
