"""A policy with a forecast decides the same live and in replay, and acts as its guards allow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from config.load import load, parse
from config.model.catalogue import Catalogue
from config.units import CounterId, GroupId, Instant
from handler.recording.events import RecordingSelection, write_events
from handler.recording.exporting import Csv, export_series
from handler.replay.events import Course
from handler.replay.load import Feed, SyntheticLoad, replay_load
from handler.replay.members import always
from handler.replay.outcomes import line_of
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.recorded import Follower
from handler.replay.running import recorded_runs
from handler.replay.samples import Samples
from handler.replay.scrapes import ticks_by_group
from handler.replay.tables import read_events
from handler.store.timeline import read_timeline
from tests.support.engines import MODEL, WEB, EngineBed, Up, hurry
from tests.support.forecasting import MONDAY, a_forecast
from tests.support.replay import moves
from trigger.requests import Decision

AHEAD = (
    MODEL.replace("interval: 0.05s", "interval: 30s")
    .replace("max: 4", "max: 6")
    .replace("policies:\n", "policies:\n  ahead: {forecast: {load: {counter: load, each: 50}, boot: 2m}}\n", 1)
    .replace("policies: [out, in]", "policies: [ahead]")
)
LOAD = [*[40.0] * 4, 90.0, 90.0, 60.0, *[50.0] * 3, *[10.0] * 42]
"""Of each member, tick by tick."""


def under(rates: Sequence[float], text: str, *, boot: float = 120.0) -> list[tuple[float, int]]:
    """Replay rates of the group, one a tick; return (seconds, size)."""
    at = MONDAY + 30.0 * np.arange(len(rates) + 1)
    shown = SyntheticLoad(
        at=at,
        rate=np.array([*rates, rates[-1]]),
        capacity=10.0,
        boot=always(boot),
        feeds={CounterId("requests"): Feed.RATE},
    )
    run = replay_load(parse(text, "model.yaml"), WEB, shown)
    return [(seconds - (MONDAY - 1_767_225_600), size) for seconds, size in moves(run.lines)]


def exported(bed: EngineBed, place: Path) -> tuple[Catalogue, Samples, Mapping[GroupId, Course]]:
    """Export what a run has recorded, and read it again."""
    with (place / "series.csv").open("wb") as file:
        export_series(place / "recording", RecordingSelection(), Csv(file), lambda done, of: None)
    with (place / "events.csv").open("w", newline="") as text:
        write_events(text, read_timeline(bed.path), RecordingSelection())
    catalogue = load(bed.file)
    samples, _ = read_series(place / "series.csv", catalogue, (WEB,), ReplaySpan())
    return catalogue, samples, read_events(place / "events.csv", catalogue.groups)


def test_a_live_run_replayed_gives_the_same_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    bed = EngineBed(tmp_path, text=AHEAD)
    live: list[Decision] = []
    profiles: dict[float, str | None] = {}

    async def scene(up: Up) -> None:
        decided = up.engine.queue._decided
        monkeypatch.setattr(up.engine.queue, "_decided", lambda decision: (live.append(decision), decided(decision)))
        await up.engine.recordings.switch(on=True, span=None, by="test")
        await up.grown(2)
        for value in LOAD:
            bed.readings.value = value
            await up.tick(30.0)
            profiles[live[-1].at.wall] = up.runtime.fleet().profile
            await up.grown(up.runtime.state.desired or 0)

    bed.run(scene)
    catalogue, samples, courses = exported(bed, tmp_path)
    (run,) = recorded_runs(catalogue, ticks_by_group(catalogue, samples), courses)

    since = float(samples.at.min())
    expected = [line.plain() for each in live if each.at.wall >= since and (line := line_of(each, None)) is not None]
    lines = [line.plain() for line in run.lines]
    outcomes = [line["outcome"] for line in lines]
    assert run.parted is None
    assert lines == expected
    assert "out" in outcomes
    assert "in" in outcomes
    follower = Follower(catalogue, WEB, None, courses, Instant(since))
    assert {at: follower.profile(Instant(at)) for at in profiles} == profiles
    assert None not in profiles.values()


LEARNED = (
    a_forecast()
    .replace("each: 10", "each: learned, from: {counter: cpu, at: 80}")
    .replace("counters:\n", "counters:\n  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0, unit: percent, range: [0, 100]}\n")
)


def test_what_a_member_carries_is_learned_from_how_hard_the_members_work() -> None:
    load = SyntheticLoad(
        at=MONDAY + 30.0 * np.arange(30),
        rate=np.full(30, 800.0),
        capacity=100.0,
        boot=always(120.0),
        feeds={CounterId("requests"): Feed.RATE, CounterId("cpu"): Feed.UTILISATION},
    )

    run = replay_load(parse(LEARNED.replace("min: 1", "min: 10"), "model.yaml"), WEB, load)

    ((at, size),) = moves(run.lines)[1:]
    assert size == 14  # each carries 80 at 80 %, and in the first hours a third is added
    assert at - (MONDAY - 1_767_225_600) >= 300.0  # ten steps are the least evidence


def test_growth_goes_on_beyond_growth_that_boots() -> None:
    sizes = [
        size for _, size in under([*[40.0] * 20, 80.0, 80.0, 160.0, 160.0, *[160.0] * 3], a_forecast(), boot=600.0)
    ]

    assert sizes == sorted(sizes)
    assert sizes[-1] >= 16


def test_it_shrinks_no_sooner_than_a_quarter_of_an_hour_after_growth_and_three_minutes_after_shrinking() -> None:
    moved = under([*[200.0] * 4, *[20.0] * 300], a_forecast())

    grown = max(at for (at, size), (_, before) in zip(moved[1:], moved, strict=False) if size > before)
    shrunk = [at for (at, size), (_, before) in zip(moved[1:], moved, strict=False) if size < before]
    assert shrunk
    assert min(shrunk) - grown >= 900
    assert all(later - earlier >= 180 for earlier, later in itertools.pairwise(shrunk))


def test_one_that_advises_changes_nothing() -> None:
    policies = "keep, ahead"
    more = "  keep: {target: {counter: requests, each: 5}}"
    advising = a_forecast(", mode: advise", more=more, policies=policies)
    without = a_forecast(more=more, policies="keep")
    load = [*[40.0] * 10, *[200.0] * 20, *[20.0] * 120]

    assert under(load, advising) == under(load, without)


def test_the_bounds_of_the_group_hold() -> None:
    sizes = [size for _, size in under([*[5000.0] * 30, *[0.0] * 200], a_forecast(group=", initial: 3"))]

    assert max(sizes) == 80
    assert min(sizes) >= 1


@pytest.mark.parametrize(
    "load",
    [
        pytest.param([*[40.0] * 10, *[200.0] * 20, *[20.0] * 120], id="a step up, and down"),
        pytest.param([40.0 + 2.0 * tick for tick in range(150)], id="a ramp"),
        pytest.param([100.0 + 80.0 * np.sin(tick / 10) for tick in range(150)], id="waves"),
    ],
)
def test_without_history_it_carries_no_less_than_the_target_that_stands_beside_it(load: Sequence[float]) -> None:
    more = "  keep: {target: {counter: requests, each: 10}}"
    alone = under(load, a_forecast(more=more, policies="keep"))
    beside = under(load, a_forecast(more=more, policies="keep, ahead"))

    assert alone != beside
    assert lost(beside, load) <= lost(alone, load)


def lost(moved: Sequence[tuple[float, int]], load: Sequence[float]) -> float:
    """Return the load beyond what the sizes carry, each member 10, over all ticks."""
    sizes = [[size for since, size in moved if since <= 30.0 * tick][-1] for tick in range(len(load))]
    return sum(max(0.0, rate - 10.0 * size) for rate, size in zip(load, sizes, strict=True))
