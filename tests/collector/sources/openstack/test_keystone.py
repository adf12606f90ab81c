"""Sessions of openstacksdk, begun against a Keystone of our own and with files of every shape."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.clients.http.failures import HttpFailure
from collector.clients.openstack.session import COMPUTE, METRIC, Grant
from collector.samples import Reply
from collector.sources.openstack.keystone import granted
from config.model.access import Trust
from config.model.openstack import CloudsYaml, OpenstackAccess
from config.units import Instant
from tests.support.circuits import circuits_by
from tests.support.openstack import an_access
from tests.support.openstack_measures_wire import Gnocchi, MeasuringNova
from tests.support.openstack_nova_wire import Things
from tests.support.openstack_wire import SECRET, OpenstackWire, error
from tests.support.wire_server import Fault, answered

TOKEN = "POST /auth/tokens"


@pytest.fixture
def wire() -> OpenstackWire:
    return OpenstackWire(services=(MeasuringNova(Things()), Gnocchi()))


@pytest.fixture
def auth_url(wire: OpenstackWire) -> Iterator[str]:
    with wire.serving() as url:
        yield url


def begin(auth_url: str, **more: object) -> Grant | HttpFailure:
    return granted(an_access(auth_url, **more), lambda _: SECRET)


def begin_with(file: Path, text: str) -> Grant | HttpFailure:
    file.write_text(text, encoding="utf-8")
    return granted(OpenstackAccess(credentials=CloudsYaml(cloud="x", file=str(file)), timeout=60.0), lambda _: "")


def reply_of(found: Grant | HttpFailure) -> Reply:
    return found.reply if isinstance(found, HttpFailure) else Reply.OK


def test_a_token_comes_with_the_places_of_both_services(wire: OpenstackWire, auth_url: str) -> None:
    grant = begin(auth_url)

    assert isinstance(grant, Grant)
    assert dict(grant.services) == {COMPUTE: f"{wire.url}/compute/v2.1", METRIC: f"{wire.url}/metric"}
    assert grant.token in wire.tokens
    assert grant.token not in repr(grant)


def test_a_file_says_which_authority_to_trust(wire: OpenstackWire, auth_url: str, tmp_path: Path) -> None:
    auth = {"auth_url": auth_url, "username": "demo", "password": "osbed", "project_name": "demo"}
    domains = {"user_domain_id": "default", "project_domain_id": "default"}
    cloud = {"region_name": "RegionOne", "verify": False, "auth": auth | domains}

    grant = begin_with(tmp_path / "clouds.yaml", json.dumps({"clouds": {"x": cloud}}))

    assert isinstance(grant, Grant)
    assert grant.trust == Trust(insecure=True)


@pytest.mark.parametrize(
    "text",
    [
        "clouds: [",
        "clouds: 5",
        "clouds: {x: 5}",
        "clouds: {y: {}}",
        "clouds: {x: {auth: 5}}",
        "clouds: {x: {auth: {auth_url: 5}}}",
        "clouds: {x: {auth: {}}}",
        "clouds: {x: {auth_type: nope, auth: {auth_url: 'http://127.0.0.1:1'}}}",
        "- 5",
        "",
    ],
)
def test_a_file_that_makes_no_sense_is_a_failure_of_credentials(tmp_path: Path, text: str) -> None:
    assert reply_of(begin_with(tmp_path / "clouds.yaml", text)) is Reply.AUTH


@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        pytest.param(answered(b"<html>"), Reply.UNREACHABLE, id="page"),
        pytest.param(answered(b"[]", status=201), Reply.UNREACHABLE, id="list"),
        pytest.param(answered(b'{"token": 5}', status=201), Reply.MALFORMED, id="number"),
        pytest.param(answered(b'{"token": {}}', status=201), Reply.MALFORMED, id="nothing"),
        pytest.param(
            answered(b'{"token": {"expires_at": 7}}', status=201, headers=(("X-Subject-Token", "t"),)),
            Reply.MALFORMED,
            id="odd",
        ),
        pytest.param(Fault(), Reply.UNREACHABLE, id="closed"),
        pytest.param(error(429, "slow down"), Reply.RATE_LIMITED, id="limited"),
        pytest.param(error(403, "no"), Reply.AUTH, id="forbidden"),
    ],
)
def test_what_befalls_a_token_is_a_failure_of_its_kind(
    wire: OpenstackWire, auth_url: str, fault: Fault, reply: Reply
) -> None:
    wire.script(TOKEN, *[fault] * 4)

    assert reply_of(begin(auth_url)) is reply


def test_a_keystone_that_drips_is_given_up_at_the_deadline(wire: OpenstackWire, auth_url: str) -> None:
    wire.script(TOKEN, answered(b"{" + b" " * 200, drip=0.05))

    assert reply_of(begin(auth_url, timeout=0.3)) is Reply.UNREACHABLE


def test_a_proxy_of_the_environment_never_sees_a_secret(auth_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")

    assert reply_of(begin(auth_url)) is Reply.OK


def test_a_keystone_that_is_silent_is_left_alone_as_it_is_for_drivers(wire: OpenstackWire, auth_url: str) -> None:
    circuits = circuits_by(lambda: Instant(1000.0))
    wire.script(TOKEN, *[Fault()] * 5)
    for _ in range(5):
        granted(an_access(auth_url), lambda _: SECRET, circuits)

    found = granted(an_access(auth_url), lambda _: SECRET, circuits)

    assert isinstance(found, HttpFailure)
    assert "are held back" in found.detail
    assert wire.count(TOKEN) == 5


@pytest.mark.parametrize(("left", "soon"), [(3600.0, False), (30.0, True)])
def test_a_token_is_kept_until_a_minute_before_its_end(
    wire: OpenstackWire, auth_url: str, left: float, soon: bool
) -> None:
    wire.token_life = left

    grant = begin(auth_url)

    assert isinstance(grant, Grant)
    assert grant.ends_soon() is soon


def test_no_listener_is_unreachable() -> None:
    found = begin("http://127.0.0.1:1/v3")

    assert reply_of(found) is Reply.UNREACHABLE
    assert SECRET not in str(found)


def test_without_the_library_the_message_says_how_to_install_it(auth_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("openstack.config")
    monkeypatch.setitem(sys.modules, "openstack.config", None)

    found = begin(auth_url)

    assert isinstance(found, HttpFailure)
    assert "the extra openstack" in found.detail
