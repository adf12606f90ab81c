"""The history of a tick: changes of desired size, answers to requests from outside, and new refusals.

A policy that is refused at every tick for the same reason is one line of history, not one per tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from config.model.schedules import ScheduledBound
from config.units import Instant, format_span
from handler.ports.stored import Event, EventKind, StoredAnswer
from trigger.explain.explanation import AnswerExplanation, Explanation
from trigger.reasons import Reason
from trigger.requests import RequestCause, SignalKind

Refusals = Mapping[str, Reason]
"""Policy or schedule → the reason of its last refusal."""


_AGAIN = frozenset({RequestCause.POLICY, RequestCause.SCHEDULE})
"""Causes that repeat their request at every tick while it applies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTick:
    """The lines that one tick adds to history."""

    events: tuple[Event, ...]
    answers: tuple[StoredAnswer, ...]
    refusals: Refusals
    """The refusals that the group's next tick compares with."""


def history_of(explanation: Explanation, before: Refusals, *, evaluated: bool = True) -> HistoryTick:
    """Return a tick's history, from its group's last refusals and whether its policies were evaluated."""
    changed = explanation.desired_from != explanation.desired_to
    winner = next((a for a in explanation.answers if a.reason is explanation.reason), None) if changed else None
    refused = {a.by: a.reason for a in explanation.answers if a.cause in _AGAIN and a is not winner}
    events = [_change(explanation, winner)] if changed else []
    for answer in explanation.answers:
        known = answer.cause in _AGAIN and before.get(answer.by) is answer.reason
        if answer is not winner and not known:
            events.append(_answered(explanation, answer))
    return HistoryTick(
        events=tuple(events),
        answers=tuple(_stored(explanation, a) for a in explanation.answers if a.cause not in _AGAIN),
        refusals=refused if evaluated else before,  # requests between two ticks evaluate no policy
    )


def _change(explanation: Explanation, winner: AnswerExplanation | None) -> Event:
    return Event(
        at=explanation.at,
        group=explanation.group,
        kind=EventKind.DECISION,
        name=explanation.reason.value,
        by=_by(winner) if winner is not None else _owner(explanation),
        desired_from=explanation.desired_from,
        desired_to=explanation.desired_to,
        clamps=winner.clamps if winner is not None else (),
    )


def _owner(explanation: Explanation) -> str:
    """Return the schedules or alerts that moved the size without a request; empty: none did."""
    match explanation.reason:
        case Reason.SCHEDULE:
            kind, names = "schedule", _limiting(explanation)
        case Reason.ALERT_FLOOR:
            kind, names = "alert", _raising(explanation)
        case _:
            return ""
    return f"{kind} {', '.join(sorted(names))}" if names else ""


def _limiting(explanation: Explanation) -> frozenset[str]:
    """Return the schedules whose floor or ceiling decides: the greatest floor, or the lowest ceiling."""
    before, after = explanation.desired_from or 0, explanation.desired_to or 0
    wanted = ScheduledBound.FLOOR if after > before else ScheduledBound.CEILING
    sizes = {
        each.limit.id: each.limit.size for each in explanation.limits if each.active and each.limit.limit is wanted
    }
    decisive = (max if wanted is ScheduledBound.FLOOR else min)(sizes.values(), default=0)
    return frozenset(schedule for schedule, size in sizes.items() if size == decisive)


def _raising(explanation: Explanation) -> frozenset[str]:
    """Return the alerts with the highest floor."""
    floors = [(each.size or 0, each.alert) for each in explanation.signals if each.kind is SignalKind.FLOOR]
    highest = max((size for size, _ in floors), default=0)
    return frozenset(alert for size, alert in floors if size == highest)


def _answered(explanation: Explanation, answer: AnswerExplanation) -> Event:
    """Return an answer that did not change the size, whatever another request did at the same moment."""
    return Event(
        at=explanation.at,
        group=explanation.group,
        kind=EventKind.DECISION,
        name=answer.reason.value,
        by=_by(answer),
        desired_from=explanation.desired_from,
        desired_to=explanation.desired_from,
        clamps=answer.clamps,
        message=_message(explanation.at, answer),
    )


def _by(answer: AnswerExplanation) -> str:
    return f"{answer.cause.value} {answer.by}"


def _message(at: Instant, answer: AnswerExplanation) -> str:
    """Return the wanted size, and when the request can succeed."""
    wanted = f"wanted {answer.wanted}" if answer.wanted is not None else ""
    until = f"possible in {format_span(answer.until - at)}" if answer.until is not None and answer.until > at else ""
    return ", ".join(part for part in (wanted, until) if part)


def _stored(explanation: Explanation, answer: AnswerExplanation) -> StoredAnswer:
    return StoredAnswer(
        request=answer.request,
        at=explanation.at,
        reason=answer.reason,
        desired_from=explanation.desired_from,
        desired_to=explanation.desired_to,
    )
