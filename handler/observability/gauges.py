"""The gauges of ``/metrics``: what is, read from memory at each scrape, so that nothing must be forgotten.

A group's lines are kept from scrape to scrape as long as nothing has changed that they were made of; of a group that
ticks, what was measured changes (`handler.observability.tick_gauges`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import NamedTuple

from collector.outages.outages import members_of
from config.model.catalogue import Mode
from config.units import GroupId, Instant
from handler.observability.exposition import figure, header, series
from handler.observability.tick_gauges import EXPLAINED, MOVING, explained_lines, last_tick_of, moving_lines
from handler.planning.evidence import Ground
from handler.planning.rolls import RollState
from handler.planning.status import GroupCondition
from handler.planning.steps import Wait
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.statuses import condition_of, counts_of, progress_of
from trigger.forecast.leads import LearnedTime
from trigger.reasons import Reason
from trigger.requests import FleetPause, Pause

Rows = Iterable[tuple[tuple[str, ...], float | None]]
"""(label values, value); a value of ``None`` is no sample: absence is not zero."""


class Gauges:
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
        self._kept: dict[GroupId, _Kept] = {}

    def texts(self) -> Iterator[str]:
        """Yield the text of one family a gauge, each with every group."""
        runtimes, now = list(self._runtimes.values()), self._now()
        yield header("trimtab_fleet_pause", "gauge", "1 for what a person has stopped in all groups.")
        yield from _lines("trimtab_fleet_pause", ("pause",), self._stopped())
        self._kept = kept = {runtime.id: self._of(runtime, now) for runtime in runtimes}
        for place, (name, text) in enumerate(_SETTLED):
            yield header(f"trimtab_{name}", "gauge", text)
            yield from [each.settled[place] for each in kept.values()]
        for place, (name, text) in enumerate(MOVING):
            yield header(f"trimtab_{name}", "gauge", text)
            yield from [each.moving[place] for each in kept.values()]

    def _of(self, runtime: GroupRuntime, now: Instant) -> _Kept:
        """Return a group's lines, of the scrape before as far as nothing has changed since."""
        before, state, tick = self._kept.get(runtime.id), _state_of(runtime), last_tick_of(runtime)
        kept = None if before is None or before.state is None or not _same(before.state, state) else before.settled
        settled = tuple(_settled(runtime, now)) if kept is None else kept
        moving = before.moving if before is not None and _same(before.tick, tick) else tuple(moving_lines(tick))
        return _Kept(state if _is_timeless(runtime) else None, tick, settled, moving)

    def _stopped(self) -> Rows:
        fleet = self._fleet_pause()
        stopped = Pause.NO if fleet is None else fleet.pause
        return [((pause.value,), float(stopped is pause)) for pause in Pause]


class _Kept(NamedTuple):
    """One group's lines, and what they were made of."""

    state: tuple[object, ...] | None
    """``None``: some of it depends on the time."""
    tick: tuple[object, ...]
    settled: tuple[str, ...]
    """The text of each family of `_SETTLED`."""
    moving: tuple[str, ...]
    """The text of each family of `handler.observability.tick_gauges.MOVING`."""


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return all(map(is_, one, other))


def _state_of(runtime: GroupRuntime) -> tuple[object, ...]:
    """List all that the settled families read of a group: values that are replaced, never changed."""
    return (
        runtime.definition,
        runtime.state,
        runtime.deleting,
        runtime.kept_builds,
        runtime.seen,
        runtime.explained,
        runtime.unheard,
        runtime.unrecorded,
        runtime.converged_at,
        runtime.edited_at,
        runtime.declared,
        runtime.pinned,
        runtime.roll,
        runtime.converged,
        runtime.times,
    )


def _is_timeless(runtime: GroupRuntime) -> bool:
    """Whether nothing of the settled families ends or begins by itself."""
    declared, state = runtime.definition.group, runtime.state
    running = state.quiets or state.signals or runtime.builds.back_off_until is not None
    return not (running or declared.schedules)


