"""The parts of members, as they are written."""

from __future__ import annotations

import pytest

from config.errors import DeclarationError
from config.load import parse
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, OnDelete, Volume
from config.units import PartName, ProfileId

_FILE = """\
clouds: {{lab: {{simulated: {{}}}}}}
profiles:
  web:
    cloud: lab
    parts: {{{parts}}}
groups: {{web: {{profile: web, min: 1, max: 3}}}}
"""
_PUBLIC = "public: {address: {network: public, port: front}}"
_FRONT = "front: {port: {network: web}}"
_DATA = "data: {volume: {size: 20GiB, type: ssd}, on_delete: retain}"


def _parts(*written: str) -> tuple[MemberPart, ...]:
    catalogue = parse(_FILE.format(parts=", ".join(written)), "trimtab.yaml")
    return catalogue.profiles[ProfileId("web")].parts


def test_parts_are_made_volumes_first_and_addresses_after_the_ports_that_they_lead_to() -> None:
    assert _parts(_PUBLIC, _FRONT, _DATA) == (
        MemberPart(name=PartName("data"), spec=Volume(size=20 << 30, kind="ssd"), on_delete=OnDelete.RETAIN),
        MemberPart(name=PartName("front"), spec=NetworkPort(network="web")),
        MemberPart(name=PartName("public"), spec=FloatingAddress(network="public", port=PartName("front"))),
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param([_PUBLIC], "leads to front, which is no port: there is no port", id="no port at all"),
        pytest.param([_PUBLIC, _FRONT.replace("front", "back")], "the ports are back", id="another port"),
        pytest.param([_DATA, _PUBLIC.replace("front", "data")], "leads to data, which is no port", id="no port"),
        pytest.param(["data: {}"], "what the part is is missing: write volume or port or address", id="nothing"),
        pytest.param(["data: {volume: {size: 20}}"], "a size with a unit", id="size without a unit"),
        pytest.param([_DATA.replace("retain", "keep")], "one of destroy, retain", id="unknown fate"),
    ],
)
def test_an_invalid_part_is_refused_at_its_line(written: list[str], message: str) -> None:
    with pytest.raises(DeclarationError, match=message) as caught:
        _parts(*written)
    assert [problem.line for problem in caught.value.problems] == [5]


@pytest.mark.parametrize(
    "cloud", ["process: {}", "cloudstack: {endpoint: 'https://c/', api_key: {env: A}, secret: {env: B}}"]
)
def test_a_cloud_that_makes_no_parts_refuses_them(cloud: str) -> None:
    written = _FILE.format(parts=_DATA).replace("simulated: {}", cloud)
    with pytest.raises(DeclarationError, match=r"parts.*remove it"):
        parse(written, "trimtab.yaml")


_ON_OPENSTACK = """\
clouds: {{prod: {{openstack: {{cloud: prod}}}}}}
profiles:
  web: {{cloud: prod, image: web, flavor: small, {networks}parts: {{front: {{port: {{network: web-tier}}}}}}}}
groups: {{web: {{profile: web, min: 1, max: 3}}}}
"""


@pytest.mark.parametrize("networks", ["", "networks: [back], "], ids=["none written", "another besides"])
def test_openstack_makes_parts(networks: str) -> None:
    catalogue = parse(_ON_OPENSTACK.format(networks=networks), "trimtab.yaml")
    assert [part.name for part in catalogue.profiles[ProfileId("web")].parts] == ["front"]


def test_members_with_ports_cannot_be_on_no_network() -> None:
    with pytest.raises(DeclarationError, match=r"members with ports \(front\) are on a network"):
        parse(_ON_OPENSTACK.format(networks="networks: [none], "), "trimtab.yaml")
