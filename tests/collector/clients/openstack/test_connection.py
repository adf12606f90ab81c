from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from collector.clients.http.pool import Pool
from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.session import COMPUTE, LOAD_BALANCER
from config.errors import DriverError, Permanent, Refused, Transient
from config.model.access import SecretRef
from config.model.openstack import CloudsYaml
from config.units import CloudId
from tests.support.openstack import OpenstackStage, an_access, openstack_stage
from tests.support.openstack_wire import SECRET, error
from tests.support.wire_server import LOST, UNREACHED, answered

_PATH = "/servers/detail"
_LABEL = f"GET {_PATH}"


@pytest.fixture
def stage() -> Iterator[OpenstackStage]:
    with openstack_stage() as stage:
        yield stage


def connection(stage: OpenstackStage, **fields: object) -> OpenstackConnection:
    return OpenstackConnection(
        CloudId("prod"), an_access(stage.auth_url, **fields), lambda ref: stage.secrets[ref.env or ""]
    )


def asking(stage: OpenstackStage, **fields: object) -> Callable[[], object]:
    opened = connection(stage, **fields)
    return lambda: opened.ask(COMPUTE, "GET", _PATH)


# Tokens.


def test_one_token_serves_many_calls(stage: OpenstackStage) -> None:
    ask = asking(stage)
    for _ in range(5):
        ask()

    assert stage.wire.count("POST /auth/tokens") == 1


def test_a_token_that_expires_is_renewed_in_flight(stage: OpenstackStage) -> None:
    ask = asking(stage)
    ask()
    stage.wire.expire()

    ask()

    assert stage.wire.count("POST /auth/tokens") == 2


def test_a_token_that_expires_under_many_calls_at_once_fails_none(stage: OpenstackStage) -> None:
    ask = asking(stage)
    ask()
    stage.wire.expire()

    with ThreadPoolExecutor(8) as pool:
        assert len([future.result() for future in [pool.submit(ask) for _ in range(32)]]) == 32


def test_a_renewal_that_is_not_answered_passes(stage: OpenstackStage) -> None:
    ask = asking(stage)
    ask()
    stage.wire.expire()
    stage.wire.script("POST /auth/tokens", UNREACHED)

    with pytest.raises(Transient, match="was not answered"):
        ask()

    ask()


def test_a_new_secret_takes_effect_once_the_old_one_is_refused(stage: OpenstackStage) -> None:
    ask = asking(stage)
    ask()
    stage.wire.secrets = dict.fromkeys(stage.wire.secrets, "another")
    stage.wire.expire()
    with pytest.raises(Permanent, match=r"refused: .*: check the credentials"):
        ask()

    stage.secrets["SECRET"] = "another"

    ask()


def test_an_unknown_credential_is_reported_with_how_to_make_one(stage: OpenstackStage) -> None:
    stage.wire.secrets.clear()

    with pytest.raises(Permanent, match=r"has no application credential with this id.*: create one with `openstack"):
        asking(stage)()


@pytest.mark.parametrize(
    "befalls",
    [
        pytest.param(answered(b"busy", status=503, headers=(("Retry-After", "9"),)), id="503"),
        pytest.param(error(429, "slow down"), id="429"),
        pytest.param(answered(b"<html>"), id="nonsense"),
        pytest.param(LOST, id="lost"),
        pytest.param(answered(b'{"token": 5}', status=201), id="number"),
    ],
)
def test_what_befalls_keystone_passes(stage: OpenstackStage, befalls: object) -> None:
    stage.wire.script("POST /auth/tokens", befalls)  # type: ignore[arg-type]
    ask = asking(stage)

    with pytest.raises(Transient):
        ask()

    ask()


def test_a_token_of_another_shape_is_reported_before_the_deadline(stage: OpenstackStage) -> None:
    odd = b'{"token": {"expires_at": 7}}'
    stage.wire.script("POST /auth/tokens", answered(odd, status=201, headers=(("X-Subject-Token", "t"),)))

    with pytest.raises(Transient, match="the answer cannot be read"):
        asking(stage)()


# Services.


def test_a_service_that_the_catalogue_lacks_is_named(stage: OpenstackStage) -> None:
    with pytest.raises(Permanent, match="Keystone's catalogue has no such service"):
        connection(stage).ask(LOAD_BALANCER, "GET", "/lbaas/pools")


