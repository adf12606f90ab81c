from __future__ import annotations

from pathlib import Path

import pytest

from config.model.catalogue import Catalogue
from config.units import GroupId
from handler.replay.caveats import caveats_of_series
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.running import shared_runs
from handler.replay.scrapes import alike, ticks_by_group
from tests.support.replay import HEADER, START, STEP, Row, decided, declared, flat, moves, runs_of

GROUP = "  web: {profile: web, min: 2, max: 6, interval: 30s, policies: [out, in]"


def shop(interval: str = "30s") -> Catalogue:
    """Groups `db` and `web` of one service."""
    other = GROUP.replace("web:", "db:").replace("30s", interval)
    return declared((GROUP, f"{other}, service: shop}}\n{GROUP}, service: shop"))


def series(path: Path, **groups: list[Row]) -> Path:
    lines = [
        f"{START + at},{group},{member or ''},cpu,{value}"
        for group, rows in groups.items()
        for at, member, value in rows
    ]
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def grown(tick: int, ticks: int = 8) -> list[Row]:
    """Two members, and from this tick on three; all of them busy."""
    return [*flat(90, tick), *flat(90, ticks - tick, members=3, since=tick)]


@pytest.mark.parametrize("processes", [1, 2])
def test_groups_of_a_service_take_turns_on_the_virtual_clock_too(tmp_path: Path, processes: int) -> None:
    path = series(tmp_path / "s.csv", db=grown(5), web=grown(6))
    db, web = runs_of(path, shop(), processes=processes)
    assert moves(db.lines) == [(0, 2), (60, 3)]
    assert moves(web.lines) == [(0, 2), (150, 3)]
    assert (60, "refused", "waiting_turn", 2) in decided(web)


def test_a_model_of_the_fleet_takes_turns_as_well(tmp_path: Path) -> None:
    path, catalogue = series(tmp_path / "s.csv", db=grown(8), web=grown(8)), shop()
    samples, _ = read_series(path, catalogue, tuple(catalogue.groups), ReplaySpan())
    db, web = shared_runs(catalogue, ticks_by_group(catalogue, samples), {}, 2.0 * STEP)
    assert moves(db.lines) == [(0, 2), (60, 3)]
    assert moves(web.lines) == [(0, 2), (120, 3)]


def test_those_of_a_service_stay_in_one_process(tmp_path: Path) -> None:
    path, catalogue = series(tmp_path / "s.csv", db=grown(5), web=grown(6)), shop()
    samples, _ = read_series(path, catalogue, tuple(catalogue.groups), ReplaySpan())
    assert [list(groups) for _, groups in alike(catalogue, ticks_by_group(catalogue, samples), 4)] == [["db", "web"]]


def test_a_peer_that_is_missing_for_a_turn_is_named(tmp_path: Path) -> None:
    catalogue = shop()
    samples, _ = read_series(series(tmp_path / "s.csv", web=grown(6)), catalogue, tuple(catalogue.groups), ReplaySpan())
    caveats = list(caveats_of_series(catalogue, [GroupId("web")], ticks_by_group(catalogue, samples)))
    assert any(
        caveat.startswith("web: takes turns in the service shop with db, which the series") for caveat in caveats
    )
