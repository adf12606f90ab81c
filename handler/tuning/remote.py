"""Settings are tried on other machines: by the workers of a dask scheduler (ADR 0089).

Workers read no file. The recording of a group is sent once, compressed; the scheduler keeps it, and hands it to another
worker if the one that has it dies. Whatever the scheduler and its workers do, the command ends: each wait has a bound.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from config.errors import Refused
from config.units import GroupId, Seconds
from handler.tuning.dask_client import ANSWERS, WITHOUT_WORKERS, connected, without_workers
from handler.tuning.outcomes import Outcome
from handler.tuning.parcels import packed, tried_there, unpacked
from handler.tuning.trials import Grounds, TrialRecording
from handler.tuning.trying import Asked, Job, Note, Tried, declared_by, gathered, jobs_of

if TYPE_CHECKING:
    from distributed import Client, Future

_LOOK: Seconds = 2.0
"""Between two looks at what is done."""


@contextmanager
def trying_at(scheduler: str, grounds: Grounds) -> Iterator[Tried]:
    """Provide what tries settings by the workers of a dask scheduler, with the outcomes of `trying`.

    Args:
        scheduler: its address, ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.
        grounds: the groups, with their recordings.

    Raises:
        Refused: as `connected`; within the block also if all workers go, or several die of the same settings.
    """
    with connected(scheduler) as client:
        trials = _RemoteTrials(client, scheduler, grounds)
        yield lambda asked, note: gathered(asked, trials.outcomes(asked, note))


class _RemoteTrials:
    """Sends settings with what they need, and waits for what they come to."""

    def __init__(self, client: Client, scheduler: str, grounds: Grounds) -> None:
        self._client, self._scheduler, self._grounds = client, scheduler, grounds
        self._sent: dict[GroupId, Future[TrialRecording]] = {}

    def outcomes(self, asked: Sequence[Asked], note: Note) -> Iterator[Mapping[Asked, Outcome]]:
        """Yield outcomes as they come; ``note`` takes how many settings were tried."""
        waiting: dict[Future[tuple[Outcome, ...]], Job] = {}
        for group, candidates in jobs_of(self._grounds, asked):
            good, declared = declared_by(self._grounds[group], candidates)
            note(len(candidates) - len(good))
            if declared is not None:
                future = self._client.submit(tried_there, self._recording(group), packed(declared), pure=False)
                waiting[future] = group, good
        unattended: Seconds = 0.0
        while waiting:
            for future in self._done(waiting):
                group, good = waiting.pop(future)
                outcomes = _result(future, group)
                note(len(good))
                yield {(group, candidate): each for candidate, each in zip(good, outcomes, strict=True)}
            unattended = 0.0 if self._client.nthreads() else unattended + _LOOK
            if unattended > WITHOUT_WORKERS:
                raise without_workers(self._scheduler)

    def _recording(self, group: GroupId) -> Future[TrialRecording]:
        """Return the recording of a group on a worker; the first time it is sent."""
        if group not in self._sent:
            self._sent[group] = self._client.submit(unpacked, packed(self._grounds[group].recording), pure=False)
        return self._sent[group]

    def _done(self, waiting: Mapping[Future[tuple[Outcome, ...]], Job]) -> Sequence[Future[tuple[Outcome, ...]]]:
        """Wait for all, but not for long; return those that are done."""
        from distributed import wait

        with self._client.as_current(), contextlib.suppress(TimeoutError):
            wait(list(waiting), timeout=_LOOK)
        return [future for future in waiting if future.status != "pending"]


def _result(future: Future[tuple[Outcome, ...]], group: GroupId) -> tuple[Outcome, ...]:
    from distributed import KilledWorker

    try:
        return future.result(timeout=ANSWERS)
    except KilledWorker as error:
        raise Refused(
            f"group {group}: workers died {error.allowed_failures + 1} times of the same settings, the last one at "
            f"{error.last_worker.address}: see its log; it may have had too little memory"
        ) from error
    except (ImportError, MemoryError, OSError) as error:
        raise Refused(f"group {group}: a worker cannot replay it: {type(error).__name__}: {error}") from error
