from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.errors import Refused
from handler.demo.fleet import begin, end
from handler.orchestrators.process.driver import ProcessOrchestrator
from handler.runtime.directory import StateDirectory
from tests.support.orchestrators import ProcessStage, bearing, pid_of, process_stage
from tests.support.waiting import until

DECLARED = """
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [sleep, "60"]}}
groups: {web: {profile: web, min: 1, max: 2}}
"""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ProcessStage]:
    with process_stage(tmp_path) as stage:
        (tmp_path / stage.here).mkdir()
        yield stage


@pytest.fixture
def state(stage: ProcessStage) -> Path:
    """A demo's state directory, with a store."""
    directory = stage.directory / stage.here
    (directory / "installation").write_text(stage.here)
    (directory / "demo.yaml").write_text(DECLARED)
    (directory / "trimtab.sqlite").write_text("a store")
    return directory


def a_member(stage: ProcessStage) -> int:
    driver: ProcessOrchestrator = stage.driver()
    return pid_of(driver.create(stage.launch()))


def test_a_fleet_that_lives_is_kept(stage: ProcessStage, state: Path) -> None:
    pid = a_member(stage)

    assert begin(DECLARED, state / "demo.yaml", state)

    assert (state / "trimtab.sqlite").exists()
    assert pid in bearing(f"TRIMTAB_INSTALLATION={stage.here}")


def test_a_fleet_without_a_living_member_is_forgotten(state: Path) -> None:
    assert not begin(DECLARED, state / "demo.yaml", state)

    assert not (state / "trimtab.sqlite").exists()
    assert (state / "installation").exists()


def test_a_fleet_that_was_declared_otherwise_is_ended_and_forgotten(stage: ProcessStage, state: Path) -> None:
    a_member(stage)

    begin(DECLARED.replace("max: 2", "max: 3"), state / "demo.yaml", state)

    until(lambda: not bearing(f"TRIMTAB_INSTALLATION={stage.here}"))
    assert not (state / "trimtab.sqlite").exists()
    assert "max: 3" in (state / "demo.yaml").read_text()


def test_a_second_demo_of_the_same_directory_is_refused_and_changes_nothing(state: Path) -> None:
    first = StateDirectory(state)
    first.hold()
    try:
        with pytest.raises(Refused, match="one daemon at a time"):
            begin("another", state / "demo.yaml", state)
    finally:
        first.release()

    assert (state / "demo.yaml").read_text() == DECLARED
    assert (state / "trimtab.sqlite").exists()


def test_the_end_of_a_demo_leaves_no_member(stage: ProcessStage, state: Path) -> None:
    a_member(stage)

    end(state / "demo.yaml", state)

    assert stage.driver().list(stage.launch().id.group).servers == ()
