from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from typing import Any

import openstack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.openstack.parsing import page_of
from config.errors import Permanent, Transient
from config.model.openstack import CloudsYaml
from config.model.recipes import BootVolume, Reach
from config.units import GroupId, MemberName
from handler.orchestrators.openstack.parsing import STATES, machine_of
from handler.planning.world import ServerState
from tests.support.openstack import OpenstackStage, openstack_stage
from tests.support.openstack_wire import error, mint
from tests.support.orchestrators import Clock
from tests.support.waiting import until
from tests.support.wire_server import answered

WEB = GroupId("web")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(clock: Clock) -> Iterator[OpenstackStage]:
    with openstack_stage(clock=clock) as stage:
        yield stage


def name(sequence: int = 1) -> MemberName:
    return MemberName(f"web-k3f9ab-{sequence}")


def given_to(stage: OpenstackStage) -> dict[str, Any]:
    (vm,) = stage.nova.vms.values()
    return vm.given


# Making.


def test_a_server_is_made_of_what_the_profile_says_and_bears_its_mark(stage: OpenstackStage) -> None:
    launch = stage.launch(
        networks=("net", "back"),
        security_groups=("web",),
        server_group="apart",
        key_name="ops",
        availability_zone="az2",
        user_data="#cloud-config\nmotd: ☂\n",
        metadata={"tier": "web"},
        config_drive=True,
    )

    made = stage.driver().create(launch)

    request = given_to(stage)
    server = request["server"]
    assert server["metadata"] == {
        "tier": "web",
        "trimtab.member": name(),
        "trimtab.installation": "k3f9ab",
        "trimtab.group": "web",
    }
    assert [nic["uuid"] for nic in server["networks"]] == [mint("network net"), mint("network back")]
    assert server["security_groups"] == [{"name": mint("security_group web")}]
    assert request["os:scheduler_hints"] == {"group": mint("server_group apart")}
    assert (server["key_name"], server["availability_zone"], server["config_drive"]) == ("ops", "az2", True)
    assert base64.b64decode(server["user_data"]).decode() == "#cloud-config\nmotd: ☂\n"
    assert (made.state, made.zone, made.raw_state) == (ServerState.RUNNING, "az2", "ACTIVE")


def test_what_the_profile_leaves_out_is_not_sent(stage: OpenstackStage) -> None:
    stage.driver().create(stage.launch(networks=()))

    request = given_to(stage)
    assert request.keys() == {"server"}
    assert request["server"].keys() == {"name", "imageRef", "flavorRef", "networks", "metadata"}
    assert request["server"]["networks"] == "auto"


def test_a_server_may_have_no_network_and_so_no_address(stage: OpenstackStage) -> None:
    made = stage.driver().create(stage.launch(networks=(), no_network=True))

    assert given_to(stage)["server"]["networks"] == "none"
    assert made.address is None


def test_a_server_may_start_from_a_volume_that_is_made_of_its_image(stage: OpenstackStage) -> None:
    stage.driver().create(stage.launch(boot_volume=BootVolume(size=20, kind="ssd", keep=True)))

    server = given_to(stage)["server"]
    assert server["imageRef"] == ""
    assert server["block_device_mapping_v2"] == [
        {
            "source_type": "image",
            "uuid": mint("image web"),
            "destination_type": "volume",
            "boot_index": 0,
            "volume_type": "ssd",
            "volume_size": 20,
            "delete_on_termination": False,
        }
    ]


def test_ids_are_taken_as_they_are(stage: OpenstackStage) -> None:
    stage.driver().create(stage.launch(image=mint("image web"), flavor="1", networks=(mint("network back"),)))

    assert given_to(stage)["server"]["flavorRef"] == "1"
    assert stage.wire.count("GET /images") == stage.wire.count("GET /networks") == 0


