"""``--model recorded``: the fleet is the recorded one, as long as the replayed sizes equal the recorded ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np

from aggregator.aggregate import Aggregator
from aggregator.batch_frames import Reel
from aggregator.frames import Frame
from collector.samples import Bools, Floats
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Moment, Monotonic, PolicyId
from handler.replay.chain import Chain, PolicyColumns
from handler.replay.comparing import ReplayDifference, SizeComparison
from handler.replay.events import Course, acted, creates_left, request_of, state_before
from handler.replay.givens import Givens, as_declared, resumed_at, starts_of
from handler.replay.outcomes import ReplayLine, line_of
from handler.replay.paths import FleetPath
from handler.replay.samples import Index
from handler.replay.scrapes import RecordedCohort, bundles_of
from handler.replay.tallies import GroupTally, TickMeter
from trigger.explain.recorded_inputs import carried
from trigger.guards.turns import Peer, ahead, peer
from trigger.policies.evaluate import NOTHING_FORESEEN
from trigger.policies.forecasting import Forecasting
from trigger.policies.steady_state import resting
from trigger.requests import Decision, Fleet
from trigger.verdicts import Foreseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One group, replayed."""

    group: GroupId
    lines: tuple[ReplayLine, ...]
    ticks: int
    """The number of ticks replayed."""
    tally: GroupTally
    parted: ReplayDifference | None = None
    """From here on the recording belongs to another fleet, and the replay stopped."""
    doubt: ReplayDifference | None = None
    """The sizes differ at the end, and might have agreed later."""
    differed: ReplayDifference | None = None
    """Model ``shared-load``: from here on the fleet is another one, and shared counters are scaled."""
    path: FleetPath | None = None
    """The simulated fleet, tick by tick; ``None``: the fleet is the recorded one."""


def replay_recorded(
    catalogue: Catalogue, cohort: RecordedCohort, courses: Mapping[GroupId, Course], note: Callable[[int], None]
) -> tuple[Run, ...]:
    """Replay the groups of one cohort.

    Args:
        catalogue: the declaration to replay.
        cohort: the recording.
        courses: the events of every group; empty: there are none.
        note: called with the number of group-ticks replayed since its last call.
    """
    first_at = cohort.first_at
    followers = {
        group: Follower(catalogue, group, cohort.sizes.get(group), courses, first_at) for group in cohort.groups
    }
    chains = {group: follower.chain for group, follower in followers.items()}
    teams = teams_of(list(followers.values()))
    aggregator, steady = Aggregator(catalogue, cohort.groups), float("-inf")
    columns = PolicyColumns(catalogue, cohort.groups, aggregator)
    forecasting = Forecasting(catalogue, cohort.groups, {group: course.lead() for group, course in courses.items()})
    for polls in bundles_of(cohort, starts_of(courses)):
        start, before = polls[0].start, aggregator
        reboots = polls[0].scrape.at.steady < steady
        if start is not None or reboots:
            windows, holds = resumed_at(courses, None if reboots else start)
            aggregator = Aggregator(catalogue, cohort.groups)
            if windows:
                aggregator.succeed(before, windows)
            for group in followers.keys() - holds:
                followers[group].chain.forget_holds()
        steady, number = polls[-1].scrape.at.steady, polls[0].number
        for reel in aggregator.take_all(poll.scrape for poll in polls):
            columns.judge(reel, chains)
            foresee(forecasting, reel, followers)
            for team in teams:
                _follow(team, number, reel)
            number += len(reel)
        note(len(polls) * len(followers))
        if all(follower.parted for follower in followers.values()):
            break
    return tuple(follower.run() for follower in followers.values())


