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
        rooms: Mapping[GroupId, GroupRuntime],
        now: Callable[[], Instant],
        fleet_pause: Callable[[], FleetPause | None] = lambda: None,
    ) -> None:
        self._rooms = rooms
        self._now = now
        self._fleet_pause = fleet_pause

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family a gauge, each with every group."""
        rooms, now = list(self._rooms.values()), self._now()
        yield _family("fleet_pause", "1 for what a person has stopped in all groups.", ("pause",), self._stopped())
        for name, text, read in _PER_GROUP:
            yield _family(name, text, ("group",), [((room.id,), read(room, now)) for room in rooms])
        for name, text, label, words in _PER_GROUP_AND_WORD:
            yield _family(
                name,
                text,
                ("group", label),
                [((room.id, word), value) for room in rooms for word, value in words(room, now)],
            )
        shown = [(room, policy) for room in rooms if room.explanation for policy in room.explanation.policies]
        for name, text, gauge in _PER_POLICY:
            rows = [((room.id, policy.policy), gauge(policy)) for room, policy in shown]
            yield _family(name, text, ("group", "policy"), rows)
        judged = [(room, policy, condition) for room, policy in shown for condition in policy.conditions]
        expressed = [(room, policy, expression) for room, policy in shown for expression in policy.expressions]
        for name, text, measure in _PER_CONDITION:
            found = [((room.id, policy.policy, cond.condition), measure(cond)) for room, policy, cond in judged]
            if (of_it := _PER_EXPRESSION.get(name)) is not None:
                found += [((room.id, policy.policy, each.condition), of_it(each)) for room, policy, each in expressed]
            yield _family(name, text, ("group", "policy", "condition"), found)
        yield _family(
            "condition_info",
            "What a condition compares: counter, unit and comparison.",
            ("group", "policy", "condition", "counter", "unit", "compare"),
            [
                ((room.id, policy.policy, cond.condition, cond.counter, cond.unit, cond.compare.value), 1.0)
                for room, policy, cond in judged
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


def _advised(room: GroupRuntime, _: Instant) -> int | None:
    return room.explanation.advised_to if room.explanation is not None else None


def _quiet_left(room: GroupRuntime, now: Instant) -> float:
    return max((quiet.until - now for quiet in room.state.quiets if quiet.until > now), default=0.0)


def _drift(room: GroupRuntime) -> int | None:
    if room.seen is None or room.state.desired is None:
        return None
    return abs(room.seen.fleet.in_service - room.state.desired)


def _distrust(room: GroupRuntime) -> float | None:
    if room.seen is None:
        return None
    return float(bool(room.seen.plan.doubts))


def _interval(room: GroupRuntime, _: Instant) -> float | None:
    watched = not room.state.orphaned and room.definition.group.mode is not Mode.OFF
    return room.definition.group.interval if watched else None


def _creates_left(room: GroupRuntime, _: Instant) -> int | None:
    return room.seen.fleet.creates_left if room.seen is not None else None


def _back_off_left(room: GroupRuntime, now: Instant) -> float:
    until = room.builds.back_off_until
    return max(until - now, 0.0) if until is not None else 0.0


def _members(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((state.value, count) for state, count in counts_of(room).items())


def _modes(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((mode.value, float(room.definition.group.mode is mode)) for mode in Mode)


def _pauses(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((pause.value, float(room.state.stopped is pause)) for pause in Pause)


def _conditions(room: GroupRuntime, now: Instant) -> Iterator[tuple[str, float]]:
    current = condition_of(room, now)
    return ((condition.value, float(condition is current)) for condition in GroupCondition)


def _waits(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    told = dict(room.seen.plan.waits) if room.seen is not None else {}
    return ((wait.value, told.get(wait, 0)) for wait in Wait)


def _grounds(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    told = {doubt.ground for doubt in room.seen.plan.doubts} if room.seen is not None else set()
    return ((ground.value, float(ground in told)) for ground in Ground)


def _profiles(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    progress = progress_of(room)
    return iter((("current", progress.current), ("old", progress.old)))


def _rolls(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((state.value, float(room.roll is not None and room.roll.state is state)) for state in RollState)


def _unheard(room: GroupRuntime, _: Instant) -> float:
    return float(len(members_of(room.unheard)))


def _restrictions(room: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    told = {Reason.UNHEARD} if room.unheard else set()
    if room.explanation is not None:
        told |= {room.explanation.reason, *(policy.reason for policy in room.explanation.policies)}
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
    ("group_desired", "How many members there must be.", lambda room, _: room.state.desired),
    ("group_min", "Least desired size, as schedules leave it now.", lambda room, now: room.bounds(now)[0]),
    ("group_max", "Greatest desired size, as schedules leave it now.", lambda room, now: room.bounds(now)[1]),
    ("group_recommended", "What would be done in mode advise.", _advised),
    ("group_revision", "Revision of the desired size.", lambda room, _: room.state.revision),
    ("group_interval_seconds", "How often it is judged; absent while it is not (orphaned, mode off).", _interval),
    ("group_decided_timestamp_seconds", "When it was last decided.", lambda room, _: room.decided_at),
    (
        "group_edited_timestamp_seconds",
        "When the file was last edited in what the group goes by; 0: not since that is written down.",
        lambda room, _: room.edited_at or 0.0,
    ),
    ("group_converged_timestamp_seconds", "When a pass last had nothing to do.", lambda room, _: room.converged_at),
    ("group_definition", "Revision that new members are made of.", lambda room, _: room.stored().in_force),
    ("group_pending", "1 while its last change has not converged.", lambda room, _: float(room.is_pending)),
    ("group_creates_left", "Creates that the hourly budgets still allow.", _creates_left),
    ("group_failed_builds", "Builds that failed in a row.", lambda room, _: room.builds.failed),
    ("group_back_off_seconds_remaining", "How long growth still waits after failed builds.", _back_off_left),
    ("group_quiet_seconds_remaining", "Longest quiet time still to run.", _quiet_left),
    (
        "group_unheard_members",
        "Members without data for more than ten intervals.",
        lambda room, _: len(members_of(room.unheard)),
    ),
    (
        "group_older_store",
        "1 while the store may be older than the fleet, and a person has to confirm it.",
        lambda room, _: float(room.state.older is not None),
    ),
    ("drift_members", "Members in service too many or too few.", lambda room, _: _drift(room)),
    ("inventory_distrust", "1 while what a cloud lists is not believed.", lambda room, _: _distrust(room)),
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
