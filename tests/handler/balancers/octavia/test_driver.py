from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import NotFound, Permanent, Transient
from config.units import MemberName
from handler.balancers.octavia.driver import OctaviaDriver
from handler.balancers.octavia.parsing import PoolMember, PoolStatus, Tree, load_balancer_of, page_of, pool_of
from handler.planning.world import Health, RegistrationState
from handler.ports.balancer import Batched, ListsForeignMembers, MemberMove, RegistrationChange
from tests.support.octavia_stage import OctaviaStage, octavia_stage
from tests.support.openstack_wire import error, mint
from tests.support.waiting import PATIENT, until
from tests.support.wire_server import LOST, UNREACHED, answered

PARKED, SERVING, DRAINING = RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def stage() -> Iterator[OctaviaStage]:
    with octavia_stage() as stage:
        yield stage


def name(sequence: int = 1) -> MemberName:
    return MemberName(f"web-k3f9ab-{sequence}")


def state(driver: OctaviaDriver, member: MemberName) -> RegistrationState | None:
    registration = driver.registrations().get(member)
    return None if registration is None else registration.state


WAY_TO = {None: (), PARKED: ("join",), SERVING: ("join", "enable"), DRAINING: ("join", "enable", "drain")}


def call(driver: OctaviaDriver, verb: str, member: MemberName) -> None:
    if verb == "join":
        driver.join(member, "10.0.0.1", 80)
    else:
        getattr(driver, verb)(member)


@pytest.mark.parametrize(
    ("before", "verb", "after"),
    [
        (None, "join", PARKED),
        (None, "drain", None),
        (None, "leave", None),
        (PARKED, "join", PARKED),
        (PARKED, "enable", SERVING),
        (PARKED, "drain", DRAINING),
        (PARKED, "leave", None),
        (SERVING, "join", SERVING),
        (SERVING, "enable", SERVING),
        (SERVING, "drain", DRAINING),
        (SERVING, "leave", None),
        (DRAINING, "join", DRAINING),
        (DRAINING, "enable", SERVING),
        (DRAINING, "drain", DRAINING),
        (DRAINING, "leave", None),
    ],
)
def test_every_call_may_be_repeated(
    stage: OctaviaStage, before: RegistrationState | None, verb: str, after: RegistrationState | None
) -> None:
    driver = stage.driver()
    for step in WAY_TO[before]:
        call(driver, step, name())
    call(driver, verb, name())
    assert state(driver, name()) is after

    made = len(stage.octavia.changes)
    call(driver, verb, name())

    assert state(driver, name()) is after
    assert len(stage.octavia.changes) == made


def test_a_member_without_a_registration_cannot_be_enabled_yet(stage: OctaviaStage) -> None:
    with pytest.raises(Transient, match="must join first"):
        stage.driver().enable(name())


def test_a_new_registration_gets_no_work_before_it_is_enabled_and_then_its_weight(stage: OctaviaStage) -> None:
    driver = stage.driver(weight=5, subnet=mint("subnet"))
    driver.join(name(), "10.0.0.1", 8080)
    (member,) = stage.pool.members.values()
    assert (member["weight"], member["admin_state_up"], member["subnet_id"]) == (0, False, mint("subnet"))
    assert (member["address"], member["protocol_port"]) == ("10.0.0.1", 8080)

    driver.enable(name())

    assert (member["weight"], member["admin_state_up"]) == (5, True)


def test_a_weight_that_a_person_gave_a_serving_member_stays(stage: OctaviaStage) -> None:
    stage.octavia.registration(stage.pool, name(), "10.0.0.1", weight=7)

    stage.driver().enable(name())

    assert [member["weight"] for member in stage.pool.members.values()] == [7]


def test_a_member_that_moved_gets_another_registration(stage: OctaviaStage) -> None:
    driver = stage.driver()
    driver.join(name(), "10.0.0.1", 80)

    driver.join(name(), "10.0.0.2", 80)

    assert [member["address"] for member in stage.pool.members.values()] == ["10.0.0.2"]


