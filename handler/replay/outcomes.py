"""A line of replay's output for each decision."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import GroupId, Instant, PolicyId
from trigger.reasons import Reason
from trigger.requests import Decision


class TickOutcome(enum.Enum):
    """The outcome of a tick with a request or a change."""

    OUT = "out"
    IN = "in"
    REFUSED = "refused"
    NONE = "none"
    """No change: a first size, or a request for the present size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayLine:
    """One decision. The fields are the fixed contract of ``trimtab replay --json``."""

    at: Instant
    group: GroupId
    policy: PolicyId | None
    """The policy whose request won or was refused; ``None``: no policy's."""
    outcome: TickOutcome
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    """In mode ``advise``: the size that would be desired in mode ``act``."""

    def plain(self) -> dict[str, object]:
        """Return the line as JSON's types."""
        return {
            "at": self.at,
            "group": self.group,
            "policy": self.policy,
            "outcome": self.outcome.value,
            "reason": self.reason.value,
            "desired_from": self.desired_from,
            "desired_to": self.desired_to,
        }


def line_of(decision: Decision, base: int | None) -> ReplayLine | None:
    """Return a decision's line; ``None``: there was no request and no change.

    Args:
        decision: any.
        base: the starting size where there is no desired size, as in mode ``advise``: the number of members found.
    """
    advised = decision.reason is Reason.ADVISED
    if not decision.answers and not decision.changed and not advised:
        return None
    size = decision.advised_to if advised else decision.desired_to
    return ReplayLine(
        at=decision.at.wall,
        group=decision.group,
        policy=_policy(decision),
        outcome=_outcome(decision, size, base),
        reason=decision.reason,
        desired_from=decision.desired_from,
        desired_to=size,
    )


def _outcome(decision: Decision, size: int | None, base: int | None) -> TickOutcome:
    advised = decision.reason is Reason.ADVISED
    before = base if advised and decision.desired_from is None else decision.desired_from
    if before is not None and size is not None and size != before:
        return TickOutcome.OUT if size > before else TickOutcome.IN
    idle = decision.reason is Reason.NO_CHANGE or decision.winner is not None or not decision.answers
    return TickOutcome.NONE if idle or decision.changed else TickOutcome.REFUSED


def _policy(decision: Decision) -> PolicyId | None:
    if decision.winner is not None:
        return decision.winner.request.policy
    return next((answer.request.policy for answer in decision.answers if answer.reason is decision.reason), None)