def foresee(forecasting: Forecasting, reel: Reel, followers: Mapping[GroupId, Follower]) -> None:
    """Give each follower what its forecasts say at each tick of a batch."""
    groups = {lane.group for lane in forecasting.lanes}
    if not groups:
        return
    foreseen: dict[GroupId, list[Mapping[PolicyId, Foreseen]]] = {group: [] for group in groups}
    for tick, at in enumerate(reel.at):
        profiles = {group: followers[group].profile(at.wall) for group in groups}
        foresight = forecasting.take({group: reel.frame(group, tick) for group in groups}, at.wall, profiles)
        for group in groups:
            foreseen[group].append(foresight.get(group, NOTHING_FORESEEN))
    for group in groups:
        followers[group].foreseen = dict(enumerate(foreseen[group]))


def teams_of(followers: Sequence[Follower]) -> tuple[Sequence[Follower], ...]:
    """Link the groups of one service into a team; every other group is a team of one."""
    teams: dict[tuple[str | None, GroupId | None], list[Follower]] = {}
    for follower in followers:
        service = follower.group.service
        teams.setdefault((service, follower.group.id if service is None else None), []).append(follower)
    for team in teams.values():
        for follower in team:
            follower.beside = tuple(other for other in team if other is not follower)
    return tuple(teams.values())


def _follow(team: Sequence[Follower], first: int, reel: Reel) -> None:
    """Replay the ticks of a batch; groups that take turns advance together, since they depend on each other."""
    if len(team) == 1:
        team[0].follow(first, reel)
        return
    for tick, at in enumerate(reel.at):
        going = [each for each in team if each.parted is None]
        for follower in going:
            follower.catch_up(first + tick, at)
        for follower in going:
            follower.pass_tick(first + tick, tick, reel)


