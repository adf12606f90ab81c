from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.parsing import job_of, page_of, refusal
from collector.clients.http.pool import BoundedPool
from config.errors import DriverError, Permanent, Refused, Transient
from config.model.access import SecretRef
from config.units import GroupId, MemberName
from handler.orchestrators.cloudstack.machines import machine_of
from handler.orchestrators.cloudstack.names import member_of, short_name
from handler.orchestrators.table import orchestrator_for
from handler.planning.launches import LaunchId
from handler.planning.world import ServerState
from tests.support.cloudstack import CloudstackStage, a_cloudstack, cloudstack_stage
from tests.support.cloudstack_wire import KEY, SECRET, error
from tests.support.orchestrators import Clock
from tests.support.wire_server import LOST, UNREACHED, answered

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
def stage(clock: Clock) -> Iterator[CloudstackStage]:
    with cloudstack_stage(clock=clock) as stage:
        yield stage


def name(sequence: int = 1) -> MemberName:
    return MemberName(f"web-k3f9ab-{sequence}")


# Making.


def test_a_machine_is_made_of_what_the_profile_says_and_bears_its_mark(stage: CloudstackStage) -> None:
    launch = stage.launch(
        networks=("tier", "back"),
        affinity_groups=("apart",),
        user_data="#cloud-config\nmotd: ☂\n",
        parameters=(("keypair", "ops"), ("rootdisksize", "20")),
    )

    made = stage.driver().create(launch)

    given = stage.wire.vms[made.id].given
    assert (given["name"], given["displayname"], given["details[0].trimtab"]) == (name(), name(), name())
    assert base64.b64decode(given["userdata"]).decode() == "#cloud-config\nmotd: ☂\n"
    assert (given["keypair"], given["rootdisksize"]) == ("ops", "20")
    assert given["networkids"].split(",") == [entry["id"] for entry in stage.wire.things["network"]]
    assert given["affinitygroupids"] == stage.wire.things["affinitygroup"][0]["id"]
    assert made.state is ServerState.RUNNING
    assert (made.address, made.zone) == (stage.wire.vms[made.id].address, "par1")


def test_what_the_profile_leaves_out_is_not_sent(stage: CloudstackStage) -> None:
    made = stage.driver().create(stage.launch(networks=()))

    assert not {"networkids", "affinitygroupids", "userdata"} & stage.wire.vms[made.id].given.keys()


def test_an_id_is_taken_as_it_is(stage: CloudstackStage) -> None:
    zone, template = stage.wire.things["zone"][1]["id"], stage.wire.things["template"][0]["id"]

    made = stage.driver().create(stage.launch(zone=zone, template=template))

    assert stage.wire.vms[made.id].given["zoneid"] == zone
    assert stage.wire.count("listZones") == stage.wire.count("listTemplates") == 0


def test_names_are_asked_for_once_a_minute(stage: CloudstackStage, clock: Clock) -> None:
    cloud = stage.driver()
    for sequence in (1, 2):
        cloud.create(stage.launch(sequence))
    assert stage.wire.count("listTemplates") == 1

    clock.at += 61
    cloud.create(stage.launch(3))

    assert stage.wire.count("listTemplates") == 2


@pytest.mark.parametrize("what", ["zone", "template", "offering"])
def test_a_name_that_nothing_bears_is_permanent(stage: CloudstackStage, what: str) -> None:
    with pytest.raises(Permanent, match=f"no {what} .* is called 'wbe'"):
        stage.driver().create(stage.launch(**{what: "wbe"}))


def test_of_things_with_like_names_only_the_very_name_counts(stage: CloudstackStage) -> None:
    stage.wire.things["template"].append({"name": "web-old", "id": stage.wire.mint("old")})

    assert stage.driver().create(stage.launch()).name == name()


def test_windows_gets_a_short_name_under_which_a_lost_member_is_found(stage: CloudstackStage) -> None:
    launch = stage.launch(group="checkout", short_names=True)
    stage.wire.script("deployVirtualMachine", LOST)
    cloud = stage.driver()
    with pytest.raises(Transient):
        cloud.create(launch)

    (vm,) = stage.wire.vms.values()
    assert len(vm.name) <= 15
    assert [server.name for server in cloud.list(GroupId("checkout")).servers] == [launch.id.name]

    vm.display = "renamed by hand"
    found = cloud.find(launch.id.name)
    assert found is not None
    assert found.id == vm.id


