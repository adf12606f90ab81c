"""What every balancer promises, asked of each real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from config.errors import Permanent, Transient
from config.units import MemberName
from handler.planning.world import RegistrationState
from handler.ports.balancer import Balancer, ListsForeignMachines, ListsForeignMembers, registered_with
from tests.support.balancer_columns import Behaviour, Cell, Column, asked
from tests.support.balancers import (
    Stage,
    a_name,
    connections_of,
    get,
    settled,
    state_of,
)
from tests.support.waiting import until

ADDRESS, PORT = "127.0.0.1", 9

PARKED, SERVING, DRAINING = RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING

CALLS: dict[str, Callable[[Balancer, MemberName], None]] = {
    "join": lambda balancer, name: balancer.join(name, ADDRESS, PORT),
    "enable": lambda balancer, name: balancer.enable(name),
    "drain": lambda balancer, name: balancer.drain(name),
    "leave": lambda balancer, name: balancer.leave(name),
}

WAY_TO: dict[RegistrationState | None, tuple[str, ...]] = {
    None: (),
    PARKED: ("join",),
    SERVING: ("join", "enable"),
    DRAINING: ("join", "enable", "drain"),
}


def of(*cells: Cell) -> pytest.MarkDecorator:
    """Ask every driver that can be asked this."""
    return pytest.mark.parametrize("column", asked(*cells), indirect=True, scope="module")


@pytest.fixture(scope="module", params=asked())
def column(request: pytest.FixtureRequest) -> Column:
    assert isinstance(request.param, Column)
    return request.param


@pytest.fixture(scope="module")
def running(column: Column, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with column.stage(tmp_path_factory.mktemp("b")) as stage:
        yield stage


@pytest.fixture
def stage(running: Stage) -> Iterator[Stage]:
    yield running
    running.release()
    running.clear()


def serve(stage: Stage, name: MemberName) -> None:
    """Start a member and give it work."""
    address, port = stage.member(name)
    stage.balancer.join(name, address, port)
    stage.balancer.enable(name)


@pytest.mark.parametrize(
    ("before", "call", "after"),
    [
        pytest.param(before, call, after, id=f"{call}-{before.value if before else 'unknown'}")
        for before, call, after in [
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
        ]
    ],
)
def test_every_call_may_be_repeated(
    column: Column, stage: Stage, before: RegistrationState | None, call: str, after: RegistrationState | None
) -> None:
    name, after = a_name(), column.idle if after is DRAINING else after
    for step in WAY_TO[before]:
        CALLS[step](stage.balancer, name)
    CALLS[call](stage.balancer, name)
    assert state_of(stage.balancer, name) is after
    CALLS[call](stage.balancer, name)
    assert state_of(stage.balancer, name) is after


def test_a_member_without_a_registration_cannot_be_enabled_yet(stage: Stage) -> None:
    with pytest.raises(Transient, match="must join first"):
        stage.balancer.enable(a_name())


def test_a_call_for_one_member_leaves_the_others_as_they_are(stage: Stage) -> None:
    first, second = a_name(), a_name()
    stage.balancer.join(first, ADDRESS, PORT)
    stage.balancer.enable(first)
    stage.balancer.join(second, "127.0.0.2", PORT)
    stage.balancer.leave(second)
    assert {name: registration.state for name, registration in stage.balancer.registrations().items()} == {
        first: SERVING
    }


def test_the_registrations_of_others_are_never_listed(stage: Stage) -> None:
    foreign_member = stage.register_foreign()
    assert stage.foreign_member(foreign_member) is not None
    assert foreign_member not in stage.balancer.registrations()


def test_a_balancer_that_can_reports_the_place_of_every_member(stage: Stage) -> None:
    name, foreign_member = a_name(), stage.register_foreign()
    stage.balancer.join(name, "127.0.0.3", PORT)
    if isinstance(stage.balancer, ListsForeignMembers):
        occupants = stage.balancer.occupants()
        assert occupants["127.0.0.3", PORT] == name
        assert foreign_member in occupants.values()


def test_one_reading_names_members_and_whatever_else_is_registered(stage: Stage) -> None:
    name, foreign_member = a_name(), stage.register_foreign()
    stage.balancer.join(name, "127.0.0.3", PORT)
    lists = isinstance(stage.balancer, ListsForeignMembers | ListsForeignMachines)
    others = (foreign_member,) if lists else ()
    found = registered_with(stage.balancer, "k3f9ab")
    assert (found.registrations.keys(), found.foreign) == ({name}, others)
    assert registered_with(stage.balancer, None).foreign == others
    assert name in registered_with(stage.balancer, "zzzzzz").foreign


@pytest.mark.parametrize("call", CALLS)
def test_the_registrations_of_others_are_never_touched(stage: Stage, call: str) -> None:
    foreign_member = stage.register_foreign()
    before = stage.foreign_member(foreign_member)
    with pytest.raises(Permanent, match="never touched"):
        CALLS[call](stage.balancer, MemberName(foreign_member))
    assert stage.foreign_member(foreign_member) == before is not None


@of(Behaviour.TRAFFIC)
def test_only_members_that_serve_are_given_work(stage: Stage) -> None:
    parked, serving, drained = a_name(), a_name(), a_name()
    serve(stage, serving)
    serve(stage, drained)
    address, port = stage.member(parked)
    stage.balancer.join(parked, address, port)
    until(lambda: get(stage.port) == drained)
    stage.balancer.drain(drained)
    until(lambda: connections_of(stage.balancer, drained) == 0)
    assert {get(stage.port) for _ in range(30)} == {serving}


@of(Behaviour.TRAFFIC)
def test_a_drained_member_finishes_the_request_in_hand(stage: Stage) -> None:
    name = a_name()
    serve(stage, name)
    with ThreadPoolExecutor(1) as pool:
        in_hand = pool.submit(get, stage.port, "/hold")
        until(lambda: connections_of(stage.balancer, name) == 1)
        stage.balancer.drain(name)
        until(lambda: connections_of(stage.balancer, name) == 1)
        stage.release()
        assert in_hand.result() == name
    until(lambda: connections_of(stage.balancer, name) == 0)
    assert state_of(stage.balancer, name) is DRAINING


@of(Behaviour.TRAFFIC)
def test_a_drained_member_may_serve_again(stage: Stage) -> None:
    name = a_name()
    serve(stage, name)
    assert get(stage.port) == name
    stage.balancer.drain(name)
    until(lambda: connections_of(stage.balancer, name) == 0)
    stage.balancer.enable(name)
    assert get(stage.port) == name


def test_a_balancer_that_runs_on_keeps_its_incarnation(stage: Stage) -> None:
    before = stage.balancer.incarnation()
    stage.balancer.join(a_name(), ADDRESS, PORT)
    assert stage.balancer.incarnation() == before


def test_a_restart_shows_and_members_can_be_registered_again(column: Column, stage: Stage) -> None:
    name = a_name()
    address, port = stage.member(name)
    stage.balancer.join(name, address, port)
    stage.balancer.enable(name)
    before = stage.balancer.incarnation()
    stage.restart()
    assert settled(stage.balancer) != before
    stage.balancer.join(name, address, port)
    stage.balancer.enable(name)
    assert state_of(stage.balancer, name) is SERVING
    if Behaviour.TRAFFIC in column.cells:
        assert get(stage.port) == name
