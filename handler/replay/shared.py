"""``--model shared-load``: spread the members' shared load over the members in service under this declaration.

# Note [What is assumed]

** The load is the sum over the recorded members, and it does not react to their number.
** For a `shared` counter, each member shows its share: the recorded value × recorded / simulated members in service.
  Its bounds too, all within the declared range: a saturated member hides the load beyond its capacity, so a recording
  of a fleet that was too small promises too much of a larger one.
** Sums and counts across members, values per group, and counters that are not shared stay as recorded.
** A member is in service one boot time after its order, and leaves at once; differences between members, missing
  answers and warm-up stay as recorded.

# Note [Looking ahead]

What a tick shows depends on the simulated fleet, and so on the decisions before it. But most ticks change no fleet. So
many ticks are computed together for the fleets as they are now, members that boot included, and followed in order.
Where a decision makes a fleet another one than was foreseen, the ticks from there on are computed anew. The result is
that of computing every tick alone, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from aggregator.aggregate import Aggregator, MeasuredTicks
from aggregator.batch_frames import Reel
from collector.samples import Floats, Scrape
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Moment, Seconds
from handler.replay.chain import PolicyColumns
from handler.replay.comparing import ReplayDifference
from handler.replay.events import Course
from handler.replay.givens import starts_of
from handler.replay.members import ReplayMembers, always
from handler.replay.paths import PathRecorder
from handler.replay.recorded import Follower, Run, hourly_left, serving_in, teams_of
from handler.replay.samples import Unreplayable
from handler.replay.scrapes import Poll, RecordedCohort, bundles_of
from trigger.policies.evaluate import NOTHING_FORESEEN
from trigger.policies.forecasting import Forecasting
from trigger.requests import Decision, Fleet

_LEAST, _MOST = 8, 256
"""Ticks that are computed together: more while fleets stay as foreseen, fewer while they do not."""


def replay_shared(  # what a replay is about, and how it goes
    catalogue: Catalogue,
    cohort: RecordedCohort,
    courses: Mapping[GroupId, Course],
    boot: Seconds,
    note: Callable[[int], None],
    *,
    ahead: int = _MOST,
) -> tuple[Run, ...]:
    """Replay the groups of one cohort to the end of the recording. See Note [What is assumed].

    Args:
        catalogue: the declaration to replay.
        cohort: the recording.
        courses: the events of every group; empty: there are none.
        boot: time from the order until a member is in service, for groups whose events do not have it.
        note: called with the number of group-ticks replayed since its last call.
        ahead: how many ticks are computed together at most.

    Raises:
        Unreplayable: the recording does not have a group's number of members.
    """
    first_at = cohort.first_at
    sharers = {group: _Sharer(catalogue, group, cohort, courses, first_at, boot) for group in cohort.groups}
    teams_of(list(sharers.values()))
    replay = _SharedReplay(catalogue, sharers, note, ahead)
    for polls in bundles_of(cohort, starts_of(courses)):
        replay.follow(polls)
    return tuple(sharer.run() for sharer in sharers.values())


class _SharedReplay:
    """Replays a cohort's groups side by side. See Note [Looking ahead]."""

    def __init__(
        self, catalogue: Catalogue, sharers: Mapping[GroupId, _Sharer], note: Callable[[int], None], ahead: int
    ) -> None:
        self._catalogue, self._sharers, self._note = catalogue, sharers, note
        self._chains = {group: sharer.chain for group, sharer in sharers.items()}
        self._aggregator = Aggregator(catalogue, tuple(sharers))
        self._columns = PolicyColumns(catalogue, tuple(sharers), self._aggregator)
        self._forecasting = Forecasting(
            catalogue, tuple(sharers), {group: sharer.lead for group, sharer in sharers.items()}
        )
        self._most, self._ahead = ahead, min(_LEAST, ahead)
        self._steady = float("-inf")

    def follow(self, polls: Sequence[Poll]) -> None:
        """Replay polls of one life of the daemon, up to where its steady clock goes on from."""
        if polls[0].start is not None or polls[0].scrape.at.steady < self._steady:  # with empty windows
            self._aggregator = Aggregator(self._catalogue, tuple(self._sharers))
            for sharer in self._sharers.values():
                sharer.chain.forget_holds()
        self._steady, number = polls[-1].scrape.at.steady, polls[0].number
        for run in self._aggregator.runs(poll.scrape for poll in polls):
            self._first(number, run[0])
            if len(run) > 1:
                self._others(number + 1, self._aggregator.measured(run[1:]))
            number += len(run)
            self._note(len(run) * len(self._sharers))

    def _first(self, number: int, scrape: Scrape) -> None:
        self._catch_up(number, scrape.at)
        times = {group: float(each.times(number, (scrape.at,))[0]) for group, each in self._sharers.items()}
        reel = self._aggregator.take_alone(scrape, times)
        self._columns.judge(reel, self._chains)
        self._decide(number, 0, reel)

    def _others(self, number: int, ticks: MeasuredTicks) -> None:
        done = 0
        while done < len(ticks):
            part = ticks.part(done, done + self._ahead)
            self._catch_up(number + done, part.at[0])
            times = {group: sharer.times(number + done, part.at) for group, sharer in self._sharers.items()}
            borne = self._aggregator.borne(part, times)
            kept = self._while_foreseen(number + done, borne, times)
            self._aggregator.keep(borne.part(0, kept))
            self._ahead = min(2 * self._ahead, self._most) if kept == len(part) else max(kept, min(_LEAST, self._most))
            done += kept

    def _while_foreseen(self, first: int, ticks: MeasuredTicks, times: Mapping[GroupId, Floats]) -> int:
        """Replay ticks for as long as the fleets are those that were foreseen; return how many: at least one."""
        reel, end = self._aggregator.look(ticks), len(ticks)
        self._columns.judge(reel, self._chains)
        for tick, at in enumerate(ticks.at):
            if tick < end:
                self._catch_up(first + tick, at)
                for group, sharer in self._sharers.items():
                    if sharer.is_another:
                        end = min(end, self._foreseen_until(sharer, times[group], first, tick, ticks.at))
            if tick >= end:
                break
            self._decide(first + tick, tick, reel)
        return end

    @staticmethod
    def _foreseen_until(sharer: _Sharer, times: Floats, first: int, tick: int, at: Sequence[Moment]) -> int:
        """Return up to which tick a fleet that has changed is the one that was foreseen, from ``tick`` on."""
        other = np.flatnonzero(sharer.times(first + tick, at[tick:]) != times[tick:])
        return tick + int(other[0]) if other.size else len(at)

    def _catch_up(self, number: int, at: Moment) -> None:
        for sharer in self._sharers.values():
            sharer.catch_up(number, at)

    def _decide(self, number: int, tick: int, reel: Reel) -> None:
        if self._forecasting.lanes:
            at = reel.at[tick].wall
            profiles = {group: sharer.profile(at) for group, sharer in self._sharers.items()}
            foresight = self._forecasting.take(reel.frames(tick), at, profiles)
            for group, sharer in self._sharers.items():
                sharer.foreseen = {tick: foresight.get(group, NOTHING_FORESEEN)}
        for sharer in self._sharers.values():
            sharer.pass_tick(number, tick, reel)


