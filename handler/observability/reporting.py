"""Turns what the loops report into log lines (one per transition) and metrics."""

from __future__ import annotations

from config.units import Instant
from handler import logs
from handler.convergence.claiming import Rival
from handler.convergence.passes import Pass
from handler.observability.metrics import Metrics
from handler.planning.status import GroupCondition
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import KINDS, Create, Destroy, Drain, Enable, Join, Leave, MarkMachine, Unmark
from handler.runtime.deciding import TickReport
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.statuses import condition_of
from trigger.requests import Decision

_CALLS = (Create, Destroy, Drain, Enable, Join, Leave, MarkMachine, Unmark)


class Reporter:
    """Keep the last logged state, so that a state is logged when it begins and when it ends, not in between."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self._conditions: dict[str, GroupCondition] = {}
        self._rival: Rival | None = None
        self._troubles: dict[str, frozenset[str]] = {}

    def decided(self, decision: Decision) -> None:
        """Log a change of desired size, with its requester and its reason."""
        self.metrics.decided(decision)
        if not decision.changed:
            return
        winner = decision.winner
        logs.say(
            "desired",
            group=decision.group,
            reason=decision.reason.value,
            size_from=decision.desired_from,
            size_to=decision.desired_to,
            revision=decision.state.revision,
            cause=winner.request.cause.value if winner else None,
            by=winner.request.by if winner else None,
            clamps=",".join(clamp.guard.value for clamp in winner.clamps) or None if winner else None,
        )

    def ticked(self, report: TickReport) -> None:
        """Count a tick."""
        self.metrics.ticked(report)

    def superseded(self, rival: Rival | None) -> None:
        """Log that this daemon stops acting for another one, and that it acts again."""
        before, self._rival = self._rival, rival
        if rival is not None and (before is None or before.claim != rival.claim):
            logs.warn("superseded", claim=rival.claim.text, seen=rival.where, remedy="trimtab store adopt")
        elif rival is None and before is not None:
            logs.say("acts_again")

    def passed(self, runtime: GroupRuntime, done: Pass) -> None:
        """Log calls that were made, and a group's trouble when it begins and when it ends."""
        self.metrics.passed(runtime.id, done)
        for outcome in done.outcomes:
            if isinstance(outcome.step, _CALLS) and outcome.result is StepResult.DONE:
                _say_step(runtime, outcome)
        troubles = frozenset((*done.failures, *done.retries))
        for message in sorted(troubles - self._troubles.get(runtime.id, frozenset())):
            logs.warn("trouble_began", group=runtime.id, message=message)
        for message in sorted(self._troubles.get(runtime.id, frozenset()) - troubles):
            logs.say("trouble_ended", group=runtime.id, message=message)
        self._troubles[runtime.id] = troubles
        self._condition(runtime, done.world.at)

    def rested(self, runtime: GroupRuntime, at: Instant) -> None:
        """Count a pass that an inventory made needless, and log the group's state if it changed."""
        self.metrics.rested(runtime.id)
        self._condition(runtime, at)

    def forget(self, runtime: GroupRuntime) -> None:
        """A group is gone."""
        self._conditions.pop(runtime.id, None)
        self._troubles.pop(runtime.id, None)
        self.metrics.forget(runtime.id)

    def _condition(self, runtime: GroupRuntime, at: Instant) -> None:
        condition = condition_of(runtime, at)
        before = self._conditions.get(runtime.id)
        self._conditions[runtime.id] = condition
        if before is not condition:
            logs.say("condition", group=runtime.id, before=before.value if before else None, now=condition.value)


def _say_step(runtime: GroupRuntime, outcome: StepOutcome) -> None:
    logs.say(
        "step",
        group=runtime.id,
        step=KINDS[type(outcome.step)].replace("_", ""),
        member=outcome.member,
        balancer=getattr(outcome.step, "balancer", None),
        took=f"{outcome.finished_at - outcome.started_at:.3f}s",
    )
