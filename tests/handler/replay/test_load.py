from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from config.model.catalogue import Catalogue
from config.units import CounterId
from handler.replay import running
from handler.replay.load import Feed, ServiceLevel, SyntheticLoad, feeds_for, replay_load, score_of
from handler.replay.members import always
from handler.replay.paths import path_of
from handler.replay.recorded import Run
from handler.replay.samples import Unreplayable
from handler.replay.scores import FleetTiming, scored
from tests.support.replay import WEB, declared, moves

CPU = CounterId("cpu")


def load_of(
    *steps: tuple[float, float], boot: float = 60.0, capacity: float = 100.0, feed: Feed = Feed.UTILISATION
) -> SyntheticLoad:
    """Rates from an instant on; the last one only ends it."""
    at, rate = zip(*((1_767_225_600 + since, rate) for since, rate in steps), strict=True)
    return SyntheticLoad(at=np.array(at), rate=np.array(rate), capacity=capacity, boot=always(boot), feeds={CPU: feed})


def under(load: SyntheticLoad, catalogue: Catalogue | None = None) -> Run:
    return replay_load(catalogue or declared(), WEB, load)


def test_the_fleet_follows_the_load_up_and_down() -> None:
    run = under(load_of((0, 100), (600, 190), (3600, 10), (7200, 10)))

    assert moves(run.lines) == [(0, 2), (660, 3), (3660, 2)]
    assert (run.tally.actions, run.tally.reversals) == (2, 1)


def test_stabilisation_waits_in_replay_as_it_does_live_and_lets_a_dip_pass() -> None:
    stable = declared(("max: 6,", "max: 6, stabilisation: 5m,"))
    falls, dips = ((3600, 10), (7200, 10)), ((3600, 10), (3930, 190), (7200, 190))

    assert moves(under(load_of((0, 100), (600, 190), *falls), stable).lines) == [(0, 2), (660, 3), (3960, 2)]
    assert moves(under(load_of((0, 100), (600, 190), *dips), stable).lines) == [(0, 2), (660, 3)]


def test_members_take_their_boot_time() -> None:
    load = (0, 100), (600, 290), (1800, 290)

    quick, slow = under(load_of(*load, boot=0.0)), under(load_of(*load, boot=300.0))

    assert quick.tally.short_minutes == 1.0
    assert slow.tally.short_minutes == 6.0


def test_a_saturated_member_is_not_more_than_busy() -> None:
    run = under(load_of((0, 10_000), (1800, 10_000)), declared(("above: 80", "above: 100")))

    assert moves(run.lines) == [(0, 2)]


@pytest.mark.parametrize(("feed", "moved"), [(Feed.RATE, [(0, 2), (60, 3)]), (Feed.UTILISATION, [(0, 2)])])
def test_a_counter_shows_the_rate_or_what_it_makes_of_members(feed: Feed, moved: list[tuple[float, int]]) -> None:
    run = under(
        load_of((0, 180), (90, 180), capacity=1000.0, feed=feed), declared(("range: [0, 100]", "range: [0, 1000]"))
    )

    assert moves(run.lines)[: len(moved)] == moved


@pytest.mark.parametrize(("warm_up", "sizes"), [("0s", [2, 3, 4]), ("1h", [2, 3])])
def test_members_that_warm_up_are_left_out_of_what_is_measured(warm_up: str, sizes: list[int]) -> None:
    counting = declared(
        (
            "busy: {counter: cpu, above: 80}",
            "busy: {counter: cpu, above: 80}\n  three: {counter: cpu, across: count, at_least: 3}",
        ),
        ("policies:\n", "policies:\n  more: {when: [three], duration: 60s, set: 4, quiet_time: 0s}\n"),
        ("policies: [out, in]", f"policies: [out, more], warm_up: {warm_up}"),
        ("quiet_time: 5m}\n  in", "quiet_time: 0s}\n  in"),
    )

    run = under(load_of((0, 190), (1000, 190), boot=0.0), counting)

    assert [size for _, size in moves(run.lines)] == sizes


def test_what_a_policy_reads_must_show_something() -> None:
    load = load_of((0, 1), (60, 1))

    with pytest.raises(Unreplayable, match="group web reads backlog: set how it shows the load with --feed"):
        under(load, declared(("busy: {counter: cpu, above: 80}", "busy: {counter: backlog, above: 80}")))


def test_a_counter_that_rises_cannot_be_fed() -> None:
    rising = declared(("unit: percent, range: [0, 100]", "unit: percent, range: [0, 100], kind: counter"))

    with pytest.raises(Unreplayable, match="cpu is a rising counter"):
        under(load_of((0, 1), (60, 1)), rising)


def test_percent_is_a_utilisation_unless_something_else_is_reported() -> None:
    assert feeds_for(declared(), (WEB,)) == {CPU: Feed.UTILISATION}


@pytest.mark.parametrize("processes", [1, 2])
def test_progress_is_reported_from_little_to_all_in_one_process_and_in_several(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_WORTH_A_PROCESS", 1)
    catalogue, load, reports = declared(), load_of((0, 100), (10_000, 100)), list[tuple[int, int]]()

    running.load_runs(catalogue, [WEB, WEB], load, lambda done, of: reports.append((done, of)), processes=processes)

    assert reports == sorted(reports)
    assert all(done <= of for done, of in reports)
    assert reports[-1][0] >= 0.99 * reports[-1][1] > 0


def test_counters_show_the_load_of_so_long_ago() -> None:
    late = replace(load_of((0, 100), (600, 190), (3600, 190)), delay=120.0)

    assert moves(under(late).lines) == [(0, 2), (780, 3)]


def test_a_fleet_under_a_load_is_judged_as_on_the_scoreboard() -> None:
    load = load_of((0, 100), (600, 250), (1800, 50), (3600, 50))
    run = under(load)
    assert run.path is not None
    group = declared().groups[WEB]

    found = score_of(run.path, group, load, ServiceLevel(each=80.0, drain=60.0))

    rate = load.rates(load.ticks(group.interval))
    timing = FleetTiming(step=30.0, boot=2, drain=2)
    assert found.score == scored(path_of(run.path.ordered, 2), rate, 80.0, timing, least=2)
    short = [max(each - 80.0 * serving, 0.0) for each, serving in zip(rate, run.path.serving, strict=True)]
    assert found.minutes == sum(each > 0 for each in short) / 2
    assert found.score.over == pytest.approx(100.0 * sum(short) / rate.sum())
    assert found.hours == pytest.approx(run.path.paid(2).sum() * 30.0 / 3600.0)
