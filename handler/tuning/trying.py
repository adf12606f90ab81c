"""Where settings are tried: in this process, or in one for each core. `handler.tuning.remote` has other machines.

The outcomes do not depend on the number of processes.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

from config.model.catalogue import Catalogue
from config.units import GroupId
from handler.tuning.copies import allowed, copies
from handler.tuning.outcomes import Outcome
from handler.tuning.parameters import Candidate
from handler.tuning.trials import TOGETHER, Grounds, TrialGround, outcomes_of

_WORTH_A_PROCESS = 200_000
"""Rows: a few seconds. Starting a process takes one second."""

Asked = tuple[GroupId, Candidate]
Note = Callable[[int], None]
"""Called with the number of settings that were tried since its last call."""
Tried = Callable[[Sequence[Asked], Note], Mapping[Asked, Outcome]]
"""Tries settings of groups; those that the rules of the file refuse have no outcome."""
Job = tuple[GroupId, Sequence[Candidate]]
"""Settings that are replayed side by side."""


@contextmanager
def trying(grounds: Grounds, processes: int | None = None) -> Iterator[Tried]:
    """Provide what tries settings.

    Args:
        grounds: the groups, with their recordings; each process gets them once.
        processes: how many; ``None``: one for each core, where that is worth it.
    """
    rows = sum(len(ground.ticks.samples) for ground in grounds.values()) * TOGETHER
    workers = (processes or 1) if processes or rows < _WORTH_A_PROCESS else (os.cpu_count() or 1)
    if workers == 1:
        yield lambda asked, note: gathered(asked, _one_by_one(grounds, asked, note))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_take, initargs=(dict(grounds),)) as pool:
        yield lambda asked, note: gathered(asked, _side_by_side(pool, grounds, asked, note))


def jobs_of(grounds: Grounds, asked: Sequence[Asked]) -> Iterator[Job]:
    """Divide settings into those that are replayed side by side, group by group."""
    by_group: dict[GroupId, list[Candidate]] = {}
    for group, candidate in dict.fromkeys(asked):
        by_group.setdefault(group, []).append(candidate)
    for group, candidates in by_group.items():
        size = grounds[group].together
        for first in range(0, len(candidates), size):
            yield group, candidates[first : first + size]


def declared_by(ground: TrialGround, candidates: Sequence[Candidate]) -> tuple[Sequence[Candidate], Catalogue | None]:
    """Leave out settings that the rules of the file refuse, and declare the others; ``None``: none is left.

    To be called where the file is: forecasts and counters may refer to other files (calendars, MIBs).
    """
    good = [candidate for candidate in candidates if allowed(ground.tuned, candidate)]
    return good, copies(ground.tuned, good) if good else None


def gathered(asked: Sequence[Asked], parts: Iterator[Mapping[Asked, Outcome]]) -> dict[Asked, Outcome]:
    """Put outcomes in the order in which they were asked for."""
    found = {each: outcome for part in parts for each, outcome in part.items()}
    return {each: found[each] for each in dict.fromkeys(asked) if each in found}


def _try(grounds: Grounds, group: GroupId, candidates: Sequence[Candidate]) -> dict[Asked, Outcome]:
    good, declared = declared_by(grounds[group], candidates)
    if declared is None:
        return {}
    outcomes = outcomes_of(grounds[group].recording, declared)
    return {(group, candidate): outcome for candidate, outcome in zip(good, outcomes, strict=True)}


def _one_by_one(grounds: Grounds, asked: Sequence[Asked], note: Note) -> Iterator[Mapping[Asked, Outcome]]:
    for group, candidates in jobs_of(grounds, asked):
        yield _try(grounds, group, candidates)
        note(len(candidates))


_grounds: Grounds = {}
"""In a process of the pool."""


def _take(grounds: Grounds) -> None:
    global _grounds  # noqa: PLW0603  # the only way into a process of a pool
    _grounds = grounds


def _side_by_side(
    pool: Executor, grounds: Grounds, asked: Sequence[Asked], note: Note
) -> Iterator[Mapping[Asked, Outcome]]:
    jobs = list(jobs_of(grounds, asked))
    futures = [pool.submit(_try_here, group, candidates) for group, candidates in jobs]
    for future, (_, candidates) in zip(futures, jobs, strict=True):
        yield future.result()
        note(len(candidates))


def _try_here(group: GroupId, candidates: Sequence[Candidate]) -> dict[Asked, Outcome]:
    return _try(_grounds, group, candidates)