def test_a_member_that_moved_keeps_no_registration_at_its_former_address(stage: OctaviaStage) -> None:
    stage.octavia.registration(stage.pool, name(), "10.0.0.1")
    stage.octavia.registration(stage.pool, name(), "10.0.0.2")
    driver = stage.driver()

    driver.join(name(), "10.0.0.2", 80)

    assert [member["address"] for member in stage.pool.members.values()] == ["10.0.0.2"]


def test_addresses_are_the_same_however_they_are_spelled(stage: OctaviaStage) -> None:
    stage.octavia.registration(stage.pool, name(), "fd00:0:0::1")
    driver = stage.driver()

    driver.join(name(), "fd00::1", 80)

    assert stage.octavia.changes == []
    assert driver.occupants() == {("fd00::1", 80): name()}


def test_a_name_is_no_address(stage: OctaviaStage) -> None:
    with pytest.raises(Permanent, match="Octavia is given IP addresses only"):
        stage.driver().join(name(), "web1.example.org", 80)


# Others.


def test_the_registrations_of_others_are_neither_listed_nor_touched(stage: OctaviaStage) -> None:
    before = dict(stage.octavia.registration(stage.pool, "database", "10.0.0.9", weight=3))
    driver = stage.driver()
    for sequence in (1, 2, 3):
        driver.join(name(sequence), f"10.0.0.{sequence}", 80)
        driver.enable(name(sequence))

    assert "database" not in driver.registrations()
    assert next(member for member in stage.pool.members.values() if member["name"] == "database") == before
    for verb in ("join", "enable", "drain", "leave"):
        with pytest.raises(Permanent, match="never touched"):
            call(driver, verb, MemberName("database"))


def test_the_place_of_another_owner_is_not_taken(stage: OctaviaStage) -> None:
    stage.octavia.registration(stage.pool, "database", "10.0.0.1")
    stage.octavia.registration(stage.pool, name(9), "10.0.0.2")
    driver = stage.driver()

    with pytest.raises(Permanent, match=r"10\.0\.0\.1 port 80 belongs to database: .* never touched"):
        driver.join(name(1), "10.0.0.1", 80)
    with pytest.raises(Transient, match=f"still belongs to {name(9)}"):
        driver.join(name(1), "10.0.0.2", 80)

    assert stage.octavia.changes == []


def test_what_others_set_on_a_member_outlives_a_batch(stage: OctaviaStage) -> None:
    for sequence in (1, 2):
        stage.octavia.registration(stage.pool, name(sequence), f"10.0.0.{sequence}", monitor_port=9000, backup=True)

    together(stage, stage.driver(), "drain", (1, 2))

    assert {(member["monitor_port"], member["backup"]) for member in stage.pool.members.values()} == {(9000, True)}
    assert {member["weight"] for member in stage.pool.members.values()} == {0}


# One change at a time.


class Broken(list[float]):
    """A pause that fails by a defect of the program."""

    def append(self, _: float) -> None:
        raise RuntimeError("a defect")


def together(stage: OctaviaStage, driver: OctaviaDriver, verb: str, sequences: Any) -> list[BaseException | None]:
    """Call for many at once, so that all wait for the first."""
    arrived = threading.Barrier(len(sequences))

    def one(sequence: int) -> None:
        arrived.wait(PATIENT)
        if verb == "join":
            driver.join(name(sequence), f"10.0.0.{sequence}", 80)
        else:
            getattr(driver, verb)(name(sequence))

    with driver._turn, ThreadPoolExecutor(len(sequences)) as pool:
        futures = [pool.submit(one, sequence) for sequence in sequences]
        while len(driver._waiting) < len(sequences):
            threading.Event().wait(0.005)
        driver._turn.release()
        ended = [future.exception() for future in futures]
        driver._turn.acquire()
    return ended