class Follower:
    """Replays one group along its recording."""

    is_as_recorded = True
    """Whether the fleet is the recorded one."""
    beside: Sequence[Follower] = ()
    """The other groups of its service that were polled together with it."""
    foreseen: Mapping[int, Mapping[PolicyId, Foreseen]] = MappingProxyType({})
    """What its forecasts say, by tick of the batch; empty: it has none."""

    def __init__(
        self,
        catalogue: Catalogue,
        group: GroupId,
        sizes: Index | None,
        courses: Mapping[GroupId, Course],
        first_at: Instant,
    ) -> None:
        self.group = catalogue.groups[group]
        self.parted: ReplayDifference | None = None
        self._catalogue = catalogue
        self._sizes = sizes
        self._courses = courses
        self._course = courses.get(group, Course(()))
        self._givens = Givens(self._course.givens, first_at)
        self._fleets = Givens(self._course.givens, first_at)
        state = self._givens.state()
        self.chain = Chain(catalogue, group, state or state_before(catalogue, group, self._course, first_at))
        self._comparison = SizeComparison(self.group, exact=self._course.sized)
        self._lines: list[ReplayLine] = []
        self._meter = TickMeter(self.group.interval)
        self._granted = catalogue.granted(catalogue.profiles[self.group.profile].cloud).per_hour
        self._hourly = hourly_most(catalogue, self.group.id)
        self._spent: deque[tuple[Instant, int]] = deque()
        self._seen_at = Instant(first_at - 1e-6)
        self._resting: tuple[Reel, Bools] | None = None
        """Whether every policy is in its steady state, at each tick of a reel; ``None``: not asked so far."""
        self._ticks = 0

    def profile(self, poll: Instant) -> str | None:
        """Return the recorded profile of the members in service at a poll, no earlier than the one asked for before.

        ``None``: the recording does not have it.
        """
        for _ in self._fleets.until(poll):
            pass
        return None if self._fleets.last is None else self._fleets.last.fleet.profile

    def follow(self, first: int, reel: Reel) -> None:
        """Replay the ticks of a batch, up to where the fleets differ.

        Args:
            first: number of its first tick.
            reel: of the cohort.
        """
        wall = np.array([at.wall for at in reel.at])
        rises, tick = bool((np.diff(wall) >= 0).all()), 0
        while tick < len(reel) and self.parted is None:
            idle = min(self.chain.idle(), self._undisturbed(wall[tick:])) if rises else 0
            if idle:
                self._pass_over(first + tick, wall[tick : tick + idle])
                tick += idle
            else:
                self.catch_up(first + tick, reel.at[tick])
                self.pass_tick(first + tick, tick, reel)
                tick += 1

    def pass_tick(self, number: int, tick: int, reel: Reel) -> None:
        """Evaluate one tick of a batch, or skip it where the result is known."""
        at = reel.at[tick].wall
        if self.chain.idle():
            self.chain.pass_over(1)
            self._count(number, at)
        elif self.chain.at_rest and self._rests(tick, reel):
            self.chain.rest()
            self._count(number, at)
        else:
            fleet = self._in_turn(number, at)
            repeated = self.chain.repeat(fleet)
            if repeated is not None:
                self._repeat(repeated, number, at)
            else:
                self.judge(number, fleet, reel.frame(self.group.id, tick), self.foreseen.get(tick, NOTHING_FORESEEN))

    def judge(self, number: int, fleet: Fleet, frame: Frame, foreseen: Mapping[PolicyId, Foreseen]) -> None:
        """Evaluate and decide one tick."""
        self._keep(self.chain.tick(frame, fleet, foreseen), number)
        self._count(number, frame.at.wall)

    def _repeat(self, decision: Decision, number: int, at: Instant) -> None:
        """Write down an earlier decision, which changed nothing, as that of another tick."""
        line = line_of(decision, None)
        if line is not None:
            self._lines.append(replace(line, at=at))
        self._count(number, at)

    def _pass_over(self, number: int, wall: Floats) -> None:
        """Count ticks at which nothing happens, up to where the fleets differ."""
        busy, size, ticks = self.chain.pass_over(len(wall)), self.chain.state.desired, len(wall)
        if self._course.sized or self._sizes is None or (self._sizes[number : number + ticks] != size).any():
            ticks = self._compare(number, wall)
        elif size is not None:
            self._comparison.look(Instant(float(wall[-1])), size, size)
        self._ticks += ticks
        self._meter.ticks(wall[:ticks], size, busy[:ticks])
        self._seen_at = Instant(float(wall[-1]))

    def _compare(self, number: int, wall: Floats) -> int:
        """Compare the two fleets at each of these ticks; return how many of them count."""
        size = self.chain.state.desired
        for tick, at in enumerate(wall.tolist()):
            recorded = self._recorded(number + tick, at)
            if recorded is not None and size is not None:
                self.parted = self._comparison.look(at, size, recorded)
            if self.parted is not None:
                return tick + 1
        return len(wall)

    def _undisturbed(self, wall: Floats) -> int:
        """Return how many of these ticks come before the next event; they rise."""
        if self._course.givens:
            return self._givens.polls_before(wall)
        seen = min(self._seen_at, Instant(float(wall[0])))
        return int(np.searchsorted(wall, self._course.next_at(seen)))

    def _rests(self, tick: int, reel: Reel) -> bool:
        """Whether every policy is in its steady state at a tick of a batch."""
        if self._resting is None or self._resting[0] is not reel:
            group = self.group.id
            self._resting = reel, resting(self._catalogue, group, partial(reel.bounds, group), len(reel))
        return bool(self._resting[1][tick])

    def _count(self, number: int, at: Instant) -> None:
        """Count one tick, and compare the two fleets."""
        size = self.chain.state.desired
        self._ticks += 1
        self._meter.tick(at, size, busy=self.chain.busy)
        recorded = self._recorded(number, at)
        if recorded is not None and size is not None:
            self.parted = self._comparison.look(at, size, recorded)

    def run(self) -> Run:
        """Return the result."""
        last = None if self.parted is None else self.parted.at
        lines = tuple(line for line in self._lines if last is None or line.at <= last)
        return Run(
            group=self.group.id,
            lines=lines,
            ticks=self._ticks,
            tally=self._meter.tally(lines),
            parted=self.parted,
            doubt=self._comparison.doubt if self.parted is None else None,
        )

    def catch_up(self, number: int, now: Moment) -> None:
        """Apply the events since the last tick."""
        if self._course.givens:
            self._take_over(number, now)
            return
        for event in self._course.since(self._seen_at, now.wall):
            if event.kind == "note":
                self.chain.change(acted(self.group, self.chain.state, event))
                continue
            request = request_of(self._catalogue, self.group, event)
            looked = event.unasked and event.at < now.wall
            if request is not None or looked:
                asked = () if request is None else (request,)
                self._keep(self.chain.ask(asked, self._in_turn(number, event.at), event.moment), number)
        self._seen_at = now.wall

    def _take_over(self, number: int, now: Moment) -> None:
        """Apply operations and repeat requests in the recorded order of decisions."""
        for given in self._givens.until(now.wall):
            state = carried(self.chain.state, given)
            if state is not self.chain.state:
                self.chain.change(state)
            if not given.evaluated:
                asked = [as_declared(self._catalogue, self.group, request) for request in given.requests]
                at = Moment(wall=given.at, steady=Monotonic(given.at))
                self._keep(self.chain.ask(asked, self._in_turn(number, given.at), at), number)

    def _keep(self, decision: Decision, number: int) -> None:
        if decision.desired_from is not None and decision.desired_to is not None and decision.changed:
            self._spent.append((decision.at.wall, max(decision.desired_to - decision.desired_from, 0)))
        base = None if self._sizes is None else max(int(self._sizes[number]), self.group.minimum)
        line = line_of(decision, base)
        if line is not None:
            self._lines.append(line)

    def _recorded(self, number: int, at: Instant) -> int | None:
        if self._course.sized:
            return self._course.size(at)
        return None if self._sizes is None else int(self._sizes[number])

    def _in_turn(self, number: int, at: Instant) -> Fleet:
        """Return the fleet, with the order of its service's groups."""
        given = self._givens.last
        if given is not None and self.is_as_recorded:
            return given.fleet
        fleet = self._fleet(number, at)
        others = [other.as_peer(number, at) for other in self.beside if other.parted is None]
        if not others:
            return fleet
        return replace(fleet, ahead=ahead(peer(self.group, self.chain.state, fleet, at), others))

    def as_peer(self, number: int, at: Instant) -> Peer:
        """Return this group as the others of its service see it."""
        return peer(self.group, self.chain.state, self._fleet(number, at), at)

    def _fleet(self, number: int, at: Instant) -> Fleet:
        asked = None if self._sizes is None else int(self._sizes[number])
        in_service = self._course.in_service(at)
        desired = self.chain.state.desired or 0
        serving = in_service if in_service is not None else desired if asked is None else asked
        listed_at = self._course.listed_at
        found = (self._course.size(at) if listed_at is not None else asked) or 0
        return Fleet(
            listed=listed_at is None or at >= listed_at,
            marked=found,
            in_service=serving,
            creates_left=self._creates_left(at),
            back_off_until=None,
        )

    def _creates_left(self, at: Instant) -> int:
        if self._course.intended:
            return creates_left(self._catalogue, self.group, at, self._courses, self._granted)
        return hourly_left(self._hourly, self._spent, at)


def serving_in(course: Course, asked: int | None, at: Instant) -> int | None:
    """Return how many members of a recording were in service.

    Args:
        course: the events of its group, which may show it.
        asked: how many members were polled; ``None``: the series names none, and the desired size stands in.
        at: when.
    """
    in_service = course.in_service(at)
    if in_service is not None:
        return in_service
    return course.size(at) if asked is None else asked


def hourly_most(catalogue: Catalogue, group: GroupId) -> int:
    """Return the smaller of the hourly budgets of a group and its cloud."""
    declared = catalogue.groups[group]
    most, own = catalogue.granted(catalogue.profiles[declared.profile].cloud).per_hour, declared.budget.per_hour
    return most if own is None else min(own, most)


def hourly_left(most: int, spent: deque[tuple[Instant, int]], at: Instant) -> int:
    """Return what an hourly budget leaves after the group's own growth, without other groups."""
    while spent and spent[0][0] <= at - 3600.0:
        spent.popleft()
    return max(most - sum(count for _, count in spent), 0)
