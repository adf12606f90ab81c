from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from config.errors import StoreError
from config.units import GroupId
from handler.store import sql_store
from handler.store.schema import spans
from tests.support.store import WEB, a_definition, a_state, a_tick, an_answer, an_explanation, at, opened
from trigger.reasons import Reason
from trigger.requests import RequestCause

FRESH = itertools.count()


@pytest.fixture
def empty(in_file):
    """A store in a file: what is recorded is the same on a server."""
    return in_file


def commits(store) -> int:
    return store._writer.commits


def span_rows(store) -> int:
    return store._writer.do(lambda connection: connection.execute(select(func.count(spans.c.id))).scalar_one())


def changes(store) -> list[str]:
    lines = store.history(WEB, before=None, limit=100)
    return [line.name for line in reversed(lines) if line.name != "declared"]


def test_a_thousand_equal_ticks_are_one_row(store):
    for number in range(1000):
        store.record((a_tick(an_explanation(at(30 * number), values=(float(number % 97),))),))
    assert span_rows(store) == 1
    span = store.span_at(WEB, at(30 * 500))
    assert (span.first_at, span.last_at, span.ticks, span.least, span.greatest) == (
        at(0),
        at(30 * 999),
        1000,
        (0.0,),
        (96.0,),
    )


def test_a_tick_that_says_nothing_new_costs_no_commit(store):
    store.record((a_tick(),))
    before = commits(store)
    store.record((a_tick(an_explanation(at(30))),))
    assert commits(store) == before


def test_ticks_in_memory_are_written_by_flush(file):
    store = opened(file)
    store.record((a_tick(),))
    store.record((a_tick(an_explanation(at(30), values=(10.0,))),))
    other = opened(file)
    assert other.span_at(WEB, at(30)).ticks == 1
    store.flush()
    assert (other.span_at(WEB, at(30)).ticks, other.span_at(WEB, at(30)).least) == (2, (10.0,))
    other.close()
    store.close()


def three_that_go_on(store):
    """Groups whose second tick says what their first one did: their rows on disk are behind."""
    groups = [GroupId(f"g{number}") for number in range(3)]
    for second in (0, 30):
        for group in groups:
            store.record((a_tick(an_explanation(at(second), group=group)),))
    return groups


def test_of_a_large_fleet_a_flush_writes_what_waits_for_longest(file, monkeypatch):
    monkeypatch.setattr(sql_store, "AT_A_FLUSH", 2)
    store = opened(file)
    groups = three_that_go_on(store)
    other = opened(file)

    store.flush()
    assert [other.span_at(group, at(30)).ticks for group in groups] == [2, 2, 1]
    store.record((a_tick(an_explanation(at(60), group=groups[0])),))
    store.flush()

    assert [other.span_at(group, at(60)).ticks for group in groups] == [3, 2, 2]
    store.close()
    other.close()


def test_closing_writes_every_span(file, monkeypatch):
    monkeypatch.setattr(sql_store, "AT_A_FLUSH", 1)
    store = opened(file)
    groups = three_that_go_on(store)
    store.close()

    other = opened(file)
    assert [other.span_at(group, at(30)).ticks for group in groups] == [2, 2, 2]
    other.close()


def test_flushing_twice_writes_once(store):
    store.record((a_tick(),))
    store.record((a_tick(an_explanation(at(30))),))
    store.flush()
    before = commits(store)
    store.flush()
    assert commits(store) == before


@pytest.mark.parametrize(
    "tick",
    [
        a_tick(an_explanation(at(60), reason=Reason.BLIND)),
        a_tick(an_explanation(at(60)), state=a_state()),
        a_tick(an_explanation(at(60), answers=(an_answer(Reason.QUIET, cause=RequestCause.ALARM),))),
        a_tick(an_explanation(at(60), reason=Reason.AT_MAX, answers=(an_answer(Reason.AT_MAX),))),
    ],
    ids=["shape", "state", "answer", "refusal"],
)
def test_news_is_on_disk_at_once_with_where_the_span_before_it_ended(empty, file, tick):
    empty.declare((a_definition(),), at(0))
    empty.record((a_tick(),))
    empty.record((a_tick(an_explanation(at(30))),))
    empty.record((tick,))
    other = opened(file)
    ends = other.span_at(WEB, at(59)).last_at
    assert ends == (at(60) if other.span_at(WEB, at(60)).first_at == at(0) else at(30))
    assert other.span_at(WEB, at(60)).last_at == at(60)
    other.close()


def test_after_a_restart_a_new_span_begins(file):
    for start in (0, 60):
        store = opened(file)
        store.record((a_tick(an_explanation(at(start))),))
        store.record((a_tick(an_explanation(at(start + 30))),))
        store.close()
    store = opened(file)
    assert [store.span_at(WEB, at(moment)).first_at for moment in (59, 60, 500)] == [at(0), at(60), at(60)]
    assert store.span_at(WEB, at(59)).ticks == 2
    store.close()


