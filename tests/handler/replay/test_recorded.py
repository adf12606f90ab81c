from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handler.replay import recorded
from handler.replay.events import ReplayEvent
from tests.support.replay import (
    STEP,
    Row,
    decided,
    declared,
    flat,
    happened,
    moves,
    run_of,
    runs_of,
    written,
)

SLOW = ("interval: 30s,", "interval: 30s, build_timeout: 1h,")


def replayed(tmp_path: Path, rows: list[Row], *changes: tuple[str, str]) -> list[tuple[float, str, str, int | None]]:
    return decided(run_of(written(tmp_path / "s.csv", rows), declared(*changes)))


FIRST = (0, "none", "first_listing", 2)

CASES: dict[str, tuple[list[Row], list[tuple[float, str, str, int | None]]]] = {
    "fires at the first tick that has held for the duration": (flat(90, 3), [FIRST, (60, "out", "scaled_out", 3)]),
    "a condition that is not met asks nothing": (flat(50, 5), [FIRST]),
    "a false tick ends the hold": (
        [*flat(90, 2), *flat(50, 1, since=2), *flat(90, 3, since=3)],
        [FIRST, (150, "out", "scaled_out", 3)],
    ),
    "a missing tick ends the hold": (
        [*flat(90, 2), *flat(90, 3, since=3)],
        [FIRST, (150, "out", "scaled_out", 3)],
    ),
    "a value below its range is silence": ([*flat(50, 1), *flat(-1, 5, since=1)], [FIRST]),
    "a value above its range is silence": ([*flat(90, 2), *flat(130, 3, since=2)], [FIRST]),
    "silence of all never fires": ([*flat(90, 2), *flat(None, 3, since=2)], [FIRST]),
    "silence of one that could change the answer never fires": (
        [row for tick in range(4) for row in ((STEP * tick, "m0", 90), (STEP * tick, "m1", None))],
        [FIRST],
    ),
    "silence is not idleness": (
        [
            row
            for tick in range(5)
            for row in ((STEP * tick, "m0", 5), (STEP * tick, "m1", None), (STEP * tick, "m2", 5))
        ],
        [(0, "none", "first_listing", 3)],
    ),
    "no row is no member": (
        [row for tick in range(5) for row in ((STEP * tick, "m0", 5), (STEP * tick, "m2", 5), (STEP * tick, "m3", 5))],
        [(0, "none", "first_listing", 3), (60, "in", "scaled_in", 2)],
    ),
    "at min an agreed scale-in is refused": (flat(5, 3), [FIRST, (60, "refused", "at_min", 2)]),
    "more than max is kept": (flat(50, 2, members=8), [(0, "none", "first_listing", 8)]),
    "fewer than min become min": (flat(50, 2, members=1), [(0, "none", "first_listing", 2)]),
}


@pytest.mark.parametrize(("rows", "expected"), CASES.values(), ids=CASES.keys())
def test_what_was_recorded_is_decided(
    rows: list[Row], expected: list[tuple[float, str, str, int | None]], tmp_path: Path
) -> None:
    assert replayed(tmp_path, rows, SLOW) == expected


def test_a_quiet_time_refuses_at_every_tick_that_asks(tmp_path: Path) -> None:
    rows = [*flat(90, 4), *flat(90, 12, members=3, since=4)]

    lines = replayed(tmp_path, rows, SLOW)

    assert lines[:3] == [FIRST, (60, "out", "scaled_out", 3), (150, "refused", "quiet", 3)]
    assert [line[1:] for line in lines[2:9]] == [("refused", "quiet", 3)] * 7
    assert lines[9] == (360, "out", "scaled_out", 4)


def test_growth_waits_for_members_that_the_recording_does_not_have(tmp_path: Path) -> None:
    lines = replayed(tmp_path, flat(90, 14), SLOW)

    assert lines[-1] == (390, "refused", "catching_up", 3)


def test_after_sizes_part_nothing_is_decided(tmp_path: Path) -> None:
    run = run_of(
        written(tmp_path / "s.csv", flat(90, 60)), declared(("interval: 30s,", "interval: 30s, build_timeout: 5m,"))
    )

    assert decided(run) == [FIRST, (60, "out", "scaled_out", 3)]
    assert run.parted is not None
    assert (run.parted.replayed, run.parted.recorded) == (3, 2)
    assert run.ticks < 60


def test_a_recording_that_ends_early_leaves_a_doubt(tmp_path: Path) -> None:
    run = run_of(written(tmp_path / "s.csv", flat(90, 4)), declared(SLOW))

    assert run.parted is None
    assert run.doubt is not None


def test_advice_changes_nothing_and_tells_the_size(tmp_path: Path) -> None:
    lines = replayed(tmp_path, flat(90, 3), ("interval: 30s,", "interval: 30s, mode: advise,"))

    assert lines == [(60, "out", "advised", 3)]


def test_mode_off_decides_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", flat(90, 3))

    assert runs_of(path, declared(("interval: 30s,", "interval: 30s, mode: off,"))) == ()


def test_counters_of_the_whole_group_say_nothing_of_members(tmp_path: Path) -> None:
    rows: list[Row] = [(STEP * tick, None, 90) for tick in range(20)]
    path = written(tmp_path / "s.csv", rows, counter="backlog")

    run = run_of(path, declared(("busy: {counter: cpu, above: 80}", "busy: {counter: backlog, above: 80}")))

    assert moves(run.lines) == [(0, 2), (60, 3), (360, 4)]
    assert run.parted is None