def test_names_are_asked_for_once_a_minute(stage: OpenstackStage, clock: Clock) -> None:
    cloud = stage.driver()
    for sequence in (1, 2):
        cloud.create(stage.launch(sequence))
    assert stage.wire.count("GET /images") == 1

    clock.at += 61
    cloud.create(stage.launch(3))

    assert stage.wire.count("GET /images") == 2


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ({"image": "wbe"}, "image"),
        ({"flavor": "wbe"}, "flavor"),
        ({"networks": ("wbe",)}, "network"),
        ({"security_groups": ("wbe",)}, "security group"),
        ({"server_group": "wbe"}, "server group"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_name_that_nothing_bears_is_permanent(stage: OpenstackStage, what: dict[str, Any], word: str) -> None:
    with pytest.raises(Permanent, match=f"prod: no {word} that the project can see is called 'wbe'"):
        stage.driver().create(stage.launch(**what))


def test_a_server_of_another_owner_under_the_name_is_not_taken_for_ours_nor_doubled(stage: OpenstackStage) -> None:
    foreign_member = stage.nova.add(name())

    with pytest.raises(Permanent, match=f"a foreign server is called {name()} .{foreign_member.id}.: rename it"):
        stage.driver().create(stage.launch())

    assert list(stage.nova.vms) == [foreign_member.id]


@pytest.mark.parametrize(
    ("status", "message", "kind", "pattern"),
    [
        pytest.param(403, "Quota exceeded for cores: Requested 1", Permanent, "quota: Quota exceeded", id="quota"),
        pytest.param(403, "Maximum number of ports exceeded", Permanent, "quota: Maximum", id="quota of ports"),
        pytest.param(403, "Policy doesn't allow it", Permanent, "refused: Policy", id="policy"),
        pytest.param(400, "Invalid key_name provided.", Permanent, "refused: Invalid key_name", id="profile"),
        pytest.param(
            409,
            "Multiple possible networks found, use a Network ID to be more specific.",
            Permanent,
            "refused",
            id="auto",
        ),
        pytest.param(409, "Port 1 is still in use.", Transient, "still in use", id="conflict"),
        pytest.param(500, "Unexpected API Error.", Transient, r"Unexpected API Error \(HTTP 500\)", id="failure"),
    ],
)
def test_refusals_are_told_apart(
    stage: OpenstackStage, status: int, message: str, kind: type[Exception], pattern: str
) -> None:
    stage.wire.script("POST /servers", error(status, message))

    with pytest.raises(kind, match=pattern):
        stage.driver().create(stage.launch())


def test_a_server_that_no_host_has_room_for_is_shown_with_novas_reason(stage: OpenstackStage) -> None:
    stage.nova.failing.append("No valid host was found. There are not enough hosts available.")

    stage.driver().create(stage.launch())

    (server,) = stage.driver().list(WEB).servers
    assert server.state is ServerState.ERROR
    assert server.raw_state == "ERROR: No valid host was found. There are not enough hosts available"


def test_an_old_nova_is_refused_by_its_version(stage: OpenstackStage) -> None:
    stage.nova.newest = 25

    with pytest.raises(Permanent, match=r"microversion 2\.25: Trimtab needs 2\.37"):
        stage.driver().list(WEB)


def test_of_a_nova_between_the_versions_its_newest_is_spoken(stage: OpenstackStage) -> None:
    stage.nova.newest = 60

    assert stage.driver().create(stage.launch()).name == name()


# Looking.


@pytest.mark.parametrize(("status", "state"), STATES.items())
def test_every_state_of_nova_has_its_meaning(stage: OpenstackStage, status: str, state: ServerState) -> None:
    stage.nova.member(name(), status=status)

    (server,) = stage.driver().list(WEB).servers

    assert (server.state, server.raw_state) == (state, status)


@pytest.mark.parametrize("status", ["DELETED", "SOFT_DELETED"])
def test_a_deleted_server_is_gone_though_nova_still_shows_it(stage: OpenstackStage, status: str) -> None:
    stage.nova.member(name(), status=status)

    assert stage.driver().list(WEB).servers == ()
    assert stage.driver().find(name()) is None


def test_a_server_that_was_renamed_by_hand_is_still_the_member(stage: OpenstackStage) -> None:
    cloud = stage.driver()
    made = cloud.create(stage.launch())
    stage.nova.vms[made.id].name = "the one that makes trouble"

    found = stage.driver().find(name())

    assert found is not None
    assert found.id == made.id
    assert [server.id for server in cloud.list(WEB).servers] == [made.id]


def test_of_two_with_one_mark_the_one_under_its_name_is_the_member_and_both_are_removed(stage: OpenstackStage) -> None:
    copied = stage.nova.member(name())
    copied.name = "a copy"
    member = stage.nova.member(name())
    cloud = stage.driver()

    assert [server.id for server in cloud.list(WEB).servers] == [member.id]
    assert [server.id for server in cloud.list_all().twins] == [copied.id]
    cloud.destroy(name(), grace=0.0)
    cloud.destroy(name(), grace=0.0)

    assert stage.nova.alive == []


def test_servers_in_a_cell_that_is_down_are_not_taken_for_gone(stage: OpenstackStage) -> None:
    cloud = stage.driver()
    stage.nova.down.add(cloud.create(stage.launch(1)).id)
    cloud.create(stage.launch(2))

    listing = stage.driver().list(WEB)

    assert [server.name for server in listing.servers] == [name(2)]
    assert (listing.complete, listing.because) == (False, "prod: 1 servers are in a cell that is down")
    with pytest.raises(Transient, match="cell that is down"):
        stage.driver().find(name(1))


def test_a_server_that_shows_on_two_pages_counts_once(stage: OpenstackStage) -> None:
    stage.nova.most = 2
    for sequence in range(1, 6):
        stage.nova.member(name(sequence))
    marked: list[str] = []

    def shift(label: str) -> None:
        if label == "GET /servers/detail" and not marked:  # a newer one pushes the others down
            marked.append(label)
            stage.nova.member(name(6))

    cloud = stage.driver()
    cloud.list(WEB)
    stage.wire.before = shift
    listing = cloud.list(WEB)

    assert listing.complete
    assert [server.name for server in listing.servers] == [name(sequence) for sequence in range(1, 7)]


def test_a_project_that_never_holds_still_is_not_all_seen(stage: OpenstackStage) -> None:
    stage.nova.most = 1
    for sequence in (1, 2):
        stage.nova.member(name(sequence))

    def churn(label: str) -> None:
        stage.nova.add("a foreign server")

    stage.wire.before = churn
    listing = stage.driver().list(WEB)

    assert (listing.complete, listing.because) == (False, "prod: the servers changed while they were listed")


def nic(address: str, *, version: int = 4, kind: str = "fixed") -> dict[str, Any]:
    return {"version": version, "addr": address, "OS-EXT-IPS:type": kind}


@pytest.mark.parametrize(
    ("reach", "address"),
    [
        pytest.param(Reach(), "10.0.0.1", id="first network, version 4"),
        pytest.param(Reach(version=6), "fd00::1", id="version 6"),
        pytest.param(Reach(network="back"), "10.9.0.1", id="network"),
        pytest.param(Reach(network="back", version=6), None, id="nothing fits"),
    ],
)
def test_a_member_is_reached_by_the_address_that_its_profile_named_when_it_was_made(
    stage: OpenstackStage, reach: Reach, address: str | None
) -> None:
    made = stage.driver().create(stage.launch(reach=reach))
    vm, shown = stage.nova.vms[made.id], stage.nova._shown
    addresses = {
        "net": [nic("192.0.2.7", kind="floating"), nic("fd00::1", version=6), nic("10.0.0.1"), nic("10.0.0.2")],
        "back": [nic("10.9.0.1")],
    }
    stage.nova._shown = lambda one: {**shown(one), "addresses": addresses}  # type: ignore[method-assign]

    found = stage.driver().find(name())

    assert vm.name == name()
    assert found is not None
    assert found.address == address


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"servers": {}}',
        b'{"servers": [], "servers_links": [{"rel": "next"}]}',
        b"\xff",
    ],
    ids=str,
)
def test_a_listing_that_makes_no_sense_proves_nothing(stage: OpenstackStage, body: bytes) -> None:
    stage.wire.script("GET /servers/detail", answered(body))

    with pytest.raises(Transient, match="cannot be read"):
        stage.driver().list(WEB)


