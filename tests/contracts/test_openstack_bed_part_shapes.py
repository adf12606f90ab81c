"""What our own Neutron and Cinder answer of parts has the shape of what real ones answer."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.session import BLOCK_STORAGE, NETWORK
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Volume
from config.units import CloudId, GroupId, MemberName, PartName
from handler.orchestrators.openstack.part_parsing import ADDRESSES, PORTS, VOLUMES
from tests.support.openstack import an_access, openstack_stage
from tests.support.openstack_bed import BedStage, bed_stage, misfits

pytestmark = pytest.mark.bed("openstack")

MISSING_ID = "00000000-0000-4000-8000-000000000001"
_MEMBER, _FRONT = MemberName("web-k3f9ab-1"), PartName("front")


@dataclass
class Side:
    connection: OpenstackConnection
    ids: dict[str, str]
    """Of a volume, a port and an address, and of the networks within and without."""


def side(connection: OpenstackConnection, stage: Any) -> Side:
    """A stage on which one member's parts were made."""
    driver, launch = stage.driver(), stage.launch()
    for name, spec in (
        ("data", Volume(size=1)),
        ("front", NetworkPort(network=stage.network)),
        ("public", FloatingAddress(network=stage.outside, port=_FRONT)),
    ):
        driver.make_part(launch.id.name, MemberPart(name=PartName(name), spec=spec), launch.profile)
    ids = {str(part.name): part.id for _, part in driver.parts(GroupId("web")).parts}
    listed: Any = connection.ask(NETWORK, "GET", "/networks").body
    networks = {each["name"]: each["id"] for each in listed["networks"]}
    return Side(connection, {**ids, "within": networks[stage.network], "without": networks[stage.outside]})


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    with openstack_stage() as ours, bed_stage() as real:
        assert isinstance(real, BedStage)
        if not real.makes_parts:
            pytest.skip("this bed has no outer network, or no Cinder")
        connection = OpenstackConnection(
            CloudId("ours"), an_access(ours.auth_url), lambda ref: ours.secrets[ref.env or ""]
        )
        yield side(connection, ours), side(real.connection, real)


@pytest.mark.parametrize(
    ("service", "method", "path", "body", "version"),
    [
        (NETWORK, "GET", PORTS.collection.path, None, None),
        (NETWORK, "GET", f"{PORTS.collection.path}&description=nobody", None, None),
        (NETWORK, "GET", "/ports/{front}", None, None),
        (NETWORK, "GET", f"/ports/{MISSING_ID}", None, None),
        (NETWORK, "DELETE", f"/ports/{MISSING_ID}", None, None),
        (NETWORK, "PUT", "/ports/{front}", {"port": {"description": "x"}}, None),
        (NETWORK, "POST", "/ports", {"port": {"network_id": MISSING_ID}}, None),
        (NETWORK, "GET", f"/ports?limit=1&marker={MISSING_ID}", None, None),
        (NETWORK, "GET", ADDRESSES.collection.path, None, None),
        (NETWORK, "GET", f"/floatingips?limit=1&marker={MISSING_ID}", None, None),
        (NETWORK, "GET", "/floatingips/{public}", None, None),
        (NETWORK, "GET", f"/floatingips/{MISSING_ID}", None, None),
        (NETWORK, "DELETE", f"/floatingips/{MISSING_ID}", None, None),
        (NETWORK, "PUT", "/floatingips/{public}", {"floatingip": {"description": "x"}}, None),
        (NETWORK, "POST", "/floatingips", {"floatingip": {"floating_network_id": "{within}"}}, None),
        (
            NETWORK,
            "POST",
            "/floatingips",
            {"floatingip": {"floating_network_id": "{without}", "port_id": "{front}"}},
            None,
        ),
        (
            NETWORK,
            "POST",
            "/floatingips",
            {"floatingip": {"floating_network_id": "{without}", "port_id": MISSING_ID}},
            None,
        ),
        (BLOCK_STORAGE, "GET", VOLUMES.collection.path, None, None),
        (BLOCK_STORAGE, "GET", "/volumes/{data}", None, None),
        (BLOCK_STORAGE, "GET", f"/volumes/{MISSING_ID}", None, None),
        (BLOCK_STORAGE, "DELETE", f"/volumes/{MISSING_ID}", None, None),
        (BLOCK_STORAGE, "DELETE", "/volumes/{data}/metadata/nothing", None, None),
        (BLOCK_STORAGE, "POST", "/volumes", {"volume": {"size": 1, "volume_type": "nope"}}, None),
        (BLOCK_STORAGE, "GET", "/types", None, None),
        (BLOCK_STORAGE, "GET", "/attachments?volume_id={data}", None, "3.27"),
        (BLOCK_STORAGE, "GET", "/attachments?volume_id={data}", None, None),
        (BLOCK_STORAGE, "DELETE", f"/attachments/{MISSING_ID}", None, "3.27"),
    ],
)
def test_our_own_answers_of_parts_as_the_real_one_does_openstack_bed(
    sides: tuple[Side, Side], service: str, method: str, path: str, body: Any, version: str | None
) -> None:
    answers = []
    for each in sides:
        given = filled(body, each.ids)
        every = frozenset(range(400, 500))
        asked = path.format(**each.ids)
        answers.append(each.connection.ask(service, method, asked, body=given, version=version, but=every))
    ours, real = answers
    assert ours.status == real.status, real.body
    assert list(misfits(ours.body, real.body)) == []


def filled(body: Any, ids: dict[str, str]) -> Any:
    if isinstance(body, dict):
        return {key: filled(value, ids) for key, value in body.items()}
    return body.format(**ids) if isinstance(body, str) else body


def test_a_listing_is_narrowed_to_one_mark_openstack_bed(sides: tuple[Side, Side]) -> None:
    for each in sides:
        for shelf in (PORTS, ADDRESSES, VOLUMES):
            asked = urllib.parse.urlencode(shelf.narrowed(_MEMBER, _FRONT))
            sign = "&" if "?" in shelf.collection.path else "?"
            body: Any = each.connection.ask(shelf.service, "GET", f"{shelf.collection.path}{sign}{asked}").body
            assert body[shelf.collection.key] == []
