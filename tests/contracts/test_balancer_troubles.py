"""What every balancer promises when requests go astray, asked of each driver at every request that it makes."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from collector.clients.circuit import FAILURES
from config.errors import DriverError, Transient, Unsent
from config.model.balancers import Balancer as Declared
from config.model.managed import ManagedBalancer
from config.units import MemberName
from handler.planning.world import RegistrationState
from handler.ports.balancer import Balancer
from tests.support.balancer_columns import COLUMNS, Behaviour, Column, asked
from tests.support.balancer_relay import Relay, Trouble, relayed
from tests.support.balancers import Stage, a_name, state_of
from tests.support.circuits import circuits_by
from tests.support.orchestrators import Clock

QUICK = [trouble for trouble in Trouble if trouble is not Trouble.SILENT]  # that one takes the whole deadline
PORT = 9
MOST = 40
"""Requests that one call may take."""


@pytest.fixture(scope="module", params=asked())
def column(request: pytest.FixtureRequest) -> Column:
    assert isinstance(request.param, Column)
    return request.param


@pytest.fixture(scope="module")
def stage(column: Column, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with column.stage(tmp_path_factory.mktemp("b")) as stage:
        yield stage


@pytest.fixture
def relay(stage: Stage, tmp_path: Path) -> Iterator[Relay]:
    with relayed(tmp_path, stage.address) as relay:
        yield relay
    stage.clear()


def join(balancer: Balancer, name: MemberName) -> None:
    balancer.join(name, "127.0.0.1", PORT)


def enable(balancer: Balancer, name: MemberName) -> None:
    balancer.enable(name)


BEFORE = {"join": (), "enable": (join,), "drain": (join, enable), "leave": (join, enable)}


def call(balancer: Balancer, what: str, name: MemberName) -> None:
    if what == "join":
        join(balancer, name)
    else:
        getattr(balancer, what)(name)


ELSEWHERE = {
    ManagedBalancer: "on OpenStack and CloudStack it is a pool's or a rule's column; one that is played has no request"
}


def test_every_kind_of_balancer_has_its_column() -> None:
    assert {column.kind for column in COLUMNS} == set(typing.get_args(Declared)) - ELSEWHERE.keys()


def test_every_cell_is_tried_or_says_why_not() -> None:
    for column in COLUMNS:
        assert column.cells | column.empty.keys() == {*Behaviour, *Trouble}
        assert all(column.empty.values())
        assert column.acts.keys() == column.cells & (set(Behaviour) - {Behaviour.TRAFFIC, Behaviour.CIRCUIT})


@pytest.mark.parametrize("what", BEFORE)
@pytest.mark.parametrize("trouble", QUICK, ids=lambda each: each.value)
def test_whichever_request_goes_astray_the_call_may_be_repeated(
    column: Column, stage: Stage, relay: Relay, trouble: Trouble, what: str
) -> None:
    if trouble not in column.cells:
        return  # its column says why
    bystander, driver = a_name(), stage.driver_at(relay.address)
    stage.balancer.join(bystander, "127.0.0.2", PORT)
    stage.balancer.enable(bystander)
    after = {
        "join": RegistrationState.PARKED,
        "enable": RegistrationState.SERVING,
        "drain": column.idle,
        "leave": None,
    }[what]
    for request in range(1, MOST):
        name = a_name()
        for step in BEFORE[what]:
            step(stage.balancer, name)
        relay.arm(trouble, request)
        failed = False
        try:
            call(driver, what, name)
        except DriverError:
            failed = True
        befallen = relay.disarm()
        assert befallen or not failed
        if failed:
            call(driver, what, name)
        assert state_of(stage.balancer, name) is after
        assert state_of(stage.balancer, bystander) is RegistrationState.SERVING
        stage.balancer.leave(name)
        if not befallen:
            assert request > 1
            return
    pytest.fail("the call never ends")


@pytest.mark.parametrize("trouble", list(Trouble), ids=lambda each: each.value)
def test_registrations_that_cannot_be_read_whole_are_not_read_at_all(
    column: Column, stage: Stage, relay: Relay, trouble: Trouble
) -> None:
    if trouble not in column.cells:
        return  # its column says why
    name, driver = a_name(), stage.driver_at(relay.address)
    join(stage.balancer, name)
    stage.balancer.enable(name)
    for request in range(1, MOST):
        relay.arm(trouble, request)
        try:
            registrations = driver.registrations()
        except Transient as failed:
            assert relay.disarm()
            wait = failed.retry_after
            assert trouble is not Trouble.UNAVAILABLE or request > 1 or wait == 7.0
        else:
            befallen = relay.disarm()
            assert registrations[name].state is RegistrationState.SERVING
            if not befallen:
                assert request > 1
                return
        if trouble is Trouble.SILENT:
            return  # once is enough: it takes the whole deadline
    pytest.fail("the call never ends")


def test_nothing_more_is_sent_to_a_balancer_that_answers_no_call_and_it_is_found_again(
    column: Column, stage: Stage, relay: Relay
) -> None:
    if Behaviour.CIRCUIT not in column.cells:
        return  # its column says why
    clock = Clock()
    name, driver = a_name(), stage.driver_at(relay.address, circuits_by(clock))
    relay.dead = True
    for _ in range(FAILURES + 1):
        with pytest.raises(Transient):
            driver.registrations()
    heard = relay.heard

    for call in (driver.registrations, partial(join, driver, name)):
        with pytest.raises(Unsent, match="are held back: 5 calls in a row failed since"):
            call()
    assert relay.heard == heard

    relay.dead = False
    clock.at += 60.0
    join(driver, name)
    assert state_of(driver, name) is RegistrationState.PARKED
