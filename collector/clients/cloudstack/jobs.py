"""Wait for CloudStack's asynchronous jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.parsing import JobState, job_of, refusal, text
from config.errors import DriverError, Transient
from config.units import Instant, Seconds

_FIRST_PAUSE: Seconds = 0.5
_LONGEST_PAUSE: Seconds = 8.0
_GROWTH = 1.5


def wait(seconds: Seconds) -> None:
    """Pause between two queries of a job."""
    threading.Event().wait(seconds)


class JobPoller:
    """Queries jobs until they have ended, less and less often.

    Args:
        client: the cloud that runs the jobs.
        clock: measures how long a job has been waited for.
        wait: pauses between two queries.
        patience: seconds to wait for a job; a job that has not ended by then goes on by itself.
    """

    def __init__(
        self, client: CloudstackClient, clock: Callable[[], Instant], wait: Callable[[Seconds], None], patience: Seconds
    ) -> None:
        self._client = client
        self._clock = clock
        self._wait = wait
        self._patience = patience

    def done(self, about: str, command: str, **given: str) -> str:
        """Send a command, wait for its job, and return the id of the object that it creates; empty: none.

        Raises:
            Transient: the job has not ended in time, and goes on; or as `CloudstackClient.ask`.
            Permanent: refused, by the answer or by the job.
        """
        answer = self._client.ask(command, **given)
        job = text(answer, "jobid")
        if not job:
            raise Transient(f"{about}: {command}: the response has no job id")
        state, result = self.ended(job)
        if state is JobState.PENDING:
            raise Transient(f"{about}: {command} is still running")
        if state is not JobState.DONE:
            raise refusal(result, f"{about}: {command}")
        return text(answer, "id")

    def ended(self, job: str) -> tuple[JobState, object]:
        """Return the job's state and result; a job that has not ended in time is PENDING."""
        started, waited, pause = self._clock(), 0.0, _FIRST_PAUSE
        while True:
            try:
                state, result = job_of(self._client.ask("queryAsyncJobResult", jobid=job))
            except DriverError:
                state, result = JobState.PENDING, None  # a failed query says nothing about the job
            late = max(waited, self._clock() - started) >= self._patience
            if state is not JobState.PENDING or late:
                return state, result
            self._wait(pause)
            waited, pause = waited + pause, min(pause * _GROWTH, _LONGEST_PAUSE)
