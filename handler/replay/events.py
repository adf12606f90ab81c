"""Events besides the samples, from `trimtab export events`: sizes, people's operations, members in service."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from config.model.adjustments import outright
from config.model.catalogue import Adjustment, AdjustmentVerb, Catalogue, Group, Policy, QuietScope
from config.model.effects import FrozenDirection
from config.model.schedules import ScheduledChange
from config.units import GroupId, Instant, Moment, Monotonic, PolicyId, Seconds
from handler.ports.stored import direction_of, fleet_pause_of, freeze_of, pause_of
from trigger.decide import returned, vanished
from trigger.explain.recorded_inputs import RecordedInputs
from trigger.forecast.leads import NEWEST, LearnedTime, Took, lead_of, learned_time
from trigger.guards.pauses import fleet_paused, fleet_resumed, paused, resumed
from trigger.policies.manual_freezes import frozen, unfrozen
from trigger.policies.schedules import schedule_named
from trigger.reasons import Reason
from trigger.requests import GroupState, Pause, Quiet, Request, RequestCause
from trigger.verdicts import Direction

_HOUR: Seconds = 3600.0
_UNASKED = frozenset(
    reason.value
    for reason in (Reason.FIRST_LISTING, Reason.BOUNDS, Reason.ALERT_FLOOR, Reason.SCHEDULE, Reason.BLIND_FLOOR)
)
_RESIZES = {"vanished": vanished, "returned": returned}
"""Notes that change the desired size, and how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayEvent:
    """One line of the file of events."""

    at: Instant
    group: GroupId
    kind: str
    """``decision``, ``note``, ``step``, ``member`` or ``given``."""
    name: str
    """For a decision its reason, for a note the operation, for a member its new state."""
    cause: str = ""
    """For a decision ``policy``, ``alarm``, ``person``; empty: no request."""
    by: str = ""
    member: str = ""
    desired_from: int | None = None
    desired_to: int | None = None
    in_service: int | None = None
    """Members in service after it."""
    message: str = ""
    given: RecordedInputs | None = None
    """Inputs of a decision that do not follow from other events."""

    @property
    def resized(self) -> bool:
        """Whether the desired size changed."""
        return self.desired_to is not None and self.desired_from != self.desired_to

    @property
    def unasked(self) -> bool:
        """Whether the size followed bounds, a schedule's limit, an alert's floor or a listing, without a request."""
        return self.kind == "decision" and (not self.cause or (self.resized and self.name in _UNASKED))

    @property
    def moment(self) -> Moment:
        """Return a moment for decisions that use only the wall clock."""
        return Moment(wall=self.at, steady=Monotonic(self.at))


