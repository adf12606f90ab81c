from __future__ import annotations

import time
from pathlib import Path

import pytest

from config.units import Instant
from handler.operations.examining import asked
from tests.support.examined import OK, PROBLEM
from tests.support.netscaler_stage import netscaler_stage


@pytest.mark.parametrize(("ahead", "verdict"), [(0.0, OK), (-90.0, PROBLEM)], ids=["our clock", "another clock"])
def test_an_appliance_tells_its_version_and_what_time_it_is(tmp_path: Path, ahead: float, verdict: object) -> None:
    with netscaler_stage(tmp_path) as stage:
        stage.now = Instant(time.time() + ahead)
        version, clock = asked(stage.driver().checks("ns"), 10.0)

    assert version.words == "NetScaler NS13.1: Build 48.47.nc"
    assert clock.verdict is verdict


def test_a_refused_password_is_reported_with_what_to_do(tmp_path: Path) -> None:
    with netscaler_stage(tmp_path) as stage:
        stage.password = "another"
        version, clock = asked(stage.driver().checks("ns"), 10.0)

    assert {version.verdict, clock.verdict} == {PROBLEM}
    assert version.remedy == "correct user and password in the file"
    assert "another" not in version.words
