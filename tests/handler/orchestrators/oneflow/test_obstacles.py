from __future__ import annotations

from collections.abc import Sequence

import pytest

from handler.orchestrators.oneflow.obstacles import in_the_way
from handler.orchestrators.oneflow.parsing import STATES, Service, service_of
from handler.orchestrators.opennebula.parsing import OpennebulaMachine
from tests.support.opennebula_wire import ACTIVE, POWEROFF

RUNS = (ACTIVE, 3)


def a_service(state: str, *nodes: int, complaint: str = "") -> Service:
    listed = [{"deploy_id": node} for node in nodes]
    log = [{"severity": "E", "message": complaint}] if complaint else []
    roles = [{"name": "web", "cardinality": len(nodes), "nodes": listed}]
    body = {"state": STATES.index(state), "roles": roles, "log": log}
    service = service_of({"DOCUMENT": {"ID": "3", "NAME": "shop", "UNAME": "fleet", "TEMPLATE": {"BODY": body}}})
    assert service is not None
    return service


def machines(*states: tuple[int, int]) -> Sequence[OpennebulaMachine]:
    """Nodes 1, 2, …; and a foreign one that is off."""
    return [
        OpennebulaMachine(
            id=number, name=str(number), user="fleet", mark="", given="", complaint="", order="", state=state, lcm=lcm,
            nics=(), cluster=None, created_at=0.0,
        )
        for number, (state, lcm) in enumerate([*states, (POWEROFF, 0)], 1)
    ]  # fmt: skip


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "DEPLOYING", "DEPLOYING_NETS", "SCALING", "COOLDOWN"])
def test_what_scales_or_will_by_itself_is_in_no_ones_way(state: str) -> None:
    assert in_the_way(a_service(state, 1), machines((POWEROFF, 0))) == ""


@pytest.mark.parametrize(
    ("service", "states", "message"),
    [
        pytest.param(
            a_service("WARNING", 1, 2, 3),
            [RUNS, (POWEROFF, 0), (ACTIVE, 16)],
            "it waits for nodes 2 (POWEROFF), 3 (UNKNOWN). Members are replaced; start those that are not members",
            id="nodes that do not run",
        ),
        pytest.param(
            a_service("WARNING", 1),
            [RUNS],
            "they do run; if the service stays so, restart OneFlow's server (systemctl restart opennebula-flow)",
            id="no node is off",
        ),
        pytest.param(
            a_service("FAILED_SCALING", 1, complaint="quota"),
            [(ACTIVE, 36)],
            "it waits for node 1 (BOOT_FAILURE): the next creation has it recover, or do it now: oneflow recover 3",
            id="a node that failed",
        ),
        pytest.param(
            a_service("FAILED_SCALING", 1, complaint="limit of 4"), [RUNS], "limit of 4: the next creation", id="log"
        ),
        pytest.param(
            a_service("FAILED_SCALING", 1), [RUNS], "its log has no error: the next creation", id="no word why"
        ),
        pytest.param(
            a_service("FAILED_DEPLOYING", 1), [RUNS], "does not scale: its log has no error: oneflow rec", id="born"
        ),
        pytest.param(a_service("HOLD"), [], "oneflow release 3", id="held"),
        pytest.param(a_service("FAILED_UNDEPLOYING"), [], "name another service in the profile", id="taken down"),
        pytest.param(
            a_service("WARNING", *range(1, 9)),
            [(POWEROFF, 0)] * 8,
            "4 (POWEROFF), 5 (POWEROFF), …. Members",
            id="very many",
        ),
    ],
)
def test_an_obstacle_says_what_is_waited_for_and_what_to_do(
    service: Service, states: Sequence[tuple[int, int]], message: str
) -> None:
    obstacle = in_the_way(service, machines(*states))

    assert obstacle.startswith(f"it is {service.state}, and ") or "being removed" in obstacle
    assert message in obstacle


@pytest.mark.parametrize("state", STATES)
def test_no_state_but_those_that_pass_is_left_without_a_word(state: str) -> None:
    passes = state in {"RUNNING", "PENDING", "DEPLOYING", "DEPLOYING_NETS", "SCALING", "COOLDOWN"}

    assert (in_the_way(a_service(state), []) == "") == passes
