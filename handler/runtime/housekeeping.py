"""Runs what the daemon does at times of the wall clock, in the background: now it prunes history.

APScheduler knows what is due when, and reads the system's clock, which may be set. It sleeps as long as it was to the
next time when it last looked, so a clock that is set back by a day would put everything off by a day. Therefore
everything is timed anew when the timekeeper has found that wall clock and steady clock have parted. What measures spans
(flush, watches, recording) is no job here: it counts by the steady clock, and no clock that is set disturbs it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from config.units import Seconds
from handler.runtime.loops import Guard

_PARTED: Seconds = 5.0
"""A clock that was set by less makes a job no later than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is done once an hour."""

    name: str
    minute: int
    """Past the full hour, UTC."""
    work: Callable[[], Awaitable[None]]


class Housekeeping:
    """The jobs of one daemon, for one event loop.

    Each one is run however late it comes (``misfire_grace_time``): it is wanted as much after a machine has slept, and
    the library's grace of a second would drop it. Several times that were missed are made good by one run
    (``coalesce``), since one does all that there is to do. None runs beside itself (``max_instances``).
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        late = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        self._scheduler: Any = AsyncIOScheduler(timezone=UTC, job_defaults=late)  # it brings no types

    def start(self) -> None:
        """Begin."""
        for job in self._jobs:
            self._put(job)
        self._scheduler.start()

    def add(self, job: Job) -> None:
        """Take one job more, also while others run; one of the same name gives way."""
        self._jobs = [*(each for each in self._jobs if each.name != job.name), job]
        if self._scheduler.running:
            self._put(job)

    def _put(self, job: Job) -> None:
        self._scheduler.add_job(_guarded(job), _times(job), id=job.name, name=job.name, replace_existing=True)

    def follow(self, step: Seconds) -> None:
        """The system's clock was set by so much: time every job anew. What is missed or repeated by it, is so once."""
        if abs(step) > _PARTED and self._scheduler.running:
            for job in self._jobs:
                self._scheduler.reschedule_job(job.name, trigger=_times(job))

    async def stop(self) -> None:
        """Begin nothing more, and wait no longer for what runs."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
            await asyncio.sleep(0)  # it shuts down in the loop's next turn


def _times(job: Job) -> CronTrigger:
    return CronTrigger(minute=job.minute, timezone=UTC)


def _guarded(job: Job) -> Callable[[], Awaitable[None]]:
    guard = Guard(job.name)

    async def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):  # by `stop` alone; the library would log it as a failure
            await guard.run(job.work)

    return run
