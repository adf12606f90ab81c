"""The gauges of ``/metrics``: what is, read from memory at each scrape, so that nothing must be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from collector.outages.outages import members_of
from config.model.catalogue import Mode
from config.units import GroupId, Instant
from handler.planning.evidence import Ground
from handler.planning.rolls import RollState
from handler.planning.status import GroupCondition
from handler.planning.steps import Wait
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.statuses import condition_of, counts_of, progress_of
from trigger.explain.explanation import ConditionExplanation, ExpressionExplanation, PolicyExplanation
from trigger.reasons import Reason
from trigger.requests import FleetPause, Pause
from trigger.verdicts import Truth

Rows = Iterable[tuple[tuple[str, ...], float | None]]
"""(label values, value); a value of ``None`` is no sample: absence is not zero."""


class Gauges(Collector):
    """Export the state of every group. Reads values that are replaced, never changed."""

    def __init__(
        self,
        runtimes: Mapping[GroupId, GroupRuntime],
        now: Callable[[], Instant],
        fleet_pause: Callable[[], FleetPause | None] = lambda: None,
    ) -> None:
        self._runtimes = runtimes
        self._now = now
        self._fleet_pause = fleet_pause

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family a gauge, each with every group."""
        runtimes, now = list(self._runtimes.values()), self._now()
        yield _family("fleet_pause", "1 for what a person has stopped in all groups.", ("pause",), self._stopped())
        for name, text, read in _PER_GROUP:
            yield _family(name, text, ("group",), [((runtime.id,), read(runtime, now)) for runtime in runtimes])
        for name, text, label, words in _PER_GROUP_AND_WORD:
            yield _family(
                name,
                text,
                ("group", label),
                [((runtime.id, word), value) for runtime in runtimes for word, value in words(runtime, now)],
            )
        shown = [
            (runtime, policy) for runtime in runtimes if runtime.explanation for policy in runtime.explanation.policies
        ]
        for name, text, gauge in _PER_POLICY:
            rows = [((runtime.id, policy.policy), gauge(policy)) for runtime, policy in shown]
            yield _family(name, text, ("group", "policy"), rows)
        judged = [(runtime, policy, condition) for runtime, policy in shown for condition in policy.conditions]
        expressed = [(runtime, policy, expression) for runtime, policy in shown for expression in policy.expressions]
        for name, text, measure in _PER_CONDITION:
            found = [((runtime.id, policy.policy, cond.condition), measure(cond)) for runtime, policy, cond in judged]
            if (of_it := _PER_EXPRESSION.get(name)) is not None:
                found += [
                    ((runtime.id, policy.policy, each.condition), of_it(each)) for runtime, policy, each in expressed
                ]
            yield _family(name, text, ("group", "policy", "condition"), found)
        yield _family(
            "condition_info",
            "What a condition compares: counter, unit and comparison.",
            ("group", "policy", "condition", "counter", "unit", "compare"),
            [
                ((runtime.id, policy.policy, cond.condition, cond.counter, cond.unit, cond.compare.value), 1.0)
                for runtime, policy, cond in judged
            ],
        )

    def _stopped(self) -> Rows:
        fleet = self._fleet_pause()
        stopped = Pause.NO if fleet is None else fleet.pause
        return [((pause.value,), float(stopped is pause)) for pause in Pause]


def _family(name: str, text: str, labels: Sequence[str], rows: Rows) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"trimtab_{name}", text, labels=labels)
    for key, value in rows:
        if value is not None:
            family.add_metric(list(key), float(value))
    return family


def _remaining(policy: PolicyExplanation) -> float | None:
    return max(policy.needed - policy.held, 0.0) if policy.truth is Truth.TRUE else None


def _advised(runtime: GroupRuntime, _: Instant) -> int | None:
    return runtime.explanation.advised_to if runtime.explanation is not None else None


def _quiet_left(runtime: GroupRuntime, now: Instant) -> float:
    return max((quiet.until - now for quiet in runtime.state.quiets if quiet.until > now), default=0.0)


def _drift(runtime: GroupRuntime) -> int | None:
    if runtime.seen is None or runtime.state.desired is None:
        return None
    return abs(runtime.seen.fleet.in_service - runtime.state.desired)


def _distrust(runtime: GroupRuntime) -> float | None:
    if runtime.seen is None:
        return None
    return float(bool(runtime.seen.plan.doubts))


def _interval(runtime: GroupRuntime, _: Instant) -> float | None:
    watched = not runtime.state.orphaned and runtime.definition.group.mode is not Mode.OFF
    return runtime.definition.group.interval if watched else None


def _creates_left(runtime: GroupRuntime, _: Instant) -> int | None:
    return runtime.seen.fleet.creates_left if runtime.seen is not None else None


def _back_off_left(runtime: GroupRuntime, now: Instant) -> float:
    until = runtime.builds.back_off_until
    return max(until - now, 0.0) if until is not None else 0.0


