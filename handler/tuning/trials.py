"""Try settings: each is replayed over the recording of its group, side by side with others.

The result does not depend on which settings are tried side by side: every copy of a group is replayed by itself
(`handler.replay.scrapes.alike`). `handler.tuning.trying` says where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Seconds
from handler.replay.events import Course
from handler.replay.paths import FleetPath
from handler.replay.recorded import Run
from handler.replay.running import Tell, no_progress, shared_runs
from handler.replay.samples import Words
from handler.replay.scrapes import RecordedCohort, cohort_of
from handler.replay.ticks import Ticks
from handler.tuning.copies import TunedGroup, copies, name_of
from handler.tuning.known import LoadLimit
from handler.tuning.loads import RecordedLoad
from handler.tuning.outcomes import Outcome
from handler.tuning.parameters import Candidate

TOGETHER = 24
"""Settings that are replayed side by side, where their rows are few enough."""
_ROWS = 3_000_000
"""Of all settings that are replayed side by side: some hundred megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """How members come and go in a replay."""

    boot: Seconds
    """From the order until a member is in service, where no event shows it."""
    drain: Seconds | None
    """From the end of service until it is gone; ``None``: as long as the group allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecording:
    """What a replay needs of a group besides a declaration. It refers to no file, so any machine can replay it."""

    ticks: Ticks
    course: Course
    load: RecordedLoad
    boot: Seconds
    drain: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialGround:
    """A group with its recording."""

    tuned: TunedGroup
    ticks: Ticks
    course: Course
    limit: LoadLimit
    load: RecordedLoad
    fitting: Fitting

    @property
    def together(self) -> int:
        """How many settings are replayed side by side."""
        return min(max(_ROWS // max(len(self.ticks.samples), 1), 1), TOGETHER)

    @property
    def recording(self) -> TrialRecording:
        """What its trials have in common."""
        drain = (
            self.tuned.catalogue.groups[self.tuned.group].drain if self.fitting.drain is None else self.fitting.drain
        )
        return TrialRecording(ticks=self.ticks, course=self.course, load=self.load, boot=self.fitting.boot, drain=drain)


Grounds = Mapping[GroupId, TrialGround]


def cohort_alone(ticks: Ticks, interval: Seconds, group: GroupId) -> RecordedCohort:
    """Return the recording of one group."""
    return cohort_of(interval, {group: ticks})


def runs_of(ground: TrialGround, candidates: Sequence[Candidate], tell: Tell = no_progress) -> tuple[Run, ...]:
    """Replay settings side by side, in their order; ``tell`` may raise to end it."""
    return _replayed(ground.recording, copies(ground.tuned, candidates), tell)


def outcome_of(ground: TrialGround, run: Run) -> Outcome:
    """Return what a replay came to."""
    return _simulated(ground.recording, run)


def outcomes_of(recording: TrialRecording, declared: Catalogue) -> tuple[Outcome, ...]:
    """Return what copies of a group come to over its recording, in the order of their numbers."""
    return tuple(_simulated(recording, run) for run in _replayed(recording, declared, no_progress))


def _replayed(recording: TrialRecording, declared: Catalogue, tell: Tell) -> tuple[Run, ...]:
    names, samples = tuple(name_of(number) for number in range(len(declared.groups))), recording.ticks.samples
    rows = {
        name: replace(
            recording.ticks,
            samples=replace(samples, group=Words(codes=np.full(len(samples), number, dtype=np.int32), words=names)),
        )
        for number, name in enumerate(names)
    }
    courses = dict.fromkeys(names, recording.course) if recording.course.events else {}
    runs = {run.group: run for run in shared_runs(declared, rows, courses, recording.boot, tell, processes=1)}
    return tuple(runs[name] for name in names)


def _simulated(recording: TrialRecording, run: Run) -> Outcome:
    if run.path is None:
        raise ValueError(f"the fleet of {run.group} was not simulated")
    return _outcome(recording, run.path, run.tally.actions, run.tally.reversals)


def real_outcome(ground: TrialGround) -> Outcome:
    """Return what the recorded fleet came to; its changes are those of its events, else of its members in service."""
    since, until = Instant(float(ground.load.at[0])), Instant(float(ground.load.at[-1]))
    resized = [each for each in ground.course.events if each.resized and since <= each.at <= until]
    steps = [(each.desired_to or 0) - each.desired_from for each in resized if each.desired_from is not None]
    if not ground.course.sized:
        steps = [int(step) for step in np.diff(ground.load.serving)]
    ways = [step > 0 for step in steps if step]
    return _outcome(
        ground.recording, ground.load.path, len(ways), sum(one is not other for one, other in pairwise(ways))
    )


def _outcome(recording: TrialRecording, path: FleetPath, changes: int, reversals: int) -> Outcome:
    interval = recording.load.interval
    return Outcome(
        hours=float(path.paid(round(recording.drain / interval)).sum()) * interval / 3600.0,
        over=recording.load.minutes_over(path),
        changes=changes,
        reversals=reversals,
    )