def test_before_the_first_tick_there_is_no_span(store):
    store.record((a_tick(),))
    assert store.span_at(WEB, at(-1)) is None
    assert store.span_at(GroupId("worker"), at(0)) is None


def test_a_refusal_at_every_tick_is_one_line_of_history_and_costs_one_write(store):
    refused = an_answer(Reason.AT_MAX)
    store.record((a_tick(an_explanation(at(0), reason=Reason.AT_MAX, answers=(refused,))),))
    before = commits(store)
    for number in range(1, 5):
        again = replace(refused, request=f"r{number}")
        store.record((a_tick(an_explanation(at(number), reason=Reason.AT_MAX, answers=(again,))),))
    assert changes(store) == ["at_max"]
    assert commits(store) == before


def test_several_ticks_of_one_group_count_in_their_order(store):
    store.record(
        (
            a_tick(an_explanation(at(0))),
            a_tick(an_explanation(at(1), reason=Reason.SCALED_OUT, sizes=(3, 5)), state=a_state(5)),
            a_tick(an_explanation(at(2), reason=Reason.SCALED_IN, sizes=(5, 4)), state=a_state(4)),
        )
    )
    assert changes(store) == ["scaled_out", "scaled_in"]
    assert [stored.state.desired for stored in store.groups() if stored.id == WEB] == [4]
    assert [store.span_at(WEB, at(moment)).first.reason for moment in (0, 1, 2)] == [
        Reason.STEADY,
        Reason.SCALED_OUT,
        Reason.SCALED_IN,
    ]


def test_what_could_not_be_written_is_as_if_it_had_not_been_recorded(store):
    store.record((a_tick(),))
    unknown_group = a_tick(an_explanation(at(30), group="nobody"), state=a_state())
    refused = a_tick(an_explanation(at(30), reason=Reason.AT_MAX, answers=(an_answer(Reason.AT_MAX),)))
    with pytest.raises(StoreError):
        store.record((refused, unknown_group))
    assert store.span_at(WEB, at(30)).last_at == at(0)
    store.record((replace(refused, at=at(60)),))
    assert changes(store) == ["at_max"]


def test_recording_nothing_is_nothing(store):
    before = commits(store)
    store.record(())
    assert commits(store) == before


def test_groups_that_change_at_the_same_time_share_commits(store):
    def tell(number: int) -> None:
        for turn in range(4):
            reason = (Reason.STEADY, Reason.BLIND)[turn % 2]
            store.record((a_tick(an_explanation(at(turn), group=f"g{number}", reason=reason)),))

    before = commits(store)
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(tell, range(32)))
    assert span_rows(store) == 128
    assert commits(store) - before < 64


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    story=st.lists(st.tuples(st.sampled_from([Reason.STEADY, Reason.BLIND]), st.booleans()), min_size=1, max_size=12)
)
def test_every_tick_is_found_again_by_its_instant(store, story):
    group = f"g{next(FRESH)}"
    for number, (reason, flushed) in enumerate(story):
        store.record((a_tick(an_explanation(at(number), group=group, reason=reason)),))
        if flushed:
            store.flush()
    found = [store.span_at(GroupId(group), at(number)) for number in range(len(story))]
    assert [span.first.reason for span in found] == [reason for reason, _ in story]
    assert all(span.first_at <= at(number) <= span.last_at for number, span in enumerate(found))
    assert sum({span.first_at: span.ticks for span in found}.values()) == len(story)


@pytest.mark.parametrize("written", [False, True], ids=["as-the-last-span", "with-another-after-it"])
def test_a_request_during_a_poll_is_explained_by_itself_and_what_follows_by_the_tick(store, written: bool) -> None:
    asked, polled = at(31.5), at(30)
    scaled = an_answer(Reason.SCALED_OUT, cause=RequestCause.PERSON, by="ada", request="ada@31")
    store.record((a_tick(an_explanation(at(0))),))
    store.record((a_tick(an_explanation(asked, reason=Reason.SCALED_OUT, sizes=(3, 4), answers=(scaled,), values=())),))
    store.record((a_tick(an_explanation(polled, sizes=(4, 4))),))
    store.record((a_tick(an_explanation(at(60), sizes=(4, 4))),))
    if written:
        store.record((a_tick(an_explanation(at(90), sizes=(4, 4), reason=Reason.HOLDING)),))
    store.flush()
    explained = [store.span_at(WEB, moment).first.at for moment in (at(29), asked, at(45), at(60))]
    assert explained == [at(0), asked, polled, polled]