def _members(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((state.value, count) for state, count in counts_of(runtime).items())


def _modes(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((mode.value, float(runtime.definition.group.mode is mode)) for mode in Mode)


def _pauses(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((pause.value, float(runtime.state.stopped is pause)) for pause in Pause)


def _conditions(runtime: GroupRuntime, now: Instant) -> Iterator[tuple[str, float]]:
    current = condition_of(runtime, now)
    return ((condition.value, float(condition is current)) for condition in GroupCondition)


def _waits(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    told = dict(runtime.seen.plan.waits) if runtime.seen is not None else {}
    return ((wait.value, told.get(wait, 0)) for wait in Wait)


def _grounds(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    told = {doubt.ground for doubt in runtime.seen.plan.doubts} if runtime.seen is not None else set()
    return ((ground.value, float(ground in told)) for ground in Ground)


def _profiles(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    progress = progress_of(runtime)
    return iter((("current", progress.current), ("old", progress.old)))


def _rolls(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((state.value, float(runtime.roll is not None and runtime.roll.state is state)) for state in RollState)


def _unheard(runtime: GroupRuntime, _: Instant) -> float:
    return float(len(members_of(runtime.unheard)))


def _restrictions(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    told = {Reason.UNHEARD} if runtime.unheard else set()
    if runtime.explanation is not None:
        told |= {runtime.explanation.reason, *(policy.reason for policy in runtime.explanation.policies)}
    return ((reason.value, float(reason in told)) for reason in Reason)


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


_PER_GROUP: tuple[tuple[str, str, Callable[[GroupRuntime, Instant], float | None]], ...] = (
    ("group_desired", "How many members there must be.", lambda runtime, _: runtime.state.desired),
    ("group_min", "Least desired size, as schedules leave it now.", lambda runtime, now: runtime.bounds(now)[0]),
    ("group_max", "Greatest desired size, as schedules leave it now.", lambda runtime, now: runtime.bounds(now)[1]),
    ("group_recommended", "What would be done in mode advise.", _advised),
    ("group_revision", "Revision of the desired size.", lambda runtime, _: runtime.state.revision),
    ("group_interval_seconds", "How often it is judged; absent while it is not (orphaned, mode off).", _interval),
    ("group_decided_timestamp_seconds", "When it was last decided.", lambda runtime, _: runtime.decided_at),
    (
        "group_edited_timestamp_seconds",
        "When the file was last edited in what the group goes by; 0: not since that is written down.",
        lambda runtime, _: runtime.edited_at or 0.0,
    ),
    (
        "group_converged_timestamp_seconds",
        "When a pass last had nothing to do.",
        lambda runtime, _: runtime.converged_at,
    ),
    ("group_definition", "Revision that new members are made of.", lambda runtime, _: runtime.stored().in_force),
    ("group_pending", "1 while its last change has not converged.", lambda runtime, _: float(runtime.is_pending)),
    ("group_creates_left", "Creates that the hourly budgets still allow.", _creates_left),
    ("group_failed_builds", "Builds that failed in a row.", lambda runtime, _: runtime.builds.failed),
    ("group_back_off_seconds_remaining", "How long growth still waits after failed builds.", _back_off_left),
    ("group_quiet_seconds_remaining", "Longest quiet time still to run.", _quiet_left),
    (
        "group_unheard_members",
        "Members without data for more than ten intervals.",
        lambda runtime, _: len(members_of(runtime.unheard)),
    ),
    (
        "group_older_store",
        "1 while the store may be older than the fleet, and a person has to confirm it.",
        lambda runtime, _: float(runtime.state.older is not None),
    ),
    ("drift_members", "Members in service too many or too few.", lambda runtime, _: _drift(runtime)),
    ("inventory_distrust", "1 while what a cloud lists is not believed.", lambda runtime, _: _distrust(runtime)),
)

_PER_GROUP_AND_WORD: tuple[
    tuple[str, str, str, Callable[[GroupRuntime, Instant], Iterable[tuple[str, float]]]], ...
] = (
    ("group_members", "Members by state.", "state", _members),
    ("group_profile_members", "Members by what they are made of: current ones in service, all old.", "made", _profiles),
    ("group_roll", "1 for how the last roll stands.", "state", _rolls),
    ("group_mode", "1 for the mode in force.", "mode", _modes),
    ("group_pause", "1 for what a person has paused, here or in the whole fleet.", "pause", _pauses),
    ("group_condition", "1 for how the group is.", "condition", _conditions),
    ("group_waits", "Members that convergence waits for, or does not touch, by why.", "wait", _waits),
    ("inventory_doubt", "1 for each ground on which what a cloud lists is not believed.", "ground", _grounds),
    ("restricted", "1 for each reason of the last tick.", "reason", _restrictions),
)

_PER_POLICY: tuple[tuple[str, str, Callable[[PolicyExplanation], float | None]], ...] = (
    (
        "policy_ready_seconds_remaining",
        "How long its conditions must still hold; absent while they do not.",
        _remaining,
    ),
    ("policy_held_seconds", "How long its conditions have held; 0 while they do not.", lambda policy: policy.held),
    ("policy_duration_seconds", "How long its conditions must hold.", lambda policy: policy.needed),
)

_PER_CONDITION: tuple[tuple[str, str, Callable[[ConditionExplanation], float | None]], ...] = (
    ("condition_value", "What was measured; absent while there is nothing.", lambda condition: condition.value),
    ("condition_threshold", "What it is compared with.", lambda condition: condition.threshold),
    ("condition_met", "1 TRUE, 0 FALSE; absent while UNKNOWN.", _met),
    ("condition_heard_members", "Members behind the value.", lambda condition: condition.heard),
    ("condition_expected_members", "Members that should have answered.", lambda condition: condition.expected),
    ("counter_age_seconds", "Age of the newest answer behind a condition.", lambda condition: condition.age),
)

_PER_EXPRESSION: Mapping[str, Callable[[ExpressionExplanation], float | None]] = MappingProxyType(
    {"condition_met": _met, "counter_age_seconds": _oldest}
)
"""What an expression has of these: it is one truth, but neither one value nor one threshold."""
