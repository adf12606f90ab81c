from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from config.errors import Permanent, Transient
from config.model.access import SecretRef
from config.model.managed import (
    HealthMonitor,
    ListenerSpec,
    ManagedBalancer,
    ManagedPart,
    Method,
    Persistence,
    PoolSpec,
    Probe,
    SessionPersistence,
    Vip,
)
from config.units import BalancerId, CloudId, MemberName
from handler.balancers.octavia.provisioning import OctaviaProvisioner
from handler.planning.provisioning import Act, Make, Provision, Provisioned, Unmake, next_to_make, next_to_unmake
from handler.planning.world import RegistrationState
from handler.ports.balancer import Batched, ListsForeignMembers, Provisioner
from tests.support.openstack import HERE, an_access
from tests.support.openstack_bed import an_access as access_of_the_bed
from tests.support.openstack_bed import no_secrets, wall
from tests.support.openstack_making_wire import MakingOctavia
from tests.support.openstack_wire import SECRET, OpenstackWire, error, mint
from tests.support.orchestrators import Clock, installation
from tests.support.waiting import until
from tests.support.wire_server import answered

LB, LISTENER, POOL, MONITOR, *_ = ManagedPart
SUBNET = mint("subnet")
NAME = MemberName("web-k3f9ab-1")
PLAIN = ManagedBalancer(
    id=BalancerId("front"), on=CloudId("prod"), cloud=None, vip=Vip(subnet=SUBNET), health_monitor=HealthMonitor()
)
MARK = f"trimtab-{HERE}-front"


@dataclass
class Stage:
    wire: OpenstackWire
    octavia: MakingOctavia
    auth_url: str
    clock: Clock = field(default_factory=Clock)

    def driver(self, declared: ManagedBalancer = PLAIN) -> OctaviaProvisioner:
        return OctaviaProvisioner(declared, an_access(self.auth_url), HERE, self._secret, self.clock)

    def _secret(self, ref: SecretRef) -> str:
        return SECRET


@pytest.fixture
def stage() -> Iterator[Stage]:
    octavia = MakingOctavia()
    wire = OpenstackWire(services=(octavia,))
    with wire.serving() as auth_url:
        yield Stage(wire, octavia, auth_url)


def bring(driver: OctaviaProvisioner, next_act: Callable[..., Act]) -> list[ManagedPart]:
    """Act until nothing is left to do, as provisions do; which parts were made or deleted, in order."""
    acted: list[ManagedPart] = []
    for _ in range(60):
        act = step(driver, next_act)
        if isinstance(act, Provisioned):
            return acted
        if isinstance(act, Make | Unmake):
            acted.append(act.part)
    raise AssertionError(f"not done: {driver.parts()}")


def step(driver: OctaviaProvisioner, next_act: Callable[..., Act]) -> Act:
    found = driver.parts()
    act = next_act(driver.declared, found)
    if isinstance(act, Make):
        driver.create(act.part, found)
    elif isinstance(act, Unmake):
        driver.delete(act.part, act.id)
    return act


def test_it_is_what_convergence_asks_for(stage: Stage) -> None:
    assert isinstance(stage.driver(), Provisioner)
    assert isinstance(stage.driver(), ListsForeignMembers)
    assert isinstance(stage.driver(), Batched)


def test_parts_are_made_one_after_the_other_and_deleted_in_the_reverse_order(stage: Stage) -> None:
    driver = stage.driver()
    assert bring(driver, next_to_make) == [LB, LISTENER, POOL, MONITOR]
    assert {part.given["name"] for part in stage.octavia.parts.values()} == {MARK}
    assert bring(driver, next_to_make) == []
    assert bring(driver, next_to_unmake) == [MONITOR, POOL, LISTENER, LB]
    assert stage.octavia.parts == {}