def test_an_answer_about_another_server_says_nothing_about_the_one_asked_for(stage: OpenstackStage) -> None:
    cloud = stage.driver()
    made, other = cloud.create(stage.launch(1)), cloud.create(stage.launch(2))
    shown = {"server": stage.nova._shown(stage.nova.vms[other.id])}
    stage.wire.script("GET /servers/{id}", answered(json.dumps(shown).encode()))

    with pytest.raises(Transient, match=f"server {made.id}: the answer is about another one"):
        cloud.find(name(1))


def test_a_name_is_not_missing_from_a_listing_that_contradicts_itself(stage: OpenstackStage) -> None:
    body = b'{"images": [], "images_links": [{"rel": "next"}]}'
    stage.wire.script("GET /images", answered(body))

    with pytest.raises(Transient, match="images: the answer cannot be read"):
        stage.driver().create(stage.launch())


@given(JSON)
def test_whatever_is_answered_is_read_or_not_a_server(body: Any) -> None:
    page = page_of(body, "servers")
    odd = {"id": "1", "status": "ACTIVE", "created": "2026-01-31T10:00:00Z", "metadata": body, "addresses": body}
    for entry in (body, odd, *(() if page is None else page.entries)):
        machine = machine_of(entry)
        assert machine is None or machine.id


