"""The gauges of a group's last tick: what each policy and condition measured, and how it was judged.

A tick that brings what the one before did is not explained for a scrape: its reasons, truths and thresholds are those
of the last explanation, and only what was measured and held is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, assert_never

from aggregator.frames import Aggregate, Cell, Insufficient, WindowKey
from config.model.reductions import Reduce
from config.units import CounterId, GroupId, Instant, MemberName, PolicyId, Seconds
from handler.observability.exposition import figure, series
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.steady_ticks import SteadyTick, UnchangedTick
from trigger.explain.explanation import ConditionExplanation, Explanation, ExpressionExplanation, PolicyExplanation
from trigger.verdicts import Foreseen, Truth

EXPLAINED = (
    ("policy_duration_seconds", "How long its conditions must hold."),
    ("condition_threshold", "What it is compared with."),
    ("condition_met", "1 TRUE, 0 FALSE; absent while UNKNOWN."),
    ("condition_info", "What a condition compares: counter, unit and comparison."),
)
"""Families that follow from the reasons and truths of the last tick: name and documentation."""

_FORECAST: Sequence[tuple[str, str, Callable[[Foreseen], float | None]]] = (
    ("forecast_load_members", "The measured load, in members at their capacity.", lambda each: each.load),
    ("forecast_coming_members", "The load that is forecast for a boot time ahead.", lambda each: each.coming),
    ("forecast_at_most_members", "The same with the headroom that is followed.", lambda each: each.at_most),
    ("forecast_needed_members", "The size below which a forecast grows the group.", lambda each: each.needed),
    (
        "forecast_enough_members",
        "The size that it may shrink to; absent without data.",
        lambda each: each.may_shrink_to,
    ),
    (
        "forecast_member_carries",
        "What a member carries, in the unit of the load, where that is learned.",
        lambda each: each.carries,
    ),
    (
        "forecast_missed_ratio",
        "The part of the load that this headroom missed lately.",
        lambda each: each.missed / 100,
    ),
)
"""Families of a policy with a forecast: name, documentation, and what it reads."""

MOVING = (
    ("group_decided_timestamp_seconds", "When it was last decided."),
    ("policy_ready_seconds_remaining", "How long its conditions must still hold; absent while they do not."),
    ("policy_held_seconds", "How long its conditions have held; 0 while they do not."),
    ("condition_value", "What was measured; absent while there is nothing."),
    ("condition_heard_members", "Members behind the value."),
    ("condition_expected_members", "Members that should have answered."),
    ("counter_age_seconds", "Age of the newest answer behind a condition."),
    *((name, text) for name, text, _ in _FORECAST),
    ("observed_value", "What a counter that is observed showed over the last interval; absent while there is nothing."),
    ("observed_heard_members", "Members behind it."),
    ("observed_expected_members", "Members that should have answered."),
    ("member_value", "What a member showed at the last tick, where that is exported; absent while it has no value."),
)
"""Families that change with every tick."""

_POLICY = ("group", "policy")
_CONDITION = ("group", "policy", "condition")
_OBSERVED = ("group", "counter", "across")
_MEMBER = ("group", "counter", "member")
_INFO = (*_CONDITION, "counter", "unit", "compare")

_Row = tuple[tuple[str, ...], float | None]


class _Figures(NamedTuple):
    """What one aggregate measured."""

    value: float | None
    heard: int
    expected: int
    age: Seconds | None


class LastTick(NamedTuple):
    """All that the moving families read of a group: values that are replaced, never changed.

    The loop may replace one between two reads: the lines of one scrape may then be of two ticks.
    """

    group: GroupId
    decided_at: Instant | None
    explained: Explanation | None
    unchanged: SteadyTick | UnchangedTick | None
    foreseen: Mapping[PolicyId, Foreseen]
    observed: Mapping[WindowKey, Cell]
    members: Mapping[tuple[CounterId, MemberName], float]


def last_tick_of(runtime: GroupRuntime) -> LastTick:
    """Return what is known of a group's last tick."""
    return LastTick(
        runtime.id,
        runtime.decided_at,
        runtime.explained,
        runtime.unchanged,
        runtime.foreseen,
        runtime.observed,
        runtime.member_values,
    )