def test_a_listing_without_entries_that_goes_on_makes_no_second_load_balancer(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    stage.wire.script(
        "GET /lbaas/loadbalancers", answered(b'{"loadbalancers": [], "loadbalancers_links": [{"rel": "next"}]}')
    )

    with pytest.raises(Transient, match="loadbalancers: the answer cannot be read"):
        driver.parts()


def test_everything_is_pending_while_a_part_is(stage: Stage) -> None:
    driver = stage.driver()
    stage.octavia.settles = 20
    driver.create(LB, {})
    (status,) = driver.parts().values()
    assert (status.state, status.word) == (Provision.PENDING, "PENDING_CREATE")
    with pytest.raises(Transient, match="immutable"):
        driver.create(LISTENER, driver.parts())


def test_every_property_is_sent_to_octavia(stage: Stage) -> None:
    declared = replace(
        PLAIN,
        vip=Vip(subnet=SUBNET, address="192.0.2.10", admin_state_up=False),
        listener=ListenerSpec(port=8080, connection_limit=2000),
        pool=PoolSpec(
            lb_method=Method.LEAST_CONNECTIONS,
            session_persistence=SessionPersistence(kind=Persistence.APP_COOKIE, cookie_name="JSESSIONID"),
        ),
        health_monitor=HealthMonitor(kind=Probe.HTTP, delay=30.0, timeout=10.0, url_path="/healthz"),
    )
    bring(stage.driver(declared), next_to_make)
    ids = {part.kind: part.id for part in stage.octavia.parts.values()}
    created = {kind: {key: value for key, value in body.items() if key not in {"name", "description"}}
            for kind, body in stage.octavia.bodies.items()}  # fmt: skip
    assert created == {
        "loadbalancers": {"vip_subnet_id": SUBNET, "vip_address": "192.0.2.10", "admin_state_up": False},
        "listeners": {
            "loadbalancer_id": ids["loadbalancers"],
            "protocol": "HTTP",
            "protocol_port": 8080,
            "connection_limit": 2000,
            "admin_state_up": True,
        },
        "pools": {
            "listener_id": ids["listeners"],
            "protocol": "HTTP",
            "lb_algorithm": "LEAST_CONNECTIONS",
            "session_persistence": {"type": "APP_COOKIE", "cookie_name": "JSESSIONID"},
            "admin_state_up": True,
        },
        "healthmonitors": {
            "pool_id": ids["pools"],
            "type": "HTTP",
            "delay": 30,
            "timeout": 10,
            "max_retries": 3,
            "http_method": "GET",
            "url_path": "/healthz",
            "expected_codes": "200",
            "admin_state_up": True,
        },
    }


def test_a_ping_monitor_has_no_properties_of_pages(stage: Stage) -> None:
    bring(stage.driver(), next_to_make)
    assert not {"http_method", "url_path", "expected_codes"} & stage.octavia.bodies["healthmonitors"].keys()
    assert stage.octavia.bodies["listeners"]["connection_limit"] == -1


def test_after_an_answer_that_was_lost_the_part_is_found_by_its_name(stage: Stage) -> None:
    driver = stage.driver()
    stage.wire.script("POST /lbaas/loadbalancers", error(504, "gateway timed out", obeyed=True))
    with pytest.raises(Transient):
        driver.create(LB, {})
    assert bring(driver, next_to_make) == [LISTENER, POOL, MONITOR]


def test_what_exists_is_used_and_left(stage: Stage) -> None:
    above = stage.octavia.put("loadbalancers", "shared")
    stage.octavia.put("loadbalancers", "other")
    driver = stage.driver(replace(PLAIN, vip=None, loadbalancer="shared"))
    assert bring(driver, next_to_make) == [LISTENER, POOL, MONITOR]
    assert stage.octavia.bodies["listeners"]["loadbalancer_id"] == above
    assert bring(driver, next_to_unmake) == [MONITOR, POOL, LISTENER]
    assert [part.given["name"] for part in stage.octavia.of("loadbalancers")] == ["shared", "other"]


def test_a_pool_and_its_monitor_that_exist_are_used_by_their_ids(stage: Stage) -> None:
    above = stage.octavia.put("loadbalancers", "shared")
    pool = stage.octavia.put("pools", "web", stage.octavia.put("listeners", "web", above))
    monitor = stage.octavia.put("healthmonitors", "web", pool)
    declared = replace(
        PLAIN, vip=None, loadbalancer=above, pool=PoolSpec(id=pool), health_monitor=HealthMonitor(id=monitor)
    )
    driver = stage.driver(declared)
    assert {part: status.id for part, status in driver.parts().items()} == {LB: above, POOL: pool, MONITOR: monitor}
    assert bring(driver, next_to_make) == bring(driver, next_to_unmake) == []
    assert driver.incarnation() == pool


def test_parts_of_the_same_name_within_another_load_balancer_are_not_ours(stage: Stage) -> None:
    bring(stage.driver(), next_to_make)
    other = stage.octavia.put("loadbalancers", "other")
    stage.octavia.put("listeners", MARK, other)
    assert bring(stage.driver(), next_to_unmake) == [MONITOR, POOL, LISTENER, LB]
    assert [part.above for part in stage.octavia.of("listeners")] == [other]


def test_two_of_one_name_are_a_persons_to_look_after(stage: Stage) -> None:
    stage.octavia.put("loadbalancers", MARK)
    stage.octavia.put("loadbalancers", MARK)
    with pytest.raises(Permanent, match="2 loadbalancers are called trimtab-k3f9ab-front: delete all but one"):
        stage.driver().parts()


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"loadbalancers": [7]}', b'{"loadbalancers": [{"id": "7"}]}'])
def test_what_makes_no_sense_proves_nothing(stage: Stage, body: bytes) -> None:
    fault = replace(error(200, ""), body=body)
    stage.wire.script("GET /lbaas/loadbalancers", fault)
    with pytest.raises(Transient, match="cannot be read"):
        stage.driver().parts()


