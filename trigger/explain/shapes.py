"""Decide whether two explanations are equal enough for history to keep them as one."""

from __future__ import annotations

from collections.abc import Hashable

from trigger.explain.explanation import Explanation


def shape(explanation: Explanation) -> Hashable:
    """Return the parts that two ticks must share: equal shapes extend one span of history.

    A shape has reasons, truths, steps, clamps, sizes, mode, pause, configuration, and effects of alerts, windows and
    schedules. It has no values, distances, ages, held times, request ids, or remaining times of alerts.
    """
    return (
        explanation.reason,
        explanation.desired_from,
        explanation.desired_to,
        explanation.advised_to,
        explanation.mode,
        explanation.pause,
        explanation.fleet_pause,
        explanation.digest,
        tuple(
            (
                policy.policy,
                policy.reason,
                tuple((judged.truth, judged.lack) for judged in policy.conditions),
                None if policy.taken is None else policy.taken.adjustment,
                tuple((judged.truth, *(term.lack for term in judged.terms)) for judged in policy.expressions),
            )
            for policy in explanation.policies
        ),
        tuple((answer.cause, answer.reason, answer.clamps) for answer in explanation.answers),
        frozenset((signal.alert, signal.kind) for signal in explanation.signals),
        tuple(freeze.active for freeze in explanation.freezes),
        tuple(limit.active for limit in explanation.limits),
    )