def test_a_job_is_looked_at_ever_less_often_and_left_alone_in_the_end(stage: CloudstackStage) -> None:
    stage.wire.polls = 1000

    with pytest.raises(Transient, match="still being deployed"):
        stage.driver(job_timeout=60.0).create(stage.launch())

    assert stage.waited == sorted(stage.waited)
    assert 60.0 <= sum(stage.waited) < 70.0
    (listed,) = stage.driver().list(WEB).servers
    assert listed.state is ServerState.BUILDING


def test_a_look_at_a_job_that_fails_says_nothing_about_the_job(stage: CloudstackStage) -> None:
    stage.wire.script("queryAsyncJobResult", UNREACHED, error(503, "later"), error(431, "no such job"))

    assert stage.driver().create(stage.launch()).state is ServerState.RUNNING


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        pytest.param(533, Transient, "no host has room", id="capacity passes"),
        pytest.param(530, Transient, "no host has room", id="failures pass"),
        pytest.param(535, Permanent, "quota", id="a limit does not"),
    ],
)
def test_what_a_failed_deployment_leaves_behind_is_removed(
    stage: CloudstackStage, code: int, kind: type[DriverError], message: str
) -> None:
    stage.wire.failing.append((code, "no host has room"))

    with pytest.raises(kind, match=message):
        stage.driver().create(stage.launch())

    assert stage.wire.alive == []


def test_a_failure_is_not_permanent_while_something_is_left_of_it(stage: CloudstackStage) -> None:
    stage.wire.failing.append((535, "limit"))
    stage.wire.script("destroyVirtualMachine", error(503, "later"))

    with pytest.raises(Transient, match=r"quota.*could not be removed"):
        stage.driver().create(stage.launch())

    (left,) = stage.driver().list(WEB).servers
    assert left.state is ServerState.ERROR


def test_a_failure_is_not_permanent_while_what_is_left_of_it_is_going(stage: CloudstackStage) -> None:
    stage.wire.failing.append((535, "limit"))

    def dawdle(command: str) -> None:
        if command == "destroyVirtualMachine":
            stage.wire.polls = 1000

    stage.wire.before = dawdle

    with pytest.raises(Transient, match=r"quota.*is being removed"):
        stage.driver().create(stage.launch())


# Looking.


def test_a_member_that_is_not_among_those_read_may_still_be_there(stage: CloudstackStage) -> None:
    for sequence in range(1, 151):
        stage.wire.add(name(1000 + sequence))
    for command in (lambda: stage.driver().find(name(1)), lambda: stage.driver().create(stage.launch(1))):
        stage.wire.script("listVirtualMachines", answered(b"", obeyed=True), answered(b"{}", status=503))
        with pytest.raises(Transient, match="HTTP 503"):
            command()


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("Starting", ServerState.BUILDING),
        ("Running", ServerState.RUNNING),
        ("Migrating", ServerState.PASSING),
        ("Stopping", ServerState.PASSING),
        ("Stopped", ServerState.STOPPED),
        ("Shutdown", ServerState.STOPPED),
        ("Error", ServerState.ERROR),
        ("Expunging", ServerState.DELETING),
        ("Unknown", ServerState.UNKNOWN),
        ("Restoring", ServerState.PASSING),
        ("Levitating", ServerState.UNKNOWN),
    ],
)
def test_every_state_has_its_meaning(stage: CloudstackStage, clock: Clock, word: str, state: ServerState) -> None:
    stage.wire.add(name(), state=word, created=clock() - 3600)

    (server,) = stage.driver().list(WEB).servers

    assert (server.state, server.raw_state) == (state, word)


def test_a_destroyed_machine_is_gone(stage: CloudstackStage) -> None:
    stage.wire.add(name(), state="Destroyed")

    assert stage.driver().list(WEB).servers == ()
    assert stage.driver().find(name()) is None


def test_a_new_machine_that_has_not_been_started_yet_is_being_built(stage: CloudstackStage, clock: Clock) -> None:
    stage.wire.add(name(), state="Stopped", created=clock() - 30)

    (young,) = stage.driver(job_timeout=60.0).list(WEB).servers
    clock.at += 31
    (old,) = stage.driver(job_timeout=60.0).list(WEB).servers

    assert (young.state, old.state) == (ServerState.BUILDING, ServerState.STOPPED)


