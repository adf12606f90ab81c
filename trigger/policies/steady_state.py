"""Find the ticks at which all policies of a group rest, without judging them one by one.

Most ticks of most groups are like this: no condition is near its threshold, there is no request, and the decision
changes nothing. Replay, which has many ticks in columns, finds these ticks at once and skips them.

# Note [At rest]

A policy *rests* at a tick if so many of its conditions are FALSE for every value within their bounds
(`trigger.conditions.judging.refuted`) that its truth is FALSE. This is never known of an expression, nor of a condition
per member, which depends on the size, nor of a policy with a forecast. If all policies of a group rest, then `evaluate`
gives NOT_MET for each, holds nothing, and the group is not blind.

A group is *at rest* after such a tick if it has a desired size, its state did not change, it advised no other size in
mode ``advise``, nothing in its state ends by itself (no quiet time, alert or move), and it has no schedules. Then
`decide` has the same result at every further tick at which all policies rest, at any time and for any fleet, until the
state changes from outside: the state stays, and there are no answers.

# Note [Standing refusals]

A group whose policies ask for another size at every tick, and are refused, has as little to decide. Its decision
*stands* if the state did not change, nothing in the state ends by itself but quiet times, no policy holds on towards
its duration or counts evaluations, and every request was refused for a reason of `_STANDING`: these follow from the
state, the fleet and the bounds, and not from measured values or from how often they were given. A tick with the same
truths then has the same answers, until the first quiet time or refusal ends, or until a gap in the ticks ends a hold.
What the group declares must not depend on the time either: no schedules, freezes, service or stabilisation window.

Where it is known of each policy whether it is ready, policies may hold on, too: the decision *repeats* at every tick
at which each policy has the same truth and the same ones are ready.

# Note [Unasked]

What `decide` does with a group that no policy asks anything of follows from its state, its bounds and the time, and not
from what its conditions measured, unless all of them are UNKNOWN or the group has a stabilisation window. So after a
tick that left the state as it was, every further tick at which no policy is ready, and none is UNKNOWN, leaves it, too:
until a quiet time ends, or the state changes from outside. Only the holds go on, which `progress` carries alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aggregator.frames import WindowKey
from aggregator.specs import window_key
from collector.samples import Bools, Floats
from config.model.adjustments import FollowForecast
from config.model.catalogue import Catalogue, Condition, Group, Policy
from config.units import GroupId, Instant
from trigger.conditions.judging import refuted
from trigger.reasons import Reason
from trigger.requests import Decision, GroupState
from trigger.verdicts import Advice, Evaluation

Bounds = Callable[[WindowKey], tuple[Floats, Floats]]
"""``low`` and ``high`` of one window: (tick,)."""


def resting(catalogue: Catalogue, group: GroupId, bounds: Bounds, ticks: int) -> Bools:
    """Tell at which ticks every policy of a group rests: (tick,). See Note [At rest].

    Args:
        catalogue: the snapshot of the windows.
        group: a group of the catalogue.
        bounds: returns the bounds of a window of its policies.
        ticks: number of ticks.
    """
    declared = catalogue.groups[group]
    all_rest = np.ones(ticks, dtype=np.bool_)
    for name in declared.policies:
        all_rest &= _rests(catalogue, declared, catalogue.policies[name], bounds, ticks)
    return all_rest


def at_rest(evaluation: Evaluation, before: GroupState, decision: Decision) -> bool:
    """Whether a group without schedules is at rest after this tick. See Note [At rest].

    Args:
        evaluation: of the tick.
        before: the state before it.
        decision: of the tick.
    """
    return (
        decision.state is before
        and before.desired is not None
        and decision.advised_to is None
        and not evaluation.holds
        and all(advice.reason is Reason.NOT_MET for advice in evaluation.advices)
        and before == _timeless(before)
    )


def stands_until(evaluation: Evaluation, before: GroupState, decision: Decision) -> Instant | None:
    """Return until when a decision stands, for a group that declares nothing that depends on the time.

    ``None``: it does not stand. See Note [Standing refusals].

    Args:
        evaluation: of the tick.
        before: the state before it.
        decision: of the tick.
    """
    return repeats_until(before, decision) if all(map(_is_settled, evaluation.advices)) else None


def repeats_until(before: GroupState, decision: Decision) -> Instant | None:
    """Return until when a decision repeats, for a group that declares nothing that depends on the time.

    ``None``: it does not repeat. See Note [Standing refusals].

    Args:
        before: the state before the tick.
        decision: of the tick; what its policies ask for must not depend on what they measure.
    """
    refused = decision.winner is None and all(answer.reason in _STANDING for answer in decision.answers)
    if not refused or not _stays(before, decision):
        return None
    ends = [answer.until for answer in decision.answers if answer.until is not None]
    return min([Instant(math.inf), *ends, *(quiet.until for quiet in before.quiets)])


_STANDING = frozenset(
    {
        Reason.MODE_OFF,
        Reason.PAUSED,
        Reason.NO_CHANGE,
        Reason.AT_MAX,
        Reason.AT_MIN,
        Reason.BUDGET,
        Reason.QUIET,
        Reason.CATCHING_UP,
        Reason.BUILD_BACK_OFF,
    }
)


def _is_settled(advice: Advice) -> bool:
    return advice.reason is not Reason.HOLDING and advice.in_a_row is None


def unasked_until(group: Group, before: GroupState, decision: Decision) -> Instant | None:
    """Return until when ticks without a request leave the state as this one did; ``None``: they may change it.

    Source: Note [Unasked].

    Args:
        group: of the decision.
        before: the state before it.
        decision: of a tick.
    """
    if goes_by_time(group) or not _stays(before, decision):
        return None
    return min((quiet.until for quiet in before.quiets), default=Instant(math.inf))


def goes_by_time(group: Group) -> bool:
    """Whether a group declares something by which decisions follow from the time, or from those of other groups."""
    by_time = bool(group.schedules or group.freezes)
    return by_time or group.service is not None or group.stabilisation is not None


def _stays(before: GroupState, decision: Decision) -> bool:
    """Whether a decision left the state as it was, and nothing in it ends by itself but quiet times."""
    same = decision.state is before and before.desired is not None and decision.advised_to is None
    return same and before == replace(_timeless(before), quiets=before.quiets)


def _timeless(state: GroupState) -> GroupState:
    """Return the part of a state that never ends by itself; every field not listed might."""
    return GroupState(
        desired=state.desired,
        revision=state.revision,
        forced=state.forced,
        kept=state.kept,
        grown_at=state.grown_at,
        pause=state.pause,
        fleet_pause=state.fleet_pause,
        orphaned=state.orphaned,
    )


def _rests(catalogue: Catalogue, group: Group, policy: Policy, bounds: Bounds, ticks: int) -> Bools:
    if isinstance(policy.adjustment, FollowForecast):
        return np.zeros(ticks, dtype=np.bool_)
    false = np.zeros(ticks, dtype=np.intp)
    for condition in (catalogue.conditions[name] for name in policy.when):
        if isinstance(condition, Condition) and not condition.per_member:
            false += refuted(condition, *bounds(window_key(condition, policy, group)))
    needed = len(policy.when) if policy.enough is None else policy.enough
    rests: Bools = len(policy.when) - false < needed
    return rests
