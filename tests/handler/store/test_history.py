from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.units import GroupId, MemberName
from handler.planning.step_outcomes import StepResult
from handler.ports.stored import EventKind
from tests.support.store import LOCAL, WEB, a_tick, an_explanation, at
from trigger.reasons import Reason

FRESH = itertools.count()


@pytest.fixture
def store(empty):
    """Decisions at 0, 10 and 20, steps at 1, 11 and 21, notes at 2, 12 and 22; and another group's note."""
    for ten in (0, 10, 20):
        empty.record((a_tick(an_explanation(at(ten), reason=Reason.SCALED_OUT, sizes=(ten, ten + 1))),))
        step = empty.begin_step(WEB, "create", None, at(ten + 1), (), LOCAL)
        empty.end_step(step, StepResult.DONE, "", at(ten + 1.5), (), LOCAL)
        empty.note(WEB, "observe", "ada", "", at(ten + 2))
    empty.note(GroupId("worker"), "observe", "ada", "", at(2))
    return empty


def instants(events):
    return [event.at for event in events]


def test_events_of_all_kinds_come_newest_first(store):
    events = store.history(WEB, before=None, limit=100)
    assert instants(events) == [at(s) for s in (22, 21, 20, 12, 11, 10, 2, 1, 0)]
    assert [event.kind for event in events[:3]] == [EventKind.NOTE, EventKind.STEP, EventKind.DECISION]


def test_a_page_holds_as_many_as_asked_and_goes_on_before_its_last(store):
    first = store.history(WEB, before=None, limit=4)
    second = store.history(WEB, before=first[-1].at, limit=4)
    assert instants(first + second) == [at(s) for s in (22, 21, 20, 12, 11, 10, 2, 1)]


def test_only_the_kinds_that_are_asked_count(store):
    wanted = {EventKind.DECISION, EventKind.NOTE}
    assert instants(store.history(WEB, before=None, limit=3, kinds=wanted)) == [at(s) for s in (22, 20, 12)]
    assert store.history(WEB, before=None, limit=3, kinds=()) == ()


def test_a_member_s_history_is_its_steps_and_the_notes_that_name_it_newest_first(store):
    one, other = MemberName("web-k3f9ab-1"), MemberName("web-k3f9ab-12")
    for second, member in ((3, one), (5, other), (7, one)):
        store.begin_step(WEB, "create", member, at(second), (), LOCAL)
    for second, message in ((4, one), (6, f"app-7 (i-3) as {other}"), (8, f"{one}, to be replaced"), (9, "web-k3f9ab")):
        store.note(WEB, "evict", "ada", message, at(second))

    def seconds(since, limit):
        return instants(store.member_history(WEB, one, since=at(since), limit=limit))

    assert seconds(0, 9) == [at(s) for s in (8, 7, 4, 3)]
    assert seconds(4, 9) == [at(s) for s in (8, 7, 4)]
    assert seconds(0, 3) == [at(s) for s in (8, 7, 4)]
    assert store.member_history(GroupId("worker"), one, since=at(0), limit=9) == ()


@pytest.mark.parametrize("limit", [0, -1])
def test_no_lines_asked_none_given(store, limit):
    assert store.history(WEB, before=None, limit=limit) == ()


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(moments=st.lists(st.integers(0, 4), max_size=12), limit=st.integers(1, 5))
def test_paging_misses_nothing_and_repeats_nothing(empty, moments, limit):
    name = GroupId(f"g{next(FRESH)}")
    for number, moment in enumerate(moments):
        if number % 2:
            empty.note(name, str(number), "ada", "", at(moment))
        else:
            empty.begin_step(name, str(number), None, at(moment), (), LOCAL)
    seen, before = [], None
    while page := empty.history(name, before=before, limit=limit):
        seen, before = [*seen, *page], page[-1].at
    assert sorted(event.name for event in seen) == sorted(str(number) for number in range(len(moments)))
    assert instants(seen) == sorted(instants(seen), reverse=True)
