from __future__ import annotations

import itertools
import threading
from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from config.model.expressions import Dialect
from config.units import GroupId
from handler.ports.stored import RepeatedTick
from handler.store.spans import Book
from tests.support.store import WEB, a_tick, an_explanation, at
from tests.support.waiting import PATIENT
from trigger.explain.explanation import ExpressionExplanation, TermExplanation
from trigger.reasons import Reason


def a_book() -> Book:
    return Book(itertools.count(1).__next__)


def ticks_of(*values, reason=Reason.STEADY, start=0):
    return [a_tick(an_explanation(at(start + i), reason=reason, values=(value,))) for i, value in enumerate(values)]


def test_ticks_of_one_shape_are_one_span_with_least_and_greatest():
    (open_span,) = a_book().plan(ticks_of(50.0, None, 20.0, 70.0)[:1] + ticks_of(20.0, 70.0, start=1)).new
    span = open_span.span
    assert (span.first_at, span.last_at, span.ticks, span.least, span.greatest) == (at(0), at(2), 3, (20.0,), (70.0,))


def test_what_moved_in_a_span_is_reported_once_for_each_aggregate_terms_of_expressions_included():
    first = replace(an_explanation(at(0), values=(50.0,)), policies=())
    policy = an_explanation(at(0), values=(50.0,)).policies[0]
    condition = policy.conditions[0]
    term = TermExplanation(**{each.name: getattr(condition, each.name, "cpu.p95") for each in fields(TermExplanation)})
    judged = ExpressionExplanation(
        condition=condition.condition,
        expression="cpu.p95 > 80",
        dialect=Dialect.NATIVE,
        truth=condition.truth,
        terms=(term,),
    )

    def tick(second, value):
        seen = replace(policy, expressions=(replace(judged, terms=(replace(term, value=value),)),))
        return a_tick(replace(first, at=at(second), policies=(seen,)))

    (open_span,) = a_book().plan([tick(0, 50.0), tick(1, 20.0), tick(2, 70.0)]).new
    assert open_span.span.least == (50.0, 20.0)
    assert [(each.name, least, greatest) for each, least, greatest in open_span.span.moved] == [(term.name, 20.0, 70.0)]


def test_a_value_that_was_not_there_counts_neither_as_least_nor_as_greatest():
    book = a_book()
    entry = book.plan(ticks_of(None))
    book.confirm(entry.last, frozenset({WEB}))
    last = book.plan(ticks_of(None)).last[WEB]
    assert (last.span.least, last.span.greatest) == ((None,), (None,))


def test_planning_alone_changes_nothing():
    book = a_book()
    book.plan(ticks_of(50.0))
    assert book.last(WEB) is None


def test_an_extension_stays_in_memory_until_it_is_written():
    book = a_book()
    book.confirm(book.plan(ticks_of(50.0)).last, frozenset({WEB}))
    entry = book.plan(ticks_of(60.0, start=1))
    assert (entry.new, entry.ended) == ((), ())
    book.confirm(entry.last, frozenset())
    assert book.behind() == {WEB}
    book.confirm(entry.last, frozenset({WEB}))
    assert book.behind() == frozenset()


def test_another_shape_ends_the_span_where_it_was():
    book = a_book()
    book.confirm(book.plan(ticks_of(50.0, 60.0)).last, frozenset({WEB}))
    entry = book.plan(ticks_of(70.0, reason=Reason.BLIND, start=2))
    assert [span.span.last_at for span in entry.ended] == [at(1)]
    assert [span.span.first_at for span in entry.new] == [at(2)]


def test_a_forgotten_group_begins_a_new_span():
    book = a_book()
    book.confirm(book.plan(ticks_of(50.0)).last, frozenset({WEB}))
    book.forget(WEB)
    assert len(book.plan(ticks_of(50.0, start=1)).new) == 1


VALUES = st.tuples(st.none(), *[st.floats(allow_nan=False)] * 2)


@given(VALUES, st.lists(st.lists(VALUES, min_size=1, max_size=4), max_size=4))
def test_repeated_ticks_extend_a_span_as_ticks_with_an_explanation_do(first, flushes):
    repeating, explaining = a_book(), a_book()
    times = itertools.count()
    for values in [[first, first], *flushes]:
        for each in values:
            now = at(next(times))
            entry = explaining.plan([a_tick(an_explanation(now, values=each))])
            explaining.confirm(entry.last, frozenset())
            if repeating.last(WEB) is None:
                repeating.confirm(entry.last, frozenset())
            else:
                repeating.extend([RepeatedTick(WEB, now, each)])
        assert repr(repeating.last(WEB)) == repr(explaining.last(WEB))  # so that 0.0 is not -0.0
        assert repeating.behind() == {WEB}
        for book in (repeating, explaining):
            book.confirm({WEB: book.last(WEB)}, frozenset({WEB}))
        assert repeating.behind() == frozenset()


def test_a_repeated_tick_of_a_forgotten_group_is_left_alone():
    book = a_book()
    book.confirm(book.plan(ticks_of(50.0)).last, frozenset({WEB}))
    book.extend([RepeatedTick(WEB, at(1), (60.0,))])
    book.forget(WEB)
    book.extend([RepeatedTick(WEB, at(2), (70.0,))])
    assert (book.last(WEB), book.behind()) == (None, frozenset())
    (opened,) = book.plan(ticks_of(50.0, start=3)).new
    assert opened.span.ticks == 1


def test_only_one_thread_at_a_time_holds_a_group():
    book, other = a_book(), GroupId("other")
    entered = threading.Event()

    def enter(group):
        with book.holding(frozenset({group})):
            entered.set()

    with book.holding(frozenset({WEB})):
        elsewhere = threading.Thread(target=enter, args=(other,))
        elsewhere.start()
        elsewhere.join(PATIENT)
        assert entered.is_set()
        entered.clear()
        waiting = threading.Thread(target=enter, args=(WEB,))
        waiting.start()
        waiting.join(0.05)
        assert not entered.is_set()
    waiting.join(PATIENT)
    assert entered.is_set()


@given(
    st.lists(st.tuples(st.sampled_from([Reason.STEADY, Reason.HOLDING]), st.floats(0, 100)), min_size=1, max_size=30),
    st.data(),
)
def test_no_tick_is_lost_or_counted_twice_however_they_are_cut_into_calls(story, data):
    book, rows = a_book(), {}
    ticks = [a_tick(an_explanation(at(i), reason=r, values=(v,))) for i, (r, v) in enumerate(story)]
    while ticks:
        size = data.draw(st.integers(1, len(ticks)))
        entry, ticks = book.plan(ticks[:size]), ticks[size:]
        rows |= {span.id: span.span for span in (*entry.new, *entry.ended)}
        book.confirm(entry.last, frozenset({WEB}) if entry.new else frozenset())
        rows[book.last(WEB).id] = book.last(WEB).span
    reasons = [reason for _, span in sorted(rows.items()) for reason in [span.first.reason] * span.ticks]
    assert reasons == [reason for reason, _ in story]
    assert min(min(span.least) for span in rows.values()) == min(value for _, value in story)
    assert max(max(span.greatest) for span in rows.values()) == max(value for _, value in story)
