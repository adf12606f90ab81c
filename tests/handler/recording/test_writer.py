from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.samples import Layout, Reply, Scrape
from config.model.observability import Recording
from config.units import GroupId, Moment
from handler.recording import folder as disk
from handler.recording.files import HOUR, Form, Segment
from handler.recording.intake import RecordingIntake
from handler.recording.rows import joined
from handler.recording.writer import RecordingWriter
from tests.support.record_forever import SERIES, START
from tests.support.recording import (
    NINE,
    WEB,
    Recorded,
    Row,
    a_layout,
    a_scrape,
    at,
    expected_of,
    in_order,
    read,
)

Tick = tuple[tuple[GroupId, ...], Scrape]
SPAN = 30.0


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "recording")


def ticks(*seconds: float, layout: Layout | None = None) -> list[Tick]:
    asked = a_layout() if layout is None else layout
    return [((WEB,), a_scrape(at(second), asked)) for second in seconds]


def expected(written: list[Tick]) -> list[Row]:
    return in_order(row for groups, scrape in written for row in expected_of(groups, scrape))


# What is written is what is read

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
VALUES = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def recordings(draw: st.DrawFn) -> list[Tick]:
    """Some ticks, of layouts that change between them; groups come and go, members are silent or warm up."""
    groups = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    written: list[Tick] = []
    second = draw(st.floats(0, 86400))
    for _ in range(draw(st.integers(1, 4))):
        series = draw(st.lists(st.tuples(st.sampled_from(groups), NAMES, st.none() | NAMES), max_size=6, unique=True))
        layout = a_layout(*sorted(series, key=lambda each: (*each[:2], each[2] or ""))) if series else NO_SERIES
        counted = np.array(draw(st.lists(st.booleans(), min_size=len(series), max_size=len(series))), dtype=np.bool_)
        layout = Layout(series=layout.series, counted=counted)
        for _ in range(draw(st.integers(1, 3))):
            second += draw(st.floats(0.001, 2000))
            scrape = a_scrape(
                at(second),
                layout,
                draw(st.lists(VALUES, min_size=len(series), max_size=len(series))),
                uptime=draw(st.just(math.nan) | st.floats(0, 1e9)),
                after=draw(st.floats(0, 10)),
                silence=draw(st.sampled_from([reply for reply in Reply if reply is not Reply.OK])),
            )
            written.append((tuple(GroupId(group) for group in groups), scrape))
    return written


NO_SERIES = Layout(series=(), counted=np.zeros(0, dtype=np.bool_))


@given(recordings(), st.booleans())
def test_what_is_written_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, written: list[Tick], closed: bool
) -> None:
    recorded = Recorded(tmp_path_factory.mktemp("any"))

    recorded.write(*written, finish=closed)

    assert not closed or all(name.endswith(".parquet") for name in recorded.files)
    assert list(map(repr, recorded.rows())) == list(map(repr, expected(written)))


def test_groups_and_members_may_be_called_anything(recorded: Recorded) -> None:
    odd = a_layout(("größe", 'a "b", c', "m\n1"), ("größe", 'a "b", c', "日本"), ("größe", "z", ""))

    recorded.write(((GroupId("größe"),), a_scrape(at(0), odd)))

    assert [row[1:4] for row in recorded.rows()] == [(s.group, s.member, s.counter) for s in odd.series]


def test_a_group_that_comes_and_one_that_goes_have_rows_while_they_are_there(recorded: Recorded) -> None:
    one, both = a_layout(("api", "cpu", "a-1")), a_layout(("api", "cpu", "a-1"), ("web", "cpu", "m-1"))
    written = [*ticks(0, layout=one), *ticks(15, 30, layout=both), *ticks(45, layout=a_layout(("web", "cpu", "m-1")))]
    written = [((GroupId("api"), GroupId("web")), scrape) for _, scrape in written]

    recorded.write(*written)

    assert recorded.rows() == expected(written)
    assert [(row[0] - NINE, row[1]) for row in recorded.rows() if row[5] == "nobody"] == [(0, "web"), (45, "api")]


# Hours, restarts and the clock


def test_each_hour_has_a_file_of_its_own(recorded: Recorded) -> None:
    recorded.write(*ticks(3570, 3585, 3600, 3615))

    assert recorded.files == ["2026-03-01/095930-run0-00000000.parquet", "2026-03-01/100000-run0-00000001.parquet"]


