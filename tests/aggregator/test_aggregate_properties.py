"""Invariants of the aggregator over random histories: gaps, churn, warm-ups, silences, resets."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Aggregate, Cell, Insufficient
from config.model.counters import Counter, CounterKind
from config.model.reductions import Reduce
from tests.support.aggregator import Answer, Reading, Watch, a_counter
from tests.support.aggregator_oracle import Oracle

INTERVAL = 10.0
FRESHNESS = 3
SLACK = 1e-9
"""Sums in another order differ in their last bits."""
ACROSS = st.sampled_from([how for how in Reduce if how is not Reduce.LAST])
AGGREGATE = st.sampled_from(list(Reduce))
TICKS = st.integers(1, 5)
RANGES = st.sampled_from([None, (0.0, 100.0), (-50.0, 100.0)])
LEVELS = st.none() | st.integers(0, 100).map(float)


@dataclass(frozen=True)
class Poll:
    number: int
    answers: Mapping[str, Answer]
    warming: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Question:
    """One window of one counter."""

    counter: Counter
    across: Reduce
    aggregate: Reduce
    ticks: int

    def watch(self) -> Watch:
        return Watch(
            counter=self.counter,
            across=self.across,
            aggregate=self.aggregate,
            ticks=self.ticks,
            interval=INTERVAL,
            freshness=FRESHNESS,
        )

    def cells(self, polls: list[Poll]) -> dict[int, Cell]:
        """Return the cell of each tick."""
        watch = self.watch()
        return {poll.number: watch.tick(poll.number, poll.answers, warming=poll.warming) for poll in polls}


QUESTIONS = st.builds(
    Question, counter=st.builds(a_counter, range=RANGES), across=ACROSS, aggregate=AGGREGATE, ticks=TICKS
)


@st.composite
def histories(draw: st.DrawFn, *, values: st.SearchStrategy[Answer] = LEVELS) -> list[Poll]:
    """Draw polls of a changing fleet; about every fifth tick is missed."""
    numbers = draw(st.lists(st.integers(1, 3), min_size=1, max_size=9))
    number, polls = 0, []
    for step in numbers:
        answers = draw(st.dictionaries(st.sampled_from("abcd"), values, max_size=4))
        warming = draw(st.frozensets(st.sampled_from("abcd"), max_size=1))
        polls.append(Poll(number, dict(sorted(answers.items())), frozenset(warming & answers.keys())))
        number += 1 if step < 3 else 2
    return polls


@st.composite
def rising_histories(draw: st.DrawFn, bits: int) -> list[Poll]:
    """Draw the same for rising counters that wrap and are reset, of agents with and without an uptime."""
    readings = st.builds(
        Reading,
        st.sampled_from([0.0, 50.0, 2.0**bits - 100.0]) | st.integers(0, 400).map(float),
        uptime=st.sampled_from([math.nan, 3.0]) | st.integers(1, 30).map(lambda tick: 10.0 * tick),
        late=st.sampled_from([0.0, 0.5, 2.0]),
    )
    return draw(histories(values=st.none() | readings))


def same(actual: Cell, expected: Cell) -> bool:
    if type(actual) is not type(expected):
        return False
    return all(
        getattr(actual, field.name) == pytest.approx(getattr(expected, field.name), rel=1e-9, abs=1e-9)
        if field.type == "float"
        else getattr(actual, field.name) == getattr(expected, field.name)
        for field in dataclasses.fields(expected)
    )


def agrees(question: Question, polls: list[Poll]) -> None:
    watch = question.watch()
    oracle = Oracle(question.counter, question.across, question.aggregate, question.ticks, INTERVAL, FRESHNESS)
    for poll in polls:
        actual = watch.tick(poll.number, poll.answers, warming=poll.warming)
        expected = oracle.take(poll.number, poll.number * INTERVAL, poll.answers, poll.warming)
        assert same(actual, expected), f"tick {poll.number}: {actual} is not {expected}"


@given(QUESTIONS, histories())
def test_gauges_agree_with_the_plain_oracle(question, polls):
    agrees(question, polls)


@given(st.data(), st.sampled_from([32, 64]), RANGES, ACROSS, AGGREGATE, TICKS)
def test_rising_counters_agree_with_the_plain_oracle(data, bits, range, across, aggregate, ticks):
    counter = a_counter(kind=CounterKind.RISING, bits=bits, range=range, scale=0.5)
    agrees(Question(counter, across, aggregate, ticks), data.draw(rising_histories(bits)))


@given(QUESTIONS, histories(values=st.none() | st.integers(-500, 500).map(float)))
def test_the_value_lies_within_its_bounds_even_outside_its_range(question, polls):
    for cell in question.cells(polls).values():
        assert isinstance(cell, Insufficient) or cell.low <= cell.value <= cell.high


@given(QUESTIONS, histories(), st.permutations("abcd"))
def test_permuting_members_changes_nothing(question, polls, order):
    renamed = dict(zip("abcd", order, strict=True))
    permuted = [
        Poll(
            poll.number,
            {renamed[name]: answer for name, answer in poll.answers.items()},
            frozenset(renamed[name] for name in poll.warming),
        )
        for poll in polls
    ]
    assert question.cells(permuted) == question.cells(polls)


@given(QUESTIONS, histories(), st.data())
def test_another_missing_answer_only_widens_the_bounds(question, polls, data):
    joined = [
        dataclasses.replace(poll, answers={**poll.answers, "z": None}) if data.draw(st.booleans()) else poll
        for poll in polls
    ]
    after = question.cells(joined)
    for number, before in question.cells(polls).items():
        if isinstance(before, Aggregate):
            wider = after[number]
            assert isinstance(wider, Aggregate)
            assert wider.value == before.value
            assert wider.low <= before.low + SLACK
            assert wider.high >= before.high - SLACK


@st.composite
def answered(draw: st.DrawFn, polls: list[Poll], answers: st.SearchStrategy[Answer]) -> list[Poll]:
    """Return the same history with all missing answers and missed ticks filled in."""
    filled_polls: list[Poll] = []
    for poll in polls:
        if filled_polls and poll.number > filled_polls[-1].number + 1:
            members = draw(st.sampled_from([filled_polls[-1], poll]))
            filled = {name: draw(answers) for name in members.answers}
            filled_polls.append(Poll(filled_polls[-1].number + 1, filled, members.warming))
        filled = {name: draw(answers) if answer is None else answer for name, answer in poll.answers.items()}
        filled_polls.append(dataclasses.replace(poll, answers=filled))
    return filled_polls


def any_answer(question: Question) -> st.SearchStrategy[float]:
    least, greatest = question.counter.range or (-1000.0, 1000.0)
    return st.integers(int(least), int(greatest)).map(float)


def stays_within(question: Question, polls: list[Poll], filled_polls: list[Poll]) -> None:
    after = question.cells(filled_polls)
    for number, before in question.cells(polls).items():
        if isinstance(before, Aggregate):
            known = after[number]
            assert isinstance(known, Aggregate)
            assert before.low - SLACK <= known.low <= known.value <= known.high <= before.high + SLACK


@given(QUESTIONS, histories(), st.data())
def test_no_missing_answer_could_move_the_value_out_of_the_bounds(question, polls, data):
    """The bounds hold for every value of all missing answers together."""
    stays_within(question, polls, data.draw(answered(polls, any_answer(question))))


@given(QUESTIONS, histories(), st.data())
def test_each_filled_in_answer_only_narrows_the_bounds(question, polls, data):
    """Not for sums and counts of a changing fleet, whose value is provisional until all answers are known."""
    question = dataclasses.replace(question, across=data.draw(st.sampled_from([Reduce.AVG, Reduce.MIN, Reduce.MAX])))
    stays_within(question, polls, data.draw(answered(polls, st.none() | any_answer(question))))


@given(st.floats(-1e18, 1e18), st.lists(st.floats(-1e3, 1e3), min_size=5, max_size=8), AGGREGATE)
def test_one_spike_leaves_no_error(spike, calm, aggregate):
    question = Question(a_counter(), Reduce.SUM, aggregate, 5)
    quiet = [Poll(number, {"a": value}) for number, value in enumerate(calm, start=1)]
    before = [Poll(0, {"a": value}) for value in (spike, 0.0)]
    spiked, calmed = (question.cells([first, *quiet])[len(calm)] for first in before)
    assert spiked == calmed
