"""What a NetScaler alone has: service groups, server objects, sessions, pairs. The rest is asked of every balancer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import web
from check_netscaler.client import NITROClient

from config.errors import NotFound, Permanent, Transient
from config.model.access import Trust
from config.units import Instant
from handler.planning.world import Health, RegistrationState
from tests.support.balancers import a_name, state_of
from tests.support.netscaler import PASSWORD, USER, nitro
from tests.support.netscaler_config import Member
from tests.support.netscaler_stage import GROUP, NetscalerStage, netscaler_stage

PARKED, SERVING, DRAINING = RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING
BOUND = "config/servicegroup_servicegroupmember_binding/"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[NetscalerStage]:
    with netscaler_stage(tmp_path) as stage:
        yield stage


def test_a_member_is_bound_by_its_name_and_waits_disabled(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "2001:db8::7", 8080)
    assert stage.there.servers == {name: "2001:db8::7"}
    assert stage.members[name, 8080].state == "DISABLED"


@pytest.mark.parametrize(
    ("declared", "sent"),
    [
        ({}, {"graceful": "YES"}),
        ({"delay": 90.0}, {"graceful": "YES", "delay": 90}),
        ({"delay": 0.2}, {"graceful": "YES", "delay": 1}),
    ],
)
def test_a_member_is_drained_gracefully_for_as_long_as_declared(
    stage: NetscalerStage, declared: Mapping[str, object], sent: Mapping[str, object]
) -> None:
    name, driver = a_name(), stage.driver(**declared)
    driver.join(name, "10.0.0.7", 80)
    driver.enable(name)
    stage.members[name, 80].connections = 3
    driver.drain(name)
    assert stage.members[name, 80].disabled_with == sent
    assert driver.registrations()[name].connections == 3
    assert state_of(driver, name) is DRAINING
    stage.there.finish(name)
    assert driver.registrations()[name].connections == 0


def test_draining_once_more_does_not_begin_the_delay_anew(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.balancer.enable(name)
    stage.members[name, 80].connections = 3
    stage.balancer.drain(name)
    before = len(stage.there.changes)
    stage.balancer.drain(name)
    assert len(stage.there.changes) == before


def test_connections_that_the_statistics_do_not_show_are_unknown(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.members[name, 80].connections = None
    assert stage.balancer.registrations()[name].connections is None


@pytest.mark.parametrize(
    ("word", "health"),
    [("UP", Health.HEALTHY), ("DOWN", Health.FAILING), ("BUSY", Health.UNKNOWN), ("", Health.UNKNOWN)],
)
def test_a_member_s_health_is_what_monitors_say(stage: NetscalerStage, word: str, health: Health) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.balancer.enable(name)
    stage.members[name, 80].word = word
    assert stage.balancer.registrations()[name].health is health
    stage.there.group["healthmonitor"] = "NO"
    assert stage.balancer.registrations()[name].health is None


def test_a_member_at_a_new_address_is_bound_anew(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.balancer.enable(name)
    stage.balancer.join(name, "10.0.0.8", 80)
    assert stage.there.servers[name] == "10.0.0.8"
    assert state_of(stage.balancer, name) is PARKED


def test_a_server_object_that_something_else_uses_stays(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.there.groups["other"] = {(name, 443): Member()}
    stage.balancer.leave(name)
    assert stage.there.groups["other"] == {(name, 443): Member()}
    stage.there.groups["other"].clear()
    stage.there.services["by-hand"] = name
    stage.balancer.leave(name)
    assert name in stage.there.servers
    stage.there.services.clear()
    stage.balancer.leave(name)
    assert stage.there.servers == {}


def test_an_address_of_another_server_object_is_reported_and_nothing_is_bound(stage: NetscalerStage) -> None:
    stage.there.servers["by-hand"] = "10.0.0.7"
    with pytest.raises(Permanent, match=r"its address 10\.0\.0\.7 belongs to another server object"):
        stage.balancer.join(a_name(), "10.0.0.7", 80)
    assert stage.members == {}


def test_a_member_is_not_bound_at_the_address_of_an_earlier_machine_that_something_else_uses(
    stage: NetscalerStage,
) -> None:
    name = a_name()
    stage.there.servers[name] = "10.0.0.1"
    stage.there.groups["other"] = {(name, 443): Member()}

    with pytest.raises(Permanent, match=rf"{name}.* has the address 10\.0\.0\.1.*the member has 10\.0\.0\.2"):
        stage.balancer.join(name, "10.0.0.2", 80)

    assert (stage.members, stage.there.servers[name]) == ({}, "10.0.0.1")


def test_a_refused_binding_is_no_success_because_another_one_is_there(stage: NetscalerStage) -> None:
    name = a_name()

    def first(path: str) -> web.StreamResponse | None:
        if path != BOUND[:-1]:
            return None
        stage.members[name, 81] = Member()
        return nitro(599, 9999, "not now")

    stage.appliance.instead = first
    with pytest.raises(Transient, match="not now"):
        stage.balancer.join(name, "10.0.0.7", 80)
    stage.appliance.instead = lambda path: None
    stage.balancer.join(name, "10.0.0.7", 80)
    assert list(stage.members) == [(name, 80)]


def test_a_member_that_is_bound_twice_is_enabled_and_unbound_twice(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.members[name, 81] = Member(state="DISABLED", connections=2)
    stage.balancer.enable(name)
    assert {member.state for member in stage.members.values()} == {"ENABLED"}
    assert stage.balancer.registrations()[name].connections == 2
    stage.balancer.leave(name)
    assert stage.members == {}


def test_changes_are_saved_once_at_the_next_look_if_that_is_declared(stage: NetscalerStage) -> None:
    driver, names = stage.driver(save=True), [a_name(), a_name()]
    for number, name in enumerate(names):
        driver.join(name, f"10.0.0.{number + 1}", 80)
        driver.enable(name)
    assert stage.there.saves == 0
    driver.registrations()
    driver.registrations()
    assert stage.there.saves == 1
    stage.balancer.leave(names[0])
    stage.balancer.registrations()
    assert stage.there.saves == 1  # it is not declared there


def test_what_cannot_be_saved_is_saved_later(stage: NetscalerStage) -> None:
    driver, name = stage.driver(save=True), a_name()
    driver.join(name, "10.0.0.7", 80)
    stage.appliance.instead = lambda path: nitro(503, 1, "busy") if "nsconfig" in path else None
    assert name in driver.registrations()
    stage.appliance.instead = lambda path: None
    driver.registrations()
    assert stage.there.saves == 1


def test_the_secondary_of_a_pair_is_told_apart(stage: NetscalerStage) -> None:
    stage.there.secondary = True
    with pytest.raises(Permanent, match=r"secondary of a pair.*the address that follows the primary"):
        stage.balancer.join(a_name(), "10.0.0.7", 80)


def test_the_message_for_a_user_who_may_only_look_says_what_is_lacking(stage: NetscalerStage) -> None:
    stage.there.forbidden = True
    assert stage.balancer.registrations() == {}
    with pytest.raises(Permanent, match="extend its policy"):
        stage.balancer.join(a_name(), "10.0.0.7", 80)


def test_a_service_group_that_is_not_there_is_named(stage: NetscalerStage) -> None:
    with pytest.raises(Permanent, match="error 258: No such resource"):
        stage.driver(service_group="nowhere").registrations()


def test_a_service_group_is_not_found_by_either_code(stage: NetscalerStage) -> None:
    stage.there.groups["other"] = {}
    path = "config/servicegroup/"
    stage.appliance.instead = lambda asked: nitro(404, 344, "No Service") if asked.startswith(path) else None
    with pytest.raises(Permanent, match=r"lists .* all the same") as doubtful:
        stage.balancer.registrations()
    assert not isinstance(doubtful.value, NotFound)
    del stage.there.groups[GROUP]
    with pytest.raises(NotFound, match="error 344: No Service; it lists 1 without"):
        stage.balancer.registrations()


def test_certificates_that_cannot_be_read_are_named(stage: NetscalerStage, tmp_path: Path) -> None:
    for missing in (tmp_path / "none.pem", tmp_path):
        with pytest.raises(Permanent, match=rf"{missing} \(ca\) cannot be read") as refused:
            stage.driver(trust=Trust(ca=str(missing))).registrations()

        assert refused.value.remedy == "name a PEM file that Trimtab may read"


def test_a_service_group_whose_members_another_service_decides_is_refused(stage: NetscalerStage) -> None:
    stage.there.group["autoscale"] = "DNS"
    with pytest.raises(Permanent, match="autoscale DNS: use a group without"):
        stage.balancer.registrations()


def test_a_session_that_is_over_is_renewed_in_flight(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.registrations()
    stage.appliance.expire()
    stage.balancer.join(name, "10.0.0.7", 80)
    assert name in stage.balancer.registrations()
    assert stage.appliance.logins == 2


def test_a_refused_password_is_not_tried_again_until_it_changes_or_time_has_passed(stage: NetscalerStage) -> None:
    stage.password = "wr0ng-password"
    for _ in range(3):
        with pytest.raises(Permanent, match=r"cannot log in|not tried again for") as refused:
            stage.balancer.registrations()
        assert "wr0ng" not in str(refused.value)
    assert stage.appliance.logins == 1
    stage.now = Instant(stage.now + 301)
    with pytest.raises(Permanent, match="cannot log in"):
        stage.balancer.registrations()
    stage.password = PASSWORD
    assert stage.balancer.registrations() == {}
    assert stage.appliance.logins == 3


def test_sessions_that_are_over_at_once_end_in_a_pause_and_not_in_a_storm(stage: NetscalerStage) -> None:
    stage.appliance.instead = lambda path: None if "login" in path else nitro(401, 444, "Session expired")
    with pytest.raises(Transient, match="every new session ends at once"):
        stage.balancer.registrations()
    with pytest.raises(Transient, match="ends at once; not tried again for 60 s"):
        stage.balancer.registrations()
    assert stage.appliance.logins == 2
    stage.appliance.instead = lambda path: None
    stage.now = Instant(stage.now + 61)
    assert stage.balancer.registrations() == {}


def test_an_appliance_that_repeats_the_password_does_not_bring_it_into_an_error(stage: NetscalerStage) -> None:
    stage.appliance.instead = lambda path: None if "login" in path else nitro(599, 9999, f"not with {PASSWORD}")
    with pytest.raises(Transient, match="error 9999: not with …"):
        stage.balancer.registrations()


@pytest.mark.parametrize(
    "entry",
    [
        {"servername": "web-k3f9ab-1", "ip": "10.0.0.7", "port": "many", "state": "ENABLED"},
        {"servername": "web-k3f9ab-1", "ip": "10.0.0.7", "port": 80, "state": "PERHAPS"},
        {"servername": "", "ip": "10.0.0.7", "port": 80, "state": "ENABLED"},
        {},
    ],
)
def test_a_member_that_cannot_be_read_hides_no_other(stage: NetscalerStage, entry: Mapping[str, object]) -> None:
    kind = "servicegroup_servicegroupmember_binding"
    stage.appliance.instead = lambda path: nitro(200, 0, "Done", **{kind: [entry]}) if kind in path else None
    with pytest.raises(Transient, match="without name, address, port or state"):
        stage.balancer.registrations()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda: web.Response(status=200), id="empty"),
        pytest.param(lambda: web.json_response({}), id="an empty object"),
        pytest.param(lambda: nitro(200, 0, "Done", **{BOUND[7:-1]: ["web-k3f9ab-1"]}), id="names alone"),
        pytest.param(lambda: nitro(200, 0, "Done", **{BOUND[7:-1]: "web-k3f9ab-1"}), id="a text"),
    ],
)
def test_an_answer_without_what_it_is_about_is_no_empty_service_group(
    stage: NetscalerStage, answer: Callable[[], web.Response]
) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.appliance.instead = lambda path: answer() if path.startswith(BOUND) else None

    for call in (stage.balancer.registrations, lambda: stage.balancer.leave(name)):
        with pytest.raises(Transient):
            call()

    assert (name, 80) in stage.members


@pytest.mark.parametrize("kind", ["server", "server_binding"])
def test_a_server_object_is_not_removed_while_its_use_is_unknown(stage: NetscalerStage, kind: str) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.there.groups["other"] = {(name, 443): Member()}
    stage.appliance.instead = lambda path: nitro(200, 0, "Done") if path.startswith(f"config/{kind}/") else None

    with pytest.raises(Transient, match="cannot be read"):
        stage.balancer.leave(name)

    assert stage.there.groups["other"] == {(name, 443): Member()}


def test_a_list_of_service_groups_that_cannot_be_read_proves_nothing(stage: NetscalerStage) -> None:
    del stage.there.groups[GROUP]
    groups = [{"servicegroupname": "other"}, GROUP]
    stage.appliance.instead = lambda path: (
        nitro(200, 0, "Done", servicegroup=groups) if path.rstrip("/") == "config/servicegroup" else None
    )
    with pytest.raises(Transient, match="the list of service groups cannot be read"):
        stage.balancer.registrations()


def test_an_answer_that_the_appliance_itself_doubts_is_not_used(stage: NetscalerStage) -> None:
    stage.appliance.instead = lambda path: nitro(207, 1243, "Bulk operation failed") if "binding" in path else None
    with pytest.raises(Transient, match="incomplete: error 1243"):
        stage.balancer.registrations()


def test_a_client_that_we_did_not_write_sees_what_was_changed(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)
    stage.members[name, 80].connections = 4
    host, port = stage.address
    group = quote(GROUP, safe="")
    with NITROClient(host, USER, PASSWORD, ssl=False, port=port) as client:
        shown = client.get_stat("servicegroup", group, "statbindings=yes")
        bound = client.get_config("servicegroup_servicegroupmember_binding", group)
    (member,) = shown["servicegroup"][0]["servicegroupmember"]
    assert member == {"servicegroupname": f"{GROUP}?{name}?80", "cursrvrconnections": "4"}
    assert bound["servicegroup_servicegroupmember_binding"][0]["servername"] == name


def test_a_refusal_to_undo_what_was_undone_meanwhile_is_none(stage: NetscalerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "10.0.0.7", 80)

    def first(path: str) -> web.StreamResponse | None:
        if "args=" not in path:
            return None
        stage.members.clear()
        return nitro(404, 258, "No such resource")

    stage.appliance.instead = first
    stage.balancer.leave(name)
    assert stage.there.servers == {}