def test_a_poll_that_began_in_the_hour_before_goes_where_it_belongs(recorded: Recorded) -> None:
    written = ticks(3590, 3601, 3595, 3605)

    recorded.write(*written)

    assert len(recorded.files) == 2
    assert recorded.rows() == expected(written)


def test_a_restart_goes_on_without_a_seam(recorded: Recorded) -> None:
    first, second = ticks(0, 15, 30), ticks(45, 60)

    recorded.write(*first, finish=False)
    recorded.clock = lambda: at(40)
    _age(recorded, at(35))
    recorded.write(*second)

    assert recorded.rows() == expected([*first, *second])
    assert recorded.events == ["recording_taken_up"]
    assert {name.split("-")[3] for name in recorded.files} == {"run0"}


def _age(recorded: Recorded, when: Moment) -> None:
    """As if the files had been written then."""
    for path in recorded.folder.glob("*/*"):
        os.utime(path, (when.wall, when.wall))


@pytest.mark.parametrize("back", [1.0, 30.0, 3600.0, 86400.0])
def test_a_clock_that_is_set_back_mixes_no_two_times(recorded: Recorded, back: float) -> None:
    layout = a_layout()
    before = [a_scrape(at(second), layout, [1.0, 1.0]) for second in (0, 15, 30)]
    after = [a_scrape(_set_back(at(second), back), layout, [2.0, 2.0]) for second in (45, 60, 75)]

    recorded.write(*(((WEB,), scrape) for scrape in (*before, *after)))

    rows = recorded.rows()
    assert [row[4] for row in rows] == [1.0] * 6 + [2.0] * 6
    assert [row[7] for row in rows] == sorted(row[7] for row in rows)  # type: ignore[type-var]
    assert "recording_clock_set_back" in recorded.events


def _set_back(moment: Moment, seconds: float) -> Moment:
    return at(moment.wall - NINE - seconds, since=NINE).__class__(
        wall=type(moment.wall)(moment.wall - seconds), steady=moment.steady
    )


@pytest.mark.parametrize("ahead", [0.0, 0.01, 3600.0])
def test_a_clock_that_is_set_ahead_or_trimmed_begins_nothing_anew(recorded: Recorded, ahead: float) -> None:
    layout = a_layout()
    later = a_scrape(_set_back(at(15), -ahead), layout)

    recorded.write(
        *ticks(0, layout=layout), ((WEB,), later), ((WEB,), a_scrape(_set_back(at(30), -ahead + 0.02), layout))
    )

    assert "recording_clock_set_back" not in recorded.events


def test_a_clock_that_was_set_back_while_nothing_ran_begins_a_run(recorded: Recorded) -> None:
    recorded.write(*ticks(0, 15))
    _age(recorded, at(20))
    recorded.clock = lambda: at(10)

    recorded.write(*ticks(10))

    assert [name.split("-")[3] for name in recorded.files] == ["run0", "run1"]
    assert [row[0] for row in recorded.rows()] == [at(s).wall for s in (0, 0, 15, 15, 10, 10)]


# Crashes


def test_what_a_crash_left_half_done_is_done_or_undone(recorded: Recorded) -> None:
    written = ticks(0, 15)
    recorded.write(*written, finish=False)
    (log,) = recorded.files
    kept = (recorded.folder / log).read_bytes()
    recorded.write()
    (closed,) = recorded.files
    (recorded.folder / log).write_bytes(kept)  # killed before the log was removed
    (recorded.folder / f"{closed}.draft").write_bytes(b"PAR1 and not much more")
    assert recorded.rows() == expected(written)

    recorded.write()

    assert recorded.files == [closed]
    assert recorded.rows() == expected(written)


def test_a_torn_tick_is_left_out_and_reported(recorded: Recorded) -> None:
    written = ticks(0, 15)
    recorded.write(*written, finish=False)
    path = recorded.folder / recorded.files[0]
    path.write_bytes(path.read_bytes()[:-7])
    damages: list[str] = []

    assert recorded.rows(damages.append) == expected(written[:1])
    assert damages == [f"{recorded.files[0]} ends in the middle of a tick: its last 72 bytes are left out"]

    recorded.write()

    assert recorded.rows() == expected(written[:1])
    assert "recording_damaged" in recorded.events


@pytest.mark.parametrize("damage", [b"", b"no columns at all", b"PAR1" + b"\x00" * 100 + b"PAR1"], ids=repr)
def test_a_damaged_file_costs_no_other(recorded: Recorded, damage: bytes) -> None:
    recorded.write(*ticks(0), *ticks(3600))
    (recorded.folder / recorded.files[0]).write_bytes(damage)
    damages: list[str] = []

    assert recorded.rows(damages.append) == expected(ticks(3600))
    assert len(damages) == 1
    assert damages[0].startswith(f"{recorded.files[0]} is damaged")


