from __future__ import annotations

from collections.abc import Iterator

import pytest

from handler.operations.examining import asked
from handler.ports.examination import Look
from tests.support.examined import OK, PROBLEM, UNKNOWN
from tests.support.octavia_stage import OctaviaStage, octavia_stage


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OctaviaStage]:
    with octavia_stage(tmp_path_factory.mktemp("o")) as stage:
        yield stage


def looks(stage: OctaviaStage, **fields: object) -> dict[str, Look]:
    checks = stage.driver(**fields).checks("lb")
    return {check.what: look for check, look in zip(checks, asked(checks, 10.0), strict=True)}


def test_an_octavia_in_order_is_found_in_order(stage: OctaviaStage) -> None:
    found = looks(stage)

    assert found["version"].words.startswith("Octavia 2.")
    assert found["state"].words == "pool and load balancer take changes"
    assert {look.verdict for look in found.values()} <= {OK, UNKNOWN}


def test_a_pool_that_is_being_changed_is_no_problem(stage: OctaviaStage) -> None:
    stage.pool.status = "PENDING_UPDATE"

    assert looks(stage)["state"].verdict is UNKNOWN


def test_a_pool_in_error_is_reported_with_how_to_correct_it(stage: OctaviaStage) -> None:
    stage.pool.status = "ERROR"

    state = looks(stage)["state"]

    assert (state.verdict, state.remedy) == (PROBLEM, "have it failed over, or make it anew")
    assert state.words.endswith("the pool is in ERROR and takes no changes")


@pytest.mark.parametrize(
    ("fields", "words", "remedy"),
    [
        pytest.param({"pool": "nix"}, "no pool that the project can see is called 'nix'", "pool list", id="by name"),
        pytest.param(
            {"pool": "00000000-0000-0000-0000-000000000000"}, "there is no such pool", "pool list", id="by id"
        ),
        pytest.param(
            {"pool": None, "load_balancer": "nix"},
            "no load balancer that the project can see is called 'nix'",
            "`openstack loadbalancer list`",
            id="load balancer",
        ),
    ],
)
def test_what_is_not_there_is_reported_with_where_to_look(
    stage: OctaviaStage, fields: dict[str, object], words: str, remedy: str
) -> None:
    state = looks(stage, **fields)["state"]

    assert words in state.words
    assert remedy in state.remedy
