"""Runs replays on every core there is: groups that were polled together in one process, each by itself."""

from __future__ import annotations

import copyreg
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from types import MappingProxyType

from config.model import Catalogue
from config.units import GroupId, Seconds
from handler.replay.happenings import Course
from handler.replay.load import Load, replay_load
from handler.replay.recorded import Run, replay_recorded
from handler.replay.scrapes import alike, cohort_of
from handler.replay.shared import replay_shared
from handler.replay.ticks import Ticks

_WORTH_A_PROCESS = 20_000
"""Group-ticks: a few seconds. To start a process and hand it its rows takes one."""

Job = Callable[[], tuple[Run, ...]]


def recorded_runs(
    catalogue: Catalogue,
    ticks: Mapping[GroupId, Ticks],
    courses: Mapping[GroupId, Course],
    *,
    processes: int | None = None,
) -> tuple[Run, ...]:
    """Replay every group of a series, in the order of their names."""
    workers = _workers(ticks, processes)
    jobs = [
        partial(_together, catalogue, interval, groups, courses)
        for interval, groups in alike(catalogue, ticks, workers)
    ]
    return _done(jobs, workers)


def _workers(ticks: Mapping[GroupId, Ticks], processes: int | None) -> int:
    count = sum(len(each.starts) for each in ticks.values())
    return (processes or os.cpu_count() or 1) if count >= _WORTH_A_PROCESS else 1


def _together(
    catalogue: Catalogue, interval: Seconds, groups: Mapping[GroupId, Ticks], courses: Mapping[GroupId, Course]
) -> tuple[Run, ...]:
    return replay_recorded(catalogue, cohort_of(interval, groups), courses)


def shared_runs(
    catalogue: Catalogue,
    ticks: Mapping[GroupId, Ticks],
    courses: Mapping[GroupId, Course],
    boot: Seconds,
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
    return _done(jobs, workers)


def _sharing(
    catalogue: Catalogue,
    interval: Seconds,
    groups: Mapping[GroupId, Ticks],
    courses: Mapping[GroupId, Course],
    boot: Seconds,
) -> tuple[Run, ...]:
    return replay_shared(catalogue, cohort_of(interval, groups), courses, boot)


def load_runs(
    catalogue: Catalogue, groups: Sequence[GroupId], load: Load, *, processes: int | None = None
) -> tuple[Run, ...]:
    """Replay every one of these groups under the same load."""
    ticks = sum((load.at[-1] - load.at[0]) / catalogue.groups[group].interval for group in groups)
    workers = (processes or os.cpu_count() or 1) if ticks >= _WORTH_A_PROCESS else 1
    return _done([partial(_one, catalogue, group, load) for group in groups], workers)


def _one(catalogue: Catalogue, group: GroupId, load: Load) -> tuple[Run, ...]:
    return (replay_load(catalogue, group, load),)


def _done(jobs: Sequence[Job], workers: int) -> tuple[Run, ...]:
    if workers == 1 or len(jobs) == 1:
        runs = [run for job in jobs for run in job()]
    else:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            runs = [run for future in [pool.submit(job) for job in jobs] for run in future.result()]
    return tuple(sorted(runs, key=lambda run: run.group))


def _proxy(inside: dict[object, object]) -> MappingProxyType[object, object]:
    return MappingProxyType(inside)


copyreg.pickle(MappingProxyType, lambda proxy: (_proxy, (dict(proxy),)))  # declarations have some
