"""The outcome of each step of a plan."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from config.causes import FailureCause
from config.units import Instant, MemberName, Seconds
from handler.planning.steps import Step


class StepResult(enum.Enum):
    """The result of a step; the worst of a pass is the pass's."""

    DONE = "done"
    RETRY = "retry"
    """The cloud or balancer asks for time: no attempt is counted, and the step is planned again after that."""
    LIMITED = "limited"
    """Transient: planned again after a back-off, a limited number of times."""
    FAILED = "failed"
    """Permanent, or transient too often: shown as ERROR with its message; planned again after a long back-off."""


def worst(results: Iterable[StepResult]) -> StepResult:
    """Return the worst of several results.

    >>> worst([StepResult.DONE, StepResult.LIMITED, StepResult.RETRY])
    <StepResult.LIMITED: 'limited'>
    """
    return max(results, key=_RANKS.__getitem__, default=StepResult.DONE)


_RANKS = {result: rank for rank, result in enumerate(StepResult)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """One step carried out."""

    step: Step
    member: MemberName | None
    result: StepResult
    because: str
    """Empty when DONE; never a secret."""
    started_at: Instant
    finished_at: Instant
    cause: FailureCause | None = None
    """The recognised cause; ``None``: none is known."""
    attempt: int | None = None
    """Which of the limited attempts failed."""
    retry_after: Seconds | None = None
    """In how many seconds it may be planned again; ``None``: at once, or never."""

    @property
    def is_final(self) -> bool:
        """Whether it failed for good."""
        return self.result is StepResult.FAILED and self.retry_after is None
