from __future__ import annotations

from pathlib import Path

import pytest

from handler.replay.reading import ReplaySpan, read_series
from handler.replay.samples import Unreplayable
from handler.replay.scrapes import Poll, alike, cohort_of, polls_of, ticks_by_group
from handler.replay.ticks import Ticks
from tests.support.replay import START, WEB, Row, declared, flat, written


def ticks_in(path: Path) -> Ticks:
    catalogue = declared()
    samples, _ = read_series(path, catalogue, (WEB,), ReplaySpan())
    return ticks_by_group(catalogue, samples)[WEB]


def polls_in(path: Path) -> list[Poll]:
    catalogue = declared()
    samples, _ = read_series(path, catalogue, (WEB,), ReplaySpan())
    (together,) = alike(catalogue, ticks_by_group(catalogue, samples), 1)
    return list(polls_of(cohort_of(*together)))


def polled(path: Path) -> list[tuple[float, list[float]]]:
    return [(poll.scrape.at.wall - START, poll.scrape.value.tolist()) for poll in polls_in(path)]


CASES: dict[str, tuple[list[Row], list[tuple[float, list[float]]]]] = {
    "rows of one instant are one poll": (
        [(0, "a", 1), (0, "b", 2), (30, "a", 3), (30, "b", 4)],
        [(0, [1, 2]), (30, [3, 4])],
    ),
    "members asked one after another are one poll": (
        [(0, "a", 1), (9, "b", 2), (30, "a", 3), (39, "b", 4)],
        [(0, [1, 2]), (30, [3, 4])],
    ),
    "a poll that comes early begins when a series repeats itself": (
        [(0, "a", 1), (9, "b", 2), (26, "a", 3), (35, "b", 4)],
        [(0, [1, 2]), (26, [3, 4])],
    ),
    "of a finer series the first row of each interval counts": (
        [(at, "a", at) for at in range(0, 90, 10)],
        [(0, [0]), (30, [30]), (60, [60])],
    ),
    "an instant without rows is no poll": (
        [(0, "a", 1), (90, "a", 2)],
        [(0, [1]), (90, [2])],
    ),
    "a row said twice is one row": (
        [(0, "a", 1), (0, "a", 1)],
        [(0, [1])],
    ),
}


@pytest.mark.parametrize(("rows", "expected"), CASES.values(), ids=CASES.keys())
def test_rows_become_polls(rows: list[Row], expected: list[tuple[float, list[float]]], tmp_path: Path) -> None:
    assert polled(written(tmp_path / "s.csv", rows)) == expected


def test_two_readings_of_one_series_and_instant_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreplayable, match=r"web a cpu has two different readings at 1767225600\.000; expected one"):
        ticks_in(written(tmp_path / "s.csv", [(0, "a", 1), (0, "a", 2)]))


def test_the_layout_is_the_same_object_until_a_member_comes_or_goes(tmp_path: Path) -> None:
    rows = [*flat(1, 3, members=2), *flat(1, 2, members=3, since=3)]

    layouts = [poll.scrape.layout for poll in polls_in(written(tmp_path / "s.csv", rows))]

    assert layouts[0] is layouts[2]
    assert layouts[3] is layouts[4] is not layouts[0]
    assert [len(layout.series) for layout in layouts] == [2, 2, 2, 3, 3]


@pytest.mark.parametrize(("step", "coarser"), [(30, False), (40, False), (60, True)])
def test_a_series_may_be_too_coarse_for_an_interval(step: int, coarser: bool, tmp_path: Path) -> None:
    rows: list[Row] = [(step * tick, "a", 1) for tick in range(4)]

    assert ticks_in(written(tmp_path / "s.csv", rows)).coarser_than(30.0) is coarser