def explained_lines(runtime: GroupRuntime) -> Iterator[str]:
    """Yield the text of each family of `EXPLAINED`."""
    policies = () if runtime.explained is None else runtime.explained.policies
    judged = [((runtime.id, policy.policy, each.condition), each) for policy in policies for each in policy.conditions]
    expressed = [
        ((runtime.id, policy.policy, each.condition), each) for policy in policies for each in policy.expressions
    ]
    yield _text("policy_duration_seconds", _POLICY, [((runtime.id, each.policy), each.needed) for each in policies])
    yield _text("condition_threshold", _CONDITION, [(key, each.threshold) for key, each in judged])
    met = [*((key, _met(each)) for key, each in judged), *((key, _met(each)) for key, each in expressed)]
    yield _text("condition_met", _CONDITION, met)
    known = [((*key, each.counter, each.unit, each.compare.value), 1.0) for key, each in judged]
    yield _text("condition_info", _INFO, known)


def moving_lines(tick: LastTick) -> Iterator[str]:
    """Yield the text of each family of `MOVING`."""
    group, unchanged = tick.group, tick.unchanged
    policies = () if tick.explained is None else tick.explained.policies
    held = [policy.held for policy in policies] if unchanged is None else unchanged.held
    yield _text("group_decided_timestamp_seconds", ("group",), [((group,), tick.decided_at)])
    both = list(zip(policies, held, strict=False))
    yield _text(
        "policy_ready_seconds_remaining",
        _POLICY,
        [((group, each.policy), _remaining(each, since)) for each, since in both],
    )
    yield _text("policy_held_seconds", _POLICY, [((group, each.policy), since) for each, since in both])
    keys = [(group, policy.policy, each.condition) for policy in policies for each in policy.conditions]
    judged = list(zip(keys, _measured(policies, unchanged), strict=False))
    yield _text("condition_value", _CONDITION, [(key, each.value) for key, each in judged])
    yield _text("condition_heard_members", _CONDITION, [(key, each.heard) for key, each in judged])
    yield _text("condition_expected_members", _CONDITION, [(key, each.expected) for key, each in judged])
    ages: list[_Row] = [(key, each.age) for key, each in judged]
    expressed = [(policy.policy, each) for policy in policies for each in policy.expressions]
    ages += [((group, policy, each.condition), _oldest(each)) for policy, each in expressed]
    yield _text("counter_age_seconds", _CONDITION, ages)
    for name, _, read in _FORECAST:
        yield _text(name, _POLICY, [((group, policy), read(foreseen)) for policy, foreseen in tick.foreseen.items()])
    observed = [((group, key.counter, key.across.value), _of_cell(cell)) for key, cell in tick.observed.items()]
    averages = [(key[:2], each) for key, each in observed if key[2] == Reduce.AVG.value]
    yield _text("observed_value", _OBSERVED, [(key, each.value) for key, each in observed])
    yield _text("observed_heard_members", _OBSERVED[:2], [(key, each.heard) for key, each in averages])
    yield _text("observed_expected_members", _OBSERVED[:2], [(key, each.expected) for key, each in averages])
    yield _text("member_value", _MEMBER, [((group, *key), value) for key, value in tick.members.items()])


def _measured(policies: Sequence[PolicyExplanation], unchanged: SteadyTick | UnchangedTick | None) -> list[_Figures]:
    """Return what each condition measured."""
    if unchanged is not None:
        return [_of_cell(cell) for cell in unchanged.cells]
    conditions = [each for policy in policies for each in policy.conditions]
    return [_Figures(each.value, each.heard, each.expected, each.age) for each in conditions]


def _of_cell(cell: Cell) -> _Figures:
    match cell:
        case Aggregate():
            return _Figures(cell.value, cell.heard, cell.expected, cell.age)
        case Insufficient():
            return _Figures(None, cell.heard, cell.expected, None)
        case _:
            assert_never(cell)


def _remaining(policy: PolicyExplanation, held: Seconds) -> float | None:
    return max(policy.needed - held, 0.0) if policy.truth is Truth.TRUE else None


def _met(condition: ConditionExplanation | ExpressionExplanation) -> float | None:
    match condition.truth:
        case Truth.TRUE:
            return 1.0
        case Truth.FALSE:
            return 0.0
        case Truth.UNKNOWN:
            return None


def _oldest(expression: ExpressionExplanation) -> float | None:
    return max((term.age for term in expression.terms if term.age is not None), default=None)


def _text(name: str, labels: Sequence[str], rows: Sequence[_Row]) -> str:
    return "".join(
        [f"{series(f'trimtab_{name}', labels, key)}{figure(value)}\n" for key, value in rows if value is not None]
    )
