"""Run replays on all cores: groups that were polled together share a process."""

from __future__ import annotations

import copyreg
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from functools import partial
from multiprocessing.sharedctypes import Synchronized
from types import MappingProxyType

from config.model.catalogue import Catalogue
from config.units import GroupId, Seconds
from handler.replay.events import Course
from handler.replay.load import SyntheticLoad, replay_load
from handler.replay.recorded import Run, replay_recorded
from handler.replay.scrapes import alike, cohort_of
from handler.replay.shared import replay_shared
from handler.replay.ticks import Ticks

_WORTH_A_PROCESS = 20_000
"""Group-ticks: a few seconds. Starting a process and sending it its rows takes one second."""

_STEPS = 200
"""The most calls of a ``Tell``."""
_LOOK_EVERY: Seconds = 0.5
"""How often the count of other processes is read."""

Note = Callable[[int], None]
"""Called with the number of group-ticks replayed since its last call."""
Tell = Callable[[int, int], None]
"""Called with the number of group-ticks replayed, and the total."""
Job = Callable[[Note], tuple[Run, ...]]


def no_progress(done: int, of: int) -> None:
    """Show no progress."""


def recorded_runs(
    catalogue: Catalogue,
    ticks: Mapping[GroupId, Ticks],
    courses: Mapping[GroupId, Course],
    tell: Tell = no_progress,
    *,
    processes: int | None = None,
) -> tuple[Run, ...]:
    """Replay every group of a series, in the order of their names."""
    workers = _workers(ticks, processes)
    jobs = [
        partial(_together, catalogue, interval, groups, courses)
        for interval, groups in alike(catalogue, ticks, workers)
    ]
    return _done(jobs, workers, _group_ticks(ticks), tell)


def _workers(ticks: Mapping[GroupId, Ticks], processes: int | None) -> int:
    return (processes or os.cpu_count() or 1) if _group_ticks(ticks) >= _WORTH_A_PROCESS else 1


def _group_ticks(ticks: Mapping[GroupId, Ticks]) -> int:
    return sum(len(each.starts) for each in ticks.values())


def _together(
    catalogue: Catalogue,
    interval: Seconds,
    groups: Mapping[GroupId, Ticks],
    courses: Mapping[GroupId, Course],
    note: Note,
) -> tuple[Run, ...]:
    return replay_recorded(catalogue, cohort_of(interval, groups), courses, note)


def shared_runs(
    catalogue: Catalogue,
    ticks: Mapping[GroupId, Ticks],
    courses: Mapping[GroupId, Course],
    boot: Seconds,
    tell: Tell = no_progress,
    *,
    processes: int | None = None,
) -> tuple[Run, ...]:
    """Replay every group of a series by the model ``shared-load``.

    Raises:
        Unreplayable: as `handler.replay.shared.replay_shared`.
    """
    workers = _workers(ticks, processes)
    jobs = [
        partial(_sharing, catalogue, interval, groups, courses, boot)
        for interval, groups in alike(catalogue, ticks, workers)
    ]
    return _done(jobs, workers, _group_ticks(ticks), tell)


def _sharing(
    catalogue: Catalogue,
    interval: Seconds,
    groups: Mapping[GroupId, Ticks],
    courses: Mapping[GroupId, Course],
    boot: Seconds,
    note: Note,
) -> tuple[Run, ...]:
    return replay_shared(catalogue, cohort_of(interval, groups), courses, boot, note)


def load_runs(
    catalogue: Catalogue,
    groups: Sequence[GroupId],
    load: SyntheticLoad,
    tell: Tell = no_progress,
    *,
    processes: int | None = None,
) -> tuple[Run, ...]:
    """Replay each of these groups under the same load."""
    ticks = sum((load.at[-1] - load.at[0]) / catalogue.groups[group].interval for group in groups)
    workers = (processes or os.cpu_count() or 1) if ticks >= _WORTH_A_PROCESS else 1
    return _done([partial(_one, catalogue, group, load) for group in groups], workers, round(ticks), tell)


def _one(catalogue: Catalogue, group: GroupId, load: SyntheticLoad, note: Note) -> tuple[Run, ...]:
    return (replay_load(catalogue, group, load, note),)


def _done(jobs: Sequence[Job], workers: int, total: int, tell: Tell) -> tuple[Run, ...]:
    runs = _here(jobs, total, tell) if workers == 1 or len(jobs) == 1 else _elsewhere(jobs, workers, total, tell)
    return tuple(sorted(runs, key=lambda run: run.group))


def _here(jobs: Sequence[Job], total: int, tell: Tell) -> list[Run]:
    done, reported = 0, 0

    def note(count: int) -> None:
        nonlocal done, reported
        done += count
        if (done - reported) * _STEPS >= total:
            reported = done
            tell(min(done, total), total)

    return [run for job in jobs for run in job(note)]


def _elsewhere(jobs: Sequence[Job], workers: int, total: int, tell: Tell) -> list[Run]:
    context = multiprocessing.get_context("spawn")
    count = context.Value("q", 0)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_share, initargs=(count,)) as pool:
        futures = [pool.submit(_counted, job) for job in jobs]
        left = set(futures)
        while left:
            left = wait(left, timeout=_LOOK_EVERY).not_done
            tell(min(count.value, total), total)
        return [run for future in futures for run in future.result()]


_count: Synchronized[int] | None = None
"""In a process of the pool: the work done by all of them."""


def _share(count: Synchronized[int]) -> None:
    global _count  # noqa: PLW0603  # the only way into a process of a pool
    _count = count


def _counted(job: Job) -> tuple[Run, ...]:
    def note(count: int) -> None:
        if _count is not None:
            with _count.get_lock():
                _count.value += count

    return job(note)


def _proxy(inside: dict[object, object]) -> MappingProxyType[object, object]:
    return MappingProxyType(inside)


copyreg.pickle(MappingProxyType, lambda proxy: (_proxy, (dict(proxy),)))  # declarations contain some