class Course:
    """The course of one group over time, from its events."""

    def __init__(self, events: Iterable[ReplayEvent]) -> None:
        self.events: Sequence[ReplayEvent] = sorted(events, key=lambda each: each.at)
        self._occurred_at = [each.at for each in self.events]
        givens = (each.given for each in self.events if each.given is not None)
        self.givens: Sequence[RecordedInputs] = sorted(givens, key=lambda each: (each.life, each.number))
        """In the order of decisions; empty: an older release recorded the events."""
        resized = [each for each in self.events if each.resized]
        served = [each for each in self.events if each.kind == "member" and each.in_service is not None]
        self._sized_at = [each.at for each in resized]
        self._sizes = [each.desired_to for each in resized]
        self._before = resized[0].desired_from if resized else None
        self.listed_at = resized[0].at if resized and resized[0].desired_from is None else None
        """When it was first listed; ``None``: before the events begin, or unknown."""
        self._served_at = [each.at for each in served]
        self._served = [each.in_service for each in served]
        self.intended = [each.at for each in self.events if each.kind == "member" and each.name == "intended"]
        """When its members were ordered."""

    def boot(self) -> Seconds | None:
        """Return the median time from the order of a member until it was in service; ``None``: no member has both.

        The median, since some members are slow, and some have only part of their events.
        """
        took = self._boots()
        return median(took) if took else None

    def learned_boot(self) -> LearnedTime | None:
        """Return what a forecast knows of the time that members take to serve; ``None``: nothing."""
        return learned_time([Took(None, span) for span in self._boots()[-NEWEST:]], None)

    def lead(self, boot: LearnedTime | None = None) -> Seconds:
        """Return for how long a boot forecasts look ahead; ``boot``: what is known if the events do not have it."""
        return lead_of(self.learned_boot() or boot, None)

    def _boots(self) -> list[Seconds]:
        """Return the times from the order of a member until it was in service, in the order of the latter."""
        ordered: dict[str, Instant] = {}
        took: list[Seconds] = []
        for each in self.events:
            if each.kind == "member" and each.name == "intended":
                ordered[each.member] = each.at
            elif each.kind == "member" and each.name == "in_service" and each.member in ordered:
                took.append(each.at - ordered.pop(each.member))
        return took

    @property
    def sized(self) -> bool:
        """Tell whether its sizes were recorded."""
        return bool(self._sizes)

    def size(self, at: Instant) -> int | None:
        """Return the recorded desired size."""
        return _latest(self._sized_at, self._sizes, at, self._before)

    def in_service(self, at: Instant) -> int | None:
        """Return how many members were in service; ``None``: unknown."""
        return _latest(self._served_at, self._served, at, None)

    def since(self, after: Instant, until: Instant) -> Sequence[ReplayEvent]:
        """Return the events after one instant, up to and including another."""
        return self.events[bisect_right(self._occurred_at, after) : bisect_right(self._occurred_at, until)]

    def next_at(self, after: Instant) -> Instant:
        """Return when the next event happens after an instant; infinite: none does."""
        place = bisect_right(self._occurred_at, after)
        return self._occurred_at[place] if place < len(self._occurred_at) else Instant(math.inf)

    def ordered(self, until: Instant) -> int:
        """Return how many members were ordered within the hour up to ``until``."""
        return bisect_right(self.intended, until) - bisect_right(self.intended, until - _HOUR)


def _latest(times: Sequence[float], values: Sequence[int | None], at: Instant, otherwise: int | None) -> int | None:
    place = bisect_right(times, at)
    return values[place - 1] if place else otherwise


def state_before(catalogue: Catalogue, group: GroupId, course: Course, first_at: Instant) -> GroupState:
    """Return the group's state when the series begins, as far as earlier events show it.

    Desired size, pauses, freezes of persons, the quiet times of policies and the group's last growth. Lasting alerts
    are not among events.
    """
    state, declared = GroupState(), catalogue.groups[group]
    if course.sized:
        state = replace(state, desired=course.size(Instant(first_at - 1e-6)))
    for each in course.events:
        if each.at >= first_at:
            break
        state = _remembered(catalogue, declared, state, each)
    return state


def _remembered(catalogue: Catalogue, group: Group, state: GroupState, event: ReplayEvent) -> GroupState:
    if event.kind == "note":
        return acted(group, state, event) if event.name not in _RESIZES else state
    if not event.resized or event.desired_from is None or event.desired_to is None:
        return state
    grew = event.desired_to > event.desired_from
    state = replace(state, grown_at=event.at) if grew else state
    quiet_time, policy, scope = _quiet_of(catalogue, group, event)
    if event.unasked or quiet_time <= 0:
        return state
    direction = Direction.OUT if grew else Direction.IN
    quiet = Quiet(policy=policy, scope=scope, direction=direction, until=Instant(event.at + quiet_time))
    return replace(state, quiets=(*state.quiets, quiet))


def acted(group: Group, state: GroupState, event: ReplayEvent) -> GroupState:
    """Apply an operation that changes a group's state by itself: pauses, freezes, vanished members."""
    match event.name:
        case "pause" | "resume" | "pause_all" | "resume_all":
            return _paused(state, event)
        case "freeze":
            direction, lasts, because = freeze_of(event.message)
            return frozen(state, direction, lasts, by=event.by, because=because, now=event.at)
        case "unfreeze":
            return unfrozen(state, FrozenDirection(event.message))
        case "vanished" | "returned":
            count = re.match(r"\d+", event.message)
            follow = _RESIZES[event.name]
            return follow(group, state, int(count[0])) if count else state
        case _:
            return state