def test_a_region_that_is_not_there_is_for_a_person(stage: OpenstackStage) -> None:
    with pytest.raises(Permanent, match="no such service in this region") as refused:
        asking(stage, region="Atlantis")()

    assert "correct the region" in refused.value.remedy


def test_retry_after_is_heeded(stage: OpenstackStage) -> None:
    stage.wire.script(_LABEL, answered(b"{}", status=429, headers=(("Retry-After", "7"),)))

    with pytest.raises(Transient) as refused:
        asking(stage)()

    assert refused.value.retry_after == 7.0


def test_a_redirection_is_not_followed(stage: OpenstackStage) -> None:
    stage.wire.script(_LABEL, answered(b"", status=302, headers=(("Location", "http://127.0.0.1:9/"),)))

    assert connection(stage).ask(COMPUTE, "GET", _PATH).status == 302


# Deadlines and sizes.


def test_an_answer_that_drips_is_given_up_in_time(stage: OpenstackStage) -> None:
    stage.wire.script(_LABEL, answered(b"{" + b" " * 200, drip=0.05))

    with pytest.raises(Transient, match="GET /servers/detail was not answered in time"):
        asking(stage, timeout=0.5)()


def test_the_deadline_is_that_of_the_call_with_all_that_it_takes(stage: OpenstackStage) -> None:
    slow = answered(b"{}" + b" " * 20, status=503, drip=0.02)
    ask = asking(stage, timeout=0.4)
    stage.wire.script("POST /auth/tokens", replace(slow, drip=0.1))

    with pytest.raises(Transient, match="not answered in time"):
        ask()


def test_an_answer_has_a_largest_size(stage: OpenstackStage) -> None:
    pool = Pool(5.0, at_most=10)

    with pytest.raises(OSError, match="more than 10 bytes"):
        pool.get(stage.auth_url + "/")


# Credentials.


def test_a_secret_that_cannot_be_read_is_permanent(stage: OpenstackStage) -> None:
    def unreadable(_: SecretRef) -> str:
        raise Refused("SECRET is not set")

    with pytest.raises(Permanent, match="prod: SECRET is not set"):
        OpenstackConnection(CloudId("prod"), an_access(stage.auth_url), unreadable).ask(COMPUTE, "GET", _PATH)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clouds: {mine: {auth: {auth_url: 'http://k', password: hunter2", "Cloud mine was not found"),
        ("clouds: {mine: {auth: {username: u, password: hunter2}}}", "credentials cannot be used"),
        ("clouds: {}", "Cloud mine was not found"),
        ("", "Cloud mine was not found"),
        ("clouds: {mine: {auth: 5}}", "clouds.yaml cannot be read"),
        ("clouds: {mine: {auth: {auth_url: 5, password: hunter2}}}", "cannot be"),
    ],
    ids=["broken", "incomplete", "empty", "nothing", "a number for all", "a number for an address"],
)
def test_a_bad_clouds_yaml_is_permanent_and_tells_no_secret(
    stage: OpenstackStage, tmp_path: object, text: str, message: str
) -> None:
    file = f"{tmp_path}/clouds.yaml"
    with open(file, "w") as out:  # noqa: PTH123 a text of three words
        out.write(text)

    with pytest.raises(Permanent, match=message) as refused:
        asking(stage, credentials=CloudsYaml(cloud="mine", file=file))()

    assert "hunter2" not in str(refused.value)
    assert "was not found" not in str(refused.value) or str(refused.value).endswith(f", in {file}")


def test_no_secret_and_no_token_leaves_the_call(stage: OpenstackStage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ask = asking(stage, timeout=1.0)
    errors: list[str] = []
    for fault in (UNREACHED, LOST, error(500, "no"), error(401, "no"), error(403, "no"), answered(b"\xff")):
        stage.wire.script(_LABEL, *[fault] * 2)
        for _ in range(2):
            try:
                ask()
            except DriverError as refused:
                errors += [str(refused), repr(refused.__cause__), repr(refused.__context__)]

    text = "\n".join([*errors, caplog.text])
    assert len(errors) > 6
    assert SECRET not in text
    assert "gAAAA" not in text
