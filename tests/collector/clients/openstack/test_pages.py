from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.pages import Collection, PagedEntries, read_whole
from collector.clients.openstack.session import NETWORK
from config.errors import Transient
from config.units import CloudId
from tests.support.openstack import OpenstackStage, an_access, openstack_stage
from tests.support.openstack_wire import error
from tests.support.wire_server import Fault, answered

PORTS = Collection(service=NETWORK, path="/ports?fields=id", key="ports", one="/ports")
_MORE = [{"rel": "next", "href": "http://inside/ports?marker=1"}]


@pytest.fixture
def stage() -> Iterator[OpenstackStage]:
    with openstack_stage() as stage:
        yield stage


def read(stage: OpenstackStage, **query: str) -> PagedEntries:
    connection = OpenstackConnection(
        CloudId("prod"), an_access(stage.auth_url), lambda ref: stage.secrets[ref.env or ""]
    )
    return read_whole(connection, PORTS, query)


def a_page(*ids: str, more: bool = False) -> Fault:
    document = {"ports": [{"id": each} for each in ids], **({"ports_links": _MORE} if more else {})}
    return answered(json.dumps(document).encode())


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_a_listing_is_read_to_its_end_whatever_the_pages(stage: OpenstackStage, most: int) -> None:
    stage.neutron.most = most
    ids = {stage.neutron.port()["id"] for _ in range(5)}
    whole = read(stage)
    assert ([entry["id"] for entry in whole.entries], whole.because) == (sorted(ids), "")  # type: ignore[index]


def test_it_can_be_narrowed(stage: OpenstackStage) -> None:
    for name in ("été ☂ & =", "b"):
        stage.neutron.port(name=name)
    assert len(read(stage, name="été ☂ & =").entries) == 1


def test_one_that_does_not_end_is_not_whole(stage: OpenstackStage) -> None:
    stage.wire.script("GET /ports", *[a_page("1", more=True)] * 2)
    assert read(stage).because == "prod: the listing of ports does not end"


@pytest.mark.parametrize("fault", [error(503, "later"), answered(b"[]"), a_page(more=True)], ids=str)
def test_one_that_breaks_off_shows_what_came_before_and_says_why(stage: OpenstackStage, fault: Fault) -> None:
    stage.wire.script("GET /ports", a_page("1", more=True), fault)
    broken = read(stage)
    assert broken.entries == ({"id": "1"},)
    assert broken.because.startswith("prod: ")
    stage.wire.script("GET /ports", fault)
    with pytest.raises(Transient):
        read(stage)
