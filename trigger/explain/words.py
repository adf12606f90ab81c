"""Write an explanation in words: one screen for a person, with times in UTC.

>>> sentence_of(Reason.AT_MAX)
'the group already has its maximum number of members'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import assert_never

from config.model.catalogue import Mode, QuietScope
from config.units import GroupId, Instant, PolicyId
from trigger.explain.explanation import (
    AnswerExplanation,
    ConditionExplanation,
    Explanation,
    PolicyExplanation,
)
from trigger.explain.forecast_words import say_foreseen
from trigger.explain.measure_words import (
    say_compare,
    say_condition,
    say_expression,
    say_measured,
    say_number,
    say_quantity,
    say_term,
)
from trigger.explain.time_words import (
    say_adjustment,
    say_clock,
    say_coming,
    say_fleet_pause,
    say_freezing,
    say_limit,
    say_moment,
    say_pause,
    say_queued,
    say_span,
    say_stabilising,
    say_until,
)
from trigger.policies.foresight import sized_by
from trigger.reasons import Reason
from trigger.requests import Clamp, Quiet, RequestCause, Signal, SignalKind
from trigger.verdicts import Direction, Truth

_SENTENCES: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.NOT_MET: "its conditions do not hold",
        Reason.HOLDING: "conditions hold, but not for long enough yet",
        Reason.BLIND: "there is not enough data to judge, so nothing changes",
        Reason.SCALED_OUT: "scaled out",
        Reason.SCALED_IN: "scaled in",
        Reason.QUIET: "a quiet time runs",
        Reason.AT_MAX: "the group already has its maximum number of members",
        Reason.AT_MIN: "the group already has its minimum number of members",
        Reason.NO_CHANGE: "the group already has this size",
        Reason.SHIELDED: "an alert blocks scale-in",
        Reason.FROZEN: "a freeze blocks this direction",
        Reason.BALANCER_NOT_FOUND: "a balancer of the group does not exist: policies do not scale in until it is back",
        Reason.CATCHING_UP: "waiting for the members of the last scale-out",
        Reason.MAX_CHANGE: "the group's maximum rate of change is reached",
        Reason.FLAPPING: "the size changed direction too often, so scale-in waits",
        Reason.STABILISING: "policies advised a larger size within the stabilisation window, so scale-in waits",
        Reason.BUDGET: "the budget for creating members is used up",
        Reason.MISSED: "the schedule's time passed too long ago, so it was skipped",
        Reason.BUILD_BACK_OFF: "several builds failed in a row, so scale-out waits",
        Reason.WOULD_BOUNCE: "with fewer members a policy would scale out again at once",
        Reason.WAITING_TURN: "another group of the service scales first; the request waits for its turn",
        Reason.EXPIRED: "the request waited too long for its turn and has expired",
        Reason.OUTBID: "another request won, at the same moment or since the size was read",
        Reason.DISAGREED: "another policy that could scale in does not agree",
        Reason.SUPERSEDED: "another daemon manages these members: this one has stopped acting",
        Reason.OLDER_STORE: "the store may be older than the fleet: "
        "no member is created or deleted until a person confirms it",
        Reason.PAUSED: "paused by a person",
        Reason.ADVISED: "advice only: this is what would have been done",
        Reason.MODE_OFF: "mode off: nothing is decided",
        Reason.BELOW_MIN: "fewer than min is refused; pause the group and use force",
        Reason.ABOVE_MAX: "more than max is refused without force",
        Reason.FORCED: "a person forced a size outside min and max",
        Reason.NOT_LISTED: "no size yet: waiting for the first complete listing",
        Reason.ORPHANED: "the group has left the configuration: its members keep serving, no policy is evaluated",
        Reason.FIRST_LISTING: "the first complete listing sets the size",
        Reason.BOUNDS: "min or max changed, and the size followed",
        Reason.SCHEDULE: "a schedule's floor or ceiling limits the size",
        Reason.ALERT_FLOOR: "an alert raises the minimum size while it lasts",
        Reason.BLIND_FLOOR: "not enough data to judge: the size was raised to the declared floor",
        Reason.VANISHED: "members vanished, and the size was lowered by as many",
        Reason.RETURNED: "vanished members came back, and the size was raised again",
        Reason.STEADY: "steady: no policy asks for a change",
        Reason.UNHEARD: "no value from members for more than 10 intervals",
    }
)
"""One sentence per reason; a test checks it."""


def sentence_of(reason: Reason) -> str:
    """Return a reason in words: in lower case and without a full stop, so that it fits into longer sentences."""
    return _SENTENCES[reason]


def say(explanation: Explanation, now: Instant) -> tuple[str, ...]:
    """Explain one group at one tick, in lines: what happened, the size, every policy, requests, quiet times, alerts.

    Each line says first what it means, then the figures.

    Args:
        explanation: of any tick, recent or old.
        now: when the lines are read: they show how long ago the tick was, and how long quiet times and alerts last.
    """
    lines = [_headline(explanation, now), _size(explanation)]
    if explanation.queued is not None:
        lines.append(say_queued(explanation.queued, explanation.ahead, now))
    if explanation.fleet_pause is not None:
        lines.append(say_fleet_pause(explanation.fleet_pause, now))
    for policy in explanation.policies:
        lines.extend(_policy(policy, explanation, now))
    lines.extend(
        f"{answer.cause.value} {answer.by}: {_answered(answer, explanation, now)}"
        for answer in explanation.answers
        if answer.cause is not RequestCause.POLICY
    )
    lines.extend(_quiet(quiet, now) for quiet in explanation.quiets)
    lines.extend(_signal(signal, explanation.group, now) for signal in _last_of_each(explanation.signals))
    if explanation.stabilising is not None:
        lines.append(say_stabilising(explanation.stabilising, now))
    lines.extend(say_freezing(one, explanation.group, now) for one in explanation.freezes)
    lines.extend(say_limit(one, explanation.group, now) for one in explanation.limits)
    lines.extend(say_coming(one) for one in explanation.coming)
    return tuple(lines)


def _headline(explanation: Explanation, now: Instant) -> str:
    ago = f" ({say_span(now - explanation.at)} ago)" if now - explanation.at >= 1 else ""
    before, after = explanation.desired_from, explanation.desired_to
    moved = "" if before == after else f", size {after if before is None else f'{before} → {after}'}"
    return f"{explanation.group} at {say_moment(explanation.at)}{ago}: {sentence_of(explanation.reason)}{moved}"


def _size(explanation: Explanation) -> str:
    size, least, most = explanation.desired_to, explanation.minimum, explanation.maximum
    if size is None:
        text = f"no size yet; {least}..{most} is allowed"
    else:
        text = f"size {size} {'in' if least <= size <= most else 'outside'} {least}..{most}"
    parts = [text, f"{explanation.in_service} in service"]
    if explanation.leaving:
        parts.append(f"{explanation.leaving} leaving, not measured")
    if explanation.advised_to is not None:
        parts.insert(1, f"advised {explanation.advised_to}")
    if explanation.mode is not Mode.ACT:
        parts.append(f"mode {explanation.mode.value}")
    if pause := say_pause(explanation.pause):
        parts.append(pause)
    return "; ".join(parts)


def brief(explanation: Explanation) -> str:
    """Explain a tick in one line: what happened, and the most informative condition.

    That is a condition of a policy that acts, else of one that holds, else of one without data. Among several, it is
    the condition nearest to its threshold.
    """
    pairs = [(policy, condition) for policy in explanation.policies for condition in policy.conditions]
    sentence = sentence_of(explanation.reason)
    if not pairs:
        expressions = [(policy, judged) for policy in explanation.policies for judged in policy.expressions]
        shown = min(expressions, key=lambda pair: _rank(pair[0]), default=None)
        return sentence if shown is None else f"{sentence}; {say_expression(shown[1])}"
    policy, condition = min(pairs, key=_closeness)
    if policy.forecasts:
        return "; ".join((sentence, *_foreseen(policy)))
    return f"{sentence}; {say_condition(condition)}"


_SHOWN_LAST = (Reason.HOLDING, Reason.BLIND, Reason.NOT_MET)
"""Policies with any other reason come before policies with these."""


def _closeness(pair: tuple[PolicyExplanation, ConditionExplanation]) -> tuple[int, float]:
    policy, condition = pair
    rank = _rank(policy)
    if condition.value is None:
        return rank, -1.0 if policy.reason is Reason.BLIND else math.inf
    return rank, abs(condition.value - condition.threshold) / (abs(condition.threshold) or 1.0)


def _rank(policy: PolicyExplanation) -> int:
    return _SHOWN_LAST.index(policy.reason) if policy.reason in _SHOWN_LAST else -1


# Policies


def _policy(policy: PolicyExplanation, explanation: Explanation, now: Instant) -> list[str]:
    """Say what the policy does, then what it measured, then what it needs."""
    if policy.forecasts:
        meaning = f"{policy.policy}: {_forecast_meaning(policy, explanation, now)}"
        return ["; ".join((meaning, *_foreseen(policy), *map(say_measured, policy.conditions)))]
    meaning = f"{policy.policy}: {_meaning(policy, explanation, now)}"
    steps, needs = (*_step(policy), *_aim(policy)), _needs(policy)
    if len(policy.conditions) == 1 and not policy.expressions:
        return ["; ".join((meaning, say_condition(policy.conditions[0]), *steps, *needs))]
    head = "; ".join((meaning, *_count(policy), *needs, *steps))
    return [head, *(f"  {say_condition(each)}" for each in policy.conditions), *_expressions(policy)]


def _foreseen(policy: PolicyExplanation) -> Iterator[str]:
    return say_foreseen(policy.foreseen, measured=any(each.value is not None for each in policy.conditions[:1]))


def _forecast_meaning(policy: PolicyExplanation, explanation: Explanation, now: Instant) -> str:
    """Say what a policy with a forecast does: the size first, where it asks for another."""
    size = explanation.desired_from
    if policy.foreseen is None or size is None or policy.reason in {Reason.NOT_MET, Reason.BLIND}:
        return _meaning(policy, explanation, now)
    return f"{size} → {sized_by(policy.foreseen, size)}, {_meaning(policy, explanation, now)}"


def _expressions(policy: PolicyExplanation) -> Iterator[str]:
    for judged in policy.expressions:
        yield f"  {say_expression(judged)}"
        yield from (f"    {say_term(term)}" for term in judged.terms)


def _count(policy: PolicyExplanation) -> Iterator[str]:
    """Count the conditions that hold, for a policy that does not need all of them."""
    if policy.enough is not None:
        held = policy.truths.count(Truth.TRUE)
        yield f"{held} of {len(policy.truths)} {'holds' if held == 1 else 'hold'}, {policy.enough} needed"


def _meaning(policy: PolicyExplanation, explanation: Explanation, now: Instant) -> str:
    """Say what the policy does at this tick."""
    match policy.reason:
        case Reason.NOT_MET:
            return "this size fits" if policy.forecasts else "does not fire"
        case Reason.HOLDING if policy.in_a_row is not None:
            return f"true {policy.in_a_row.true} of {policy.in_a_row.times} times in a row"
        case Reason.HOLDING:
            single = len(policy.truths) == 1
            keep = "the condition keeps" if single else "the conditions keep"
            return f"fires in {say_span(policy.needed - policy.held)} if {keep} holding"
        case Reason.BLIND:
            none = all(each.value is None for each in policy.measured)
            return f"{'no data' if none else 'not enough data'}, so the policy cannot fire"
        case _:
            answer = _answer_to(explanation, policy.policy)
            return sentence_of(policy.reason) if answer is None else _answered(answer, explanation, now)


def _needs(policy: PolicyExplanation) -> Iterator[str]:
    """Say for how long the conditions have held, or what makes the policy fire."""
    match policy.reason:
        case Reason.NOT_MET:
            yield _fires(policy)
        case Reason.HOLDING if policy.in_a_row is None:
            yield f"held {say_span(policy.held)} of {say_span(policy.needed)}"
        case Reason.HOLDING | Reason.BLIND:
            pass
        case _ if policy.needed and policy.in_a_row is None:
            yield f"held {say_span(policy.held)}"
        case _:
            pass


def _step(policy: PolicyExplanation) -> list[str]:
    """Say which step the policy takes: ``cpu is 17 % over: add 25%``."""
    step = policy.taken
    return [
        f"{condition.counter} is {say_quantity(step.over, condition)} over: {say_adjustment(step.adjustment)}"
        for condition in policy.conditions
        if step is not None and condition.condition == step.condition
    ]


def _aim(policy: PolicyExplanation) -> Iterator[str]:
    """Say how much load a missed target measured: ``the load of 12.3 members at 60 %``."""
    if policy.aim is not None:
        load, level = say_number(policy.aim.load), say_quantity(policy.aim.level, policy.conditions[0])
        yield f"{load} times the target of {level}" if policy.aim.relative else f"the load of {load} members at {level}"


def _fires(policy: PolicyExplanation) -> str:
    if policy.in_a_row is not None:
        counted = policy.in_a_row
        return f"fires after {counted.times} times in a row, {say_span(counted.every)} apart"
    if len(policy.conditions) == 1 and not policy.expressions:
        compare = say_compare(policy.conditions[0].compare)
        return f"fires after {say_span(policy.needed)} {compare}" if policy.needed else f"fires once {compare}"
    return f"fires once {_these(policy)}{f' for {say_span(policy.needed)}' if policy.needed else ''}"


def _these(policy: PolicyExplanation) -> str:
    match policy.enough:
        case _ if len(policy.truths) == 1:
            return "this holds"
        case None:
            return "all of these hold"
        case 1:
            return "any of these holds"
        case enough:
            return f"{enough} of these hold"


# Requests and quiet times


def _answer_to(explanation: Explanation, policy: PolicyId) -> AnswerExplanation | None:
    answers = (answer for answer in explanation.answers if answer.cause is RequestCause.POLICY and answer.by == policy)
    return next(answers, None)


def _answered(answer: AnswerExplanation, explanation: Explanation, now: Instant) -> str:
    clamps = tuple(map(_clamp, answer.clamps))
    if answer.wanted is None:
        return "; ".join((_reason(answer, explanation, now), *clamps))
    wants = f"wants {answer.wanted} {'member' if answer.wanted == 1 else 'members'}"
    if answer.reason is Reason.NO_CHANGE:
        return "; ".join((wants, f"the group already has {answer.wanted}", *clamps))
    return "; ".join((_reason(answer, explanation, now), wants, *clamps))


_BLOCKS_SCALE_IN = frozenset({SignalKind.SHIELD, SignalKind.BLIND})


def _reason(answer: AnswerExplanation, explanation: Explanation, now: Instant) -> str:
    until = "" if answer.until is None else f" until {say_until(answer.until, now)}"
    alerts = sorted({signal.alert for signal in explanation.signals if signal.kind in _BLOCKS_SCALE_IN})
    if answer.reason is not Reason.SHIELDED or not alerts:
        return f"{sentence_of(answer.reason)}{until}"
    return f"scale-in is blocked{until} by alert {', '.join(f'`{alert}`' for alert in alerts)}"


def _clamp(clamp: Clamp) -> str:
    return f"clamped {clamp.before} → {clamp.after} ({clamp.guard.value.replace('_', ' ')})"


def _quiet(quiet: Quiet, now: Instant) -> str:
    author = "a person or an alarm" if quiet.policy is None else f"policy `{quiet.policy}`"
    if quiet.until <= now:
        return f"quiet time after {author} ended at {say_clock(quiet.until)}"
    match quiet.scope:
        case QuietScope.POLICY:
            effect = f"{author} waits"
        case QuietScope.GROUP:
            effect = "no scaling" if quiet.direction is Direction.OUT else "no scale-in"
        case _:
            assert_never(quiet.scope)
    return f"{effect} until {say_until(quiet.until, now)}: quiet time after {author} scaled {quiet.direction.value}"


# Alerts, and freezes of persons


def _last_of_each(signals: Iterable[Signal]) -> Iterable[Signal]:
    """Keep one alert, the longest, of those of one rule with the same effect: one line is enough."""
    lasting: dict[object, Signal] = {}
    for signal in sorted(signals, key=lambda signal: signal.until):
        lasting[signal.alert, signal.kind, signal.size] = signal
    return sorted(lasting.values(), key=lambda signal: (signal.alert, signal.kind.value, signal.size or 0))


def _signal(signal: Signal, group: GroupId, now: Instant) -> str:
    until, lasts = f"until {say_until(signal.until, now)}", signal.until > now
    because = f": {signal.because}" if signal.because else ""
    author = f"alert `{signal.alert}`" if signal.alert else f"{signal.by}{because}"
    blocked = f"{'is' if lasts else 'was'} blocked {until} by {author}"
    match signal.kind:
        case SignalKind.FLOOR:
            return f"{group} {'keeps' if lasts else 'kept'} {signal.size} or more {until} by alert `{signal.alert}`"
        case SignalKind.SHIELD | SignalKind.FREEZE_IN:
            return f"scale-in of {group} {blocked}"
        case SignalKind.FREEZE_OUT:
            return f"scale-out of {group} {blocked}"
        case SignalKind.BLIND:
            return f"scale-in of {group} {blocked}, which has no data"
        case _:
            assert_never(signal.kind)
