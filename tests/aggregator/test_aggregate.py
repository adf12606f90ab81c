"""The aggregator of one cohort, from scrapes to frames."""

from __future__ import annotations

import math

import pytest

from aggregator.aggregate import Aggregator
from aggregator.frames import Aggregate, Cell, Frame, Insufficient, Lack
from aggregator.specs import keys_for
from config.model.catalogue import Catalogue
from config.model.counters import CounterKind, Per
from config.model.reductions import Reduce
from config.units import GroupId, MemberName
from tests.support.aggregator import (
    WEB,
    Reading,
    Watch,
    a_catalogue,
    a_condition,
    a_counter,
    a_group,
    a_layout,
    a_moment,
    a_policy,
    a_scrape,
    series,
)

API = GroupId("api")
INF = math.inf
PERCENT = a_counter(range=(0.0, 100.0))
RISING = a_counter(kind=CounterKind.RISING, range=(0.0, 100.0))


def bounds(cell: Cell) -> tuple[float, float, float]:
    assert isinstance(cell, Aggregate), cell
    return cell.low, cell.value, cell.high


def lack(cell: Cell) -> Lack | None:
    return cell.because if isinstance(cell, Insufficient) else None


def test_a_window_across_members_and_then_over_time():
    watch = Watch(across=Reduce.MAX, aggregate=Reduce.AVG, ticks=2)
    cell = watch.ticks({"a": 10.0, "b": 20.0}, {"a": Reading(50.0, late=0.5), "b": Reading(30.0, late=1.5)})
    assert cell == Aggregate(
        value=35.0, low=35.0, high=35.0, samples=2, needed=2, heard=2, expected=2, coverage=1.0, age=0.0
    )


@pytest.mark.parametrize(
    ("counter", "expected"),
    [
        pytest.param(PERCENT, (15.0, 30.0, 65.0), id="by the range"),
        pytest.param(a_counter(), (-INF, 30.0, INF), id="by nothing without a range"),
    ],
)
def test_a_missing_answer_is_bounded(counter, expected):
    assert bounds(Watch(counter=counter).ticks({"a": 30.0, "b": None})) == expected


def test_members_are_counted_at_the_newest_tick_and_coverage_is_the_least_of_the_window():
    cell = Watch(ticks=2).ticks({"a": 1.0, "b": None, "c": None, "d": None}, {"a": 1.0, "b": None})
    assert isinstance(cell, Aggregate)
    assert (cell.heard, cell.expected, cell.coverage) == (1, 2, 0.25)


@pytest.mark.parametrize(
    ("settings", "history", "expected"),
    [
        pytest.param({"ticks": 3}, [{"a": 1.0}, {"a": 1.0}], Lack.TOO_FEW, id="not measured long enough"),
        pytest.param({"ticks": 3}, [{"a": 1.0}, {"a": 1.0}, {"a": 1.0}], None, id="measured long enough"),
        pytest.param({"ticks": 2}, [{"a": None}, {"a": None}], Lack.NO_SAMPLES, id="no answer in the window"),
        pytest.param({"ticks": 2}, [{"a": None}, {"a": 1.0}], None, id="one answer in the window"),
        pytest.param({"ticks": 1}, [{}], Lack.NO_MEMBERS, id="no members"),
        pytest.param({"ticks": 2}, [{"a": 1.0}, {}], Lack.NO_MEMBERS, id="no members any more"),
        pytest.param(
            {"ticks": 2}, [{"a": 1.0}, {}, {"a": 1.0}], Lack.TOO_FEW, id="measured anew after a tick without members"
        ),
        pytest.param({"ticks": 2}, [{}, {"a": 1.0}, {"a": 1.0}], None, id="measured since the first member"),
        pytest.param(
            {"ticks": 9}, [{"a": 1.0}] * 9 + [{"a": None}] * 3, None, id="newest answer as old as freshness allows"
        ),
        pytest.param({"ticks": 9}, [{"a": 1.0}] * 9 + [{"a": None}] * 4, Lack.STALE, id="newest answer too old"),
        pytest.param(
            {"ticks": 9, "freshness": 5}, [{"a": 1.0}] * 9 + [{"a": None}] * 4, None, id="freshness is the group's"
        ),
        pytest.param({"counter": RISING}, [{"a": 1.0}], Lack.NO_SAMPLES, id="a first reading has no rate"),
    ],
)
def test_a_cell_without_a_value_has_a_reason(settings, history, expected):
    assert lack(Watch(**settings).ticks(*history)) is expected


def test_a_group_whose_only_member_warms_up_has_no_member_to_ask():
    assert lack(Watch().tick(0, {"a": 1.0}, warming="a")) is Lack.NO_MEMBERS