def test_a_process_that_is_killed_loses_nothing_that_was_in_the_log(tmp_path: Path) -> None:
    last = -1
    for turn in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.record_forever", str(tmp_path), str(last + 1)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        with process:
            assert process.stdout is not None
            for count, line in enumerate(process.stdout):
                last = int(line)
                if count == 150 + 77 * turn:
                    break
            process.kill()
        seen = _ticks_in(tmp_path)
        assert set(range(last + 1)) <= seen.keys()
        last = max(seen)
    assert {each.form for each in disk.found_in(tmp_path).standing} >= {Form.WHOLE, Form.THIN}


def _ticks_in(folder: Path) -> dict[int, float]:
    """Tick → how many samples of it are there; in a thinned hour, every tick of a stretch has its share."""
    every = joined(read(folder, lambda sentence: None))
    found: dict[int, float] = {}
    for timestamp, resolution, count in zip(
        every.timestamp.tolist(), every.resolution.tolist(), every.count.tolist(), strict=True
    ):
        first = round((timestamp - START) / 60)
        for number in range(first, first + (int(count) if resolution else 1)):
            found[number] = found.get(number, 0) + 1
    assert set(found.values()) == {SERIES}
    return found


# The budget


def test_the_budget_holds_at_every_instant_and_readers_never_miss_a_row(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Recording(budget=6 << 20, whole=3 * 3600.0, then=3600.0))
    layout = a_layout(*(("web", "cpu", f"m-{number:03}") for number in range(100)))
    random = np.random.default_rng(7)
    passed, looked = [0.0], [0]

    def clock() -> Moment:
        """Asked between any two pieces of work: what a crash would leave there now."""
        assert recorded.bytes <= recorded.settings.budget
        looked[0] += 1
        if looked[0] % 5 == 0:
            timestamps = {(rows.timestamp[0], rows.timestamp[-1]) for rows in read(tmp_path)}
            assert all(first <= last for first, last in timestamps)
        return at(passed[0])

    recorded.clock = clock
    for part in range(12):
        intake = RecordingIntake()
        for number in range(120):
            passed[0] = (part * 120 + number) * 60.0
            intake.put((WEB,), a_scrape(at(passed[0]), layout, random.random(100).tolist()))
        _age(recorded, at(part * 120 * 60.0))
        recorded.drain(intake)
        assert recorded.writer is not None
        assert recorded.writer.facts.lost == 0

    forms = {each.form for each in disk.found_in(tmp_path).standing}
    assert forms == {Form.WHOLE, Form.THIN}
    assert looked[0] > 40


def test_a_backlog_that_is_larger_than_the_budget_is_written_all_the_same(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Recording(budget=2 << 20), clock=lambda: at(24 * HOUR))
    layout = a_layout(*(("web", "cpu", f"m-{number:03}") for number in range(100)))
    random = np.random.default_rng(5)

    writer = recorded.write(
        *(((WEB,), a_scrape(at(n * 60.0), layout, random.random(100).tolist())) for n in range(1200))
    )

    assert writer.facts.lost == 0
    assert recorded.bytes <= recorded.settings.budget
    assert max(each.hour * HOUR - NINE for each in disk.found_in(tmp_path).standing) == 19 * HOUR


def test_what_is_over_the_budget_goes_oldest_first(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Recording(budget=1 << 20, then=60.0), clock=lambda: at(10 * HOUR))
    layout = a_layout(*(("web", "cpu", f"m-{number:03}") for number in range(100)))
    random = np.random.default_rng(3)
    for hour in range(10):
        written = [
            ((WEB,), a_scrape(at(hour * HOUR + n * 30.0), layout, random.random(100).tolist())) for n in range(120)
        ]
        recorded.write(*written)
        _age(recorded, at(hour * HOUR))
        assert recorded.bytes <= recorded.settings.budget

    hours = [each.hour * HOUR - NINE for each in disk.found_in(tmp_path).standing]
    assert max(hours) == 9 * HOUR
    assert hours == sorted(hours)
    assert min(hours) > 0
    assert "recording_removed" in recorded.events


