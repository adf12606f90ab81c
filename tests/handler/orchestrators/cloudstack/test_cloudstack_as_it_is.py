"""What CloudStack's own source says it answers, asked over the wire by the library that users have.

Source: CloudStack 4.22: UserDataManagerImpl, DeployVMCmd, ApiAsyncJobDispatcher, TaggedResourceManagerImpl.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from cs import CloudStack, CloudStackException

from config.errors import DriverError, Full, Permanent, Transient
from config.units import GroupId, MemberName
from tests.support.cloudstack import CloudstackStage, cloudstack_stage
from tests.support.cloudstack_wire import KEY, SECRET, error

WEB = GroupId("web")
NAME = MemberName("web-k3f9ab-1")
CODES = [
    (401, Permanent, "refused"),
    (429, Transient, "later"),
    (430, Permanent, "refused"),
    (431, Permanent, "refused"),
    (432, Permanent, "refused"),
    (503, Transient, "later"),
    (530, Transient, "later"),
    (531, Permanent, "refused"),
    (532, Full, "quota"),
    (533, Transient, "later"),
    (534, Transient, "later"),
    (535, Full, "quota"),
    (536, Transient, "later"),
    (537, Permanent, "refused"),
]


@pytest.fixture
def stage() -> Iterator[CloudstackStage]:
    with cloudstack_stage() as stage:
        yield stage


# Error codes.


@pytest.mark.parametrize(("code", "kind", "message"), CODES)
def test_a_deployment_is_refused_at_once(
    stage: CloudstackStage, code: int, kind: type[DriverError], message: str
) -> None:
    stage.wire.script("deployVirtualMachine", *[error(code, "come back later")] * 2)
    with pytest.raises(kind, match=message) as raised:
        stage.driver().create(stage.launch())
    assert type(raised.value) is kind
    assert stage.wire.vms == {}


@pytest.mark.parametrize(("code", "kind", "message"), [each for each in CODES if each[0] >= 430 and each[0] != 503])
def test_a_deployment_is_refused_by_its_job_and_leaves_no_machine(
    stage: CloudstackStage, code: int, kind: type[DriverError], message: str
) -> None:
    stage.wire.failing.append((code, "come back later"))
    with pytest.raises(kind, match=message) as raised:
        stage.driver().create(stage.launch())
    assert type(raised.value) is kind
    assert stage.wire.alive == []


def test_a_job_that_ends_without_saying_why_is_tried_again(stage: CloudstackStage) -> None:
    stage.wire.failing.append((0, ""))
    with pytest.raises(Transient, match="no reason is given"):
        stage.driver().create(stage.launch())
    assert stage.driver().create(stage.launch()).name == NAME


# User data.


@pytest.mark.parametrize("size", [3_000, 24_576], ids=["more than GET takes", "as much as POST takes"])
def test_user_data_goes_by_post(stage: CloudstackStage, size: int) -> None:
    made = stage.driver().create(stage.launch(user_data="x" * size))
    assert base64.b64decode(stage.wire.vms[made.id].given["userdata"]) == b"x" * size


def test_user_data_that_is_longer_than_the_setting_is_refused_in_cloudstack_s_words(stage: CloudstackStage) -> None:
    with pytest.raises(Permanent, match="User data has exceeded configurable max length : 32768"):
        stage.driver().create(stage.launch(user_data="x" * 24_577))
    assert stage.wire.vms == {}
    stage.wire.user_data = 2**20
    assert stage.driver().create(stage.launch(user_data="x" * 24_577)).name == NAME


def test_by_get_it_would_be_too_long(stage: CloudstackStage) -> None:
    client = CloudStack(endpoint=stage.endpoint, key=KEY, secret=SECRET)
    with pytest.raises(CloudStackException) as raised:
        client.deployVirtualMachine(name="x", userdata=base64.b64encode(b"x" * 3_072).decode())
    assert "too long for an http GET request" in str(raised.value.error)


# Names.


@pytest.mark.parametrize("group", ["web", "a", "checkout-of-the-shop-in-the-north"])
@pytest.mark.parametrize("short", [False, True])
def test_every_host_name_is_one_that_cloudstack_takes(stage: CloudstackStage, group: str, short: bool) -> None:
    launch = stage.launch(987654, group, short_names=short)
    made = stage.driver().create(launch)
    given = stage.wire.vms[made.id].given
    assert given["displayname"] == launch.id.name
    assert not short or len(given["name"]) <= 15
    found = stage.driver().find(launch.id.name)
    assert found is not None


def test_a_host_name_that_is_taken_by_a_machine_that_is_not_listed_yet_is_waited_for(stage: CloudstackStage) -> None:
    network = str(stage.wire.things["network"][0]["id"])
    stage.wire.hidden.add(stage.wire.add(NAME, networks=(network,)).id)
    with pytest.raises(Transient, match="already exists in the network domain"):
        stage.driver().create(stage.launch())


# Tags.


def test_a_deployment_sets_no_tags_since_cloudstack_takes_none_there(stage: CloudstackStage) -> None:
    stage.driver().create(stage.launch())
    (given,) = [given for command, given in stage.wire.calls if command == "deployVirtualMachine"]
    assert not [key for key in given if key.startswith("tags")]
    assert stage.wire.count("createTags") == 0


def test_a_tag_that_is_there_already_fails_the_job_and_not_the_call(stage: CloudstackStage) -> None:
    foreign_member = stage.wire.add("by-hand")
    cloud, rival = stage.driver(), stage.driver()

    def first(command: str) -> None:
        if command == "createTags":
            stage.wire.before = lambda _: None
            stage.wire.vms[foreign_member.id].tags["trimtab"] = "web-zzzzzz-1"

    stage.wire.before = first
    with pytest.raises(Transient, match=r"tag trimtab already on UserVm"):
        cloud.mark(foreign_member.id, stage.launch(7).id)
    with pytest.raises(Permanent, match="bears the mark web-zzzzzz-1"):
        rival.mark(foreign_member.id, stage.launch(7).id)