def test_a_cell_without_a_value_counts_its_samples_and_answers():
    assert Watch(ticks=3).ticks({"a": 1.0}, {"a": 1.0, "b": None}) == Insufficient(
        because=Lack.TOO_FEW, samples=2, needed=3, heard=1, expected=2
    )


def test_age_is_since_the_newest_answer():
    cell = Watch(ticks=2).ticks({"a": Reading(1.0, late=2.0)}, {"a": None})
    assert isinstance(cell, Aggregate)
    assert cell.age == 8.0


def test_a_new_member_without_a_rate_yet_widens_the_bounds_only():
    cell = Watch(counter=RISING).ticks({"a": 0.0}, {"a": 500.0, "b": 0.0})
    assert bounds(cell) == (25.0, 50.0, 75.0)


def test_a_member_has_a_rate_from_the_moment_it_counts():
    watch = Watch(counter=RISING)
    watch.tick(0, {"a": 0.0}, warming="a")
    assert bounds(watch.tick(1, {"a": 500.0})) == (50.0, 50.0, 50.0)


def test_a_missed_tick_is_as_uncertain_as_a_silent_one():
    watch = Watch(counter=PERCENT, ticks=3)
    watch.tick(0, {"a": 30.0})
    assert bounds(watch.tick(2, {"a": 60.0})) == (30.0, 45.0, pytest.approx(190 / 3))


def test_a_missed_tick_has_no_coverage():
    watch = Watch(counter=PERCENT, ticks=3)
    watch.tick(0, {"a": 30.0})
    cell = watch.tick(2, {"a": 60.0})
    assert isinstance(cell, Aggregate)
    assert (cell.samples, cell.needed, cell.coverage) == (2, 3, 0.0)


def test_the_sum_of_a_missed_tick_is_bounded_by_the_larger_of_its_neighbours():
    watch = Watch(counter=PERCENT, across=Reduce.SUM, aggregate=Reduce.SUM, ticks=3)
    watch.tick(0, {"a": 10.0, "b": 10.0, "c": 10.0})
    assert bounds(watch.tick(2, {"a": 5.0})) == (35.0, 35.0, 335.0)


def test_a_second_scrape_within_a_tick_replaces_the_first():
    watch = Watch(ticks=2)
    watch.ticks({"a": 10.0}, {"a": 20.0})
    assert bounds(watch.tick(1.3, {"a": 40.0})) == (25.0, 25.0, 25.0)


@pytest.mark.parametrize("turn", [0.0, 0.25, 0.5, 0.75])
def test_jitter_misses_no_tick_whenever_the_cohort_is_polled(turn):
    watch = Watch(ticks=5)
    for number, jitter in enumerate([0.0, 0.2, 0.0, 0.4, -0.1]):
        cell = watch.tick(1000 + turn + number + jitter, {"a": 1.0})
    assert isinstance(cell, Aggregate)
    assert (cell.samples, cell.coverage) == (5, 1.0)


def test_a_scrape_of_an_earlier_tick_is_refused():
    watch = Watch()
    watch.tick(5, {"a": 1.0})
    with pytest.raises(ValueError, match="in order"):
        watch.tick(4, {"a": 1.0})


def test_a_counter_of_the_whole_group_is_one_series():
    watch = Watch(counter=a_counter(per=Per.GROUP))
    layout = a_layout([series(None)])
    frame = watch.aggregator.take(a_scrape(layout, 0.0, {series(None): 7.0}))[WEB]
    assert [bounds(cell) for cell in frame.cells.values()] == [(7.0, 7.0, 7.0)]


def two_groups() -> Catalogue:
    return a_catalogue(
        counters=[PERCENT, a_counter("sessions")],
        conditions=[
            a_condition("busy", window=20.0),
            a_condition("worst", across=Reduce.MAX, window=50.0),
            a_condition("full", counter="sessions", across=Reduce.SUM, aggregate=Reduce.LAST),
        ],
        policies=[a_policy("out", when=["busy", "worst"]), a_policy("more", when=["full"])],
        groups=[
            a_group("web", policies=["out", "more"]),
            a_group("api", policies=["out"]),
            a_group("odd", policies=[]),
        ],
    )


def test_every_group_gets_a_frame_with_a_cell_for_every_window():
    catalogue = two_groups()
    frames = Aggregator(catalogue, list(catalogue.groups)).take(a_scrape(a_layout([]), 10.0, {}))
    assert {group: frozenset(frame.cells) for group, frame in frames.items()} == {
        group: frozenset(keys_for(catalogue, group)) for group in catalogue.groups
    }


def test_a_frame_is_of_the_moment_of_its_scrape():
    watch = Watch()
    frame = watch.aggregator.take(a_scrape(a_layout([series("a")]), 10.0, {}))[WEB]
    assert (frame.group, frame.at) == (WEB, a_moment(10.0))