def test_budgets_hold(tmp_path: Path) -> None:
    changes = (("interval: 30s,", "interval: 30s, budget: {per_hour: 1},"), ("add: 1", "add: 3"))

    lines = replayed(tmp_path, flat(90, 3), *changes)

    assert lines[-1] == (60, "out", "scaled_out", 3)


RESIZED = [happened(-60, name="first_listing", desired_to=4)]

EVENTS: dict[str, tuple[list[Row], list[ReplayEvent], list[tuple[float, str, str, int | None]]]] = {
    "the recorded size is where it begins": (
        flat(90, 3, members=4),
        RESIZED,
        [(60, "out", "scaled_out", 5)],
    ),
    "a person's request is decided": (
        flat(50, 3, members=4),
        [*RESIZED, happened(40, cause="person", by="ann", desired_from=4, desired_to=5)],
        [(40, "out", "scaled_out", 5)],
    ),
    "a refused request is asked again": (
        flat(50, 3, members=4),
        [
            *RESIZED,
            happened(40, name="above_max", cause="person", by="ann", desired_from=4, desired_to=4, message="wanted 9"),
        ],
        [(40, "refused", "above_max", 4)],
    ),
    "an alarm carries its policy out": (
        flat(50, 3, members=4),
        [*RESIZED, happened(40, cause="alarm", by="out", desired_from=4, desired_to=5)],
        [(40, "out", "scaled_out", 5)],
    ),
    "a pause stops decisions": (
        flat(90, 3, members=4),
        [*RESIZED, happened(10, kind="note", name="pause")],
        [(60, "refused", "paused", 4)],
    ),
    "a pause may end": (
        flat(90, 4, members=4),
        [*RESIZED, happened(10, kind="note", name="pause"), happened(70, kind="note", name="resume")],
        [(60, "refused", "paused", 4), (90, "out", "scaled_out", 5)],
    ),
    "a quiet time from before goes on": (
        flat(90, 3, members=4),
        [*RESIZED, happened(-30, cause="policy", by="out", desired_from=3, desired_to=4)],
        [(60, "refused", "quiet", 4)],
    ),
    "members that are building hold growth back": (
        flat(90, 3, members=4),
        [
            *RESIZED,
            happened(-30, name="scaled_out", cause="person", by="ann", desired_from=4, desired_to=5),
            happened(-20, kind="member", name="in_service", in_service=4),
        ],
        [(60, "refused", "quiet", 5)],
    ),
}


@pytest.mark.parametrize(("rows", "events", "expected"), EVENTS.values(), ids=EVENTS.keys())
def test_events_are_part_of_the_story(
    rows: list[Row], events: list[ReplayEvent], expected: list[tuple[float, str, str, int | None]], tmp_path: Path
) -> None:
    assert decided(run_of(written(tmp_path / "s.csv", rows), declared(SLOW), events)) == expected


def test_a_recorded_decision_that_is_not_made_here_parts_them(tmp_path: Path) -> None:
    events = [*RESIZED, happened(60, cause="policy", by="out", desired_from=4, desired_to=5)]

    run = run_of(written(tmp_path / "s.csv", flat(50, 8, members=4)), declared(), events)

    assert run.parted is not None
    assert (run.parted.at % 3600, run.parted.replayed, run.parted.recorded) == (60, 4, 5)


def test_a_steady_clock_that_begins_anew_ends_every_hold(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    ticks = [(470, "90"), (500, "90"), (440, ""), (470, ""), (500, ""), (530, "90"), (560, "90"), (590, "90")]
    lines = [
        f"{1000 + 30 * tick},web,m{member},cpu,{value},{steady}"
        for tick, (steady, value) in enumerate(ticks)
        for member in (0, 1)
    ]
    path.write_text("\n".join(["timestamp,group,member,counter,value,steady", *lines]) + "\n")

    assert [line.at for line in run_of(path, declared(SLOW)).lines] == [1000, 1210]


def test_processes_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from handler.replay import running

    catalogue = declared(("  web: {", "  api: {profile: web, min: 1, max: 3, policies: [out]}\n  web: {"))
    path = written(tmp_path / "s.csv", flat(90, 12))
    with path.open("a") as file:
        file.writelines(
            written(tmp_path / "t.csv", flat(90, 12), group="api").read_text().splitlines(keepends=True)[1:]
        )
    alone = runs_of(path, catalogue)
    monkeypatch.setattr(running, "_WORTH_A_PROCESS", 0)

    assert runs_of(path, catalogue, processes=2) == alone
    assert [run.group for run in alone] == ["api", "web"]


STRETCHES = st.lists(
    st.tuples(st.sampled_from([50, 50, 50, 90, 5, None]), st.integers(1, 12), st.sampled_from([2, 2, 3])), max_size=12
)
"""A value of every member, for so many ticks, of so many members."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stretches=STRETCHES,
    acts=st.lists(st.tuples(st.integers(0, 1200), st.sampled_from(["pause", "resume"])), max_size=2),
)
def test_ticks_that_are_passed_over_make_no_difference(
    stretches: list[tuple[int | None, int, int]], acts: list[tuple[int, str]], tmp_path: Path
) -> None:
    rows, since = flat(50, 1), 1
    for value, ticks, members in stretches:
        rows += flat(value, ticks, members=members, since=since)
        since += ticks
    path = written(tmp_path / "s.csv", rows)
    events = [happened(at, kind="note", name=name) for at, name in acts]
    quick = run_of(path, declared(SLOW), events)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "resting", lambda *of: np.zeros(of[-1], dtype=np.bool_))
        assert run_of(path, declared(SLOW), events) == quick
