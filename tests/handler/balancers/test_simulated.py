from __future__ import annotations

import json
from pathlib import Path

import pytest

from config.errors import Permanent, Transient
from config.model.managed import made_parts
from config.units import MemberName
from handler.balancers.simulated import SimulatedBalancer
from handler.planning.provisioning import Provision
from handler.planning.world import RegistrationState
from handler.ports.balancer import ListsForeignMembers, Provisioner
from tests.support.fake_cloud import FakeClock
from tests.support.provisioning import a_managed

OWN = LB, LISTENER, POOL, MONITOR = made_parts(a_managed())
NAME = MemberName("web-k3f9ab-1")


def a_balancer(clock: FakeClock, file: Path | None = None) -> SimulatedBalancer:
    return SimulatedBalancer(a_managed(), clock, file, making=5.0, changing=1.0)


def made(clock: FakeClock, file: Path | None = None) -> SimulatedBalancer:
    balancer = a_balancer(clock, file)
    for part in OWN:
        balancer.create(part, balancer.parts())
        clock.advance(5.0)
    return balancer


def test_it_is_what_convergence_asks_for() -> None:
    assert isinstance(a_balancer(FakeClock()), Provisioner)
    assert isinstance(a_balancer(FakeClock()), ListsForeignMembers)


def test_everything_is_immutable_while_a_part_is_being_made() -> None:
    clock = FakeClock()
    balancer = a_balancer(clock)
    balancer.create(LB, {})
    assert [(part.state, part.word) for part in balancer.parts().values()] == [(Provision.PENDING, "PENDING_CREATE")]
    with pytest.raises(Transient, match="immutable"):
        balancer.create(LISTENER, balancer.parts())
    clock.advance(5.0)
    assert balancer.parts()[LB].state is Provision.ACTIVE
    balancer.create(LISTENER, balancer.parts())
    assert {part.word for part in balancer.parts().values()} == {"PENDING_CREATE", "PENDING_UPDATE"}


def test_parts_come_after_those_that_they_belong_to_and_go_before_them() -> None:
    clock = FakeClock()
    balancer = a_balancer(clock)
    with pytest.raises(Transient, match="needs a listener"):
        balancer.create(POOL, {})
    balancer = made(clock)
    with pytest.raises(Permanent, match="cannot be deleted before its listener"):
        balancer.delete(LB, "loadbalancer-1")
    for part in reversed(OWN):
        balancer.delete(part, balancer.parts()[part].id)
        balancer.delete(part, "gone")
        clock.advance(1.0)
    assert balancer.parts() == {}


def test_members_are_registered_once_there_is_a_pool_each_change_in_its_turn() -> None:
    clock = FakeClock()
    with pytest.raises(Transient, match="no pool yet"):
        a_balancer(clock).join(NAME, "198.18.0.2", 80)
    balancer = made(clock)
    balancer.join(NAME, "198.18.0.2", 80)
    with pytest.raises(Transient, match="immutable"):
        balancer.enable(NAME)
    states = [balancer.registrations()[NAME].state]
    for call in (balancer.enable, balancer.drain):
        clock.advance(1.0)
        call(NAME)
        states.append(balancer.registrations()[NAME].state)
    assert states == [RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING]
    clock.advance(1.0)
    balancer.leave(NAME)
    assert balancer.registrations() == {}
    with pytest.raises(Permanent, match="never touched"):
        balancer.leave(MemberName("mail"))


def test_it_outlives_the_daemon(tmp_path: Path) -> None:
    clock, file = FakeClock(), tmp_path / "lb.json"
    before = made(clock, file)
    before.join(NAME, "198.18.0.2", 80)
    after = a_balancer(clock, file)
    assert (after.parts(), after.registrations(), after.incarnation()) == (
        before.parts(),
        before.registrations(),
        before.incarnation(),
    )


def test_a_file_of_an_earlier_release_is_read_and_written_in_its_words(tmp_path: Path) -> None:
    file = tmp_path / "edge.json"
    parts = dict.fromkeys((part.value for part in OWN), "known")
    file.write_text(json.dumps({"parts": parts, "seats": {NAME: ["serving", "127.0.0.1", 80]}, "made": 3}))
    kept = a_balancer(FakeClock(), file)
    assert list(kept.registrations()) == [NAME]
    kept.drain(NAME)
    assert json.loads(file.read_text())["seats"] == {NAME: ["draining", "127.0.0.1", 80]}