def test_groups_and_counters_do_not_mix():
    cpu = {series("a"): 10.0, series("a", group="api"): 70.0, series("b", group="api"): 90.0}
    sessions = {series("a", counter="sessions"): 5.0, series("b", counter="sessions"): 6.0}
    catalogue = two_groups()
    aggregator, layout = Aggregator(catalogue, [WEB, API]), a_layout([*cpu, *sessions])
    frames = [aggregator.take(a_scrape(layout, tick * 10.0, {**cpu, **sessions})) for tick in range(5)][-1]
    assert _values(frames[WEB]) == {("cpu", "avg"): 10.0, ("cpu", "max"): 10.0, ("sessions", "sum"): 11.0}
    assert _values(frames[API]) == {("cpu", "avg"): 80.0, ("cpu", "max"): 90.0}


def _values(frame: Frame) -> dict[tuple[str, str], float]:
    return {(key.counter, key.across.value): bounds(cell)[1] for key, cell in frame.cells.items()}


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([a_group("web"), a_group("api", interval=30.0)], id="two intervals"),
        pytest.param([], id="no groups"),
    ],
)
def test_a_cohort_has_one_interval(groups):
    with pytest.raises(ValueError, match="one interval"):
        Aggregator(a_catalogue(groups=groups), [group.id for group in groups])


def test_windows_of_any_length_look_at_one_track():
    catalogue = a_catalogue(
        conditions=[a_condition("long", window=30.0), a_condition("short", aggregate=Reduce.MAX, window=10.0)],
        policies=[a_policy(when=["long", "short"])],
    )
    aggregator, layout = Aggregator(catalogue, [WEB]), a_layout([series("a")])
    frames = [aggregator.take(a_scrape(layout, 10.0 * tick, {series("a"): 10.0 * tick})) for tick in range(3)]
    cells = {key.aggregate: bounds(cell)[1] for key, cell in frames[-1][WEB].cells.items()}
    assert cells == {Reduce.AVG: 10.0, Reduce.MAX: 20.0}


# After a reload.


def reloaded(watch: Watch, **changes) -> Watch:
    """Return the aggregator after a reload with these changes."""
    settings = {"counter": PERCENT, "ticks": 3, "interval": watch.interval}
    after = Watch(**{**settings, **changes})
    after.aggregator.succeed(watch.aggregator)
    return after


def test_a_window_keeps_its_history_after_a_reload():
    watch = Watch(counter=PERCENT, ticks=3)
    watch.ticks({"a": 10.0}, {"a": 20.0})
    assert bounds(reloaded(watch).tick(2, {"a": 60.0})) == (30.0, 30.0, 30.0)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"counter": a_counter(range=(0.0, 50.0))}, id="another range"),
        pytest.param({"counter": a_counter(range=(0.0, 100.0), scale=2.0)}, id="another scale"),
        pytest.param({"interval": 20.0}, id="another interval"),
        pytest.param({"across": Reduce.MAX}, id="another reduction across"),
        pytest.param({"ticks": 5}, id="a longer window than was kept"),
    ],
)
def test_a_changed_window_begins_anew(changes):
    watch = Watch(counter=PERCENT, ticks=3)
    watch.ticks({"a": 10.0}, {"a": 20.0}, {"a": 20.0}, {"a": 20.0}, {"a": 20.0})
    assert lack(reloaded(watch, **changes).tick(5, {"a": 60.0})) is Lack.TOO_FEW


def test_another_aggregate_over_the_same_track_has_its_history():
    watch = Watch(counter=PERCENT, ticks=3)
    watch.ticks({"a": 10.0}, {"a": 20.0})
    assert bounds(reloaded(watch, aggregate=Reduce.MIN).tick(2, {"a": 60.0})) == (10.0, 10.0, 10.0)


def test_a_tick_missed_during_the_reload_is_silent():
    watch = Watch(counter=PERCENT, ticks=3)
    watch.ticks({"a": 10.0}, {"a": 20.0})
    assert bounds(reloaded(watch).tick(3, {"a": 60.0})) == (pytest.approx(80 / 3), 40.0, 60.0)


def test_the_sum_of_a_tick_missed_during_the_reload_is_bounded_by_the_fleet_before():
    watch = Watch(counter=PERCENT, across=Reduce.SUM, aggregate=Reduce.SUM, ticks=2)
    watch.ticks({"a": 10.0}, {"a": 10.0, "b": 10.0, "c": 10.0})
    after = reloaded(watch, across=Reduce.SUM, aggregate=Reduce.SUM, ticks=2)
    assert bounds(after.tick(3, {"a": 5.0})) == (5.0, 5.0, 305.0)