@pytest.mark.parametrize(
    "entry",
    ["not an object", {}, {"id": "7c1b"}, {"id": "7c1b", "name": "web-k3f9ab-2", "state": "Running", "created": "x"}],
    ids=str,
)
def test_an_entry_that_makes_no_sense_leaves_the_listing_partial(stage: CloudstackStage, entry: object) -> None:
    stage.wire.add(name())
    whole = [stage.wire._shown(vm) for vm in stage.wire.vms.values()]
    body = json.dumps({"x": {"count": 2, "virtualmachine": [*whole, entry]}}).encode()
    stage.wire.script("listVirtualMachines", answered(body))

    listing = stage.driver().list(WEB)

    assert [server.name for server in listing.servers] == [name()]
    assert not listing.complete


def test_a_listing_that_shrinks_while_it_is_read_is_not_all(stage: CloudstackStage) -> None:
    machines = [stage.wire.add(name(sequence)) for sequence in range(1, 151)]
    looks: list[str] = []

    def vanish(command: str) -> None:
        looks.append(command)
        if len(looks) == 2:  # a newer one, from the page that has been read: all others move up
            del stage.wire.vms[machines[-1].id]

    stage.wire.before = vanish
    listing = stage.driver().list(WEB)

    assert len(listing.servers) == 149
    assert (listing.complete, listing.because) == (
        False,
        "prod: listVirtualMachines: the listing changed while it was read",
    )


def test_a_shy_count_does_not_end_a_listing(stage: CloudstackStage) -> None:
    """CloudStack's autoscale listings count the entries of one page only."""
    for sequence in range(1, 131):
        stage.wire.add(name(sequence))
    page = stage.wire._page
    stage.wire._page = lambda kind, found, given: (  # type: ignore[method-assign]
        answer | {"count": len(answer[kind])} if (answer := page(kind, found, given)) else answer
    )

    listing = stage.driver().list(WEB)

    assert (len(listing.servers), listing.complete) == (130, True)


COUNTED = answered(b'{"listvirtualmachinesresponse": {"count": 1}}')
"""A count, and none of what is counted."""


def test_a_listing_that_counts_machines_and_shows_none_is_no_empty_one(stage: CloudstackStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch(1))
    stage.wire.script("listVirtualMachines", COUNTED)

    listing = cloud.list(WEB)

    assert (listing.servers, listing.complete, listing.because) == (
        (),
        False,
        "prod: listVirtualMachines: the answer shows 0 of 1 entries",
    )


def test_a_machine_that_is_counted_and_not_shown_is_not_proved_missing(stage: CloudstackStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch(1))
    for call in (
        lambda: cloud.find(name(1)),
        lambda: cloud.create(stage.launch(1)),
        lambda: cloud.destroy(name(1), grace=0.0),
        lambda: cloud.foreign_member("database"),
    ):
        stage.wire.script("listVirtualMachines", COUNTED)
        with pytest.raises(Transient, match="shows 0 of 1 entries"):
            call()
    assert stage.wire.alive == [name(1)]


@pytest.mark.parametrize(("count", "complete"), [(4, True), (5, False)])
def test_the_count_beyond_the_last_page_is_that_of_all_pages(
    stage: CloudstackStage, count: int, complete: bool
) -> None:
    """CloudStack counts all entries on a page behind the last one, too."""
    stage.wire.most = 2
    for sequence in range(1, 5):
        stage.wire.add(name(sequence))
    beyond = answered(b'{"listvirtualmachinesresponse": {"count": %d}}' % count)
    stage.wire.script("listVirtualMachines", *[answered(b"", obeyed=True)] * 3, beyond)

    listing = stage.driver().list(WEB)

    assert (len(listing.servers), listing.complete) == (4, complete)


def test_room_is_unknown_while_the_offering_or_the_owner_is_counted_and_not_shown(stage: CloudstackStage) -> None:
    cloud, profile = stage.driver(), stage.launch().profile
    for command in ("listServiceOfferings", "listAccounts"):
        cloud.quotas(profile)
        stage.wire.script(command, answered(b'{"x": {"count": 1}}'))
        with pytest.raises(Transient, match="shows 0 of 1 entries"):
            cloud.quotas(profile)


