"""Find the decision for an instant as a person writes it. Pure.

History prints instants to the millisecond, and decisions have them to the microsecond: a copied instant means the
decision within that millisecond, not the one that was in force before it. The same holds for a whole second or minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from config.units import Instant
from handler.ports.stored import Event, EventKind, TickSpan

AT_MOST = 200
"""The most spans and events of one time that are searched: the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The decision, spans and events of a time."""

    span: TickSpan | None
    """The decision that is shown; ``None``: nothing had been evaluated yet."""
    began: bool
    """Whether it began in that time; else it was in force when that time began."""
    others: tuple[Instant, ...]
    """When other decisions of that time were taken, oldest first: each can be asked for."""
    events: tuple[Event, ...]
    """Decisions without an explanation of their own, and operations, oldest first."""


def recalled(begun: Sequence[TickSpan], before: TickSpan | None, events: Sequence[Event]) -> Recalled:
    """Choose the decision that is shown: the newest that changed the size, or else the newest in the history.

    Args:
        begun: the spans that began in that time, newest first.
        before: the span in force when that time began.
        events: decisions and operations of that time.
    """
    decided_at = {event.at for event in events if event.kind is EventKind.DECISION}
    decided = [span for span in begun if span.first_at in decided_at]
    resized = [span for span in decided if span.first.desired_from != span.first.desired_to]
    shown = next(iter((*resized, *decided, *begun)), None)
    explained = {span.first_at for span in decided}
    rest = [each for each in events if each.kind is not EventKind.DECISION or each.at not in explained]
    return Recalled(
        span=before if shown is None else shown,
        began=shown is not None,
        others=tuple(sorted(span.first_at for span in decided if span is not shown)),
        events=tuple(sorted(rest, key=lambda event: event.at)),
    )
