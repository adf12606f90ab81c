"""Try settings: each is replayed over the recording of its group, side by side with others, on all cores.

The result does not depend on the number of processes, nor on which settings are tried side by side: every copy of a
group is replayed by itself (`handler.replay.scrapes.alike`).
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from config.units import GroupId, Instant, Seconds
from handler.replay.events import Course
from handler.replay.paths import FleetPath
from handler.replay.recorded import Run
from handler.replay.running import Tell, no_progress, shared_runs
from handler.replay.samples import Words
from handler.replay.scrapes import RecordedCohort, cohort_of
from handler.replay.ticks import Ticks
from handler.tuning.copies import TunedGroup, allowed, copies, name_of
from handler.tuning.known import LoadLimit
from handler.tuning.loads import RecordedLoad
from handler.tuning.outcomes import Outcome
from handler.tuning.parameters import Candidate

_TOGETHER = 24
"""Settings that are replayed side by side, where their rows are few enough."""
_ROWS = 3_000_000
"""Of all settings that are replayed side by side: some hundred megabytes."""
_WORTH_A_PROCESS = 200_000
"""Rows: a few seconds. Starting a process takes one second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """How members come and go in a replay."""

    boot: Seconds
    """From the order until a member is in service, where no event shows it."""
    drain: Seconds | None
    """From the end of service until it is gone; ``None``: as long as the group allows."""


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
        return min(max(_ROWS // max(len(self.ticks.samples), 1), 1), _TOGETHER)


Grounds = Mapping[GroupId, TrialGround]
Asked = tuple[GroupId, Candidate]
Tried = Callable[[Sequence[Asked]], Mapping[Asked, Outcome]]
"""Tries settings of groups; those that the rules of the file refuse have no outcome."""


def cohort_alone(ticks: Ticks, interval: Seconds, group: GroupId) -> RecordedCohort:
    """Return the recording of one group."""
    return cohort_of(interval, {group: ticks})


def runs_of(ground: TrialGround, candidates: Sequence[Candidate], tell: Tell = no_progress) -> tuple[Run, ...]:
    """Replay settings side by side, in their order; ``tell`` may raise to end it."""
    names = tuple(name_of(number) for number in range(len(candidates)))
    samples = ground.ticks.samples
    rows = {
        name: replace(
            ground.ticks,
            samples=replace(samples, group=Words(codes=np.full(len(samples), number, dtype=np.int32), words=names)),
        )
        for number, name in enumerate(names)
    }
    catalogue, courses = copies(ground.tuned, candidates), {}
    if ground.course.events:
        courses = dict.fromkeys(names, ground.course)
    runs = {run.group: run for run in shared_runs(catalogue, rows, courses, ground.fitting.boot, tell, processes=1)}
    return tuple(runs[name] for name in names)


def outcome_of(ground: TrialGround, run: Run) -> Outcome:
    """Return what a replay came to."""
    if run.path is None:
        raise ValueError(f"the fleet of {run.group} was not simulated")
    return _outcome(ground, run.path, run.tally.actions, run.tally.reversals)


def real_outcome(ground: TrialGround) -> Outcome:
    """Return what the recorded fleet came to; its changes are those of its events, else of its members in service."""
    since, until = Instant(float(ground.load.at[0])), Instant(float(ground.load.at[-1]))
    resized = [each for each in ground.course.events if each.resized and since <= each.at <= until]
    steps = [(each.desired_to or 0) - each.desired_from for each in resized if each.desired_from is not None]
    if not ground.course.sized:
        steps = [int(step) for step in np.diff(ground.load.serving)]
    ways = [step > 0 for step in steps if step]
    return _outcome(ground, ground.load.path, len(ways), sum(one is not other for one, other in pairwise(ways)))


def _outcome(ground: TrialGround, path: FleetPath, changes: int, reversals: int) -> Outcome:
    interval = ground.load.interval
    drain = ground.tuned.catalogue.groups[ground.tuned.group].drain
    steps = round((drain if ground.fitting.drain is None else ground.fitting.drain) / interval)
    return Outcome(
        hours=float(path.paid(steps).sum()) * interval / 3600.0,
        over=ground.load.minutes_over(path),
        changes=changes,
        reversals=reversals,
    )


@contextmanager
def trying(grounds: Grounds, processes: int | None = None) -> Iterator[Tried]:
    """Provide what tries settings.

    Args:
        grounds: the groups, with their recordings; each process gets them once.
        processes: how many; ``None``: one for each core, where that is worth it.
    """
    rows = sum(len(ground.ticks.samples) for ground in grounds.values()) * _TOGETHER
    workers = (processes or 1) if processes or rows < _WORTH_A_PROCESS else (os.cpu_count() or 1)
    if workers == 1:
        yield lambda asked: _gathered(asked, [_try(grounds, *job) for job in _jobs(grounds, asked)])
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_take, initargs=(dict(grounds),)) as pool:
        yield lambda asked: _gathered(asked, _elsewhere(pool, grounds, asked))


def _jobs(grounds: Grounds, asked: Sequence[Asked]) -> Iterator[tuple[GroupId, list[Candidate]]]:
    """Divide settings into those that are replayed side by side, group by group."""
    by_group: dict[GroupId, list[Candidate]] = {}
    for group, candidate in dict.fromkeys(asked):
        by_group.setdefault(group, []).append(candidate)
    for group, candidates in by_group.items():
        size = grounds[group].together
        for first in range(0, len(candidates), size):
            yield group, candidates[first : first + size]


def _try(grounds: Grounds, group: GroupId, candidates: Sequence[Candidate]) -> dict[Asked, Outcome]:
    ground = grounds[group]
    good = [candidate for candidate in candidates if allowed(ground.tuned, candidate)]
    if not good:
        return {}
    runs = runs_of(ground, good)
    return {(group, one): outcome_of(ground, run) for one, run in zip(good, runs, strict=True)}


def _gathered(asked: Sequence[Asked], parts: Sequence[Mapping[Asked, Outcome]]) -> dict[Asked, Outcome]:
    """Put outcomes in the order in which they were asked for."""
    found = {each: outcome for part in parts for each, outcome in part.items()}
    return {each: found[each] for each in dict.fromkeys(asked) if each in found}


_grounds: Grounds = {}
"""In a process of the pool."""


def _take(grounds: Grounds) -> None:
    global _grounds  # noqa: PLW0603  # the only way into a process of a pool
    _grounds = grounds


def _elsewhere(pool: Executor, grounds: Grounds, asked: Sequence[Asked]) -> list[dict[Asked, Outcome]]:
    futures = [pool.submit(_try_here, group, candidates) for group, candidates in _jobs(grounds, asked)]
    return [future.result() for future in futures]


def _try_here(group: GroupId, candidates: Sequence[Candidate]) -> dict[Asked, Outcome]:
    return _try(_grounds, group, candidates)