def test_a_quota_is_reported_and_permanent(stage: Stage) -> None:
    stage.wire.script("POST /lbaas/loadbalancers", error(403, "Quota has been met for resources: Load Balancer"))
    with pytest.raises(Permanent, match="quota"):
        stage.driver().create(LB, {})


def test_members_sit_in_its_pool_and_foreign_members_are_reported(stage: Stage) -> None:
    driver = stage.driver()
    assert (driver.registrations(), driver.occupants(), driver.foreign(), driver.incarnation()) == ({}, {}, (), "")
    driver.drain(NAME)
    driver.leave(NAME)
    with pytest.raises(Transient, match="no pool yet"):
        driver.join(NAME, "10.20.9.7", 80)
    bring(driver, next_to_make)
    driver.join(NAME, "10.20.9.7", 80)
    driver.enable(NAME)
    assert driver.registrations()[NAME].state is RegistrationState.SERVING
    (pool,) = stage.octavia.pools.values()
    stage.octavia.registration(pool, "mail", "10.20.9.8")
    assert driver.foreign() == ("mail",)
    assert driver.occupants() == {("10.20.9.7", 80): NAME, ("10.20.9.8", 80): "mail"}
    driver.leave(NAME)
    assert driver.registrations() == {}


@pytest.mark.bed("openstack")
def test_a_real_octavia_makes_and_deletes_it() -> None:
    declared = replace(
        PLAIN,
        vip=Vip(subnet="net-v4"),
        listener=ListenerSpec(port=8081, connection_limit=2000),
        pool=PoolSpec(
            subnet="net-v4",
            session_persistence=SessionPersistence(kind=Persistence.APP_COOKIE, cookie_name="JSESSIONID"),
        ),
        health_monitor=HealthMonitor(kind=Probe.HTTP, delay=3.0, timeout=2.0, expected_codes="200-299"),
    )
    driver = OctaviaProvisioner(declared, access_of_the_bed(), installation(), no_secrets, wall)

    def patiently(call: Callable[[], object]) -> None:
        """Until it is true, and not refused for now: a busy tree answers 409, and at times 500."""

        def done() -> bool:
            try:
                return bool(call())
            except Transient:
                return False

        until(done, every=0.2)

    patiently(lambda: isinstance(step(driver, next_to_make), Provisioned))
    assert [*driver.parts()] == [LB, LISTENER, POOL, MONITOR]
    patiently(lambda: driver.join(NAME, "10.20.9.7", 8080) is None)
    patiently(lambda: driver.enable(NAME) is None)
    assert driver.occupants() == {("10.20.9.7", 8080): NAME}
    patiently(lambda: isinstance(step(driver, next_to_unmake), Provisioned))
    assert driver.parts() == {}


def test_what_is_gone_is_answered_by_its_id(stage: Stage) -> None:
    driver = stage.driver()
    own = stage.octavia.put("loadbalancers", MARK)
    assert [driver.is_gone(LB, known) for known in (own, mint("another"))] == [False, True]
    words = b'{"faultcode": "Client", "faultstring": "Policy does not allow this request to be performed."}'
    stage.wire.script("GET /lbaas/loadbalancers/{id}", answered(words, status=403))
    with pytest.raises(Permanent, match="Policy does not allow"):
        driver.is_gone(LB, own)