def test_a_whole_hour_that_is_old_becomes_rows_of_five_minutes(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Recording(whole=3600.0), clock=lambda: at(3 * HOUR))
    layout = a_layout(("web", "cpu", "m-1"))
    values = [float(number % 7) for number in range(120)]

    recorded.write(*(((WEB,), a_scrape(at(n * 30.0), layout, [value])) for n, value in enumerate(values)))

    assert recorded.files == ["2026-03-01/090000-run0-00000000-5m.parquet"]
    (rows,) = read(tmp_path)
    assert rows.timestamp.tolist() == [NINE + 300 * stretch for stretch in range(12)]
    assert rows.count.tolist() == [10.0] * 12
    assert rows.value.tolist() == pytest.approx([sum(values[n : n + 10]) / 10 for n in range(0, 120, 10)])
    assert rows.minimum.tolist() == [min(values[n : n + 10]) for n in range(0, 120, 10)]
    assert rows.maximum.tolist() == [max(values[n : n + 10]) for n in range(0, 120, 10)]


# The disk


def failing(*, at_write: int) -> Callable[[int, bytes], int]:
    """`os.write` of a disk that is full for one write, after having taken half of it."""
    real, count = os.write, [0]

    def write(handle: int, data: bytes) -> int:
        count[0] += 1
        if count[0] == at_write:
            real(handle, bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    return write


def test_a_full_disk_costs_the_ticks_of_that_time_and_no_other(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = ticks(0, 15, 30, 45)
    monkeypatch.setattr("os.write", failing(at_write=3))  # the log's mark, the first tick, the second

    writer = recorded.write(*written)

    assert recorded.rows() == expected([written[0], *written[2:]])
    assert writer.facts.lost == 1
    assert [event for event in recorded.events if event != "recording_damaged"] == [
        "recording_failed",
        "recording_works_again",
    ]


def test_the_last_of_a_disk_is_left_to_others(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    little = os.statvfs_result((4096, 4096, 10**6, 1000, 1000, 10**6, 10**6, 10**6, 0, 255))
    monkeypatch.setattr("os.statvfs", lambda _: little)

    writer = recorded.write(*ticks(0, 15))

    assert writer.facts.lost == 2
    assert recorded.rows() == []
    assert recorded.events == ["recording_failed"]


def test_a_folder_that_cannot_be_used_is_reported_and_waited_for(tmp_path: Path) -> None:
    (tmp_path / "recording").write_text("in the way")
    recorded = Recorded(tmp_path / "recording")

    writer = recorded.write(*ticks(0))

    assert writer.facts.lost == 1
    assert writer.facts.trouble is not None


def test_files_are_their_owners_alone(recorded: Recorded) -> None:
    recorded.write(*ticks(0), finish=False)
    assert {(recorded.folder / name).stat().st_mode & 0o777 for name in recorded.files} == {0o600}

    recorded.write()
    assert {(recorded.folder / name).stat().st_mode & 0o777 for name in recorded.files} == {0o600}
    assert recorded.folder.stat().st_mode & 0o777 == 0o700


def test_ticks_that_the_queue_had_no_room_for_are_marked(recorded: Recorded) -> None:
    intake, layout = RecordingIntake(samples_at_most=4), a_layout()
    kept = [intake.put((WEB,), a_scrape(at(second), layout)) for second in (0, 15, 30)]

    recorded.drain(intake)

    assert kept == [True, True, False]
    assert intake.dropped == 1
    assert [(row[0] - NINE, row[5]) for row in recorded.rows()][-2:] == [(15, "ok"), (30, "missed")]  # type: ignore[operator]


def test_a_segment_knows_its_hour() -> None:
    assert Segment(run=0, first=int(NINE) + 5, number=0, form=Form.LOG).until == NINE + HOUR


def test_files_that_a_person_removes_keep_none_of_the_others_from_being_thinned(recorded: Recorded) -> None:
    recorded.settings = Recording(budget=1 << 30, whole=HOUR, then=300.0)
    recorded.write(*ticks(*(hour * HOUR + second for hour in range(3) for second in (0, 15))))
    intake = RecordingIntake()
    recorded.clock = lambda: at(6 * HOUR)
    writer = RecordingWriter(recorded.folder, intake, recorded.settings, clock=recorded.clock, say=recorded.say)
    assert writer._took_up()
    (recorded.folder / recorded.files[0]).unlink()

    while writer._work():
        pass

    assert [name[11:13] for name in recorded.files] == ["10", "11"]
    assert all(name.endswith("-5m.parquet") for name in recorded.files)
    assert sum(size for _, size in writer._sizes.items()) == recorded.bytes
