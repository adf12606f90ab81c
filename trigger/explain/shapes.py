"""When two explanations tell the same story, so that history keeps them as one."""

from __future__ import annotations

from collections.abc import Hashable

from trigger.explain.explanation import Explanation


def shape(explanation: Explanation) -> Hashable:
    """What makes two ticks the same story: equal shapes extend one span of history, whatever the measured values.

    Reasons, truths, steps taken, clamps, sizes, mode, pause, configuration, and which alerts, windows and schedules do
    what; not values, distances, ages, held times, request ids, or how long an alert still lasts.
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
