from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from config.units import Instant
from tests.support.examined import OK, PROBLEM, looks, verdicts
from tests.support.opennebula import OpennebulaStage, a_template_recipe, opennebula_stage
from tests.support.opennebula_wire import PASSWORD


@pytest.fixture
def stage() -> Iterator[OpennebulaStage]:
    with opennebula_stage(clock=lambda: Instant(time.time())) as stage:
        yield stage


def test_a_user_in_order_is_found_in_order(stage: OpennebulaStage) -> None:
    stage.wire.quota = 20
    stage.wire.add("another")
    found = looks(stage.driver(), a_template_recipe(), a_template_recipe(template="3", networks=("1",)))

    assert {verdict for each in verdicts(found).values() for verdict in each} == {OK}
    assert found["version"][0].words == "OpenNebula 7.4.0"
    assert found["quota"][0].words.startswith("machines 1 of 20, ")
    assert found["quota of the user's group"][0].words.startswith("machines 1 without a limit")
    assert [look.words for look in found["template"]] == ["template web is 3", "template 3 is there"]


def test_either_quota_can_be_in_the_way(stage: OpennebulaStage) -> None:
    stage.wire.quota, stage.wire.group_quota = 4, 3
    found = verdicts(looks(stage.driver(), most=4))

    assert (found["quota"], found["quota of the user's group"]) == ([OK], [PROBLEM])


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        pytest.param({"template": "nix"}, "template", id="name"),
        pytest.param({"template": "44"}, "template", id="id"),
        pytest.param({"networks": ("tier", "44")}, "network", id="one network of two"),
    ],
)
def test_what_a_profile_names_and_is_not_there_is_a_problem_of_its_own(
    stage: OpennebulaStage, fields: dict[str, object], what: str
) -> None:
    found = looks(stage.driver(), a_template_recipe(**fields))

    assert [each for each, seen in verdicts(found).items() if PROBLEM in seen] == [what]
    assert found[what][-1].remedy == f"put the {what} back, or name another in the profile"


def test_a_wrong_password_is_reported_and_never_shown(stage: OpennebulaStage) -> None:
    stage.secrets["PASSWORD"] = "not it"
    found = looks(stage.driver(), a_template_recipe())

    assert (verdicts(found)["version"], verdicts(found)["clock"]) == ([PROBLEM], [OK])
    assert not [each for look in found.values() for each in look if "not it" in str(each) or PASSWORD in str(each)]


def test_nothing_is_changed(stage: OpennebulaStage) -> None:
    looks(stage.driver(), a_template_recipe())

    assert not [method for method, _ in stage.wire.calls if not method.endswith(("info", "infoextended", "version"))]
