"""Windows go on where a checkpoint ends: a resumed aggregator answers as the one that was saved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.aggregate import Aggregator
from aggregator.frames import Aggregate, Frame
from collector.samples import Scrape
from config.model.catalogue import Catalogue
from config.model.counters import CounterKind
from config.model.reductions import Reduce
from tests.support.aggregator import (
    WEB,
    a_catalogue,
    a_condition,
    a_counter,
    a_group,
    a_layout,
    a_policy,
    a_scrape,
    series,
)

_SERIES = [series(member, counter=counter) for counter in ("cpu", "inbound") for member in ("a", "b")]
_LAYOUT = a_layout(_SERIES)


def _catalogue(*, most: float = 100.0, peak: float = 20.0) -> Catalogue:
    return a_catalogue(
        counters=(a_counter(range=(0.0, most)), a_counter("inbound", kind=CounterKind.RISING)),
        conditions=(
            a_condition("busy", window=50.0),
            a_condition("peak", across=Reduce.MAX, aggregate=Reduce.MAX, window=peak),
            a_condition("flow", counter="inbound", window=30.0),
        ),
        policies=(a_policy(when=("busy", "peak", "flow")),),
        groups=(a_group(),),
    )


def _poll(tick: int, value: float | None) -> Scrape:
    """Both members answer, or neither does; what rises is as large as the tick."""
    answers = {each: None if value is None else value if each.counter == "cpu" else 100.0 * tick for each in _SERIES}
    return a_scrape(_LAYOUT, tick * 10.0, answers)


def _resumed(saved: Aggregator, catalogue: Catalogue) -> Aggregator:
    checkpoint, resumed = saved.checkpoint(), Aggregator(catalogue, [WEB])
    assert checkpoint is not None
    resumed.resume(checkpoint, saved.rows(-1))
    return resumed


def _after(ticks: int) -> Aggregator:
    saved = Aggregator(_catalogue(), [WEB])
    for tick in range(ticks):
        saved.take(_poll(tick, 50.0))
    return saved


def _complete(frame: Frame) -> dict[str, bool]:
    """Whether each window, by counter and how it is reduced across members, has a value."""
    return {f"{key.across.value} {key.counter}": isinstance(cell, Aggregate) for key, cell in frame.cells.items()}


@given(
    st.dictionaries(st.integers(0, 25), st.none() | st.floats(0.0, 100.0), min_size=2, max_size=14), st.integers(1, 13)
)
def test_a_resumed_aggregator_answers_bit_for_bit_as_the_saved_one(answers: dict[int, float | None], cut: int) -> None:
    polls = [_poll(tick, answer) for tick, answer in sorted(answers.items())]
    saved = Aggregator(_catalogue(), [WEB])
    for poll in polls[:cut]:
        saved.take(poll)
    resumed = _resumed(saved, _catalogue())
    for poll in polls[cut:]:
        ours, theirs = resumed.take(poll)[WEB], saved.take(poll)[WEB]
        assert dict(ours.cells) == dict(theirs.cells)


def test_only_windows_of_a_counter_that_is_declared_otherwise_begin_anew() -> None:
    frame = _resumed(_after(6), _catalogue(most=200.0)).take(_poll(6, 50.0))[WEB]
    assert _complete(frame) == {"avg cpu": False, "max cpu": False, "avg inbound": True}


def test_a_window_that_has_become_longer_goes_on_with_what_its_ring_had() -> None:
    resumed = _resumed(_after(6), _catalogue(peak=40.0))
    assert not _complete(resumed.take(_poll(6, 50.0))[WEB])["max cpu"]
    assert _complete(resumed.take(_poll(7, 50.0))[WEB])["max cpu"]


def test_a_row_that_was_lost_shortens_a_window_and_makes_no_value_up() -> None:
    saved, resumed = _after(6), Aggregator(_catalogue(), [WEB])
    checkpoint = saved.checkpoint()
    assert checkpoint is not None
    rows = [{tick: row for tick, row in ring.items() if tick > 3} for ring in saved.rows(-1)]
    resumed.resume(checkpoint, rows)
    assert _complete(resumed.take(_poll(6, 50.0))[WEB]) == {"avg cpu": False, "max cpu": True, "avg inbound": True}


def test_an_aggregator_that_has_taken_a_poll_refuses_to_resume() -> None:
    saved = _after(2)
    checkpoint = saved.checkpoint()
    assert checkpoint is not None
    with pytest.raises(ValueError, match="only a new aggregator"):
        saved.resume(checkpoint, saved.rows(-1))
