"""Members share a load: what was recorded of one size is replayed at another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from config.model.catalogue import Catalogue
from config.units import CounterId
from handler.replay.caveats import caveats_of_shares
from handler.replay.events import Course, ReplayEvent
from handler.replay.load import Feed, SyntheticLoad, replay_load
from handler.replay.members import always
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.recorded import Run
from handler.replay.running import recorded_runs, shared_runs
from handler.replay.samples import Unreplayable
from handler.replay.scrapes import cohort_of, ticks_by_group
from handler.replay.shared import replay_shared
from tests.support.replay import START, STEP, WEB, Row, declared, flat, happened, moves, written

SHARED = ("range: [0, 100]}", "range: [0, 100], shared: true}")
DAY = 8 * 3600.0
"""Shorter than others, to be quick."""
CAPACITY = 100.0


def sharing(*changes: tuple[str, str]) -> Catalogue:
    return declared(SHARED, ("interval: 30s,", "interval: 30s, build_timeout: 1h,"), *changes)


def replayed(
    path: Path, catalogue: Catalogue, *, boot: float = 60.0, events: Iterable[ReplayEvent] | None = None
) -> Run:
    samples, _ = read_series(path, catalogue, (WEB,), ReplaySpan())
    courses = {} if events is None else {WEB: Course(events)}
    (run,) = shared_runs(catalogue, ticks_by_group(catalogue, samples), courses, boot)
    return run


def day_of(rate: Sequence[tuple[float, float]], boot: float = 60.0) -> SyntheticLoad:
    at, value = zip(*((START + since, rate) for since, rate in rate), strict=True)
    return SyntheticLoad(
        at=np.array(at),
        rate=np.array(value),
        capacity=CAPACITY,
        boot=always(boot),
        feeds={CounterId("cpu"): Feed.UTILISATION},
    )


def seen(load: SyntheticLoad, run: Run) -> Iterator[Row]:
    """What polls of a simulated fleet would have recorded: each member in service, at its share of the load."""
    sizes = [(line.at, line.desired_to or 0) for line in run.lines if line.desired_from != line.desired_to]
    ready: list[float] = []
    for at in np.arange(load.at[0], load.at[-1], STEP).tolist():
        rate = load.rate[np.searchsorted(load.at, at, side="right") - 1]
        desired = next((size for since, size in reversed(sizes) if since < at), 2)
        since = next((since for since, _ in reversed(sizes) if since < at), START)
        ready = sorted(ready)[:desired]
        ready += [since + load.boot.mean if ready else at] * (desired - len(ready))
        serving = sum(each <= at for each in ready)
        for member in range(serving):
            yield at - START, f"m{member}", min(100 * rate / (serving * CAPACITY), 100.0)


def hours(run: Run) -> float:
    return run.tally.size_hours


def test_a_member_more_takes_its_share_after_its_boot_time(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", flat(90, 40))

    run = replayed(path, sharing(("above: 80", "above: 55")), boot=120.0)

    # 2 at 90 % are 3 at 60 % and 4 at 45 %.
    assert moves(run.lines) == [(0, 2), (60, 3), (360, 4)]
    assert run.differed is not None
    assert (run.differed.at - START, run.differed.replayed, run.differed.recorded) == (60, 3, 2)
    assert run.parted is None
    assert run.ticks == 40


@pytest.mark.parametrize(("boot", "second"), [(30.0, None), (400.0, 480.0)])
def test_growth_is_felt_only_once_it_serves(boot: float, second: float | None, tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", flat(90, 20))

    run = replayed(path, sharing(("quiet_time: 5m}\n  in", "quiet_time: 30s}\n  in")), boot=boot)

    refused = {line.reason.value for line in run.lines if line.at > START + 60}
    assert moves(run.lines) == [(0, 2), (60, 3)]
    assert ("catching_up" in refused) is (second is not None)


def test_what_is_not_shared_stays_as_it_was_recorded(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", flat(90, 40))
    catalogue = declared(("interval: 30s,", "interval: 30s, build_timeout: 1h,"))

    assert moves(replayed(path, catalogue).lines) == [(0, 2), (60, 3), (360, 4), (660, 5), (960, 6)]


def test_a_sum_across_members_is_of_all_of_them_whatever_their_number(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", flat(90, 40))
    catalogue = sharing(("busy: {counter: cpu, above: 80}", "busy: {counter: cpu, across: sum, above: 160}"))

    assert [size for _, size in moves(replayed(path, catalogue).lines)] == [2, 3, 4, 5, 6]


def test_a_smaller_fleet_is_busier_up_to_the_declared_range(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", flat(90, 30, members=4))
    bold = ("build_timeout: 1h,", "build_timeout: 1h, projection: off,")
    shrinking = sharing(bold, ("below: 20", "below: 95"), ("above: 80", "above: 100"))

    # 4 at 90 % would be 3 at 120 %.
    assert moves(replayed(path, shrinking).lines) == [(0, 4), (60, 3)]


def test_silence_stays_silence(tmp_path: Path) -> None:
    rows = [*flat(90, 10), *flat(None, 20, since=10)]

    run = replayed(written(tmp_path / "s.csv", rows), sharing(("above: 80", "above: 40"), ("below: 20", "below: 90")))

    assert all(at <= 270 for at, _ in moves(run.lines))


BOOTED = [
    happened(-900, name="first_listing", desired_to=2),
    *(
        happened(at, kind="member", name=name, member=member, in_service=serving)
        for at, name, member, serving in (
            (-900, "intended", "a", 0), (-800, "in_service", "a", 1),
            (-900, "intended", "b", 1), (-780, "in_service", "b", 2), (-700, "intended", "c", 2),
        )
    ),
]  # fmt: skip


def test_boot_times_are_those_of_history(tmp_path: Path) -> None:
    assert Course(BOOTED).boot() == 110.0
    assert Course(()).boot() is None

    run = replayed(written(tmp_path / "s.csv", flat(90, 20)), sharing(), boot=0.0, events=BOOTED)

    (caveat,) = caveats_of_shares(sharing(), run, Course(BOOTED), 0.0)
    assert "a member serves 1m50s after it is ordered (the median of the events)" in caveat
    assert "cpu is scaled by recorded / simulated members in service" in caveat


def test_what_is_taken_for_granted_is_reported(tmp_path: Path) -> None:
    run = replayed(written(tmp_path / "s.csv", flat(90, 20)), declared())

    (caveat,) = caveats_of_shares(declared(), run, None, 60.0)
    assert caveat == (
        "web: from 2026-01-01 00:01:00 on the size here (3) is not the recorded one (2): no counter is shared; cpu "
        "stays as recorded; a member serves 1m after it is ordered (--boot); the load does not react"
    )


def test_without_members_shares_are_unknown(tmp_path: Path) -> None:
    rows: list[Row] = [(STEP * tick, None, 90) for tick in range(5)]
    path = written(tmp_path / "s.csv", rows, counter="backlog")

    with pytest.raises(Unreplayable, match="does not have its number of members"):
        replayed(path, sharing(("busy: {counter: cpu, above: 80}", "busy: {counter: backlog, above: 80}")))


def test_while_sizes_are_the_same_it_is_the_recorded_model(tmp_path: Path) -> None:
    load = day_of([(0, 100), (600, 190), (3600, 10), (7200, 10)])
    simulated = replay_load(sharing(), WEB, load)
    path = written(tmp_path / "s.csv", seen(load, simulated))
    samples, _ = read_series(path, sharing(), (WEB,), ReplaySpan())
    (recorded,) = recorded_runs(sharing(), ticks_by_group(sharing(), samples), {})

    assert replayed(path, sharing()).lines == recorded.lines


OTHERS = {
    "acts earlier": [("above: 80", "above: 60")],
    "acts later": [("above: 80", "above: 90")],
    "waits longer": [("{when: [busy], duration: 60s", "{when: [busy], duration: 10m")],
    "keeps more": [("min: 2", "min: 3")],
}


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_it_comes_close_to_what_is_true(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    """The truth is known of a simulated fleet: one declaration is recorded, another replayed over it and simulated.

    Errors are measured where the recorded fleet was never saturated for long.
    """
    rates = [(float(at), 250.0 + 200.0 * math.sin(2 * math.pi * at / DAY)) for at in np.arange(0, DAY, 300)]
    load = day_of(rates)
    path = written(tmp_path / "s.csv", seen(load, replay_load(sharing(), WEB, load)))
    other = sharing(*changes)

    true, found = replay_load(other, WEB, load), replayed(path, other)

    assert found.differed is not None
    assert hours(found) == pytest.approx(hours(true), rel=0.01)
    assert abs(found.tally.actions - true.tally.actions) <= 1


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_ticks_that_are_passed_over_change_nothing(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    """Conditions that are expressions are never judged in columns, so each of their ticks is evaluated."""
    rates = [(float(at), 250.0 + 200.0 * math.sin(2 * math.pi * at / DAY)) for at in np.arange(0, DAY, 300)]
    load = day_of(rates)
    path = written(tmp_path / "s.csv", seen(load, replay_load(sharing(), WEB, load)))
    threshold = dict(changes).get("above: 80", "above: 80").removeprefix("above: ")
    others = [change for change in changes if change[0] != "above: 80"]
    in_words = sharing(*others, ("{counter: cpu, above: 80}", f'{{expression: "cpu > {threshold}"}}'))

    passed, judged = replayed(path, sharing(*changes)), replayed(path, in_words)

    assert passed.lines == judged.lines
    assert passed.tally == judged.tally
    assert passed.path is not None
    assert judged.path is not None
    assert passed.path.serving.tolist() == judged.path.serving.tolist()


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_ticks_that_are_computed_together_come_to_what_each_alone_comes_to(
    changes: list[tuple[str, str]], tmp_path: Path
) -> None:
    rates = [(float(at), 250.0 + 200.0 * math.sin(2 * math.pi * at / DAY)) for at in np.arange(0, DAY, 300)]
    load = day_of(rates)
    path = written(tmp_path / "s.csv", seen(load, replay_load(sharing(), WEB, load)))
    samples, _ = read_series(path, sharing(), (WEB,), ReplaySpan())
    cohort = cohort_of(STEP, ticks_by_group(sharing(), samples))
    scaled = [happened(600, "note", "pause"), happened(1200, "note", "resume")]

    def found(ahead: int) -> tuple[object, ...]:
        (run,) = replay_shared(sharing(*changes), cohort, {WEB: Course(scaled)}, 60.0, lambda _: None, ahead=ahead)
        assert run.path is not None
        return run.lines, run.tally, run.path.ordered.tolist(), run.path.serving.tolist(), run.path.left.tolist()

    assert found(256) == found(7) == found(1)


def test_a_saturated_recording_promises_too_much(tmp_path: Path) -> None:
    load = day_of([(0, 100), (600, 590), (7200, 590)])
    path = written(tmp_path / "s.csv", seen(load, replay_load(sharing(("max: 6", "max: 3")), WEB, load)))
    roomy = sharing(("max: 6", "max: 9"))

    true, found = replay_load(roomy, WEB, load), replayed(path, roomy)

    assert max(size or 0 for _, size in moves(true.lines)) == 8
    assert max(size or 0 for _, size in moves(found.lines)) == 4
