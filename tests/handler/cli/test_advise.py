"""`trimtab advise`, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handler.command import app
from tests.support.replay import MODEL, flat, written
from tests.support.tuning import SHARED


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("web.yaml").write_text(SHARED)
    written(Path("series.csv"), [*flat(50, 60), *flat(90, 60, since=60)])


def advised(*words: str) -> Result:
    return CliRunner().invoke(app, ["advise", "web.yaml", "--series", "series.csv", *words])


def test_people_see_each_fleet_and_programs_the_same_figures() -> None:
    shown, (advice,) = advised("web"), [json.loads(line) for line in advised("web", "--json").stdout.splitlines()]

    rows = {line.split()[0]: line.split() for line in shown.stdout.splitlines()[2:]}
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[0] == "web: the last 1h; over: cpu (avg) above 80"
    assert list(rows) == list(advice["fleets"]) == ["recorded", "present", "forecast", "optimum"]
    assert advice["fleets"]["recorded"]["over_minutes"] == 30.0
    for name, figures in advice["fleets"].items():
        assert rows[name][1:3] == [f"{figures['member_hours']:,.1f}", f"{figures['cost']:.3f}"]
    assert "web: a member serves 1m after it is ordered (--boot)" in shown.stderr


def test_figures_and_pictures_are_written() -> None:
    done = advised("--out", "fleets.csv", "--out", "fleets.svg", "--out", "fleets.png")

    assert done.exit_code == 0
    assert Path("fleets.csv").read_text().splitlines()[0].startswith("group,fleet,member_hours,cost")
    assert len(Path("fleets.csv").read_text().splitlines()) == 5
    assert Path("fleets.svg").read_text().startswith("<svg ")
    assert Path("fleets.png").read_bytes().startswith(b"\x89PNG")


def test_a_group_whose_counters_are_not_known_at_another_size_is_refused() -> None:
    Path("web.yaml").write_text(MODEL)

    done = advised("web")

    assert done.exit_code == 1
    assert "it is not known what cpu would have been at another size" in done.stderr
