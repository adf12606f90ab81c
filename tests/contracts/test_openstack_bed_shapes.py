"""What our own OpenStack answers has the shape of what a real one answers: every key, with a value of the same kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import OpenstackIds
from collector.clients.openstack.session import COMPUTE, IMAGE, LOAD_BALANCER, NETWORK
from config.units import CloudId
from handler.orchestrators.openstack.parsing import mark_of
from handler.orchestrators.openstack.request import request_of
from handler.planning.launches import LaunchId
from tests.support.openstack import OpenstackStage, an_access, openstack_stage
from tests.support.openstack_bed import BedStage, Front, a_front, misfits, wall
from tests.support.openstack_octavia_wire import Octavia

pytestmark = pytest.mark.bed("openstack")

MISSING_ID = "00000000-0000-0000-0000-000000000001"


@dataclass
class Pair:
    """The same things on both sides."""

    ours: OpenstackConnection
    real: OpenstackConnection
    servers: tuple[str, str]
    pools: tuple[str, str]

    def compare(self, service: str, method: str, path: str, body: Any = None, *, version: str | None = None) -> None:
        answers = []
        for connection, server, pool in zip((self.ours, self.real), self.servers, self.pools, strict=True):
            to = path.format(server=server, pool=pool)
            every = frozenset(range(400, 500))
            answers.append(connection.ask(service, method, to, body=body, version=version, but=every))
        ours, real = answers
        assert ours.status == real.status
        assert list(misfits(ours.body, real.body)) == []


def made(connection: OpenstackConnection, mark: LaunchId, image: str, flavor: str) -> str:
    given = {"imageRef": image, "flavorRef": flavor, "networks": "none", "metadata": mark_of(mark)}
    server = {"name": "shape-k3f9ab-1", **given}
    answer = connection.ask(COMPUTE, "POST", "/servers", body={"server": server}, version="2.69")
    assert isinstance(answer.body, dict)
    return str(answer.body["server"]["id"])


@pytest.fixture(scope="module")
def fronts() -> Iterator[tuple[OpenstackStage, Front]]:
    with openstack_stage() as stage, a_front(BedStage()) as front:
        yield stage, front


@pytest.fixture(scope="module")
def pair(fronts: tuple[OpenstackStage, Front]) -> Iterator[Pair]:
    stage, front = fronts
    octavia = Octavia()
    stage.wire.services = (*stage.wire.services, octavia)
    pool = octavia.tree()
    octavia.registration(pool, "database", "10.20.255.1")
    front.register_foreign("10.20.255.1")
    ours = OpenstackConnection(CloudId("ours"), an_access(stage.auth_url), lambda ref: stage.secrets[ref.env or ""])
    launch = front.stage.launch()
    request: Any = request_of(launch, OpenstackIds(front.stage.connection, wall))["server"]
    things = stage.nova.things
    servers = (
        made(ours, launch.id, things.image[0]["id"], things.flavor[0]["id"]),
        made(front.stage.connection, launch.id, request["imageRef"], request["flavorRef"]),
    )
    try:
        yield Pair(ours, front.stage.connection, servers, (pool.id, front.pool))
    finally:
        front.stage.clear()


@pytest.mark.parametrize(
    ("service", "method", "path", "body", "version"),
    [
        (COMPUTE, "GET", "/servers/{server}", None, "2.69"),
        (COMPUTE, "PUT", "/servers/{server}", {"server": {"name": "shape-k3f9ab-1"}}, "2.69"),
        (COMPUTE, "GET", "/servers/detail", None, "2.69"),
        (COMPUTE, "GET", "/servers/detail?name=%5Eshape-k3f9ab-1%24", None, "2.69"),
        (COMPUTE, "GET", "/servers?limit=1", None, "2.69"),
        (COMPUTE, "GET", "/servers/detail?marker=" + MISSING_ID, None, "2.69"),
        (COMPUTE, "GET", f"/servers/{MISSING_ID}", None, "2.69"),
        (COMPUTE, "DELETE", f"/servers/{MISSING_ID}", None, "2.69"),
        (COMPUTE, "DELETE", "/servers/{server}/metadata/nothing", None, "2.69"),
        (COMPUTE, "GET", "/servers", None, "2.200"),
        (COMPUTE, "GET", "/flavors", None, "2.69"),
        (COMPUTE, "GET", "/os-server-groups", None, "2.69"),
        (COMPUTE, "GET", "/limits", None, "2.69"),
        (IMAGE, "GET", "/images?status=active", None, None),
        (NETWORK, "GET", "/networks?fields=id&fields=name", None, None),
        (NETWORK, "GET", "/security-groups?fields=id&fields=name", None, None),
        (LOAD_BALANCER, "GET", "/lbaas/pools", None, None),
        (LOAD_BALANCER, "GET", "/lbaas/pools/{pool}", None, None),
        (LOAD_BALANCER, "GET", "/lbaas/pools/{pool}/members", None, None),
        (LOAD_BALANCER, "GET", f"/lbaas/pools/{MISSING_ID}", None, None),
        (LOAD_BALANCER, "GET", "/lbaas/loadbalancers", None, None),
        (LOAD_BALANCER, "DELETE", "/lbaas/pools/{pool}/members/" + MISSING_ID, None, None),
    ],
)
def test_our_own_answers_as_the_real_one_does_openstack_bed(
    pair: Pair, service: str, method: str, path: str, body: Any, version: str | None
) -> None:
    pair.compare(service, method, path, body, version=version)


@pytest.mark.parametrize(
    "changed",
    [
        {"flavorRef": "nope"},
        {"imageRef": MISSING_ID},
        {"networks": [{"uuid": MISSING_ID}]},
    ],
    ids=str,
)
def test_our_own_refuses_as_the_real_one_does_openstack_bed(pair: Pair, changed: dict[str, Any]) -> None:
    ours, real = pair.ours, pair.real
    answers = []
    for connection in (ours, real):
        images = connection.ask(IMAGE, "GET", "/images").body
        flavors = connection.ask(COMPUTE, "GET", "/flavors").body
        assert isinstance(images, dict)
        assert isinstance(flavors, dict)
        made_of = {"imageRef": images["images"][0]["id"], "flavorRef": flavors["flavors"][0]["id"]}
        server = {"name": "shape-k3f9ab-2", "networks": "none", **made_of, **changed}
        answers.append(
            connection.ask(
                COMPUTE, "POST", "/servers", body={"server": server}, version="2.69", but=frozenset(range(400, 500))
            )
        )
    assert answers[0].status == answers[1].status == 400
    assert answers[0].body == answers[1].body
