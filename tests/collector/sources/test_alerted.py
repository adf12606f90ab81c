"""Values that alerts bring, from the board to a condition's window."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from aggregator.aggregate import Aggregator
from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from collector.boards.alerts import Board, Brought
from collector.samples import Reply, Scrape
from collector.sources.alerted import AlertedSource
from collector.sources.poll import Poller
from config.model.counters import Counter
from config.units import AlertId, GroupId, Instant
from tests.support.collector import (
    WEB,
    a_brought_value,
    a_catalogue,
    a_column,
    a_moment,
    an_object,
    answers,
    no_secret,
    rosters,
)
from tests.support.waiting import PATIENT

MEMBERS = {"a": "127.0.0.1", "b": "127.0.0.2"}


def brought(
    value: float, *, group: str = "web", alert: str = "depth", key: str = "f1", until: float = 300.0
) -> Brought:
    return Brought(
        group=GroupId(group),
        alert=AlertId(alert),
        key=key,
        value=value,
        at=a_moment(900.0, wall=0.0),
        until=Instant(until),
    )


def polled(
    *told: Brought, counters: Sequence[Counter] = (a_brought_value(),), groups: Sequence[str] = ("web",)
) -> Scrape:
    """A poll at noon, steady second 1000 and wall second 100."""
    board = Board()
    for one in told:
        board.put(one)
    everybody = {group: roster for name in groups for group, roster in rosters(MEMBERS, group=name).items()}
    poller = Poller(clock=lambda: a_moment(1000.0, wall=100.0), read_secret=no_secret, sources=(AlertedSource(board),))
    return asyncio.run(poller.poll(a_catalogue(counters, groups=groups), everybody, timeout=PATIENT))


def test_a_value_is_an_answer_of_this_moment_for_as_long_as_it_stands() -> None:
    scrape = polled(brought(512.0))
    assert answers(scrape) == {("", "depth"): 512.0}
    assert scrape.replied_at.tolist() == [1000.0]


@pytest.mark.parametrize(
    "told",
    [[], [brought(512.0, until=100.0)], [brought(512.0, group="api")], [brought(512.0, alert="other")]],
    ids=["nothing-was-told", "over", "of-another-group", "of-another-alert"],
)
def test_without_a_value_there_is_silence_and_never_zero(told: list[Brought]) -> None:
    assert answers(polled(*told)) == {("", "depth"): Reply.TIMEOUT}


def test_of_several_alerts_the_greatest_counts() -> None:
    assert answers(polled(brought(3.0, key="f1"), brought(7.0, key="f2"))) == {("", "depth"): 7.0}


def test_a_value_that_is_no_finite_number_is_malformed() -> None:
    assert answers(polled(brought(float("inf")))) == {("", "depth"): Reply.MALFORMED}


def test_rows_of_members_and_of_other_sources_are_left_alone() -> None:
    counters = (an_object("1.1", id="aa"), a_brought_value(), a_column("scur"), a_brought_value("zz"))
    scrape = polled(brought(7.0), brought(9.0, alert="zz"), counters=counters)
    assert answers(scrape) == {
        ("a", "aa"): Reply.TIMEOUT,
        ("b", "aa"): Reply.TIMEOUT,
        ("", "depth"): 7.0,
        ("a", "scur"): Reply.TIMEOUT,
        ("b", "scur"): Reply.TIMEOUT,
        ("", "zz"): 9.0,
    }


def test_every_group_of_a_round_has_its_own_value() -> None:
    told = [brought(1.0, group="api"), brought(3.0, group="web")]
    scrape = polled(*told, counters=(a_brought_value(), a_column("scur")), groups=("api", "batch", "web"))
    rows = zip(scrape.layout.series, scrape.value.tolist(), scrape.reply.tolist(), strict=True)
    depths = {series.group: value if code == Reply.OK else None for series, value, code in rows if not series.member}
    assert depths == {"api": 1.0, "batch": None, "web": 3.0}


def windows(counter: Counter, *values: float | None) -> list[Cell]:
    """What a condition over one interval sees, tick by tick; ``None``: the alert is resolved."""
    board, catalogue, cells = Board(), a_catalogue([counter], interval=30.0), []
    now = [0.0]
    poller = Poller(clock=lambda: a_moment(now[0]), read_secret=no_secret, sources=(AlertedSource(board),))
    aggregator = Aggregator(catalogue, [WEB])
    for tick, value in enumerate(values):
        now[0] = 30.0 * tick
        if value is None:
            board.drop(WEB, AlertId("depth"), "f1")
        else:
            one = brought(value, until=1e9)
            board.put(Brought(group=WEB, alert=one.alert, key="f1", value=value, at=a_moment(now[0]), until=one.until))
        scrape = asyncio.run(poller.poll(catalogue, rosters(MEMBERS), timeout=PATIENT))
        cells.extend(aggregator.take(scrape)[WEB].cells.values())
    return cells


def test_from_the_board_to_the_window_a_group_is_one_that_was_asked_and_heard() -> None:
    first, second = windows(a_brought_value(), 512.0, 700.0)
    assert isinstance(first, Aggregate)
    assert isinstance(second, Aggregate)
    assert (first.value, first.low, first.high, first.heard, first.expected) == (512.0, 512.0, 512.0, 1, 1)
    assert (second.value, second.coverage, second.age) == (700.0, 1.0, 0.0)


@pytest.mark.parametrize("range_", [None, (0.0, 1000.0)], ids=["without-a-range", "with-a-range"])
def test_once_the_alert_is_resolved_nothing_is_known(range_: tuple[float, float] | None) -> None:
    _, after = windows(a_brought_value(range=range_), 512.0, None)
    assert isinstance(after, Insufficient)
    assert (after.because, after.heard, after.expected) == (Lack.NO_SAMPLES, 0, 1)