def test_pages_are_no_larger_than_cloudstack_gives_them(stage: CloudstackStage) -> None:
    stage.wire.most = 2
    for sequence in range(1, 6):
        stage.wire.add(name(sequence))
    driver = stage.driver()

    for _ in range(2):
        listing = driver.list(WEB)
        assert (len(listing.servers), listing.complete) == (5, True)

    sizes = [given["pagesize"] for command, given in stage.wire.calls if command == "listVirtualMachines"]
    assert sizes == ["100", *["2"] * 6]


# Removing.


@pytest.mark.parametrize(("expunge", "left"), [(False, ["Destroyed"]), (True, [])])
def test_a_removed_machine_can_be_recovered_unless_it_is_expunged(
    stage: CloudstackStage, expunge: bool, left: list[str]
) -> None:
    cloud = stage.driver(expunge=expunge)
    cloud.create(stage.launch())

    cloud.destroy(name(), grace=30.0)

    assert [vm.state for vm in stage.wire.vms.values()] == left


def test_expunging_without_permission_is_permanent(stage: CloudstackStage) -> None:
    stage.wire.may_expunge = False
    cloud = stage.driver(expunge=True)
    cloud.create(stage.launch())

    with pytest.raises(Permanent, match="permission for expunging"):
        cloud.destroy(name(), grace=30.0)


def test_a_removal_that_takes_long_has_begun(stage: CloudstackStage) -> None:
    cloud = stage.driver(job_timeout=10.0)
    cloud.create(stage.launch())
    stage.wire.polls = 1000

    cloud.destroy(name(), grace=30.0)

    assert cloud.find(name()) is not None


def test_a_machine_that_goes_while_it_is_being_removed_is_gone(stage: CloudstackStage) -> None:
    cloud = stage.driver()
    made = cloud.create(stage.launch())

    def vanish(command: str) -> None:
        if command == "destroyVirtualMachine":
            stage.wire.vms.pop(made.id, None)

    stage.wire.before = vanish

    cloud.destroy(name(), grace=30.0)

    assert cloud.find(name()) is None


def test_what_is_on_its_way_out_is_not_asked_again(stage: CloudstackStage) -> None:
    stage.wire.add(name(), state="Expunging")

    stage.driver().destroy(name(), grace=30.0)

    assert stage.wire.count("destroyVirtualMachine") == 0


# Credentials.


def test_a_new_secret_takes_effect_in_flight(stage: CloudstackStage) -> None:
    kept = iter(["an old one"])
    wire = CloudstackClient(a_cloudstack(stage.endpoint), lambda ref: KEY if ref.env == "KEY" else next(kept, SECRET))

    assert "zone" in wire.ask("listZones")


def test_a_command_that_the_role_lacks_is_named(stage: CloudstackStage) -> None:
    stage.wire.forbidden.add("deployVirtualMachine")

    with pytest.raises(Permanent, match=r"deployVirtualMachine.*role may call"):
        stage.driver().create(stage.launch())


def test_a_missing_secret_is_permanent_and_names_its_place(stage: CloudstackStage) -> None:
    def read(ref: SecretRef) -> str:
        raise Refused(f"the environment variable {ref.env} holds no secret")

    wire = CloudstackClient(a_cloudstack(stage.endpoint), read)

    with pytest.raises(Permanent, match="variable KEY holds no secret"):
        wire.ask("listZones")


