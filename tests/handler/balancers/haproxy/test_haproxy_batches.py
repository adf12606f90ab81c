"""Many changes on one connection, with a real HAProxy: what is made, what is answered, and what a cut leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from collector.clients.circuit import Position
from collector.clients.circuits import Circuits
from config.errors import DriverError, Permanent, Transient
from config.units import MemberName
from handler.balancers.haproxy.several_endpoints import haproxy
from handler.planning.world import RegistrationState
from handler.ports.balancer import Batched, MemberMove, RegistrationChange, Reverting
from tests.support.balancers import HaproxyStage, a_name, haproxy_stage, several_stage, state_of
from tests.support.circuits import circuits_by
from tests.support.fake_cloud import FakeClock
from tests.support.haproxy import running_haproxy
from tests.support.narrow_way import NarrowWay, narrow_way

pytestmark = pytest.mark.real("haproxy")

PARKED, SERVING, DRAINING = RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING
MANY = 100


@pytest.fixture(scope="module", params=[0, 2 * MANY], ids=["dynamic servers", "template"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HaproxyStage]:
    directory = tmp_path_factory.mktemp("h")
    with running_haproxy(directory, slots=request.param) as real:
        yield HaproxyStage(directory, real)


@pytest.fixture
def stage(running: HaproxyStage) -> Iterator[HaproxyStage]:
    yield running
    running.clear()


@pytest.fixture
def way(stage: HaproxyStage, tmp_path: Path) -> Iterator[NarrowWay]:
    with narrow_way(tmp_path, stage.haproxy.socket) as way:
        yield way


def driver_on(stage: HaproxyStage, way: NarrowWay, circuits: Circuits | None = None) -> Batched:
    driver = haproxy(replace(stage.declared, socket=str(way.path)), circuits)
    assert isinstance(driver, Batched)
    return driver


def joining(names: Sequence[MemberName]) -> list[RegistrationChange]:
    return [
        RegistrationChange(move=MemberMove.JOIN, member=name, at=("127.0.0.1", at))
        for at, name in enumerate(names, start=1001)
    ]


def each(move: MemberMove, names: Sequence[MemberName]) -> list[RegistrationChange]:
    return [RegistrationChange(move=move, member=name) for name in names]


def states(stage: HaproxyStage) -> dict[MemberName, RegistrationState]:
    return {name: registration.state for name, registration in stage.balancer.registrations().items()}


def test_a_hundred_members_cost_one_connection(stage: HaproxyStage, way: NarrowWay) -> None:
    driver, names = driver_on(stage, way), [a_name() for _ in range(MANY)]

    for changes, after in (
        ([*joining(names), *each(MemberMove.ENABLE, names)], SERVING),
        (each(MemberMove.DRAIN, names), DRAINING),
        (each(MemberMove.LEAVE, names), None),
    ):
        way.connections = 0
        assert set(driver.apply(changes)) == {None}
        assert way.connections == 1
        assert states(stage) == ({} if after is None else dict.fromkeys(names, after))


def test_each_change_has_the_answer_that_is_its_own(stage: HaproxyStage, way: NarrowWay) -> None:
    one, two, three = a_name(), a_name(), a_name()
    stage.balancer.join(three, "127.0.0.1", 1003)

    answers = driver_on(stage, way).apply(
        [
            RegistrationChange(move=MemberMove.DRAIN, member=a_name()),  # an empty answer, or one in words: success
            RegistrationChange(move=MemberMove.JOIN, member=one, at=("a-name", 80)),
            RegistrationChange(move=MemberMove.ENABLE, member=one),
            RegistrationChange(move=MemberMove.ENABLE, member=two),
            RegistrationChange(move=MemberMove.LEAVE, member=MemberName("database")),
            RegistrationChange(move=MemberMove.JOIN, member=three, at=("127.0.0.1", 1003)),
            RegistrationChange(move=MemberMove.ENABLE, member=three),
        ]
    )

    kinds = [type(None), Permanent, Permanent, Transient, Permanent, type(None), type(None)]
    assert [type(answer) for answer in answers] == kinds
    assert answers[1] is answers[2], "a change is not made if one before it was not"
    assert states(stage) == {three: SERVING}


def test_a_member_moves_within_a_batch_and_another_takes_its_place(stage: HaproxyStage, way: NarrowWay) -> None:
    one, two = a_name(), a_name()
    driver = driver_on(stage, way)
    driver.apply([RegistrationChange(move=MemberMove.JOIN, member=one, at=("127.0.0.1", 1001))])

    answers = driver.apply(
        [
            RegistrationChange(move=MemberMove.JOIN, member=one, at=("127.0.0.2", 1001)),
            RegistrationChange(move=MemberMove.JOIN, member=two, at=("127.0.0.1", 1001)),
            *each(MemberMove.ENABLE, [two]),
            *each(MemberMove.LEAVE, [one]),
            RegistrationChange(move=MemberMove.JOIN, member=one, at=("127.0.0.3", 1001)),
        ]
    )

    assert set(answers) == {None}
    assert states(stage) == {one: PARKED, two: SERVING}


def test_wherever_the_connection_is_cut_nothing_looks_made_that_was_not(stage: HaproxyStage, way: NarrowWay) -> None:
    names = [a_name() for _ in range(4)]
    changes = [*joining(names), *each(MemberMove.ENABLE, names)]
    driver = driver_on(stage, way)
    driver.apply(changes)
    whole = way.answered
    stage.clear()
    for cut in (*range(0, whole, whole // 10), *range(whole - 300, whole, 11), *range(whole - 5, whole)):
        way.cut_after = cut
        answers: Sequence[DriverError | None]
        try:
            answers = driver.apply(changes)
        except Transient:
            answers = []
        now = states(stage)
        for change, answer in zip(changes, answers, strict=False):
            if answer is None:
                assert now.get(change.member) in ({PARKED, SERVING} if change.move is MemberMove.JOIN else {SERVING}), (
                    cut
                )
        assert len(answers) in (0, len(changes))
        way.cut_after = None
        assert set(driver.apply(changes)) == {None}
        assert set(driver.apply(each(MemberMove.LEAVE, names))) == {None}


def test_a_connection_that_is_cut_has_failed_once_however_many_changes_were_to_follow(
    stage: HaproxyStage, way: NarrowWay
) -> None:
    circuits = circuits_by(FakeClock())
    driver, names = driver_on(stage, way, circuits), [a_name() for _ in range(20)]
    driver.apply(joining(names))
    cut_after = way.answered - 200
    driver.apply(each(MemberMove.LEAVE, names))
    way.cut_after = cut_after

    answers = driver.apply(joining(names))

    assert {type(answer) for answer in answers} == {type(None), Transient}
    assert [status.position for status in circuits.statuses()] == [Position.CLOSED]
    way.cut_after = None
    assert set(driver.apply(joining(names))) == {None}


def test_a_member_that_is_not_there_has_answered_nothing(tmp_path: Path) -> None:
    with haproxy_stage(tmp_path) as stage:
        driver = haproxy(replace(stage.declared, socket=str(tmp_path / "nobody")))
        assert isinstance(driver, Batched)
        with pytest.raises(Transient, match="nothing listens there: check that it runs, with `stats socket"):
            driver.apply(joining([a_name()]))


# Several processes


def test_all_of_several_processes_are_changed_and_one_that_forgot_is_changed_again(tmp_path: Path) -> None:
    with several_stage(tmp_path) as stage:
        names = [a_name() for _ in range(3)]
        assert isinstance(stage.balancer, Batched)
        assert set(stage.balancer.apply(joining(names))) == {None}
        stage.others[0].restart()

        assert set(stage.balancer.apply(each(MemberMove.ENABLE, names))) == {None}

        assert states(stage) == dict.fromkeys(names, SERVING)


def test_processes_that_answer_are_changed_and_the_others_are_reported(tmp_path: Path) -> None:
    with several_stage(tmp_path) as stage:
        name = a_name()
        half = haproxy(replace(stage.declared, further=(str(tmp_path / "nobody"),)))
        none = haproxy(replace(stage.declared, socket=str(tmp_path / "one"), further=(str(tmp_path / "two"),)))
        assert isinstance(half, Batched)
        assert isinstance(none, Batched)

        (answer,) = half.apply(joining([name]))

        assert isinstance(answer, Transient)
        assert state_of(haproxy(replace(stage.declared, further=())), name) is PARKED
        with pytest.raises(Transient, match="nothing listens there"):
            none.apply(joining([name]))


def test_only_templates_come_back_from_an_earlier_state(stage: HaproxyStage) -> None:
    assert isinstance(stage.balancer, Reverting) is (stage.haproxy.state is not None)
