"""``--model shared-load``: spread the members' shared load over the members in service under this declaration.

# Note [What is assumed]

** The load is the sum over the recorded members, and it does not react to their number.
** For a `shared` counter, each member shows its share: the recorded value × recorded / simulated members in service.
  Its bounds too, all within the declared range: a saturated member hides the load beyond its capacity, so a recording
  of a fleet that was too small promises too much of a larger one.
** Sums and counts across members, values per group, and counters that are not shared stay as recorded.
** A member is in service one boot time after its order, and leaves at once; differences between members, missing
  answers and warm-up stay as recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aggregator.aggregate import Aggregator
from aggregator.frames import Frame
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, PolicyId, Seconds
from handler.replay.comparing import ReplayDifference
from handler.replay.events import Course
from handler.replay.givens import starts_of
from handler.replay.members import ReplayMembers, always
from handler.replay.paths import PathRecorder
from handler.replay.recorded import Follower, PolicyColumns, Run, hourly_left, serving_in, teams_of
from handler.replay.samples import Unreplayable
from handler.replay.scrapes import RecordedCohort, polls_of
from trigger.policies.evaluate import NOTHING_FORESEEN
from trigger.policies.forecasting import Forecasting
from trigger.requests import Decision, Fleet
from trigger.verdicts import Foreseen


def replay_shared(
    catalogue: Catalogue,
    cohort: RecordedCohort,
    courses: Mapping[GroupId, Course],
    boot: Seconds,
    note: Callable[[int], None],
) -> tuple[Run, ...]:
    """Replay the groups of one cohort to the end of the recording. See Note [What is assumed].

    Args:
        catalogue: the declaration to replay.
        cohort: the recording.
        courses: the events of every group; empty: there are none.
        boot: time from the order until a member is in service, for groups whose events do not have it.
        note: called with the number of group-ticks replayed since its last call.

    Raises:
        Unreplayable: the recording does not have a group's number of members.
    """
    first_at = Instant(float(cohort.samples.at[0]))
    sharers = {group: _Sharer(catalogue, group, cohort, courses, first_at, boot) for group in cohort.groups}
    teams_of(list(sharers.values()))
    aggregator, steady = Aggregator(catalogue, cohort.groups), float("-inf")
    columns, forecasting = PolicyColumns(catalogue, cohort.groups, aggregator), Forecasting(catalogue, cohort.groups)
    for number, scrape, begins in polls_of(cohort, starts_of(courses)):
        if begins or scrape.at.steady < steady:  # a daemon started, with empty windows
            aggregator = Aggregator(catalogue, cohort.groups)
            for sharer in sharers.values():
                sharer.chain.forget_holds()
        steady = scrape.at.steady
        for sharer in sharers.values():
            sharer.catch_up(number, scrape.at)
        times = {group: sharer.times(number, scrape.at.wall) for group, sharer in sharers.items()}
        frames = aggregator.take(scrape, times)
        columns.judge_tick(frames, sharers)
        foresight = forecasting.take(frames, scrape.at.wall)
        for group, sharer in sharers.items():
            sharer.share(number, frames[group], foresight.get(group, NOTHING_FORESEEN))
        note(len(sharers))
    return tuple(sharer.run() for sharer in sharers.values())


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
        self._members: ReplayMembers | None = None
        """``None``: no size yet, so the fleet is the recorded one."""
        self._differed: ReplayDifference | None = None
        self._path = PathRecorder()
        if self._sizes is None and not self._course.sized:
            raise Unreplayable(
                f"group {group}: the recording does not have its number of members, so shares are unknown"
            )

    def share(self, number: int, frame: Frame, foreseen: Mapping[PolicyId, Foreseen]) -> None:
        """Decide one tick, or pass over it if no policy asks for anything."""
        if self.truths is not None and self.chain.pass_over(self.truths[0], frame.at):
            self._count(number, frame.at.wall)
        else:
            self.judge(number, frame, foreseen)

    def times(self, number: int, at: Instant) -> float:
        """Return each member's load as a multiple of the recorded one."""
        recorded = self._serving(number, at)
        if self._members is None or not recorded:
            return 1.0
        return recorded / max(self._members.serving(at), 1)

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
            self._members = ReplayMembers(self.group, always(self._boot), self._serving(number, at), at)
        self._members.follow(desired, at)

    def _fleet(self, number: int, at: Instant) -> Fleet:
        if self._members is None:
            return super()._fleet(number, at)
        return self._members.seen(at, hourly_left(self._hourly, self._spent, at))

    def _serving(self, number: int, at: Instant) -> int:
        """Return how many members were in service in the recording."""
        return serving_in(self._course, None if self._sizes is None else self._sizes[number], at) or 0