def test_no_error_and_no_log_tells_a_secret(stage: CloudstackStage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    faults = [
        LOST,
        error(431, f"bad call by {KEY} with {SECRET}"),
        error(530, f"{SECRET}"),
        answered(f"<html>{KEY}".encode(), status=500),
        answered(SECRET.encode()),
    ]
    errors = []
    for fault in faults:
        stage.wire.script("deployVirtualMachine", fault)
        with pytest.raises(DriverError) as raised:
            stage.driver().create(stage.launch())
        errors.append(f"{raised.value} {raised.value.__cause__!r}")
        stage.wire.vms.clear()

    assert not [line for line in [*errors, caplog.text] if KEY in line or SECRET in line]


# The wire.


def test_the_whole_answer_has_one_deadline_however_it_drips(stage: CloudstackStage) -> None:
    stage.wire.script("listZones", answered(b"{}" + b" " * 100, drip=1.0))
    wire = CloudstackClient(a_cloudstack(stage.endpoint, timeout=0.3), lambda ref: stage.secrets[ref.env or ""])
    began = time.monotonic()

    with pytest.raises(Transient, match="not answered"):
        wire.ask("listZones")

    assert time.monotonic() - began < 50.0, "the whole answer takes longer than a minute and a half"


def test_an_answer_has_a_largest_size(stage: CloudstackStage) -> None:
    stage.wire.script("listZones", answered(b"{" + b" " * 4000))
    wire = CloudstackClient(a_cloudstack(stage.endpoint), lambda ref: stage.secrets[ref.env or ""])
    wire._session = BoundedPool(5.0, at_most=1000)

    with pytest.raises(Transient, match="not answered"):
        wire.ask("listZones")


def test_no_redirection_is_followed(stage: CloudstackStage) -> None:
    stage.wire.script("listZones", answered(b"", status=307, headers=(("Location", f"{stage.endpoint}?elsewhere"),)))

    with pytest.raises(Transient, match="HTTP 307"):
        CloudstackClient(a_cloudstack(stage.endpoint), lambda ref: stage.secrets[ref.env or ""]).ask("listZones")

    assert stage.wire.count("listZones") == 1


@pytest.mark.parametrize(
    ("message", "wait"), [("7", 7.0), ("999999", 3600.0), ("-1", None), ("soon", None), ("²", None), ("", None)]
)
def test_a_wait_that_the_cloud_asks_for_is_kept(stage: CloudstackStage, message: str, wait: float | None) -> None:
    headers = (("Retry-After", message.encode().decode("latin-1")),)
    stage.wire.script("listVirtualMachines", answered(b"{}", status=503, headers=headers))

    with pytest.raises(Transient) as refused:
        stage.driver().list(WEB)

    assert refused.value.retry_after == wait


def test_no_listener_is_transient(clock: Clock) -> None:
    with pytest.raises(Transient, match="connection refused"):
        CloudstackClient(a_cloudstack("http://127.0.0.1:9/client/api", timeout=1.0), lambda _: "x").ask("listZones")


def test_calls_are_signed_for_ten_minutes_and_leave_nothing_in_addresses(stage: CloudstackStage) -> None:
    stage.driver().list(WEB)

    ((_, given),) = stage.wire.calls
    assert given["signatureversion"] == "3"
    assert 0 < datetime.fromisoformat(given["expires"]).timestamp() - time.time() <= 600
    assert stage.wire.queries == {""}


# What is pure.


@pytest.mark.parametrize(
    ("host", "display", "mark", "member"),
    [
        pytest.param("web-k3f9ab-2", "web-k3f9ab-2", "web-k3f9ab-2", "web-k3f9ab-2", id="as it was made"),
        pytest.param("web-k3f9ab-2", "renamed", None, "web-k3f9ab-2", id="renamed, its details edited"),
        pytest.param("chec-r6hdqgtwfa", "checkout-k3f9ab-12", None, "checkout-k3f9ab-12", id="short"),
        pytest.param("chec-r6hdqgtwfa", "renamed", "checkout-k3f9ab-12", "checkout-k3f9ab-12", id="short, renamed"),
        pytest.param("chec-r6hdqgtwfa", "renamed", None, None, id="short, with nothing else"),
        pytest.param("web-k3f9ab-2", "web-k3f9ab-2", "web-zzzzzz-1", None, id="marked by another installation"),
        pytest.param("web-k3f9ab-2", "web-k3f9ab-2", "web-k3f9ab-9", None, id="marked as another member"),
        pytest.param("web-k3f9ab-2", "web-k3f9ab-2", "mine", None, id="marked by hand"),
        pytest.param("by-hand", "web-k3f9ab-2", "web-k3f9ab-2", None, id="another host name"),
        pytest.param("web-zzzzzz-2", "web-zzzzzz-2", "web-zzzzzz-2", None, id="of another installation"),
    ],
)
def test_the_host_name_decides_and_a_mark_speaks_against_it(
    host: str, display: str, mark: str | None, member: str | None
) -> None:
    assert member_of("k3f9ab", host=host, display=display, mark=mark) == member


@given(JSON)
def test_whatever_is_answered_is_read_or_refused_and_never_raises(value: object) -> None:
    machine_of(value)
    assert isinstance(refusal(value, "prod"), Transient | Permanent)
    if isinstance(value, dict):
        page_of(value, "zone")
        job_of(value)


@given(
    st.from_regex(r"[a-z][a-z0-9-]{0,39}", fullmatch=True),
    st.from_regex(r"[a-z0-9]{6}", fullmatch=True),
    st.integers(1, 10**9),
)
def test_a_member_is_known_by_either_name_and_only_to_its_own_installation(
    group: str, here: str, sequence: int
) -> None:
    launch = LaunchId(installation=here, group=GroupId(group), sequence=sequence)
    if LaunchId.parse(launch.name) != launch:
        return
    short = short_name(launch)

    assert len(short) <= 15
    assert short[0].isalpha()
    assert short[-1].isalnum()
    for host in (launch.name, short):
        assert member_of(here, host=host, display=launch.name, mark=launch.name) == launch.name
        assert member_of("......", host=host, display=launch.name, mark=launch.name) is None


def test_the_table_makes_the_driver_without_asking_anything(clock: Clock, tmp_path: object) -> None:
    cloud = orchestrator_for(a_cloudstack("http://127.0.0.1:9/"), "k3f9ab", tmp_path, clock)  # type: ignore[arg-type]

    with pytest.raises(Permanent, match="no secrets"):
        cloud.list(WEB)


# Marks of machines that are there.


def test_a_machine_that_was_given_is_found_though_a_person_renamed_it(stage: CloudstackStage) -> None:
    own, cloud = stage.foreign_member("database"), stage.driver()
    cloud.mark(own, stage.launch(5).id)
    assert (stage.wire.vms[own].name, stage.wire.vms[own].display) == ("database", name(5))

    stage.wire.vms[own].display = "renamed by hand"

    found = cloud.find(name(5))
    assert found is not None
    assert found.id == own


def test_several_machines_with_one_name_are_told_apart_by_id(stage: CloudstackStage) -> None:
    ids = [stage.foreign_member("database") for _ in range(2)]

    with pytest.raises(Permanent, match=f"2 machines are called database: write the id .*{ids[0]}"):
        stage.driver().foreign_member("database")

    found = stage.driver().foreign_member(ids[0])
    assert found is not None
    assert found.id == ids[0]


def test_a_machine_that_another_owner_tags_first_is_theirs(stage: CloudstackStage) -> None:
    own = stage.foreign_member("database")

    def race(command: str) -> None:
        if command == "createTags":
            stage.wire.vms[own].tags["trimtab"] = "web-zzzzzz-1"

    stage.wire.before = race
    with pytest.raises(Transient, match="tag trimtab already"):
        stage.driver().mark(own, stage.launch(5).id)
    with pytest.raises(Permanent, match="bears the mark web-zzzzzz-1"):
        stage.driver().mark(own, stage.launch(5).id)


@pytest.mark.parametrize("lost", ["createTags", "updateVirtualMachine"])
def test_a_mark_whose_answer_was_lost_is_there_when_it_is_written_again(stage: CloudstackStage, lost: str) -> None:
    own = stage.foreign_member("database")
    stage.wire.script(lost, LOST)
    with pytest.raises(Transient):
        stage.driver().mark(own, stage.launch(5).id)

    assert stage.driver().mark(own, stage.launch(5).id).id == own
    assert [server.name for server in stage.driver().list(WEB).servers] == [name(5)]


def test_a_machine_whose_new_name_is_refused_keeps_no_mark(stage: CloudstackStage) -> None:
    """Listings find members by their names: a machine with the mark alone is a member that no listing shows."""
    cloud, own = stage.driver(), stage.foreign_member("database")
    stage.wire.script("updateVirtualMachine", error(432, "The given command is not available for the user"))

    with pytest.raises(Permanent, match="not available for the user"):
        cloud.mark(own, stage.launch(5).id)

    assert (stage.wire.vms[own].tags, cloud.find(name(5))) == ({}, None)


def test_a_mark_that_cannot_be_taken_back_may_still_be_there(stage: CloudstackStage) -> None:
    cloud, own, launch = stage.driver(), stage.foreign_member("database"), stage.launch(5)
    stage.wire.script("updateVirtualMachine", error(432, "The given command is not available for the user"))
    stage.wire.script("deleteTags", error(432, "nor is this one"))

    with pytest.raises(Transient, match=r"not available for the user.*could not be removed.*nor is this one"):
        cloud.mark(own, launch.id)

    assert cloud.mark(own, launch.id).id == own
    assert [server.id for server in cloud.list(WEB).servers] == [own]
