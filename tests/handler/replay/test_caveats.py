from __future__ import annotations

from pathlib import Path

import pytest

from config.units import GroupId
from handler.replay.caveats import caveats_of_series
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.scrapes import ticks_by_group
from tests.support.replay import WEB, Row, declared, flat, written

CASES: dict[str, tuple[list[Row], str]] = {
    "too coarse": (
        [(90 * tick, "a", 1) for tick in range(4)],
        "web: its readings are 1m30s apart, and its interval is 30s",
    ),
    "never answered": (flat(None, 3), "web: the series has no value of cpu, so policies that read it are blind"),
    "no members": ([(0, None, 5)], "web: the series names no members"),
}


def caveats(path: Path, *groups: str) -> list[str]:
    catalogue = declared(("  web: {", "  api: {profile: web, min: 1, max: 3, mode: off}\n  web: {"))
    samples, _ = read_series(path, catalogue, tuple(catalogue.groups), ReplaySpan())
    return list(caveats_of_series(catalogue, [GroupId(group) for group in groups], ticks_by_group(catalogue, samples)))


@pytest.mark.parametrize(("rows", "beginning"), CASES.values(), ids=CASES.keys())
def test_a_gap_of_a_series_is_reported_once(rows: list[Row], beginning: str, tmp_path: Path) -> None:
    (caveat,) = caveats(written(tmp_path / "s.csv", rows), WEB)

    assert caveat.startswith(beginning)


def test_a_series_that_has_everything_has_no_caveat(tmp_path: Path) -> None:
    assert caveats(written(tmp_path / "s.csv", flat(5, 3)), WEB) == []


def test_a_group_that_is_off_is_named(tmp_path: Path) -> None:
    assert caveats(written(tmp_path / "s.csv", flat(5, 3)), "api") == ["api: mode off, so there are no decisions"]