class _Sharer(Follower):
    """Replays one group whose members share the load of the recorded ones."""

    is_as_recorded = False

    def __init__(
        self,
        catalogue: Catalogue,
        group: GroupId,
        cohort: RecordedCohort,
        courses: Mapping[GroupId, Course],
        first_at: Instant,
        boot: Seconds,
    ) -> None:
        super().__init__(catalogue, group, cohort.sizes.get(group), courses, first_at)
        learned = self._course.boot()
        self._boot = boot if learned is None else learned
        self.lead = self._course.lead(always(boot).learned)
        """For how long a boot its forecasts look ahead."""
        self._members: ReplayMembers | None = None
        """``None``: no size yet, so the fleet is the recorded one."""
        self._differed: ReplayDifference | None = None
        self._path = PathRecorder()
        self.is_another = False
        """Whether the fleet has changed since `times` was read last."""
        if self._sizes is None and not self._course.sized:
            raise Unreplayable(
                f"group {group}: the recording does not have its number of members, so shares are unknown"
            )

    def times(self, number: int, at: Sequence[Moment]) -> Floats:
        """Return each member's load as a multiple of the recorded one, at ticks from ``number`` on: (tick,)."""
        self.is_another = False
        if self._members is None:
            return np.ones(len(at))
        recorded = np.array([self._serving(number + each, moment.wall) for each, moment in enumerate(at)])
        serving = np.maximum([self._members.serving(moment.wall) for moment in at], 1)
        return np.where(recorded > 0, recorded / serving, 1.0)

    def run(self) -> Run:
        """Return the result, which never stops early, since the fleets may differ."""
        return Run(
            group=self.group.id,
            lines=tuple(self._lines),
            ticks=self._ticks,
            tally=self._meter.tally(self._lines),
            differed=self._differed,
            path=self._path.path(),
        )

    def _count(self, number: int, at: Instant) -> None:
        size, recorded = self.chain.state.desired, self._recorded(number, at)
        self._ticks += 1
        if self._members is None:
            serving = self._serving(number, at)
            self._path.tick(serving, serving, 0)
        else:
            self._path.tick(len(self._members.members), self._members.serving(at), self._members.left)
        self._meter.tick(at, size, busy=self.chain.busy)
        if self._differed is None and None not in {size, recorded} and size != recorded:
            self._differed = ReplayDifference(at=at, replayed=size or 0, recorded=recorded or 0)

    def _keep(self, decision: Decision, number: int) -> None:
        super()._keep(decision, number)
        desired, at = decision.state.desired, decision.at.wall
        if desired is None:
            return
        if self._members is None:
            self._members, self.is_another = (
                ReplayMembers(self.group, always(self._boot), self._serving(number, at), at),
                True,
            )
        if desired != len(self._members.members):
            self._members.follow(desired, at)
            self.is_another = True

    def _fleet(self, number: int, at: Instant) -> Fleet:
        if self._members is None:
            return super()._fleet(number, at)
        return self._members.seen(at, hourly_left(self._hourly, self._spent, at))

    def _serving(self, number: int, at: Instant) -> int:
        """Return how many members were in service in the recording."""
        return serving_in(self._course, None if self._sizes is None else int(self._sizes[number]), at) or 0
