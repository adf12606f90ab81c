"""Members in the servers of a template, on a real HAProxy: what no other driver has to promise."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.errors import Permanent, Transient
from config.model.balancers import ServerTemplate
from handler.balancers.haproxy.driver import HaproxyDriver
from handler.balancers.haproxy.runtime import Runtime
from handler.balancers.haproxy.slots import HaproxySlots
from handler.planning.world import RegistrationState
from tests.support.balancers import a_name, get, state_of
from tests.support.haproxy import Haproxy, running_haproxy, two_servers
from tests.support.waiting import until

pytestmark = pytest.mark.real("haproxy")

PARKED, SERVING, DRAINING = RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Haproxy]:
    with running_haproxy(tmp_path_factory.mktemp("h"), slots=3) as running:
        yield running


@pytest.fixture
def haproxy(real: Haproxy) -> Iterator[Haproxy]:
    yield real
    for slot in ("slot1", "slot2", "slot3"):
        real.ask(f"set server web/{slot} state maint; set server web/{slot} addr 0.0.0.0")
    real.ask(f"clear map {real.map}")


def a_driver(haproxy: Haproxy, *, backend: str = "web", prefix: str = "slot", map: Path | None = None) -> HaproxySlots:
    template = ServerTemplate(prefix=prefix, map=str(map or haproxy.map))
    return HaproxySlots(Runtime(str(haproxy.socket), backend), template)


@pytest.mark.parametrize("again", [Haproxy.reload, Haproxy.restart], ids=["reload", "restart"])
def test_every_member_keeps_its_registration_when_haproxy_comes_again(
    haproxy: Haproxy, again: Callable[[Haproxy], None]
) -> None:
    parked, serving, draining = a_name(), a_name(), a_name()
    with two_servers() as ports:
        driver = a_driver(haproxy)
        driver.join(parked, "2001:db8::7", 80)
        driver.join(serving, "127.0.0.1", ports["a"])
        driver.enable(serving)
        driver.join(draining, "127.0.0.1", ports["b"])
        driver.enable(draining)
        driver.drain(draining)
        before = driver.incarnation()
        again(haproxy)
        another = a_driver(haproxy)
        assert another.incarnation() != before
        registrations = {name: registration.state for name, registration in another.registrations().items()}
        assert registrations == {parked: PARKED, serving: SERVING, draining: DRAINING}
        assert another.occupants()["2001:db8::7", 80] == parked
        assert get(haproxy.frontend_port) == "hello"


def test_a_driver_without_memory_knows_where_each_member_is(haproxy: Haproxy) -> None:
    name = a_name()
    a_driver(haproxy).join(name, "127.0.0.9", 80)
    a_driver(haproxy).leave(name)
    assert a_driver(haproxy).registrations() == {}
    assert haproxy.ask(f"show map {haproxy.map}").strip() == ""


def test_two_members_that_join_at_once_get_a_slot_each(haproxy: Haproxy) -> None:
    driver, names = a_driver(haproxy), [a_name() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(driver.join, names, ["127.0.0.1"] * 3, [81, 82, 83]))
    assert set(driver.registrations()) == set(names)


def test_a_member_that_finds_no_free_slot_waits_for_one(haproxy: Haproxy) -> None:
    driver, names = a_driver(haproxy), [a_name() for _ in range(4)]
    for port, name in enumerate(names[:3], 81):
        driver.join(name, "127.0.0.1", port)
    with pytest.raises(Transient, match="all 3 servers of the template slot"):
        driver.join(names[3], "127.0.0.1", 90)
    driver.leave(names[0])
    driver.join(names[3], "127.0.0.1", 90)
    assert state_of(driver, names[3]) is PARKED


def test_a_member_at_a_new_address_moves(haproxy: Haproxy) -> None:
    driver, name = a_driver(haproxy), a_name()
    driver.join(name, "127.0.0.1", 81)
    driver.enable(name)
    driver.join(name, "127.0.0.2", 81)
    assert driver.occupants()["127.0.0.2", 81] == name
    assert state_of(driver, name) is PARKED


def test_a_server_that_had_the_address_before_makes_way_and_hands_no_work_on(haproxy: Haproxy) -> None:
    driver, gone, new = a_driver(haproxy), a_name(), a_name()
    driver.join(gone, "127.0.0.1", 81)
    driver.enable(gone)
    driver.join(new, "127.0.0.1", 81)
    assert {name: registration.state for name, registration in driver.registrations().items()} == {new: PARKED}


def test_an_interrupted_joining_leaves_a_free_slot(haproxy: Haproxy) -> None:
    driver, name = a_driver(haproxy), a_name()
    haproxy.ask(f"add map {haproxy.map} 127.0.0.1:81 {name}")
    assert driver.registrations() == {}
    driver.join(name, "127.0.0.1", 81)
    assert state_of(driver, name) is PARKED


def test_an_interrupted_leaving_is_finished(haproxy: Haproxy) -> None:
    driver, name = a_driver(haproxy), a_name()
    driver.join(name, "127.0.0.1", 81)
    haproxy.ask("set server web/slot1 addr 0.0.0.0")
    driver.leave(name)
    assert driver.registrations() == {}
    driver.join(name, "127.0.0.1", 81)
    assert state_of(driver, name) is PARKED


def test_a_slot_with_work_of_an_unknown_member_stops_everything(haproxy: Haproxy) -> None:
    haproxy.ask("set server web/slot2 addr 127.0.0.1 port 81; set server web/slot2 state ready")
    with pytest.raises(Permanent, match=r"web/slot2 work at 127.0.0.1:81, and .* does not say whose: save the map"):
        a_driver(haproxy).registrations()
    haproxy.ask("set server web/slot2 addr 0.0.0.0")
    with pytest.raises(Permanent, match=r"web/slot2 work, which has lost its address"):
        a_driver(haproxy).registrations()


@pytest.mark.parametrize("call", ["drain", "leave"])
def test_a_member_whose_name_is_lost_after_the_look_does_not_seem_to_have_left(haproxy: Haproxy, call: str) -> None:
    driver, name = a_driver(haproxy), a_name()
    driver.join(name, "127.0.0.1", 81)
    driver.enable(name)
    haproxy.ask(f"del map {haproxy.map} 127.0.0.1:81")
    before = haproxy.servers()

    with pytest.raises(Permanent, match="does not say whose"):
        getattr(driver, call)(name)

    assert haproxy.servers() == before


def test_a_member_of_two_backends_with_one_map_does_not_seem_to_have_left_the_second(tmp_path: Path) -> None:
    with running_haproxy(tmp_path, {"web": {}, "api": {}}, slots=3) as haproxy:
        web, api, name = a_driver(haproxy), a_driver(haproxy, backend="api"), a_name()
        for driver in (web, api):
            driver.join(name, "127.0.0.1", 81)
            driver.enable(name)
        web.leave(name)

        with pytest.raises(Permanent, match=r"api/slot1 work at 127\.0\.0\.1:81"):
            api.leave(name)


def with_work(haproxy: Haproxy, *slots: int) -> None:
    """Slots of an earlier state, of which the map of today knows nothing."""
    for slot in slots:
        haproxy.ask(f"set server web/slot{slot} addr 127.0.0.7 port {90 + slot}; set server web/slot{slot} state ready")


def test_a_slot_from_an_earlier_state_is_put_into_maintenance_where_the_map_names_the_others(haproxy: Haproxy) -> None:
    driver, one, two, new = a_driver(haproxy), a_name(), a_name(), a_name()
    for at, name in enumerate((one, two), 81):
        driver.join(name, "127.0.0.1", at)
        driver.enable(name)
    with_work(haproxy, 3)

    driver.correct()

    assert {name: registration.state for name, registration in driver.registrations().items()} == {
        one: SERVING,
        two: SERVING,
    }

    driver.join(new, "127.0.0.7", 93)
    assert state_of(driver, new) is PARKED, "the slot is free, and so is the place"


@pytest.mark.parametrize("slots", [(2,), (2, 3)], ids=["one and one", "one and two"])
def test_where_the_map_names_no_majority_nothing_is_touched(haproxy: Haproxy, slots: tuple[int, ...]) -> None:
    driver, one = a_driver(haproxy), a_name()
    driver.join(one, "127.0.0.1", 81)
    driver.enable(one)
    with_work(haproxy, *slots)
    before = haproxy.servers()

    for call in (driver.registrations, driver.correct):
        with pytest.raises(Permanent, match="does not say whose"):
            call()

    assert haproxy.servers() == before


def test_a_look_corrects_nothing(haproxy: Haproxy) -> None:
    driver = a_driver(haproxy)
    for at in (81, 82):
        name = a_name()
        driver.join(name, "127.0.0.1", at)
        driver.enable(name)
    with_work(haproxy, 3)
    before = haproxy.servers()

    with pytest.raises(Permanent, match=r"slot3 work at 127\.0\.0\.7:93"):
        driver.registrations()

    assert haproxy.servers() == before


def test_a_member_that_is_gone_comes_back_with_an_old_state_and_is_deregistered(haproxy: Haproxy) -> None:
    driver, gone, stays = a_driver(haproxy), a_name(), a_name()
    for at, name in enumerate((gone, stays), 81):
        driver.join(name, "127.0.0.1", at)
        driver.enable(name)
    haproxy.keep()
    driver.leave(gone)
    haproxy.crash()
    assert state_of(driver, gone) is SERVING

    driver.deregister(gone)

    assert {name: registration.state for name, registration in driver.registrations().items()} == {stays: SERVING}


def test_a_slot_that_another_client_has_named_is_theirs(haproxy: Haproxy) -> None:
    driver, name = a_driver(haproxy), a_name()
    haproxy.ask(f"add map {haproxy.map} 127.0.0.1:81 payments")
    haproxy.ask("set server web/slot1 addr 127.0.0.1 port 81; set server web/slot1 state ready")
    driver.join(name, "127.0.0.2", 81)
    assert list(driver.registrations()) == [name]
    assert "127.0.0.1:81 payments" in haproxy.ask(f"show map {haproxy.map}")


@pytest.mark.parametrize(("named", "message"), [("payments", "payments"), (None, "an unnamed server")])
def test_no_member_is_put_where_another_server_is(haproxy: Haproxy, named: str | None, message: str) -> None:
    if named is not None:
        haproxy.ask(f"add map {haproxy.map} 127.0.0.1:81 {named}")
    haproxy.ask("set server web/slot2 addr 127.0.0.1 port 81")
    before = haproxy.ask(f"show map {haproxy.map}")
    with pytest.raises(Permanent, match=f"127.0.0.1:81 is the place of {message} already"):
        a_driver(haproxy).join(a_name(), "127.0.0.1", 81)
    assert haproxy.ask(f"show map {haproxy.map}") == before


def test_a_server_in_maintenance_that_has_an_address_is_not_free(haproxy: Haproxy) -> None:
    haproxy.ask("set server web/slot1 addr 127.0.0.5 port 81")
    driver, name = a_driver(haproxy), a_name()
    driver.join(name, "127.0.0.2", 81)
    assert "slot1 127.0.0.5" in haproxy.ask("show servers state web")


def test_members_from_a_time_without_a_template_are_served_until_they_leave(haproxy: Haproxy) -> None:
    earlier, driver, name = HaproxyDriver(Runtime(str(haproxy.socket), "web")), a_driver(haproxy), a_name()
    earlier.join(name, "127.0.0.1", 81)
    driver.join(name, "127.0.0.1", 81)
    driver.enable(name)
    assert state_of(driver, name) is state_of(earlier, name) is SERVING
    driver.drain(name)
    until(lambda: driver.registrations()[name].connections == 0)
    driver.leave(name)
    assert earlier.registrations() == driver.registrations() == {}


def test_a_dynamic_server_at_another_address_makes_way_too(haproxy: Haproxy) -> None:
    earlier, driver, name = HaproxyDriver(Runtime(str(haproxy.socket), "web")), a_driver(haproxy), a_name()
    earlier.join(name, "127.0.0.1", 81)
    driver.join(name, "127.0.0.2", 81)
    assert earlier.registrations() == {}
    assert driver.occupants() == {("127.0.0.2", 81): name}


def test_a_template_or_a_map_that_is_not_there_is_named(haproxy: Haproxy) -> None:
    with pytest.raises(Permanent, match="no servers other1, other2"):
        a_driver(haproxy, prefix="other").registrations()
    with pytest.raises(Permanent, match=r"no map /nowhere: make the file"):
        a_driver(haproxy, map=Path("/nowhere")).join(a_name(), "127.0.0.1", 81)


def test_the_configuration_that_is_recommended_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs/behind-haproxy.md").read_text()
    text = page.split("```\nglobal\n")[1].split("```")[0]
    config, names = tmp_path / "haproxy.cfg", tmp_path / "members.map"
    names.touch()
    moved = text.replace("/var/lib/haproxy", str(tmp_path)).replace("/run/haproxy", str(tmp_path))
    config.write_text("global\n" + moved.replace(" user haproxy group trimtab", "").replace(":80\n", ":18080\n"))
    checked = subprocess.run(["haproxy", "-c", "-f", config], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
