"""A balancer is registered, unreadable or not found: what each answer lets members do. Source: DESIGN.md "Moving"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from config.errors import DriverError, NotFound, Permanent, Transient
from config.units import BalancerId, Instant, MemberName
from handler.convergence.lost_balancers import Absence, missed
from handler.planning.plan import plan
from handler.planning.steps import Destroy, Detach, Drain, Enable, EnterService, Forget, Join, Step, Unmark, Wait
from handler.planning.world import (
    BalancerView,
    Leaving,
    Phase,
    Registration,
    RegistrationState,
    ServerState,
    World,
)
from handler.ports.balancer import PartlyRead
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import FakeBalancer
from tests.support.octavia_stage import octavia_stage
from tests.support.worlds import (
    EDGE,
    NOW,
    WEB,
    a_definition,
    a_member,
    a_registration,
    a_world,
    desired,
    limits,
    name_of,
)

MADE, SERVED, LEAVING = Phase.MADE, Phase.IN_SERVICE, Phase.LEAVING
ONE, TWO, BACK = name_of(1), name_of(2), BalancerId("back")
BOTH = ((EDGE, 8080), (BACK, 8080))
LOST = BalancerView(registrations=None, because="balancer edge is not found: no backend web", not_found=True)
UNREAD = BalancerView(registrations=None, because="balancer edge: nothing listens there")
ABSENT = NotFound("no backend web")
INTERVAL = 30.0


def beside(*states: RegistrationState) -> BalancerView:
    """The second balancer, where member 1, 2 … do this."""
    registrations = [a_registration(number, state) for number, state in enumerate(states, 1)]
    return BalancerView(registrations={registration.member: registration for registration in registrations})


def partly(*states: RegistrationState) -> BalancerView:
    """The first balancer, where one process does not answer, and with the others member 1, 2 … do this."""
    return replace(UNREAD, partly=beside(*states).registrations)


def seen(member: Any, *, edge: BalancerView = LOST, back: BalancerView | None = None) -> World:
    return a_world(member, balancer_views={EDGE: edge} if back is None else {EDGE: edge, BACK: back})


# Planning


@pytest.mark.parametrize(
    ("size", "world", "steps", "waits"),
    [
        pytest.param(
            1, seen(a_member(1, SERVED)), [], {Wait.BALANCER_NOT_FOUND: 1}, id="in service: stays, and is waited for"
        ),
        pytest.param(
            1,
            seen(a_member(1, MADE, ready=True)),
            [],
            {Wait.BALANCER_NOT_FOUND: 1},
            id="new: waits, since it would get no work",
        ),
        pytest.param(
            1,
            seen(a_member(1, MADE, ready=True, balancers=BOTH), back=beside(RegistrationState.SERVING)),
            [EnterService(member=ONE)],
            {Wait.BALANCER_NOT_FOUND: 1},
            id="new and registered at another balancer: enters service",
        ),
        pytest.param(
            1,
            seen(a_member(1, MADE, ready=True, balancers=BOTH), back=beside()),
            [Join(member=ONE, balancer=BACK), Enable(member=ONE, balancer=BACK)],
            {Wait.BALANCER_NOT_FOUND: 1},
            id="new: joins the other balancer",
        ),
        pytest.param(
            1,
            seen(a_member(1, MADE, ready=True, balancers=BOTH), back=UNREAD),
            [],
            {Wait.BALANCER_NOT_FOUND: 1, Wait.BALANCER_UNKNOWN: 1},
            id="new, and the other balancer is unreadable: waits",
        ),
        pytest.param(
            0,
            seen(a_member(1, LEAVING, leaving_at=NOW - 1)),
            [Destroy(member=ONE)],
            {Wait.DELETING: 1},
            id="leaving: removed without draining",
        ),
        pytest.param(
            0,
            seen(a_member(1, LEAVING, leaving=Leaving.EVICTED, leaving_at=NOW - 1)),
            [Unmark(member=ONE)],
            {Wait.RELEASING: 1},
            id="evicted: loses its mark",
        ),
        pytest.param(
            0,
            seen(a_member(1, LEAVING, leaving_at=NOW - 1, balancers=BOTH), back=beside(RegistrationState.SERVING)),
            [Drain(member=ONE, balancer=BACK)],
            {Wait.DRAINING: 1},
            id="leaving: drained at the other balancer first",
        ),
        pytest.param(
            0,
            seen(a_member(1, LEAVING, leaving_at=NOW - 1, balancers=BOTH), back=UNREAD),
            [],
            {Wait.BALANCER_UNKNOWN: 1},
            id="leaving, and the other balancer is unreadable: waits for that one",
        ),
        pytest.param(
            0,
            seen(a_member(1, SERVED, None, disproved=True)),
            [Forget(member=ONE)],
            {},
            id="proved gone: forgotten",
        ),
        pytest.param(
            1,
            seen(a_member(1, SERVED, detaching=(EDGE,))),
            [Detach(member=ONE, balancer=EDGE)],
            {},
            id="detached: leaves at once",
        ),
        pytest.param(
            1,
            seen(a_member(1, MADE, ready=True), edge=partly()),
            [Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)],
            {Wait.BALANCER_UNKNOWN: 1},
            id="new, and a part of the balancer answers: joins there",
        ),
        pytest.param(
            1,
            seen(a_member(1, MADE, ready=True), edge=partly(RegistrationState.SERVING)),
            [EnterService(member=ONE)],
            {Wait.BALANCER_UNKNOWN: 1},
            id="new, and serves at a part of the balancer: enters service",
        ),
        pytest.param(
            1,
            seen(a_member(1, MADE, ready=True, balancers=BOTH), edge=partly(RegistrationState.SERVING), back=UNREAD),
            [],
            {Wait.BALANCER_UNKNOWN: 1},
            id="new, and no part of the other balancer answers: waits",
        ),
        pytest.param(
            1,
            seen(a_member(1, SERVED), edge=partly()),
            [Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)],
            {Wait.BALANCER_UNKNOWN: 1},
            id="in service, and forgotten by the part that answers: registered there again",
        ),
        pytest.param(
            1,
            seen(a_member(1, SERVED), edge=partly(RegistrationState.SERVING)),
            [],
            {Wait.BALANCER_UNKNOWN: 1},
            id="in service at the part that answers: stays",
        ),
        pytest.param(
            0,
            seen(a_member(1, LEAVING, leaving_at=NOW - 1), edge=partly()),
            [],
            {Wait.BALANCER_UNKNOWN: 1},
            id="leaving, and unknown to the part that answers: waits for the other part",
        ),
        pytest.param(
            1,
            seen(a_member(1, SERVED, ServerState.RUNNING, ready=True), edge=BalancerView(registrations={})),
            [Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)],
            {},
            id="the balancer is back: registered again",
        ),
    ],
)
def test_each_member_gets_its_steps(size: int, world: World, steps: list[Step], waits: dict[Wait, int]) -> None:
    answer = plan(desired(size), world, a_definition(), limits(), NOW)
    assert (list(answer.steps), dict(answer.waits)) == (steps, waits)


def test_a_group_with_a_balancer_that_is_not_found_never_counts_as_converged() -> None:
    world = seen(a_member(1, SERVED))
    assert not plan(desired(1), world, a_definition(), limits(), NOW).converged


# The count


@pytest.mark.parametrize(
    ("looks", "proved"),
    [
        pytest.param([0.0], False, id="one look"),
        pytest.param([0.0, 45.0, 89.9], False, id="not for three intervals yet"),
        pytest.param([0.0, 45.0, 90.0], True, id="three intervals"),
        pytest.param([0.0, 90.0], False, id="two looks only"),
        pytest.param([0.0, 45.0, 136.0], False, id="a gap begins it anew"),
        pytest.param([0.0, 45.0, -3600.0, 91.0], False, id="a clock that was set back begins it anew"),
        pytest.param([0.0, 86_400.0, 86_430.0], False, id="a clock that was set forward begins it anew"),
    ],
)
def test_a_balancer_is_not_found_once_it_was_missing_for_three_intervals(looks: list[float], proved: bool) -> None:
    lasting: Absence | None = None
    for look in looks:
        lasting = missed(lasting, Instant(NOW + look), INTERVAL)
    assert lasting is not None
    assert lasting.is_proved(INTERVAL) is proved


# Convergence


def missing(bed: Bed, answer: DriverError = ABSENT) -> None:
    bed.edge.faults.always["registrations"] = answer


def look_for(bed: Bed, seconds: float) -> Any:
    """Make passes every five seconds; return the last one."""
    done = bed.run()
    for _ in range(int(seconds / 5.0)):
        bed.clock.advance(5.0)
        done = bed.run()
    return done


def test_eight_become_six_once_the_balancer_is_proved_missing() -> None:
    bed = grown(8)
    missing(bed)
    bed.desire(6)

    early = look_for(bed, 85.0)
    assert bed.cloud.destroyed == []
    assert early.failures == ()
    assert "is missing, and counts as not found from" in early.retries[0]
    late = look_for(bed, 10.0)
    assert bed.cloud.destroyed == [name_of(1), name_of(2)]
    message = "balancer edge is not found: no backend web; until it is back its members leave without draining there"
    assert late.failures == (f"{message}, and policies do not scale in",)

    bed.edge.faults.clear()
    bed.edge.reload()
    bed.settle()
    bed.expect(6)


@pytest.mark.parametrize("answer", [Transient("too slow"), Permanent("no backend web, and no other backend either")])
def test_no_member_leaves_an_unreadable_balancer_however_long(answer: DriverError) -> None:
    bed = grown(3)
    missing(bed, answer)
    bed.desire(1)
    done = look_for(bed, 600.0)
    assert bed.cloud.destroyed == []
    assert done.failures == ()


@dataclass
class Half(FakeBalancer):
    """One of its processes does not answer."""

    def registrations(self) -> Mapping[MemberName, Registration]:
        raise PartlyRead("nothing listens there", registrations=super().registrations())


def test_members_come_into_service_where_a_part_of_the_balancer_answers_and_none_leaves() -> None:
    bed = grown(2)
    half = Half(bed.clock, instants=bed.instants, states=bed.edge.states, addresses=bed.edge.addresses)
    bed.balancers[EDGE] = half
    bed.desire(3)
    done = look_for(bed, 10.0)
    assert bed.known(Phase.IN_SERVICE) == bed.machines == set(half.states)
    assert len(bed.machines) == 3
    assert done.retries == ("balancer edge: nothing listens there",)

    half.reload()
    look_for(bed, 10.0)
    assert set(half.states.values()) == {RegistrationState.SERVING}
    assert set(half.states) == bed.machines

    bed.desire(1)
    look_for(bed, 600.0)
    assert bed.cloud.destroyed == []


def test_any_other_answer_begins_the_count_anew() -> None:
    bed = grown(3)
    missing(bed)
    bed.desire(1)
    look_for(bed, 85.0)
    missing(bed, Transient("too slow"))
    look_for(bed, 5.0)
    missing(bed)
    look_for(bed, 85.0)
    assert bed.cloud.destroyed == []
    look_for(bed, 10.0)
    assert len(bed.cloud.destroyed) == 2


def test_a_restart_begins_the_count_anew() -> None:
    bed = grown(3)
    missing(bed)
    bed.desire(1)
    look_for(bed, 85.0)
    bed.restart()
    look_for(bed, 85.0)
    assert bed.cloud.destroyed == []
    look_for(bed, 10.0)
    assert len(bed.cloud.destroyed) == 2


def test_members_are_drained_at_the_balancer_that_is_left() -> None:
    bed = Bed(definition=a_definition(balancers=(EDGE, BACK)), size=4)
    bed.settle()
    bed.balancers[BACK].faults.always["registrations"] = ABSENT
    look_for(bed, 95.0)
    bed.desire(3)

    bed.run()
    bed.run()
    assert bed.balancers[EDGE].states[name_of(1)] is RegistrationState.DRAINING
    assert bed.cloud.destroyed == []
    look_for(bed, 30.0)
    assert bed.cloud.destroyed == [name_of(1)]
    assert set(bed.balancers[EDGE].states) == bed.machines

    bed.desire(5)
    look_for(bed, 10.0)
    assert bed.known(Phase.IN_SERVICE) == bed.machines
    assert len(bed.machines) == 5
    bed.balancers[BACK].faults.clear()
    bed.balancers[BACK].reload()
    bed.settle()
    bed.expect(5)


def test_new_members_are_reported_while_they_wait_to_join() -> None:
    bed = grown(1)
    missing(bed)
    look_for(bed, 95.0)
    bed.desire(3)
    done = look_for(bed, 20.0)
    assert bed.known(Phase.IN_SERVICE) == {ONE}
    assert "policies do not scale in; 2 new members wait to join it" in done.failures[0]


def test_members_that_are_proved_gone_are_removed_and_replaced() -> None:
    bed = grown(3)
    missing(bed)
    look_for(bed, 95.0)
    bed.cloud.die(ONE)
    look_for(bed, 60.0)
    assert ONE not in bed.known()
    assert len(bed.machines) == 3


def test_a_group_that_is_deleted_with_its_members_comes_to_its_end() -> None:
    bed = grown(2)
    missing(bed)
    look_for(bed, 95.0)
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    look_for(bed, 20.0)
    assert bed.machines == set()
    assert bed.known() == set()


def test_eight_become_six_though_their_load_balancer_of_octavia_is_deleted(tmp_path: Path) -> None:
    with octavia_stage(tmp_path) as stage:
        bed = Bed(size=8)
        there: Any = bed.balancers
        there[EDGE] = stage.driver(load_balancer="front", pool=None)
        bed.settle()
        stage.octavia.tree("back")
        stage.octavia.remove(stage.pool.load_balancer)
        bed.desire(6)
        look_for(bed, 85.0)
        assert bed.cloud.destroyed == []
        done = look_for(bed, 10.0)
        assert len(bed.machines) == 6
        assert "balancer edge is not found: lb: no load balancer that the project can see is called" in done.failures[0]

        pool = stage.octavia.tree("front")
        bed.settle()
        assert {member["name"] for member in pool.members.values()} == bed.machines