def _paused(state: GroupState, event: ReplayEvent) -> GroupState:
    """Begin or end a pause, of the group or of the fleet."""
    match event.name:
        case "pause":
            return paused(state, pause_of(event.message))
        case "resume":
            direction = direction_of(event.message)
            return paused(state, Pause.NO) if direction is None else resumed(state, direction)
        case "pause_all":
            pause, because = fleet_pause_of(event.message)
            fleet = fleet_paused(state.fleet_pause, pause, by=event.by, because=because, now=event.at)
            return replace(state, fleet_pause=fleet)
        case _:
            return replace(state, fleet_pause=fleet_resumed(state.fleet_pause, direction_of(event.message)))


def request_of(catalogue: Catalogue, group: Group, event: ReplayEvent) -> Request | None:
    """Return the request from outside behind an event; ``None``: there was none, or a policy made it.

    Events have the outcome of a request. A granted request is repeated with its resulting size, a refused one with its
    wanted size. An alarm under a policy's name executes that policy.
    """
    size = event.desired_to if event.resized else _wanted(event)
    if (
        event.kind != "decision"
        or event.cause not in {RequestCause.ALARM.value, RequestCause.PERSON.value}
        or size is None
    ):
        return None
    quiet_time, policy, scope = _quiet_of(catalogue, group, event)
    declared = None if policy is None else declared_policy(catalogue, group, policy)
    carried = None if declared is None else outright(declared.adjustment)
    return Request(
        id=f"{event.cause}-{event.by}-{event.at:.6f}",
        group=group.id,
        cause=RequestCause(event.cause),
        by=event.by,
        adjustment=Adjustment(verb=AdjustmentVerb.SET, amount=size) if carried is None else carried,
        policy=policy,
        quiet_time=quiet_time,
        quiet_scope=scope,
        force=event.name == "forced",
    )


def _wanted(event: ReplayEvent) -> int | None:
    found = re.match(r"wanted (\d+)", event.message)
    return int(found[1]) if found else None


def _quiet_of(catalogue: Catalogue, group: Group, event: ReplayEvent) -> tuple[Seconds, PolicyId | None, QuietScope]:
    """Return the quiet time after an event, its policy, and its scope."""
    declared = (
        None if event.cause == RequestCause.PERSON.value else declared_policy(catalogue, group, PolicyId(event.by))
    )
    if declared is None:
        return group.quiet_time, None, QuietScope.GROUP
    return declared.quiet_time, declared.id, declared.quiet_scope


def declared_policy(catalogue: Catalogue, group: Group, policy: PolicyId) -> Policy | ScheduledChange | None:
    """Return a policy of the group that changes its size."""
    schedule = schedule_named(group, policy)
    if isinstance(schedule, ScheduledChange):
        return schedule
    return catalogue.policies[policy] if policy in group.policies else None


def creates_left(catalogue: Catalogue, group: Group, at: Instant, courses: Mapping[GroupId, Course], most: int) -> int:
    """Return how many creations the hourly budgets of group and cloud leave, by the events of all groups.

    Args:
        catalogue: names the groups that share the cloud.
        group: the group that is to grow.
        at: the end of the hour.
        courses: the events of each group.
        most: the cloud's budget for an hour.
    """
    cloud = catalogue.profiles[group.profile].cloud
    mine = courses[group.id].ordered(at)
    beside = (
        course.ordered(at)
        for name, course in courses.items()
        if name != group.id and catalogue.profiles[catalogue.groups[name].profile].cloud == cloud
    )
    left = most - mine - sum(beside)
    own = group.budget.per_hour
    return max(left if own is None else min(own - mine, left), 0)