def test_a_reload_may_poll_the_cohort_at_another_time():
    watch = Watch(counter=PERCENT, ticks=3)
    watch.ticks({"a": 10.0}, {"a": 20.0})
    after = reloaded(watch)
    after.tick(2.45, {"a": 30.0})
    cells = [after.tick(number + jitter, {"a": 30.0}) for number, jitter in ((3.45, 0.1), (4.45, -0.2), (5.45, 0.3))]
    assert [cell.samples for cell in cells] == [3, 3, 3]


@pytest.mark.parametrize(
    ("counter", "expected"),
    [
        pytest.param(RISING, None, id="unchanged"),
        pytest.param(a_counter(kind=CounterKind.RISING), Lack.NO_SAMPLES, id="changed"),
    ],
)
def test_rates_go_on_after_a_reload_unless_the_counter_changed(counter, expected):
    watch = Watch(counter=RISING)
    watch.tick(0, {"a": 100.0})
    assert lack(reloaded(watch, counter=counter, ticks=1).tick(1, {"a": 150.0})) is expected


def test_a_group_that_is_new_begins_anew_beside_one_that_goes_on():
    catalogue = a_catalogue(conditions=[a_condition(window=20.0)], groups=[a_group("web"), a_group("api")])
    answers = {series("a"): 1.0, series("a", group="api"): 1.0}
    old, new = Aggregator(catalogue, [WEB]), Aggregator(catalogue, [WEB, API])
    old.take(a_scrape(a_layout(answers), 0.0, answers))
    new.succeed(old)
    frames = new.take(a_scrape(a_layout(answers), 10.0, answers))
    assert {group: [lack(cell) for cell in frame.cells.values()] for group, frame in frames.items()} == {
        WEB: [None],
        API: [Lack.TOO_FEW],
    }


def test_one_cohort_can_take_the_history_of_two():
    catalogue = a_catalogue(
        counters=[RISING], conditions=[a_condition(window=20.0)], groups=[a_group("web"), a_group("api")]
    )
    old = {group: Aggregator(catalogue, [group]) for group in (WEB, API)}
    new = Aggregator(catalogue, [WEB, API])
    for group, moments in ((WEB, [0.0, 10.0, 20.0]), (API, [13.0, 23.0])):
        layout = a_layout([series("a", group=group)])
        for at in moments:
            old[group].take(a_scrape(layout, at, {series("a", group=group): at}))
        new.succeed(old[group])
    answers = {series("a"): 30.0, series("a", group="api"): 30.0}
    frames = new.take(a_scrape(a_layout(answers), 30.0, answers))
    assert [bounds(cell) for group in (WEB, API) for cell in frames[group].cells.values()] == [(1.0, 1.0, 1.0)] * 2


def test_an_old_aggregator_without_scrapes_leaves_no_history():
    assert lack(reloaded(Watch(counter=PERCENT, ticks=3)).tick(7, {"a": 1.0})) is Lack.TOO_FEW


def test_history_cannot_be_taken_after_the_first_scrape():
    watch = Watch()
    watch.tick(0, {"a": 1.0})
    with pytest.raises(ValueError, match="before the first take"):
        watch.aggregator.succeed(Watch().aggregator)


def test_the_memory_of_windows_does_not_grow_with_time() -> None:
    short, long = Watch(ticks=1), Watch(ticks=10)

    before = long.aggregator.bytes
    long.ticks(*({"a": 1.0} for _ in range(50)))

    assert short.aggregator.bytes < long.aggregator.bytes == before <= 10 * short.aggregator.bytes


@pytest.mark.parametrize(
    ("history", "most", "expected"),
    [
        pytest.param([], 9, {}, id="before the first tick"),
        pytest.param([{"a": 10.0, "b": 20.0}], 9, {"a": 10.0, "b": 20.0}, id="each by itself"),
        pytest.param([{"a": 10.0, "b": 20.0}, {"a": 15.0, "b": None}], 9, {"a": 15.0}, id="a silent one is left out"),
        pytest.param([{"a": 10.0, "b": 101.0}], 9, {"a": 10.0}, id="outside the range is no value"),
        pytest.param([{"a": None, "b": 20.0, "c": 30.0}], 1, {"b": 20.0}, id="the first by name that have one"),
        pytest.param([{"a": 10.0}], 0, {}, id="none are asked for"),
    ],
)
def test_what_each_member_showed_at_the_last_tick(history, most, expected):
    watch = Watch(counter=PERCENT)
    for number, answers in enumerate(history):
        watch.tick(number, answers)

    found = watch.aggregator.member_values(WEB, most)

    assert found == {(PERCENT.id, MemberName(name)): value for name, value in expected.items()}
    assert watch.aggregator.member_values(API, most) == {}


def test_of_a_rising_counter_a_member_shows_its_rate():
    watch = Watch(counter=RISING)
    watch.ticks({"a": 100.0}, {"a": 300.0})

    assert watch.aggregator.member_values(WEB, 9) == {(RISING.id, MemberName("a")): 20.0}