def test_it_takes_batches_and_tells_which_members_are_registered(stage: OctaviaStage) -> None:
    assert isinstance(stage.driver(), Batched)
    assert isinstance(stage.driver(), ListsForeignMembers)


def test_members_that_wait_for_the_same_pool_are_changed_in_one_batch(stage: OctaviaStage) -> None:
    driver = stage.driver()

    for verb in ("join", "enable", "drain"):
        assert set(together(stage, driver, verb, range(1, 17))) == {None}

    assert stage.octavia.changes == ["PUT /lbaas/pools/{id}/members"] * 3
    assert {registration.state for registration in driver.registrations().values()} == {DRAINING}
    assert len(stage.pool.members) == 16


def test_what_is_handed_over_together_is_one_batch_joined_and_enabled_in_one_go(stage: OctaviaStage) -> None:
    driver = stage.driver()
    changes = [
        change
        for sequence in range(1, 17)
        for change in (
            RegistrationChange(move=MemberMove.JOIN, member=name(sequence), at=(f"10.0.0.{sequence}", 80)),
            RegistrationChange(move=MemberMove.ENABLE, member=name(sequence)),
        )
    ]

    assert set(driver.apply(changes)) == {None}

    assert stage.octavia.changes == ["PUT /lbaas/pools/{id}/members"]
    assert {registration.state for registration in driver.registrations().values()} == {SERVING}
    assert len(stage.pool.members) == 16


def test_each_change_of_a_batch_has_its_answer(stage: OctaviaStage) -> None:
    stage.octavia.registration(stage.pool, "database", "10.0.0.1")
    driver = stage.driver()

    ended = driver.apply(
        [
            RegistrationChange(move=MemberMove.JOIN, member=name(1), at=("10.0.0.1", 80)),
            RegistrationChange(move=MemberMove.ENABLE, member=name(1)),
            RegistrationChange(move=MemberMove.JOIN, member=name(2), at=("10.0.0.2", 80)),
            RegistrationChange(move=MemberMove.ENABLE, member=name(3)),
            RegistrationChange(move=MemberMove.LEAVE, member=MemberName("database")),
        ]
    )

    assert [type(error) for error in ended] == [Permanent, Permanent, type(None), Transient, Permanent]
    assert ended[0] is ended[1]
    assert stage.names() == ["database", name(2)]


def test_members_that_leave_together_leave_one_by_one(stage: OctaviaStage) -> None:
    for sequence in (1, 2, 3):
        stage.octavia.registration(stage.pool, name(sequence), f"10.0.0.{sequence}")
    driver = stage.driver()

    assert driver.apply([RegistrationChange(move=MemberMove.LEAVE, member=name(sequence)) for sequence in (1, 3)]) == [
        None,
        None,
    ]

    assert stage.octavia.changes == ["DELETE /lbaas/pools/{id}/members/{id}"] * 2
    assert stage.names() == [name(2)]


def test_a_batch_leaves_members_alone_that_are_not_in_it(stage: OctaviaStage) -> None:
    driver = stage.driver()
    driver.join(name(50), "10.0.0.50", 80)
    driver.enable(name(50))
    driver.drain(name(50))

    together(stage, driver, "join", range(1, 5))

    assert state(driver, name(50)) is DRAINING


def test_one_bad_member_of_a_batch_does_not_hold_up_the_others(stage: OctaviaStage) -> None:
    driver = stage.driver()
    arrived = threading.Barrier(3)

    def join(sequence: int, address: str) -> None:
        arrived.wait(PATIENT)
        driver.join(name(sequence), address, 80)

    with driver._turn, ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(join, number, f"{net}.{number}") for number, net in
                   ((1, "10.0.0"), (2, "203.0.113"), (3, "10.0.0"))]  # fmt: skip
        while len(driver._waiting) < 3:
            threading.Event().wait(0.005)
        driver._turn.release()
        ended = [future.exception() for future in futures]
        driver._turn.acquire()

    assert [type(error) for error in ended] == [type(None), Permanent, type(None)]
    assert "not permitted" in str(ended[1])
    assert stage.names() == [name(1), name(3)]


