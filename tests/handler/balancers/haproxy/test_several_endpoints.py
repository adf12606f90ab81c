from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import NotFound, Permanent, Transient
from config.units import MemberName
from handler.balancers.haproxy.several_endpoints import HaproxySeveral, haproxy, together
from handler.planning.world import Health, Registration, RegistrationState
from handler.ports.balancer import Batched, MemberMove, PartlyRead, RegistrationChange, Reverting
from tests.support.balancers import HaproxyStage, a_name, several_stage, state_of

NAME = MemberName("web-k3f9ab-1")
PARKED, SERVING, DRAINING, PARTLY = (
    RegistrationState.PARKED,
    RegistrationState.SERVING,
    RegistrationState.DRAINING,
    RegistrationState.PARTLY,
)


def a_registration(state: RegistrationState, connections: int | None = 0, health: Health | None = None) -> Registration:
    return Registration(member=NAME, state=state, connections=connections, health=health)


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        (SERVING, SERVING, SERVING),
        (SERVING, PARKED, PARTLY),
        (SERVING, DRAINING, PARTLY),
        (SERVING, None, PARTLY),
        (DRAINING, PARKED, DRAINING),
        (DRAINING, None, DRAINING),
        (PARKED, None, PARKED),
        (PARKED, PARKED, PARKED),
    ],
)
def test_a_member_serves_only_if_it_does_everywhere(
    first: RegistrationState, second: RegistrationState | None, state: RegistrationState
) -> None:
    other = None if second is None else a_registration(second)
    assert together(NAME, [a_registration(first), other]).state is state
    assert together(NAME, [other, a_registration(first)]).state is state


@pytest.mark.parametrize(("counts", "all_of_them"), [((2, 3), 5), ((0, 0), 0), ((0, None), None)])
def test_connections_are_those_of_all_and_unknown_if_one_does_not_tell(
    counts: tuple[int | None, ...], all_of_them: int | None
) -> None:
    assert together(NAME, [a_registration(DRAINING, count) for count in counts]).connections == all_of_them


@pytest.mark.parametrize(
    ("answers", "health"),
    [
        ((None, None), None),
        ((Health.FAILING, Health.FAILING), Health.FAILING),
        ((Health.FAILING, None), Health.FAILING),
        ((Health.FAILING, Health.HEALTHY), Health.UNKNOWN),
        ((Health.UNKNOWN, Health.HEALTHY), Health.UNKNOWN),
    ],
)
def test_a_member_fails_only_if_no_endpoint_says_otherwise(
    answers: tuple[Health | None, ...], health: Health | None
) -> None:
    assert together(NAME, [a_registration(SERVING, health=one) for one in answers]).health is health


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HaproxyStage]:
    with several_stage(tmp_path_factory.mktemp("b")) as stage:
        yield stage


@pytest.fixture
def stage(running: HaproxyStage) -> Iterator[HaproxyStage]:
    yield running
    running.clear()


@pytest.mark.real("haproxy")
def test_a_process_that_forgot_is_reminded_when_the_member_is_enabled(stage: HaproxyStage) -> None:
    name, (other,) = a_name(), stage.others
    stage.balancer.join(name, "127.0.0.1", 9)
    stage.balancer.enable(name)
    other.restart()
    assert state_of(stage.balancer, name) is PARTLY
    stage.balancer.enable(name)
    assert state_of(stage.balancer, name) is SERVING
    assert name in other.ask("show servers state web")


@pytest.mark.real("haproxy")
def test_a_gone_member_that_still_gets_work_is_deregistered_from_all(stage: HaproxyStage) -> None:
    name = a_name()
    stage.balancer.join(name, "127.0.0.1", 9)
    stage.balancer.enable(name)
    assert isinstance(stage.balancer, Reverting)
    stage.balancer.deregister(name)
    assert stage.balancer.registrations() == {}


@pytest.mark.real("haproxy")
def test_a_restart_of_either_shows(stage: HaproxyStage) -> None:
    (other,) = stage.others
    before = stage.balancer.incarnation()
    other.restart()
    assert stage.balancer.incarnation() != before


@pytest.mark.real("haproxy")
def test_a_change_goes_to_the_endpoints_that_answer_and_then_fails(stage: HaproxyStage, tmp_path: Path) -> None:
    name, (other,) = a_name(), stage.others
    stage.balancer.join(name, "127.0.0.1", 9)
    stage.balancer.enable(name)
    hidden = other.socket.rename(tmp_path / "away.sock")
    try:
        for call in (stage.balancer.drain, stage.balancer.leave):
            with pytest.raises(Transient, match="does not answer"):
                call(name)
        with pytest.raises(Transient, match="does not answer"):
            stage.balancer.registrations()
        assert name not in stage.haproxy.ask("show servers state web")
    finally:
        hidden.rename(other.socket)
    assert state_of(stage.balancer, name) is PARTLY


@pytest.mark.real("haproxy")
def test_members_come_into_service_at_the_process_that_answers(stage: HaproxyStage, tmp_path: Path) -> None:
    (one, two), (other,) = (a_name(), a_name()), stage.others
    stage.balancer.join(one, "127.0.0.1", 9)
    stage.balancer.enable(one)
    assert isinstance(stage.balancer, Batched)
    hidden = other.socket.rename(tmp_path / "away.sock")
    try:
        answers = stage.balancer.apply(
            [
                RegistrationChange(move=MemberMove.JOIN, member=two, at=("127.0.0.2", 9)),
                RegistrationChange(move=MemberMove.ENABLE, member=two),
            ]
        )
        assert {type(answer) for answer in answers} == {Transient}
        with pytest.raises(PartlyRead, match="does not answer") as partly:
            stage.balancer.registrations()
    finally:
        hidden.rename(other.socket)
    states = {name: registration.state for name, registration in partly.value.registrations.items()}
    assert states == {one: SERVING, two: SERVING}
    assert state_of(stage.balancer, two) is PARTLY


@pytest.mark.real("haproxy")
def test_no_part_of_a_balancer_is_read_where_no_process_answers(stage: HaproxyStage, tmp_path: Path) -> None:
    away = [str(tmp_path / name) for name in ("one", "two")]
    with pytest.raises(Transient, match="nothing listens there") as unread:
        haproxy(replace(stage.declared, socket=away[0], further=(away[1],))).registrations()
    assert not isinstance(unread.value, PartlyRead)


class _Failing:
    """A process of which everything fails."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    def __getattr__(self, _: str) -> object:
        def fail(*_: object) -> None:
            raise self._failure

        return fail


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["first", "last"])
def test_what_must_be_corrected_is_reported_before_what_passes(order: slice) -> None:
    processes = [_Failing(Transient("passes")), _Failing(Permanent("repair it"))]
    with pytest.raises(Permanent, match="repair it"):
        HaproxySeveral(processes[order]).drain(NAME)  # type: ignore[arg-type] # a stand-in without names of its own


@pytest.mark.real("haproxy")
def test_a_backend_that_only_one_process_lacks_cannot_be_read(tmp_path: Path) -> None:
    with several_stage(tmp_path) as stage:
        put_back = stage.others[0].lose(others=True)
        with pytest.raises(Permanent, match="has no backend web, and lists 1 other") as lacking:
            stage.balancer.registrations()
        assert not isinstance(lacking.value, NotFound)
        put_back()
        assert stage.balancer.registrations() == {}