# What was accepted.


NOT_ALLOWED = [
    pytest.param(403, "Policy doesn't allow os_compute_api:servers to be performed.", id="policy"),
    pytest.param(401, "The request you have made requires authentication.", id="credentials"),
]


@pytest.mark.parametrize(("status", "words"), NOT_ALLOWED)
def test_a_server_that_was_accepted_is_not_written_off_since_it_cannot_be_read(
    stage: OpenstackStage, status: int, words: str
) -> None:
    cloud = stage.driver()
    stage.wire.script("GET /servers/{id}", *[error(status, words)] * 20)

    for _ in range(2):
        with pytest.raises(Transient, match="refused"):
            cloud.create(stage.launch())

    stage.wire.faults.clear()
    assert cloud.create(stage.launch()).name == name()
    assert stage.nova.alive == [name()]


def test_a_server_whose_new_name_is_refused_is_a_member_by_its_mark(stage: OpenstackStage) -> None:
    cloud, own, launch = stage.driver(), stage.foreign_member("database"), stage.launch(5)
    stage.wire.script("PUT /servers/{id}", error(403, "Policy doesn't allow os_compute_api:servers:update."))

    assert cloud.mark(own, launch.id).id == own

    listing, found = cloud.list(WEB), stage.driver().find(name(5))
    assert ([server.id for server in listing.servers], listing.complete) == ([own], True)
    assert found is not None
    assert found.id == cloud.create(launch).id == own
    assert stage.nova.alive == ["database"]
    cloud.destroy(name(5), grace=0.0)
    until(lambda: stage.driver().find(name(5)) is None)


def test_a_refused_mark_is_final_and_leaves_none(stage: OpenstackStage) -> None:
    own = stage.foreign_member("database")
    stage.wire.script("POST /servers/{id}/metadata", error(403, "Policy doesn't allow it to be performed."))

    with pytest.raises(Permanent, match="refused"):
        stage.driver().mark(own, stage.launch(5).id)

    assert stage.driver().list(WEB).servers == ()


# Removing.


def test_a_server_is_asked_to_stop_and_deleted_once_it_has(stage: OpenstackStage) -> None:
    stage.nova.stops = 5
    cloud = stage.driver()
    cloud.create(stage.launch())

    cloud.destroy(name(), grace=30.0)

    until(lambda: cloud.find(name()) is None)
    assert stage.wire.count("POST /servers/{id}/action") == 1
    assert stage.wire.count("DELETE /servers/{id}") == 1


def test_a_server_that_does_not_stop_is_deleted_when_its_grace_is_over(stage: OpenstackStage, clock: Clock) -> None:
    stage.nova.stops = 10**9
    cloud = stage.driver()
    cloud.create(stage.launch())
    cloud.destroy(name(), grace=30.0)
    (going,) = cloud.list(WEB).servers
    assert going.state is ServerState.DELETING
    assert stage.wire.count("DELETE /servers/{id}") == 0

    clock.at += 31

    until(lambda: cloud.find(name()) is None)