def test_a_change_that_another_call_still_makes_is_not_reported_as_made(stage: OctaviaStage) -> None:
    for sequence in (1, 2):
        stage.octavia.registration(stage.pool, name(sequence), f"10.0.0.{sequence}")
    stage.octavia.settles = 0
    driver = stage.driver(lb_status_timeout=0.1)
    may_read, may_delete = threading.Event(), threading.Event()

    def hold(label: str) -> None:
        (may_delete if label.startswith("DELETE") else may_read).wait(PATIENT)

    stage.wire.before = hold

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(driver.leave, name(1))
        until(driver._turn.locked)
        second = pool.submit(driver.leave, name(2))
        until(lambda: len(driver._waiting) == 2)
        may_read.set()
        late = second.exception(PATIENT)
        there = stage.names()
        may_delete.set()

    assert (type(late), there, first.exception()) == (Transient, [name(1), name(2)], None)


def test_a_program_error_during_a_batch_leaves_none_of_its_changes_reported_as_made(stage: OctaviaStage) -> None:
    stage.waited = Broken()
    for sequence in (1, 2):
        stage.octavia.registration(stage.pool, name(sequence), f"10.0.0.{sequence}")
    driver = stage.driver()

    ended = together(stage, driver, "leave", (1, 2))

    assert {type(error) for error in ended} == {RuntimeError, Transient}


def test_a_call_that_fails_before_the_batch_leaves_no_change_for_a_later_one(stage: OctaviaStage) -> None:
    stage.octavia.registration(stage.pool, name(1), "10.0.0.1")
    stage.octavia.registration(stage.pool, name(2), "10.0.0.2")
    stage.waited, stage.pool.status = Broken(), "PENDING_UPDATE"
    driver = stage.driver()
    with pytest.raises(RuntimeError):
        driver.leave(name(1))
    stage.pool.status, stage.octavia.settles = "ACTIVE", 0

    driver.leave(name(2))

    assert stage.names() == [name(1)]


def test_a_tree_that_another_client_changes_is_waited_for(stage: OctaviaStage) -> None:
    stage.octavia.settles = 6
    driver = stage.driver()

    driver.join(name(), "10.0.0.1", 80)
    stage.octavia.status[stage.pool.load_balancer] = "PENDING_UPDATE"
    stage.octavia._then.append(lambda: stage.octavia.status.update({stage.pool.load_balancer: "ACTIVE"}))
    stage.octavia._looks = 7
    driver.enable(name())

    assert state(driver, name()) is SERVING


def test_a_conflict_of_the_very_moment_never_reaches_the_caller(stage: OctaviaStage) -> None:
    immutable = error(409, "x", key="faultcode")
    body = f'{{"faultstring": "Pool {stage.pool.id} is immutable and cannot be updated."}}'.encode()
    stage.wire.script("POST /lbaas/pools/{id}/members", *[answered(body, status=immutable.status)] * 3)

    stage.driver().join(name(), "10.0.0.1", 80)

    assert stage.names() == [name()]


def test_a_pool_that_is_not_ready_under_a_load_balancer_that_is_is_waited_for(stage: OctaviaStage) -> None:
    stage.pool.status = "PENDING_CREATE"

    with pytest.raises(Transient, match="lb: pool web takes no changes for 30 s"):
        stage.driver().join(name(), "10.0.0.1", 80)

    assert 30.0 <= sum(stage.waited) < 33.0
    assert stage.waited == sorted(stage.waited)


@pytest.mark.parametrize("what", ["pool", "load balancer"])
def test_an_error_is_for_a_person(stage: OctaviaStage, what: str) -> None:
    driver = stage.driver()
    if what == "pool":
        stage.pool.status = "ERROR"
    else:
        stage.octavia.status[stage.pool.load_balancer] = "ERROR"

    with pytest.raises(Permanent, match=f"the {what}.* is in ERROR and takes no changes: have it failed over"):
        driver.join(name(), "10.0.0.1", 80)

    assert driver.registrations() == {}


