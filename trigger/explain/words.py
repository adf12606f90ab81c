"""An explanation in words: one screen for a person, with times in UTC.

>>> sentence_of(Reason.AT_MAX)
'the group already has the most members that it may have'
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
from trigger.explain.measure_words import say_compare, say_condition, say_expression, say_number, say_quantity, say_term
from trigger.explain.time_words import (
    say_adjustment,
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
from trigger.reasons import Reason
from trigger.requests import Clamp, Quiet, RequestCause, Signal, SignalKind
from trigger.verdicts import Direction, Truth

_SENTENCES: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.NOT_MET: "its conditions do not hold",
        Reason.HOLDING: "conditions hold, but not for long enough yet",
        Reason.BLIND: "there is not enough data to judge, so nothing is changed",
        Reason.SCALED_OUT: "scaled out",
        Reason.SCALED_IN: "scaled in",
        Reason.QUIET: "a quiet time runs",
        Reason.AT_MAX: "the group already has the most members that it may have",
        Reason.AT_MIN: "the group already has the fewest members that it may have",
        Reason.NO_CHANGE: "the size is that already",
        Reason.SHIELDED: "an alert shields the group from scale-in, or is blind itself",
        Reason.FROZEN: "an alert or a freeze window freezes this direction",
        Reason.BALANCER_NOT_FOUND: "a balancer of the group is not found: policies do not scale in until it is back",
        Reason.CATCHING_UP: "earlier growth is not in service yet",
        Reason.MAX_CHANGE: "as many have come or left as may in a while",
        Reason.FLAPPING: "the size went to and fro too often and is held high",
        Reason.STABILISING: "more was advised lately, and the highest advice of the window wins for scale-in",
        Reason.BUDGET: "the budget of creates is spent",
        Reason.MISSED: "the time of a schedule passed too long ago, and nothing was done",
        Reason.BUILD_BACK_OFF: "builds failed in a row, so growth waits",
        Reason.WOULD_BOUNCE: "with fewer members the group would want to grow again at once",
        Reason.WAITING_TURN: "another group of the service comes first; the wish is kept until its turn",
        Reason.EXPIRED: "the turn of the group did not come for as long as the wish was kept",
        Reason.OUTBID: "another wish of the same moment came first",
        Reason.DISAGREED: "another policy that could scale in does not agree",
        Reason.SUPERSEDED: "another daemon keeps these members: this one has stopped acting",
        Reason.OLDER_STORE: "the store may be older than the fleet: nothing is removed or made until it is confirmed",
        Reason.PAUSED: "paused by a person",
        Reason.ADVISED: "advice only: this is what would have been done",
        Reason.MODE_OFF: "mode off: nothing is decided",
        Reason.BELOW_MIN: "fewer than min is refused; pause the group and use force",
        Reason.ABOVE_MAX: "more than max is refused without force",
        Reason.FORCED: "outside min and max because a person said so",
        Reason.NOT_LISTED: "there is no size to start from before the first complete listing",
        Reason.ORPHANED: "no longer declared: its members serve on, nothing is evaluated",
        Reason.FIRST_LISTING: "the size is taken from the first complete listing",
        Reason.BOUNDS: "min or max has changed, and the size follows",
        Reason.SCHEDULE: "a schedule's floor or ceiling bounds the size while it stands",
        Reason.ALERT_FLOOR: "an alert raises the least size while it lasts",
        Reason.BLIND_FLOOR: "blind: raised to the floor that is declared for that",
        Reason.VANISHED: "members vanished, and the size follows",
        Reason.RETURNED: "members that had vanished are back, and the size is what it was",
        Reason.STEADY: "steady: no policy wants another size",
        Reason.UNHEARD: "members have not been heard for more than ten intervals",
    }
)
"""One per reason: a test keeps it so."""


def sentence_of(reason: Reason) -> str:
    """Say a reason in words; starts in lower case and ends without a full stop, so that it fits into others."""
    return _SENTENCES[reason]


def say(explanation: Explanation, now: Instant) -> tuple[str, ...]:
    """Explain one group at one tick, in lines: what happened, the size, every policy, requests, quiet times, alerts.

    Args:
        explanation: of any tick, also one long past.
        now: when it is read, for how long ago it was and how long quiet times and alerts still run.
    """
    lines = [_headline(explanation, now), _size(explanation)]
    if explanation.queued is not None:
        lines.append(say_queued(explanation.queued, explanation.ahead, now))
    if explanation.fleet_pause is not None:
        lines.append(say_fleet_pause(explanation.fleet_pause, now))
    for policy in explanation.policies:
        lines.extend(_policy(policy, _answer_to(explanation, policy.policy), now))
    lines.extend(_asked(answer, now) for answer in explanation.answers if answer.cause is not RequestCause.POLICY)
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
        parts.append(f"{explanation.leaving} leaving, left out of what is measured")
    if explanation.advised_to is not None:
        parts.insert(1, f"advised {explanation.advised_to}")
    if explanation.mode is not Mode.ACT:
        parts.append(f"mode {explanation.mode.value}")
    if pause := say_pause(explanation.pause):
        parts.append(pause)
    return "; ".join(parts)


def brief(explanation: Explanation) -> str:
    """Explain it in one line: what happened, and the condition that says most.

    That is one of a policy that acts, else of one that holds, else of a blind one, else whatever is nearest to its
    threshold.
    """
    pairs = [(policy, condition) for policy in explanation.policies for condition in policy.conditions]
    sentence = sentence_of(explanation.reason)
    if not pairs:
        expressions = [(policy, judged) for policy in explanation.policies for judged in policy.expressions]
        told = min(expressions, key=lambda pair: _rank(pair[0]), default=None)
        return sentence if told is None else f"{sentence}; {say_expression(told[1])}"
    return f"{sentence}; {say_condition(min(pairs, key=_closeness)[1])}"


_TELLING = (Reason.HOLDING, Reason.BLIND, Reason.NOT_MET)
"""Whatever else a policy has for a reason comes before these."""


def _closeness(pair: tuple[PolicyExplanation, ConditionExplanation]) -> tuple[int, float]:
    policy, condition = pair
    rank = _rank(policy)
    if condition.value is None:
        return rank, -1.0 if policy.reason is Reason.BLIND else math.inf
    return rank, abs(condition.value - condition.threshold) / (abs(condition.threshold) or 1.0)


def _rank(policy: PolicyExplanation) -> int:
    return _TELLING.index(policy.reason) if policy.reason in _TELLING else -1


# Policies


def _policy(policy: PolicyExplanation, answer: AnswerExplanation | None, now: Instant) -> list[str]:
    outcome = _outcome(policy, answer, now)
    step = "".join(f"; {said}" for said in (*_step(policy), *_aim(policy)))
    if len(policy.conditions) == 1 and not policy.expressions:
        return [f"{policy.policy}: {say_condition(policy.conditions[0])}{step}; {outcome}"]
    head = f"{policy.policy}: {_count(policy)}{outcome}{step}"
    return [head, *(f"  {say_condition(each)}" for each in policy.conditions), *_expressions(policy)]


def _expressions(policy: PolicyExplanation) -> Iterator[str]:
    for judged in policy.expressions:
        yield f"  {say_expression(judged)}"
        yield from (f"    {say_term(term)}" for term in judged.terms)


def _count(policy: PolicyExplanation) -> str:
    """How many conditions hold, where not all have to."""
    if policy.enough is None:
        return ""
    held = policy.truths.count(Truth.TRUE)
    return f"{held} of {len(policy.truths)} {'holds' if held == 1 else 'hold'}, {policy.enough} needed; "


def _outcome(policy: PolicyExplanation, answer: AnswerExplanation | None, now: Instant) -> str:
    match policy.reason:
        case Reason.NOT_MET:
            return _would_fire(policy)
        case Reason.HOLDING:
            if policy.in_a_row is not None:
                return f"true {policy.in_a_row.true} of {policy.in_a_row.times} times in a row"
            left = say_span(policy.needed - policy.held)
            return f"held {say_span(policy.held)} of {say_span(policy.needed)}, would fire in {left} if it stays so"
        case Reason.BLIND:
            return "blind, so it does not fire"
        case _:
            held = f"held {say_span(policy.held)}; " if policy.needed and policy.in_a_row is None else ""
            return held + (sentence_of(policy.reason) if answer is None else _answered(answer, now))


def _step(policy: PolicyExplanation) -> list[str]:
    """The step that is taken: ``cpu is 17 % over: add 25%``."""
    step = policy.taken
    return [
        f"{condition.counter} is {say_quantity(step.over, condition)} over: {say_adjustment(step.adjustment)}"
        for condition in policy.conditions
        if step is not None and condition.condition == step.condition
    ]


def _aim(policy: PolicyExplanation) -> Iterator[str]:
    """What a target that is missed comes to: ``the load of 12.3 members at 60 %``."""
    if policy.aim is not None:
        load, level = say_number(policy.aim.load), say_quantity(policy.aim.level, policy.conditions[0])
        yield f"{load} times the target of {level}" if policy.aim.relative else f"the load of {load} members at {level}"


def _would_fire(policy: PolicyExplanation) -> str:
    if policy.in_a_row is not None:
        counted = policy.in_a_row
        return f"would fire after {counted.times} times in a row, {say_span(counted.every)} apart"
    if len(policy.conditions) == 1 and not policy.expressions:
        compare = say_compare(policy.conditions[0].compare)
        return (
            f"would fire after {say_span(policy.needed)} {compare}" if policy.needed else f"would fire once {compare}"
        )
    return f"would fire once {_these(policy)}{f' for {say_span(policy.needed)}' if policy.needed else ''}"


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


def _asked(answer: AnswerExplanation, now: Instant) -> str:
    return f"{answer.cause.value} {answer.by}: {_answered(answer, now)}"


def _answered(answer: AnswerExplanation, now: Instant) -> str:
    wanted = "" if answer.wanted is None else f"asked for size {answer.wanted}: "
    until = "" if answer.until is None else f" until {say_until(answer.until, now)}"
    clamps = "".join(f"; {_clamp(clamp)}" for clamp in answer.clamps)
    return f"{wanted}{sentence_of(answer.reason)}{until}{clamps}"


def _clamp(clamp: Clamp) -> str:
    return f"clamped {clamp.before} → {clamp.after} ({clamp.guard.value.replace('_', ' ')})"


def _quiet(quiet: Quiet, now: Instant) -> str:
    who = "a person or an alarm" if quiet.policy is None else quiet.policy
    way = "out" if quiet.direction is Direction.OUT else "in"
    match quiet.scope:
        case QuietScope.POLICY:
            effect = f"{who} waits"
        case QuietScope.GROUP:
            effect = "nothing scales" if quiet.direction is Direction.OUT else "nothing scales in"
        case _:
            assert_never(quiet.scope)
    return f"quiet until {say_until(quiet.until, now)}: {effect}, since {who} scaled {way}"


# Alerts


def _last_of_each(signals: Iterable[Signal]) -> Iterable[Signal]:
    """Of the alerts of one rule that do the same, the one that lasts longest: one line is enough."""
    lasting: dict[object, Signal] = {}
    for signal in sorted(signals, key=lambda signal: signal.until):
        lasting[signal.alert, signal.kind, signal.size] = signal
    return sorted(lasting.values(), key=lambda signal: (signal.alert, signal.kind.value, signal.size or 0))


def _signal(signal: Signal, group: GroupId, now: Instant) -> str:
    until = f"until {say_until(signal.until, now)}"
    match signal.kind:
        case SignalKind.FLOOR:
            return f"alert {signal.alert} keeps {group} at {signal.size} or more {until}"
        case SignalKind.SHIELD:
            return f"alert {signal.alert} shields {group} from scale-in {until}"
        case SignalKind.FREEZE_OUT:
            return f"alert {signal.alert} freezes scale-out of {group} {until}"
        case SignalKind.FREEZE_IN:
            return f"alert {signal.alert} freezes scale-in of {group} {until}"
        case SignalKind.BLIND:
            return f"alert {signal.alert} is blind itself and shields {group} from scale-in {until}"
        case _:
            assert_never(signal.kind)
