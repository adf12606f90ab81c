from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from config.model.catalogue import OneflowRecipe
from config.units import Instant
from tests.support.examined import OK, PROBLEM, looks, verdicts
from tests.support.oneflow_stage import OneflowStage, oneflow_stage

RECIPE = OneflowRecipe(service="web", role="node")


@pytest.fixture
def stage() -> Iterator[OneflowStage]:
    with oneflow_stage(clock=lambda: Instant(time.time())) as stage:
        yield stage


def test_a_role_in_order_is_found_in_order(stage: OneflowStage) -> None:
    stage.driver().create(stage.launch())
    found = looks(stage.driver(), RECIPE, OneflowRecipe(service="4", role="node"))

    assert {verdict for each in verdicts(found).values() for verdict in each} == {OK}
    assert [look.words for look in found["service"]] == ["service web is 3", "service 4 is there"]
    assert {"version", "clock", "quota", "OneFlow", "role", "nodes"} <= found.keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"elasticity_policies": [{"type": "CHANGE"}]}, "1 policies of its own", id="policies"),
        pytest.param({"scheduled_policies": [{"type": "CHANGE"}]}, "1 policies of its own", id="schedules"),
        pytest.param({"min_vms": 2}, "min_vms 2", id="least"),
        pytest.param({"cooldown": 300}, "a cooldown of 300 s", id="cooldown"),
    ],
)
def test_what_would_fight_is_named_with_the_way_to_correct_it(
    stage: OneflowStage, changes: Mapping[str, Any], message: str
) -> None:
    stage.flow.role(3, "node").update(changes)
    found = looks(stage.driver(), RECIPE)

    assert [each for each, seen in verdicts(found).items() if PROBLEM in seen] == ["role"]
    assert message in found["role"][0].words
    assert "oneflow update 3" in found["role"][0].remedy


def test_a_service_of_another_owner_is_a_problem(stage: OneflowStage) -> None:
    stage.flow.owners[3] = "other"
    found = looks(stage.driver(), OneflowRecipe(service="3", role="node"))

    assert verdicts(found)["service"] == [PROBLEM]
    assert "oneflow chown 3 fleet" in found["service"][0].remedy


@pytest.mark.parametrize(
    ("changes", "message"), [({"automatic_deletion": True}, "is deleted when"), ({"state": 4}, "is WARNING")]
)
def test_a_service_that_goes_or_does_not_scale_is_a_problem(
    stage: OneflowStage, changes: Mapping[str, Any], message: str
) -> None:
    stage.flow.services[3].update(changes)
    found = looks(stage.driver(), RECIPE)

    assert verdicts(found)["service"] == [PROBLEM]
    assert message in found["service"][0].words


def test_nodes_that_are_no_members_are_named(stage: OneflowStage) -> None:
    own = stage.flow.service("old", "node", nodes=2)
    found = looks(stage.driver(), OneflowRecipe(service="old", role="node"))

    assert verdicts(found)["nodes"] == [PROBLEM]
    assert all(str(node) in found["nodes"][0].words for node in stage.flow.nodes(own, "node"))
    assert "member adopt" in found["nodes"][0].remedy


@pytest.mark.parametrize(
    ("recipe", "what"),
    [
        pytest.param(OneflowRecipe(service="nix", role="node"), ["service", "role", "nodes"], id="service"),
        pytest.param(OneflowRecipe(service="web", role="nix"), ["role", "nodes"], id="role"),
    ],
)
def test_what_a_profile_names_and_is_not_there_is_a_problem(
    stage: OneflowStage, recipe: OneflowRecipe, what: list[str]
) -> None:
    found = verdicts(looks(stage.driver(), recipe))

    assert [each for each, seen in found.items() if PROBLEM in seen] == what


def test_a_wrong_password_is_reported_and_never_shown(stage: OneflowStage) -> None:
    stage.secrets["PASSWORD"] = "not it"
    found = looks(stage.driver(), RECIPE)

    assert verdicts(found)["OneFlow"] == [PROBLEM]
    assert not any("not it" in look.words + look.remedy for each in found.values() for look in each)
