from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from config.units import GroupId, Instant
from handler.ports.stored import Event, EventKind, TickSpan
from handler.store.decision_lookup import Recalled, recalled
from tests.support.store import an_explanation
from trigger.reasons import Reason

WEB = GroupId("web")


def a_span(at: float, *, before: int = 2, after: int = 2) -> TickSpan:
    first = replace(an_explanation(), at=Instant(at), desired_from=before, desired_to=after)
    return TickSpan(group=WEB, first_at=Instant(at), last_at=Instant(at), ticks=1, first=first, least=(), greatest=())


def an_event(at: float, kind: EventKind = EventKind.DECISION) -> Event:
    return Event(at=Instant(at), group=WEB, kind=kind, name=Reason.SCALED_OUT.value, by="policy out")


BEFORE = a_span(0.0)
STEADY, GREW, REFUSED = a_span(12.4), a_span(11.3, after=3), a_span(12.1)


@pytest.mark.parametrize(
    ("begun", "events", "shown", "others"),
    [
        ([], [], BEFORE, []),
        ([STEADY], [], STEADY, []),
        ([STEADY, REFUSED, GREW], [an_event(12.1), an_event(11.3)], GREW, [12.1]),
        ([STEADY, REFUSED], [an_event(12.1)], REFUSED, []),
    ],
    ids=["nothing began", "no line of history", "a change of size before a newer refusal", "a refusal before a tick"],
)
def test_the_decision_of_a_time_is_the_one_that_history_tells_of(
    begun: Sequence[TickSpan], events: Sequence[Event], shown: TickSpan, others: list[float]
) -> None:
    found = recalled(begun, BEFORE, events)
    assert (found.span, list(found.others), found.events) == (shown, others, ())
    assert found.began is (shown is not BEFORE)


def test_a_request_that_was_refused_between_two_ticks_is_reported_by_its_line_of_history() -> None:
    asked, act = an_event(7.2), an_event(7.1, EventKind.NOTE)
    assert recalled([], BEFORE, [asked, act]) == Recalled(span=BEFORE, began=False, others=(), events=(act, asked))


def test_before_the_first_evaluation_nothing_is_shown() -> None:
    assert recalled([], None, []) == Recalled(span=None, began=False, others=(), events=())
