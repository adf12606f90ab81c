"""Check that many polls at once give bit for bit the frames of the polls one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.aggregate import Aggregator
from aggregator.frames import Frame
from collector.samples import Layout, Scrape
from config.model.counters import CounterKind
from config.model.reductions import Rank, Reduce, Statistic
from config.units import GroupId
from tests.support.aggregator import (
    Reading,
    a_catalogue,
    a_condition,
    a_counter,
    a_group,
    a_layout,
    a_policy,
    a_scrape,
    series,
)

INTERVAL = 10.0
GROUPS = ("db", "web")
COUNTERS = {
    "cpu": a_counter("cpu", range=(0.0, 100.0)),
    "load": a_counter("load", scale=0.1),
    "hits": a_counter("hits", kind=CounterKind.RISING, bits=32, range=(0.0, 1e6)),
}
MEMBERS = tuple(f"m{number:02}" for number in range(20))
"""More than eight: sums of more are added in pairs."""


@dataclass(frozen=True)
class World:
    """Make one condition for each of some reductions."""

    asked: tuple[tuple[str, Reduce, Reduce | Statistic | Rank, int], ...]

    def aggregator(self) -> Aggregator:
        conditions = [
            a_condition(f"c{number}", counter=counter, across=across, aggregate=over, window=ticks * INTERVAL)
            for number, (counter, across, over, ticks) in enumerate(self.asked)
        ]
        policy = a_policy(when=[condition.id for condition in conditions])
        catalogue = a_catalogue(
            counters=list(COUNTERS.values()),
            conditions=conditions,
            policies=[policy],
            groups=[a_group(group, interval=INTERVAL) for group in GROUPS],
        )
        return Aggregator(catalogue, [GroupId(group) for group in GROUPS])


REDUCES = st.sampled_from(list(Reduce))
ACROSS = st.sampled_from([how for how in Reduce if how is not Reduce.LAST])
WORLDS = st.builds(
    World,
    st.lists(st.tuples(st.sampled_from(sorted(COUNTERS)), ACROSS, REDUCES, st.integers(1, 20)), min_size=1, max_size=6)
    .map(dict.fromkeys)
    .map(tuple),
)
STEPS = st.lists(st.sampled_from([1] * 12 + [0, 2, 30]), min_size=1, max_size=60)
"""Ticks between two polls: mostly 1; 0 is a second poll of one tick."""


def layouts(sizes: Sequence[int]) -> list[Layout]:
    """Fleets of these sizes, the newest member of each warming up."""
    fleets = [
        [series(member, group=group, counter=counter) for group in GROUPS for counter in COUNTERS for member in named]
        for named in (MEMBERS[:size] for size in sizes)
    ]
    return [a_layout(fleet, warming=fleet[-1:]) for fleet in fleets]


def scrapes(steps: Sequence[int], sizes: Sequence[int], seed: int, silent: float) -> list[Scrape]:
    random, fleets = np.random.default_rng(seed), layouts(sizes)
    answered, tick, polls = dict.fromkeys(COUNTERS, 0.0), 0, []
    fleet = fleets[0]
    for step in steps:
        tick += step
        if random.random() < 0.1:
            fleet = fleets[random.integers(len(fleets))]
        answered["hits"] += float(random.integers(0, 1000))
        answers = {
            each: Reading(
                answered["hits"] if each.counter == "hits" else float(random.normal(50, 30)),
                uptime=math.nan if random.random() < 0.5 else 1000.0 + tick * INTERVAL,
                late=float(random.choice([0.0, 0.5, 2.0])),
            )
            for each in fleet.series
            if random.random() >= silent
        }
        if random.random() < 0.05:
            answered["hits"] = 0.0
        polls.append(a_scrape(fleet, tick * INTERVAL + float(random.uniform(-1, 1)), answers))
    return polls


def exact(frame: Mapping[GroupId, Frame]) -> str:
    """Write a frame exactly, to the last bit and the sign of zero."""
    return repr([(group, each.at, dict(each.cells)) for group, each in frame.items()])


def in_pieces(aggregator: Aggregator, polls: Sequence[Scrape], cuts: Sequence[int]) -> Iterator[str]:
    bounds = [0, *sorted(cut for cut in cuts if cut < len(polls)), len(polls)]
    for begin, end in pairwise(bounds):
        for reel in aggregator.take_all(polls[begin:end]):
            yield from (exact(reel.frames(tick)) for tick in range(len(reel)))


@given(
    WORLDS,
    STEPS,
    st.lists(st.sampled_from([0, 1, 3, 20]), min_size=1, max_size=3),
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.0, 0.02, 0.4]),
    st.lists(st.integers(1, 60), max_size=3),
)
def test_many_polls_at_once_give_the_frames_of_the_polls_one_by_one(world, steps, sizes, seed, silent, cuts):
    polls, one_by_one = scrapes(steps, sizes, seed, silent), world.aggregator()
    assert list(in_pieces(world.aggregator(), polls, cuts)) == [exact(one_by_one.take(poll)) for poll in polls]


@pytest.mark.parametrize("over", [Statistic.P95, Statistic.STDDEV, Rank(nth=2, highest=True)], ids=str)
def test_reductions_by_order_are_computed_tick_by_tick(over):
    world, polls = World((("cpu", Reduce.AVG, over, 5),)), scrapes([1] * 12, [3], 1, 0.2)
    one_by_one = world.aggregator()
    assert list(in_pieces(world.aggregator(), polls, [])) == [exact(one_by_one.take(poll)) for poll in polls]


def test_polls_one_by_one_go_on_where_many_at_once_ended():
    world = World((("cpu", Reduce.MAX, Reduce.MAX, 16), ("hits", Reduce.SUM, Reduce.AVG, 3)))
    polls, one_by_one, mixed = scrapes([1] * 60, [3], 7, 0.1), world.aggregator(), world.aggregator()
    expected = [exact(one_by_one.take(poll)) for poll in polls]
    seen = list(in_pieces(mixed, polls[:27], []))
    assert seen + [exact(mixed.take(poll)) for poll in polls[27:]] == expected


def test_a_poll_of_an_earlier_tick_is_refused_among_many_too():
    polls = scrapes([1] * 3, [3], 1, 0.0)
    with pytest.raises(ValueError, match="expected scrapes in order"):
        list(World((("cpu", Reduce.AVG, Reduce.AVG, 2),)).aggregator().take_all([*polls, polls[0]]))
