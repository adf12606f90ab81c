"""Pushed values, from where they wait to a condition's window."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from aggregator.aggregate import Aggregator
from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from collector.boards.alerts import Board, Brought
from collector.boards.pushes import Pushes
from collector.samples import Reply, Scrape
from collector.sources import pushed as pushed_source
from collector.sources.poll import Poller
from collector.sources.pushed import AlertedSource, PushedSource
from config.model.counters import Counter, CounterKind, Per
from config.units import AlertId, GroupId, Instant, MemberName, Moment
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
from tests.support.pushes import a_pushed, pushed
from tests.support.waiting import PATIENT

A, B = MemberName("a"), MemberName("b")
MEMBERS = {"a": "127.0.0.1", "b": "127.0.0.2"}
NOON = a_moment(1000.0, wall=100_000.0)


def polled(
    pushes: Pushes,
    *counters: Counter,
    now: Moment = NOON,
    groups: Sequence[str] = ("web",),
    members: dict[str, str] | None = None,
) -> Scrape:
    all_members = {
        group: roster for name in groups for group, roster in rosters(members or MEMBERS, group=name).items()
    }
    poller = Poller(clock=lambda: now, read_secret=no_secret, sources=(PushedSource(pushes),))
    return asyncio.run(poller.poll(a_catalogue(counters, groups=groups), all_members, timeout=PATIENT))


def before(seconds: float, value: float = 7.0) -> pushed_source.Pushed:
    """Pushed so long before noon."""
    return pushed(value, NOON.steady - seconds, wall=NOON.wall - seconds)


def test_a_number_is_an_answer_of_the_moment_at_which_it_came() -> None:
    pushes = Pushes()
    pushes.put(WEB, A, "CPU", before(20.0, 42.0))
    pushes.put(WEB, B, "CPU", before(5.0, 0.0))
    pushes.put(WEB, None, "ORDERS", before(1.0, 12.0))
    scrape = polled(pushes, a_pushed("CPU"), a_pushed("ORDERS", per=Per.GROUP))
    assert answers(scrape) == {("a", "cpu"): 42.0, ("b", "cpu"): 0.0, ("", "orders"): 12.0}
    assert scrape.replied_at.tolist() == [980.0, 995.0, 999.0]


@pytest.mark.parametrize(
    ("age", "lag", "expected"),
    [
        pytest.param(90.0, 0.0, 7.0, id="just-fresh"),
        pytest.param(90.1, 0.0, Reply.STALE, id="over"),
        pytest.param(120.0, 30.0, 7.0, id="it-may-lag"),
        pytest.param(120.1, 30.0, Reply.STALE, id="more-than-it-may-lag"),
    ],
)
def test_a_gauge_stands_for_as_long_as_the_group_calls_it_fresh(
    age: float, lag: float, expected: float | Reply
) -> None:
    pushes = Pushes()
    pushes.put(WEB, A, "CPU", before(age))
    scrape = polled(pushes, a_pushed("CPU", lag=lag), members={"a": "127.0.0.1"})
    assert answers(scrape) == {("a", "cpu"): expected}


def test_what_was_pushed_before_a_suspension_is_stale_after_it() -> None:
    pushes = Pushes()
    pushes.put(WEB, A, "CPU", pushed(7.0, NOON.steady - 1.0, wall=NOON.wall - 3601.0))
    assert answers(polled(pushes, a_pushed("CPU"), members={"a": "127.0.0.1"})) == {("a", "cpu"): Reply.STALE}


def test_under_a_name_that_nothing_came_under_there_are_words_and_never_zero() -> None:
    pushes = Pushes()
    pushes.put(WEB, A, "CPU", before(500.0))
    pushes.put(GroupId("api"), None, "ORDERS", before(1.0))
    scrape = polled(pushes, a_pushed("CPU"), a_pushed("ORDERS", per=Per.GROUP))
    assert answers(scrape) == {("a", "cpu"): Reply.STALE, ("b", "cpu"): Reply.TIMEOUT, ("", "orders"): Reply.TIMEOUT}
    assert dict(scrape.details) == {
        0: "no new value has been pushed under CPU for more than 1m30s",
        1: "no value has been pushed under CPU yet",
        2: "no value has been pushed under ORDERS yet",
    }


def test_a_members_value_is_not_the_groups_nor_the_other_way_round() -> None:
    pushes = Pushes()
    pushes.put(WEB, None, "CPU", before(1.0))
    pushes.put(WEB, A, "ORDERS", before(1.0))
    scrape = polled(pushes, a_pushed("CPU"), a_pushed("ORDERS", per=Per.GROUP))
    assert set(answers(scrape).values()) == {Reply.TIMEOUT}


def test_rows_of_other_sources_are_left_alone() -> None:
    pushes = Pushes()
    pushes.put(WEB, A, "CPU", before(1.0))
    scrape = polled(pushes, an_object("1.1", id="aa"), a_pushed("CPU"), a_column("scur"), members={"a": "127.0.0.1"})
    assert answers(scrape) == {("a", "aa"): Reply.TIMEOUT, ("a", "cpu"): 7.0, ("a", "scur"): Reply.TIMEOUT}
    assert dict(scrape.details) == {}


def test_every_group_has_its_own_values() -> None:
    pushes = Pushes()
    pushes.put(WEB, A, "CPU", before(1.0, 1.0))
    pushes.put(GroupId("api"), A, "CPU", before(1.0, 2.0))
    scrape = polled(pushes, a_pushed("CPU"), groups=("api", "web"), members={"a": "127.0.0.1"})
    assert scrape.value.tolist() == [2.0, 1.0]


def test_a_round_of_many_members_lets_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushed_source, "_AT_ONCE", 10)
    turns = 0

    async def scene() -> None:
        nonlocal turns
        members = {f"m{number:03}": "127.0.0.1" for number in range(100)}
        poller = Poller(clock=lambda: NOON, read_secret=no_secret, sources=(PushedSource(Pushes()),))
        poll = asyncio.create_task(poller.poll(a_catalogue([a_pushed("CPU")]), rosters(members), timeout=PATIENT))
        while not poll.done():
            turns += 1
            await asyncio.sleep(0)

    asyncio.run(scene())
    assert turns > 10


# To the window


def windows(counter: Counter, *values: float | None) -> list[Cell]:
    """What a condition over one interval of 30 s sees; ``None``: nothing was pushed since the tick before."""
    pushes, catalogue, cells = Pushes(), a_catalogue([counter], interval=30.0), []
    now = [0.0]
    poller = Poller(clock=lambda: a_moment(now[0]), read_secret=no_secret, sources=(PushedSource(pushes),))
    aggregator = Aggregator(catalogue, [WEB])
    for tick, value in enumerate(values):
        if value is not None:
            pushes.put(WEB, A, "JOBS", pushed(value, 30.0 * tick - 10.0))
        now[0] = 30.0 * tick
        scrape = asyncio.run(poller.poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT))
        cells.extend(aggregator.take(scrape)[WEB].cells.values())
    return cells


def test_a_gauge_goes_on_counting_between_pushes_and_then_nothing_is_known() -> None:
    cells = windows(a_pushed("JOBS"), 5.0, None, None, None)
    assert [cell.value for cell in cells if isinstance(cell, Aggregate)] == [5.0, 5.0, 5.0]
    assert isinstance(cells[3], Insufficient)
    assert cells[3].because is Lack.NO_SAMPLES


def test_a_rising_count_becomes_its_rate_between_arrivals_and_never_one_of_the_same_reading() -> None:
    cells = windows(a_pushed("JOBS", kind=CounterKind.RISING), 100.0, 400.0, None, 1000.0)
    rates = [cell.value if isinstance(cell, Aggregate) else None for cell in cells]
    assert rates == [None, 10.0, None, 10.0]


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


def polled_board(
    *alerts: Brought, counters: Sequence[Counter] = (a_brought_value(),), groups: Sequence[str] = ("web",)
) -> Scrape:
    """A poll at noon, steady second 1000 and wall second 100."""
    board = Board()
    for one in alerts:
        board.put(one)
    all_members = {group: roster for name in groups for group, roster in rosters(MEMBERS, group=name).items()}
    poller = Poller(clock=lambda: a_moment(1000.0, wall=100.0), read_secret=no_secret, sources=(AlertedSource(board),))
    return asyncio.run(poller.poll(a_catalogue(counters, groups=groups), all_members, timeout=PATIENT))


def test_a_value_is_an_answer_of_this_moment_for_as_long_as_it_stands() -> None:
    scrape = polled_board(brought(512.0))
    assert answers(scrape) == {("", "depth"): 512.0}
    assert scrape.replied_at.tolist() == [1000.0]


@pytest.mark.parametrize(
    "alerts",
    [[], [brought(512.0, until=100.0)], [brought(512.0, group="api")], [brought(512.0, alert="other")]],
    ids=["no-alert", "over", "of-another-group", "of-another-alert"],
)
def test_without_a_value_there_is_silence_and_never_zero(alerts: list[Brought]) -> None:
    assert answers(polled_board(*alerts)) == {("", "depth"): Reply.TIMEOUT}


def test_of_several_alerts_the_greatest_counts() -> None:
    assert answers(polled_board(brought(3.0, key="f1"), brought(7.0, key="f2"))) == {("", "depth"): 7.0}


def test_a_value_that_is_no_finite_number_is_malformed() -> None:
    assert answers(polled_board(brought(float("inf")))) == {("", "depth"): Reply.MALFORMED}


def test_rows_of_members_and_of_other_sources_are_left_alone() -> None:
    counters = (an_object("1.1", id="aa"), a_brought_value(), a_column("scur"), a_brought_value("zz"))
    scrape = polled_board(brought(7.0), brought(9.0, alert="zz"), counters=counters)
    assert answers(scrape) == {
        ("a", "aa"): Reply.TIMEOUT,
        ("b", "aa"): Reply.TIMEOUT,
        ("", "depth"): 7.0,
        ("a", "scur"): Reply.TIMEOUT,
        ("b", "scur"): Reply.TIMEOUT,
        ("", "zz"): 9.0,
    }


def test_every_group_of_a_round_has_its_own_value() -> None:
    alerts = [brought(1.0, group="api"), brought(3.0, group="web")]
    scrape = polled_board(*alerts, counters=(a_brought_value(), a_column("scur")), groups=("api", "batch", "web"))
    rows = zip(scrape.layout.series, scrape.value.tolist(), scrape.reply.tolist(), strict=True)
    depths = {series.group: value if code == Reply.OK else None for series, value, code in rows if not series.member}
    assert depths == {"api": 1.0, "batch": None, "web": 3.0}


def windows_of_alerts(counter: Counter, *values: float | None) -> list[Cell]:
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
    first, second = windows_of_alerts(a_brought_value(), 512.0, 700.0)
    assert isinstance(first, Aggregate)
    assert isinstance(second, Aggregate)
    assert (first.value, first.low, first.high, first.heard, first.expected) == (512.0, 512.0, 512.0, 1, 1)
    assert (second.value, second.coverage, second.age) == (700.0, 1.0, 0.0)


@pytest.mark.parametrize("range_", [None, (0.0, 1000.0)], ids=["without-a-range", "with-a-range"])
def test_once_the_alert_is_resolved_nothing_is_known(range_: tuple[float, float] | None) -> None:
    _, after = windows_of_alerts(a_brought_value(range=range_), 512.0, None)
    assert isinstance(after, Insufficient)
    assert (after.because, after.heard, after.expected) == (Lack.NO_SAMPLES, 0, 1)
