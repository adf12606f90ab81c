"""An explanation in words: one screen for a person, with times in UTC.

>>> sentence_of(Reason.AT_MAX)
'the group already has the most members that it may have'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import assert_never

from aggregator.frames import Lack
from config.adjustments import Adjustment
from config.expressions import Dialect
from config.model import Compare, Mode, QuietScope
from config.reductions import Reduce
from config.units import GroupId, Instant, PolicyId, format_span
from trigger.explain import (
    AnswerExplanation,
    ConditionExplanation,
    Explanation,
    ExpressionExplanation,
    PolicyExplanation,
    TermExplanation,
)
from trigger.freeze_words import say_freezing
from trigger.reasons import Reason
from trigger.requests import Cause, Clamp, Pause, Quiet, Signal, SignalKind
from trigger.stabilisation_words import say_stabilising
from trigger.time_words import say_clock, say_span, say_until
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
        Reason.CATCHING_UP: "earlier growth is not in service yet",
        Reason.MAX_CHANGE: "as many have come or left as may in a while",
        Reason.FLAPPING: "the size went to and fro too often and is held high",
        Reason.STABILISING: "more was advised lately, and the highest advice of the window wins for scale-in",
        Reason.BUDGET: "the budget of creates is spent",
        Reason.BUILD_BACK_OFF: "builds failed in a row, so growth waits",
        Reason.WOULD_BOUNCE: "with fewer members the group would want to grow again at once",
        Reason.OUTBID: "another wish of the same moment came first",
        Reason.DISAGREED: "another policy that could scale in does not agree",
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
        Reason.ALERT_FLOOR: "an alert raises the least size while it lasts",
        Reason.BLIND_FLOOR: "blind: raised to the floor that is declared for that",
        Reason.VANISHED: "members vanished, and the size follows",
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
    for policy in explanation.policies:
        lines.extend(_policy(policy, _answer_to(explanation, policy.policy), now))
    lines.extend(_asked(answer, now) for answer in explanation.answers if answer.cause is not Cause.POLICY)
    lines.extend(_quiet(quiet, now) for quiet in explanation.quiets)
    lines.extend(_signal(signal, explanation.group, now) for signal in _last_of_each(explanation.signals))
    if explanation.stabilising is not None:
        lines.append(say_stabilising(explanation.stabilising, now))
    lines.extend(say_freezing(one, explanation.group, now) for one in explanation.freezes)
    return tuple(lines)


def _headline(explanation: Explanation, now: Instant) -> str:
    ago = f" ({say_span(now - explanation.at)} ago)" if now - explanation.at >= 1 else ""
    before, after = explanation.desired_from, explanation.desired_to
    moved = "" if before == after else f", size {after if before is None else f'{before} → {after}'}"
    return f"{explanation.group} at {say_clock(explanation.at)}{ago}: {sentence_of(explanation.reason)}{moved}"


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
    if explanation.pause is not Pause.NO:
        parts.append(say_pause(explanation.pause))
    return "; ".join(parts)


def say_pause(pause: Pause) -> str:
    """What a person has stopped; nothing if nothing."""
    match pause:
        case Pause.NO:
            return ""
        case Pause.ALL:
            return "paused"
        case Pause.DECISIONS:
            return "decisions paused"
        case Pause.OUT:
            return "scale-out paused"
        case Pause.IN:
            return "scale-in paused"
        case _:
            assert_never(pause)


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
        return sentence if told is None else f"{sentence}; {_expression(told[1])}"
    return f"{sentence}; {_condition(min(pairs, key=_closeness)[1])}"


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
        return [f"{policy.policy}: {_condition(policy.conditions[0])}{step}; {outcome}"]
    head = f"{policy.policy}: {_count(policy)}{outcome}{step}"
    return [head, *(f"  {_condition(each)}" for each in policy.conditions), *_expressions(policy)]


def _expressions(policy: PolicyExplanation) -> Iterator[str]:
    for judged in policy.expressions:
        yield f"  {_expression(judged)}"
        yield from (f"    {_term(term)}" for term in judged.terms)


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
        f"{condition.counter} is {_quantity(_number(step.over), condition)} over: {_adjustment(step.adjustment)}"
        for condition in policy.conditions
        if step is not None and condition.condition == step.condition
    ]


def _aim(policy: PolicyExplanation) -> Iterator[str]:
    """What a target that is missed comes to: ``the load of 12.3 members at 60 %``."""
    if policy.aim is not None:
        load, level = _number(policy.aim.load), _quantity(_number(policy.aim.level), policy.conditions[0])
        yield f"{load} times the target of {level}" if policy.aim.relative else f"the load of {load} members at {level}"


def _adjustment(adjustment: Adjustment) -> str:
    """As it is written in the file."""
    least = f", at least {adjustment.at_least}" if adjustment.at_least else ""
    return f"{adjustment.verb.value} {adjustment.amount:g}{'%' if adjustment.percent else ''}{least}"


def _would_fire(policy: PolicyExplanation) -> str:
    if policy.in_a_row is not None:
        counted = policy.in_a_row
        return f"would fire after {counted.times} times in a row, {say_span(counted.every)} apart"
    if len(policy.conditions) == 1 and not policy.expressions:
        compare = _compare(policy.conditions[0].compare)
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


def _condition(condition: ConditionExplanation) -> str:
    name = _name(condition)
    if condition.value is not None:
        value = _quantity(_number(condition.value, condition.threshold), condition)
        return f"{name} = {value} ({_heard(condition)}), {_judged(condition)}"
    if condition.low is None or condition.high is None:
        return f"{name} is unknown: {_lack(condition)}"
    between = f"between {_number(condition.low)} and {_quantity(_number(condition.high), condition)}"
    return f"{name} is {between} ({_lack(condition)}), {_judged(condition)}"


def _expression(judged: ExpressionExplanation) -> str:
    reading = ", read as OneFlow reads it," if judged.dialect is Dialect.ONEFLOW else ""
    return f"{judged.condition}: {judged.expression}{reading} is {judged.truth.value}"


def _term(term: TermExplanation) -> str:
    if term.value is not None:
        return f"{_name(term)} = {_quantity(_number(term.value), term)} ({_heard(term)})"
    if term.low is None or term.high is None:
        return f"{_name(term)} is unknown: {_lack(term)}"
    return f"{_name(term)} is between {_number(term.low)} and {_quantity(_number(term.high), term)} ({_lack(term)})"


_Measured = ConditionExplanation | TermExplanation


def _name(condition: _Measured) -> str:
    over = f"{condition.aggregate} {format_span(condition.window)}"
    if condition.across == condition.aggregate:
        return f"{condition.counter} {over}"
    return f"{condition.counter} {condition.across} across members, {over}"


def _judged(condition: ConditionExplanation) -> str:
    against = f"{_compare(condition.compare)} {_quantity(_number(condition.threshold), condition)}{_shared(condition)}"
    match condition.truth:
        case Truth.TRUE:
            return against
        case Truth.FALSE:
            return f"not {against}"
        case Truth.UNKNOWN:
            return f"perhaps {against}"
        case _:
            assert_never(condition.truth)


def _shared(condition: ConditionExplanation) -> str:
    """Of a threshold that is shared out over the desired size, what one member bears."""
    return "" if condition.per_member is None else f", {_number(condition.per_member)} for each member"


def _heard(condition: _Measured) -> str:
    """Who answered, how long ago, and what the value could be if the others had."""
    parts = [] if condition.expected == 1 else [f"{condition.heard} of {condition.expected} members"]
    if condition.left_out:
        parts.append(_left_out(condition))
    if condition.age is not None:
        parts.append(f"{say_span(condition.age)} old")
    heard = ", ".join(parts)
    low, high = condition.low, condition.high
    if low is not None and low == high:
        return heard
    if low is not None and high is not None:
        return f"{heard}; {_number(low)} to {_quantity(_number(high), condition)} with the unheard"
    unknown = isinstance(condition, TermExplanation) or condition.truth is Truth.UNKNOWN
    return f"{heard}; {'no range is declared for the unheard' if unknown else 'the unheard left out'}"


def _left_out(condition: _Measured) -> str:
    return f"{condition.left_out} left out to warm up"


def _lack(condition: _Measured) -> str:
    match condition.lack:
        case Lack.NO_SAMPLES:
            return f"nobody was heard, of {condition.expected} asked"
        case Lack.TOO_FEW:
            return f"it has not been watched for {format_span(condition.window)} yet"
        case Lack.STALE:
            return "the last answer is too old"
        case Lack.NO_MEMBERS:
            return f"there is nobody to ask{f', with {_left_out(condition)}' if condition.left_out else ''}"
        case Lack.TOO_FEW_HEARD:
            return f"{condition.heard} of {condition.expected} members heard, too few to rank"
        case None:
            return "it was not measured"
        case _:
            assert_never(condition.lack)


def _compare(compare: Compare) -> str:
    return "equal to" if compare is Compare.EQUALS else compare.value.replace("_", " ")


# Requests and quiet times


def _answer_to(explanation: Explanation, policy: PolicyId) -> AnswerExplanation | None:
    answers = (answer for answer in explanation.answers if answer.cause is Cause.POLICY and answer.by == policy)
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


# Numbers

_TINY, _HUGE = 1e-6, 1e12
"""Beyond these a number is written with its power of ten; nobody counts the zeros."""


def _quantity(number: str, condition: _Measured) -> str:
    counts = Reduce.COUNT.value in {condition.across, condition.aggregate}
    unit = "" if counts else "%" if condition.unit == "percent" else condition.unit
    return f"{number} {unit}".rstrip()


def _number(value: float, apart_from: float | None = None) -> str:
    """Write three digits, or as many as tell ``value`` apart from a threshold that it does not equal."""
    if not math.isfinite(value) or not _TINY <= abs(value) < _HUGE:
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    for more in range(12):
        text = f"{value:.{decimals + more}f}"
        if apart_from is None or value == apart_from or float(text) != apart_from:
            break
    else:
        return repr(value)
    return text.rstrip("0").rstrip(".") if "." in text else text