def test_a_quota_says_so(stage: OctaviaStage) -> None:
    stage.octavia.quota = 0

    with pytest.raises(Permanent, match="quota: Quota has been met for resources: Member"):
        stage.driver().join(name(), "10.0.0.1", 80)


@pytest.mark.parametrize("fault", [LOST, UNREACHED, answered(b"<html>", status=502, obeyed=True)], ids=str)
def test_a_change_whose_answer_is_lost_can_be_made_again(stage: OctaviaStage, fault: Any) -> None:
    stage.wire.script("POST /lbaas/pools/{id}/members", fault)
    driver = stage.driver()
    with pytest.raises(Transient):
        driver.join(name(), "10.0.0.1", 80)

    driver.join(name(), "10.0.0.1", 80)

    assert stage.names() == [name()]


def test_an_octavia_that_would_delete_members_that_a_batch_does_not_list_is_refused(stage: OctaviaStage) -> None:
    stage.octavia.newest = 10
    stage.octavia.registration(stage.pool, "database", "10.0.0.9")

    with pytest.raises(Permanent, match=r"Octavia's API is 2\.10: Trimtab needs 2\.11"):
        stage.driver().join(name(), "10.0.0.1", 80)

    assert stage.names() == ["database"]


# Registrations.


@pytest.mark.parametrize(
    ("operating", "health"),
    [
        ("ONLINE", Health.HEALTHY),
        ("ERROR", Health.FAILING),
        ("NO_MONITOR", None),
        ("DRAINING", Health.UNKNOWN),
        ("OFFLINE", Health.UNKNOWN),
        ("LEVITATING", Health.UNKNOWN),
    ],
)
def test_health_is_what_the_monitor_says(stage: OctaviaStage, operating: str, health: Health | None) -> None:
    stage.octavia.registration(stage.pool, name(), "10.0.0.1", operating_status=operating)

    registration = stage.driver().registrations()[name()]

    assert registration.health is health
    assert registration.connections is None


def test_every_page_of_members_is_read(stage: OctaviaStage) -> None:
    stage.octavia.most = 3
    for sequence in range(1, 11):
        stage.octavia.registration(stage.pool, name(sequence), f"10.0.0.{sequence}")

    assert len(stage.driver().registrations()) == 10


def test_a_listing_that_cannot_be_read_whole_is_none(stage: OctaviaStage) -> None:
    stage.octavia.most = 3
    for sequence in range(1, 11):
        stage.octavia.registration(stage.pool, name(sequence), f"10.0.0.{sequence}")
    label = "GET /lbaas/pools/{id}/members"
    for fault in (answered(b"{}", status=503), answered(b'{"members": [{"id": 3}]}')):
        stage.wire.script(label, answered(b"", obeyed=True), fault)
        with pytest.raises(Transient):
            stage.driver().registrations()


# Which pool.


def test_a_pool_is_meant_by_name_by_id_or_as_the_only_one(stage: OctaviaStage) -> None:
    ways = ({"pool": "web"}, {"pool": stage.pool.id}, {"pool": None, "load_balancer": "front"})
    assert {stage.driver(**way).incarnation() for way in ways} == {stage.pool.id}


def test_a_pool_that_was_deleted_is_for_a_person(stage: OctaviaStage) -> None:
    driver = stage.driver()
    driver.join(name(), "10.0.0.1", 80)
    del stage.octavia.pools[stage.pool.id]

    with pytest.raises(Permanent, match="there is no such pool"):
        driver.enable(name())
    with pytest.raises(Permanent, match="no pool that the project can see is called 'web'"):
        driver.registrations()


