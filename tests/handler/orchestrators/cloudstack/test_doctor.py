from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from config.units import Instant
from tests.support.cloudstack import CloudstackStage, a_machine_recipe, cloudstack_stage
from tests.support.cloudstack_wire import SECRET
from tests.support.examined import OK, PROBLEM, UNKNOWN, looks, verdicts

NOWHERE = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def stage() -> Iterator[CloudstackStage]:
    with cloudstack_stage(clock=lambda: Instant(time.time())) as stage:
        yield stage


def test_an_account_in_order_is_found_in_order(stage: CloudstackStage) -> None:
    stage.wire.quota = 20
    for name in ("a", "b", "c"):
        stage.foreign_member(name)
    found = looks(stage.driver(), a_machine_recipe(affinity_groups=("apart",)))

    assert {verdict for each in verdicts(found).values() for verdict in each} == {OK}
    assert found["version"][0].words == "CloudStack 4.22.0.0"
    assert found["quota"][0].words == "machines 3 of 20, cores 6 without a limit"
    assert set(found) == {"version", "clock", "quota", "zone", "template", "offering", "network", "affinity group"}


@pytest.mark.parametrize(
    ("fields", "what", "words"),
    [
        pytest.param({"template": "nix"}, "template", "called 'nix'", id="name"),
        pytest.param({"template": NOWHERE}, "template", NOWHERE, id="id"),
        pytest.param({"offering": "huge"}, "offering", "called 'huge'", id="offering"),
        pytest.param({"networks": ("tier", "gone")}, "network", "called 'gone'", id="one network of two"),
    ],
)
def test_what_a_profile_names_and_is_not_there_is_a_problem_of_its_own(
    stage: CloudstackStage, fields: dict[str, object], what: str, words: str
) -> None:
    found = looks(stage.driver(), a_machine_recipe(**fields))

    assert [each for each, seen in verdicts(found).items() if PROBLEM in seen] == [what]
    assert words in found[what][-1].words
    assert "in the profile" in found[what][-1].remedy
    assert what == "zone" or found[what][-1].remedy.startswith(f"put the {what} back")
    assert found[what][-1].remedy not in found[what][-1].words


def test_without_its_zone_nothing_in_it_is_looked_for(stage: CloudstackStage) -> None:
    found = verdicts(looks(stage.driver(), a_machine_recipe(zone="moon")))

    assert (found["zone"], found["template"], found["network"]) == ([PROBLEM], [UNKNOWN], [UNKNOWN])
    assert found["offering"] == [OK]


def test_groups_that_may_outgrow_the_account_are_reported(stage: CloudstackStage) -> None:
    stage.wire.quota = 17
    (quota,) = looks(stage.driver(), most=18)["quota"]

    assert quota.words.startswith("there is room for 17 more machines, and groups may want 18")


def test_wrong_keys_are_reported_check_by_check_and_never_shown(stage: CloudstackStage) -> None:
    stage.secrets["SECRET"] = "not it"
    found = looks(stage.driver(), a_machine_recipe())

    assert (verdicts(found)["quota"], verdicts(found)["clock"]) == ([PROBLEM], [OK])
    assert found["quota"][0].remedy == "check the credentials, and what they may do"
    assert found["template"][0].remedy == "check the credentials, and what they may do"
    assert not [each for look in found.values() for each in look if "not it" in str(each) or SECRET in str(each)]


def test_nothing_is_changed(stage: CloudstackStage) -> None:
    looks(stage.driver(), a_machine_recipe())

    assert {command for command, _ in stage.wire.calls if not command.startswith("list")} == set()


def test_a_clock_that_is_wrong_is_reported() -> None:
    with cloudstack_stage(clock=lambda: Instant(time.time() + 90.0)) as stage:
        (clock,) = looks(stage.driver())["clock"]

    assert (clock.verdict, "s behind ours" in clock.words) == (PROBLEM, True)


def test_a_cloud_that_is_not_there_is_not_reached() -> None:
    with cloudstack_stage(clock=lambda: Instant(time.time())) as stage:
        driver = stage.driver()
    found = looks(driver, a_machine_recipe())

    assert {verdict for each in verdicts(found).values() for verdict in each} == {PROBLEM}
    assert "can be reached from here" in found["clock"][0].remedy