def test_without_grace_a_server_is_deleted_at_once(stage: OpenstackStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())

    cloud.destroy(name(), grace=0.0)

    assert (stage.nova.alive, stage.wire.count("POST /servers/{id}/action")) == ([], 0)


@pytest.mark.parametrize("status", ["BUILD", "ERROR", "SHUTOFF", "PAUSED"])
def test_what_cannot_stop_is_deleted_at_once(stage: OpenstackStage, status: str) -> None:
    stage.nova.member(name(), status=status)

    stage.driver().destroy(name(), grace=30.0)

    assert stage.nova.alive == []


def test_a_locked_server_is_for_a_person(stage: OpenstackStage) -> None:
    stage.nova.member(name(), locked=True)

    with pytest.raises(Permanent, match="is locked"):
        stage.driver().destroy(name(), grace=30.0)


def test_a_deletion_that_nova_is_at_is_not_asked_for_again(stage: OpenstackStage) -> None:
    stage.nova.deletes = 10**9
    cloud = stage.driver()
    cloud.create(stage.launch())

    cloud.destroy(name(), grace=0.0)
    cloud.destroy(name(), grace=0.0)

    assert stage.wire.count("DELETE /servers/{id}") == 1
    (going,) = cloud.list(WEB).servers
    assert going.state is ServerState.DELETING


# The library.


def test_without_the_library_the_extra_is_named(stage: OpenstackStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openstack.exceptions", None)

    with pytest.raises(Permanent, match="install the extra openstack of trimtab"):
        stage.driver().list(WEB)


def test_a_cloud_of_clouds_yaml_is_used(stage: OpenstackStage, tmp_path: Any) -> None:
    file = tmp_path / "clouds.yaml"
    auth = (
        f"{{auth_url: {stage.auth_url}, username: demo, password: osbed, project_name: demo, user_domain_id: default}}"
    )
    file.write_text(f"clouds: {{mine: {{region_name: RegionOne, auth: {auth}}}}}\n")

    cloud = stage.driver(credentials=CloudsYaml(cloud="mine", file=str(file)))

    assert cloud.create(stage.launch()).name == name()
    with pytest.raises(Permanent, match="Cloud theirs was not found"):
        stage.driver(credentials=CloudsYaml(cloud="theirs", file=str(file))).list(WEB)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # what it says of its own insides
def test_openstacksdk_itself_is_content_with_the_wire(stage: OpenstackStage) -> None:
    """Who reads the shapes that we made up is not only we."""
    stage.nova.most = 3
    made = [stage.driver().create(stage.launch(sequence)).id for sequence in range(1, 9)]
    client = openstack.connect(
        auth_type="v3applicationcredential",
        auth={
            "auth_url": stage.auth_url,
            "application_credential_id": next(iter(stage.wire.secrets)),
            "application_credential_secret": stage.secrets["SECRET"],
        },
        region_name="RegionOne",
        load_envvars=False,
        load_yaml_config=False,
    )

    servers = list(client.compute.servers())

    assert sorted(server.id for server in servers) == sorted(made)
    assert servers[0].metadata["trimtab.group"] == "web"
    assert client.image.find_image("web").id == mint("image web")
    assert client.network.find_network("net").id == mint("network net")
    client.close()


# Output


def test_the_last_lines_of_a_console_are_read(stage: OpenstackStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())
    stage.nova.console = "booting\nGrüße\nlogin:"

    assert cloud.output(name(), 2) == "Grüße\nlogin:".encode()
    assert cloud.output(name(2), 2) is None


def test_a_console_that_a_host_does_not_keep_is_refused_in_novas_words(stage: OpenstackStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())

    with pytest.raises(Permanent, match="refused: Guest does not have a console available"):
        cloud.output(name(), 2)


def test_a_server_that_is_not_ready_to_show_its_console_may_be_asked_again(stage: OpenstackStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())
    (vm,) = stage.nova.vms.values()
    vm.status = "BUILD"

    with pytest.raises(Transient, match="is not ready"):
        cloud.output(name(), 2)