def test_names_that_mean_several_pools_or_none_are_refused(stage: OctaviaStage) -> None:
    second = stage.octavia.tree(name="back")
    third = stage.octavia.tree(name="back", pool="api")

    with pytest.raises(Permanent, match=f"2 pools are called 'web': write the id of one of them: .*{second.id}"):
        stage.driver().registrations()
    with pytest.raises(Permanent, match="no pool that the project can see is called 'web2'"):
        stage.driver(pool="web2").registrations()
    with pytest.raises(Permanent, match="load balancer back has 2 pools: write the id of one of them as pool: "):
        stage.driver(load_balancer="back", pool=None).registrations()
    with pytest.raises(Permanent, match="no load balancer that the project can see is called 'side'"):
        stage.driver(load_balancer="side", pool=None).registrations()
    assert stage.driver(pool=third.id).incarnation() == third.id


BY_LOAD_BALANCER = {"load_balancer": "front", "pool": None}


@pytest.mark.parametrize("by_id", [False, True], ids=["by-name", "by-id"])
def test_a_load_balancer_that_was_deleted_is_not_found_beside_another(stage: OctaviaStage, by_id: bool) -> None:
    above = stage.pool.load_balancer
    driver = stage.driver(**{**BY_LOAD_BALANCER, **({"load_balancer": above} if by_id else {})})
    driver.join(name(), "10.0.0.1", 80)
    stage.octavia.remove(above)
    with pytest.raises(Permanent, match=r"the project sees no other (pool|load balancer) either") as alone:
        driver.registrations()
    assert not isinstance(alone.value, NotFound)

    stage.octavia.tree("back")
    for _ in range(2):
        with pytest.raises(NotFound, match="and the project sees 1 other"):
            driver.registrations()


def test_a_load_balancer_without_a_pool_is_not_found_beside_another_pool(stage: OctaviaStage) -> None:
    stage.octavia.pools.clear()
    stage.octavia.tree("back")
    with pytest.raises(NotFound, match="the load balancer front has 0 pools, and the project sees 1 other: make one"):
        stage.driver(**BY_LOAD_BALANCER).registrations()


@pytest.mark.parametrize(
    "body", [b'{"pools": [{"name": "web"}]}', b'{"pools": [], "pools_links": [{"rel": "next"}]}'], ids=["no id", "more"]
)
def test_a_listing_that_contradicts_itself_does_not_prove_that_a_load_balancer_has_no_pool(
    stage: OctaviaStage, body: bytes
) -> None:
    stage.octavia.tree("back")
    driver = stage.driver(**BY_LOAD_BALANCER)
    stage.wire.script("GET /lbaas/pools", answered(body))

    with pytest.raises(Transient, match="pools: the answer cannot be read"):
        driver.registrations()


def test_a_pool_of_another_project_is_refused_and_no_pool_that_is_missing(stage: OctaviaStage) -> None:
    driver = stage.driver(pool=stage.pool.id)
    stage.octavia.tree("back", "back")
    words = b'{"faultcode": "Client", "faultstring": "Policy does not allow this request to be performed."}'
    stage.wire.script("GET /lbaas/pools/{id}/members", answered(words, status=403))
    with pytest.raises(Permanent, match="Policy does not allow") as refused:
        driver.registrations()
    assert not isinstance(refused.value, NotFound)


def test_a_pool_that_was_renamed_is_known_by_its_id(stage: OctaviaStage) -> None:
    driver = stage.driver()
    driver.join(name(), "10.0.0.1", 80)
    stage.octavia.tree("back", "back")
    stage.pool.name = "web-2026"
    assert set(driver.registrations()) == {name()}


@given(JSON)
def test_whatever_is_answered_is_read_or_malformed(body: Any) -> None:
    for page in (page_of(body), page_of({"members": [body]})):
        assert page is None or all(isinstance(entry, PoolMember) for entry in page[0])
    assert isinstance(pool_of(body), PoolStatus | None)
    assert isinstance(load_balancer_of({"loadbalancer": body}), Tree | None)