def _settled(runtime: GroupRuntime, now: Instant) -> Iterator[str]:
    """Yield the text of each family of `_SETTLED`."""
    for name, _, read in _PER_GROUP:
        yield "".join(_lines(f"trimtab_{name}", ("group",), [((runtime.id,), read(runtime, now))]))
    for name, _, label, words in _PER_GROUP_AND_WORD:
        rows = [((runtime.id, word), value) for word, value in words(runtime, now)]
        yield "".join(_lines(f"trimtab_{name}", ("group", label), rows))
    yield from explained_lines(runtime)


def _lines(name: str, labels: Sequence[str], rows: Rows) -> list[str]:
    return [f"{series(name, labels, key)}{figure(value)}\n" for key, value in rows if value is not None]


def _advised(runtime: GroupRuntime, _: Instant) -> int | None:
    return runtime.explained.advised_to if runtime.explained is not None else None


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
    current = dict(runtime.seen.plan.waits) if runtime.seen is not None else {}
    return ((wait.value, current.get(wait, 0)) for wait in Wait)


def _grounds(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    current = {doubt.ground for doubt in runtime.seen.plan.doubts} if runtime.seen is not None else set()
    return ((ground.value, float(ground in current)) for ground in Ground)


def _profiles(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    progress = progress_of(runtime)
    return iter((("current", progress.current), ("old", progress.old)))


def _rolls(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    return ((state.value, float(runtime.roll is not None and runtime.roll.state is state)) for state in RollState)


def _unheard(runtime: GroupRuntime, _: Instant) -> float:
    return float(len(members_of(runtime.unheard)))


def _quantiles(learned: LearnedTime | None) -> Sequence[tuple[str, float]]:
    return () if learned is None else (("0.5", learned.half), ("0.9", learned.most))


def _restrictions(runtime: GroupRuntime, _: Instant) -> Iterator[tuple[str, float]]:
    reasons = {Reason.UNHEARD} if runtime.unheard else set()
    if runtime.explained is not None:
        reasons |= {runtime.explained.reason, *(policy.reason for policy in runtime.explained.policies)}
    return ((reason.value, float(reason in reasons)) for reason in Reason)


_PER_GROUP: tuple[tuple[str, str, Callable[[GroupRuntime, Instant], float | None]], ...] = (
    ("group_desired", "How many members there must be.", lambda runtime, _: runtime.state.desired),
    ("group_min", "Least desired size, as schedules leave it now.", lambda runtime, now: runtime.bounds(now)[0]),
    ("group_max", "Greatest desired size, as schedules leave it now.", lambda runtime, now: runtime.bounds(now)[1]),
    ("group_recommended", "What would be done in mode advise.", _advised),
    ("group_revision", "Revision of the desired size.", lambda runtime, _: runtime.state.revision),
    ("group_interval_seconds", "How often it is judged; absent while it is not (orphaned, mode off).", _interval),
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
    (
        "member_boots",
        "The newest members whose time to serve is known, at most a hundred.",
        lambda runtime, _: 0.0 if runtime.times.boot is None else runtime.times.boot.members,
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
    (
        "member_boot_seconds",
        "Within what half and nine of ten of the newest members were in service after they were ordered.",
        "quantile",
        lambda runtime, _: _quantiles(runtime.times.boot),
    ),
    (
        "member_drain_seconds",
        "Within what half and nine of ten of the newest members were gone after their draining began.",
        "quantile",
        lambda runtime, _: _quantiles(runtime.times.drain),
    ),
)


_SETTLED: tuple[tuple[str, str], ...] = (
    *((name, text) for name, text, _ in _PER_GROUP),
    *((name, text) for name, text, *_ in _PER_GROUP_AND_WORD),
    *EXPLAINED,
)
"""The families whose lines stay as long as a group does: name and documentation."""
