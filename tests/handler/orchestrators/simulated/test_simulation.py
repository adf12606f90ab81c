from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import Permanent, Transient
from config.model.simulation import (
    Behaviour,
    BootTime,
    CallFaults,
    CallRate,
    Incident,
    ListingFaults,
    ScriptedEvent,
)
from config.units import Instant
from handler.orchestrators.simulated.simulation import ScriptedAnswer, Simulation
from handler.planning.world import Listing, Server, ServerState

BEGAN = Instant(1_700_000_000.0)
ONE, TWO = "web-k3f9ab-1", "web-k3f9ab-2"
WEB = "web-k3f9ab"


def at(seconds: float) -> Instant:
    return Instant(BEGAN + seconds)


def a_cloud(**behaviour: Any) -> Simulation:
    return Simulation(Behaviour(**behaviour), BEGAN)


def peopled(count: int, **behaviour: Any) -> Simulation:
    cloud = a_cloud(**{"boot": BootTime(median=0.0, p95=0.0), **behaviour})
    for number in range(1, count + 1):
        cloud.add(f"web-k3f9ab-{number}", BEGAN)
    return cloud


def listed(cloud: Simulation, now: Instant) -> dict[str, ServerState]:
    answer = cloud.list(WEB, now).given
    assert isinstance(answer, Listing)
    return {server.name: server.state for server in answer.servers}


def test_a_server_builds_for_its_boot_time_and_then_has_an_address() -> None:
    cloud = a_cloud(boot=BootTime(median=30.0, p95=30.0))
    cloud.create(ONE, at(0))

    early, built = cloud.find(ONE, at(29.9)).given, cloud.find(ONE, at(30)).given

    assert isinstance(early, Server)
    assert isinstance(built, Server)
    assert (early.state, early.address) == (ServerState.BUILDING, None)
    assert (built.state, built.address) == (ServerState.RUNNING, "198.18.0.2")
    assert built.created_at == early.created_at == BEGAN


def test_creating_again_answers_with_the_same_server() -> None:
    cloud = a_cloud()

    first, second = cloud.create(ONE, at(0)).given, cloud.create(ONE, at(9)).given

    assert first == second
    assert cloud.made == 1


def test_a_destroyed_server_is_deleting_until_it_has_stopped() -> None:
    cloud = peopled(1, stop=5.0)

    cloud.destroy(ONE, at(10), grace=60.0)

    assert listed(cloud, at(14.9)) == {ONE: ServerState.DELETING}
    assert listed(cloud, at(15)) == {}
    assert cloud.find(ONE, at(15)).given is None


def test_no_server_stops_for_longer_than_its_grace() -> None:
    cloud = peopled(1, stop=60.0)

    cloud.destroy(ONE, at(10), grace=2.0)

    assert cloud.find(ONE, at(12)).given is None


def test_destroying_twice_neither_hastens_nor_delays_the_end() -> None:
    cloud = peopled(1, stop=5.0)

    cloud.destroy(ONE, at(10), grace=60.0)
    cloud.destroy(ONE, at(14), grace=60.0)

    assert listed(cloud, at(14.9)) == {ONE: ServerState.DELETING}
    assert listed(cloud, at(15)) == {}


def test_a_listing_that_lags_shows_the_new_and_the_deleted_late_and_finding_does_not() -> None:
    cloud = peopled(1, stop=0.0, listing=ListingFaults(lag=10.0))
    cloud.create(TWO, at(100))
    cloud.destroy(ONE, at(100), grace=60.0)

    assert (cloud.find(ONE, at(100)).given is None, cloud.find(TWO, at(100)).given is None) == (True, False)
    assert listed(cloud, at(109)) == {ONE: ServerState.RUNNING}
    assert listed(cloud, at(110)) == {TWO: ServerState.RUNNING}


@pytest.mark.parametrize(("faults", "complete"), [({"partial": 1.0}, False), ({"truncated": 1.0}, True)])
def test_half_a_listing_says_so_or_does_not(faults: dict[str, float], complete: bool) -> None:
    answer = peopled(10, listing=ListingFaults(**faults)).list(WEB, at(1)).given

    assert isinstance(answer, Listing)
    assert (len(answer.servers), answer.complete) == (5, complete)
    assert bool(answer.because) is not complete


@pytest.mark.parametrize(
    ("faults", "made", "takes"),
    [
        (CallFaults(error=1.0), False, 0.5),
        (CallFaults(false_error=1.0), True, 0.5),
        (CallFaults(timeout=1.0), True, 20.0),
    ],
    ids=["error", "false error", "timeout"],
)
def test_a_creation_that_fails_may_have_made_the_server(faults: CallFaults, made: bool, takes: float) -> None:
    cloud = a_cloud(create=faults, call=0.5, timeout=20.0)

    answer = cloud.create(ONE, at(0))

    assert isinstance(answer.given, Transient)
    assert answer.takes == takes
    assert (cloud.machine(ONE) is not None) is made


@pytest.mark.parametrize(
    ("faults", "gone"),
    [(CallFaults(error=1.0), False), (CallFaults(false_error=1.0), True), (CallFaults(timeout=1.0), True)],
    ids=["error", "false error", "timeout"],
)
def test_a_removal_that_fails_may_have_removed_the_server(faults: CallFaults, gone: bool) -> None:
    cloud = peopled(1, destroy=faults, stop=0.0)

    assert isinstance(cloud.destroy(ONE, at(1), grace=9.0).given, Transient)
    assert (cloud.find(ONE, at(1)).given is None) is gone


def test_the_same_call_may_fail_once_and_succeed_when_it_is_made_again() -> None:
    cloud = a_cloud(create=CallFaults(error=0.5))

    answers = [[cloud.create(f"web-k3f9ab-{number}", at(0)).given for _ in range(8)] for number in range(1, 20)]

    assert all(any(isinstance(given, Server) for given in tries) for tries in answers)
    assert any(isinstance(tries[0], Transient) for tries in answers)


def test_a_quota_counts_servers_that_are_there_by_any_maker() -> None:
    cloud = a_cloud(quota=2, stop=0.0)
    cloud.add("database-1", at(0))
    cloud.create(ONE, at(0))

    refused = cloud.create(TWO, at(1)).given
    cloud.destroy(ONE, at(2), grace=0.0)

    assert isinstance(refused, Permanent)
    assert "quota of 2" in str(refused)
    assert isinstance(cloud.create(TWO, at(2)).given, Server)


def test_a_quota_that_is_used_up_removes_no_server_that_is_there() -> None:
    cloud = a_cloud(quota=1)
    cloud.create(ONE, at(0))

    assert isinstance(cloud.create(ONE, at(1)).given, Server)


def test_too_many_calls_are_refused_with_the_time_to_wait() -> None:
    cloud = a_cloud(rate_limit=CallRate(calls=2, per=60.0))
    cloud.find(ONE, at(0))
    cloud.find(ONE, at(10))

    refused = cloud.create(ONE, at(15)).given

    assert isinstance(refused, Transient)
    assert refused.retry_after == 45.0
    assert cloud.machine(ONE) is None
    assert isinstance(cloud.create(ONE, at(60)).given, Server)


def test_during_an_outage_no_call_is_answered_and_nothing_is_done() -> None:
    outage = Incident(at=60.0, what=ScriptedEvent.OUTAGE, lasts=30.0)
    cloud = peopled(1, script=(outage,), timeout=7.0)

    for answer in (cloud.list(WEB, at(60)), cloud.create(TWO, at(61)), cloud.destroy(ONE, at(89), grace=0.0)):
        assert isinstance(answer, ScriptedAnswer)
        assert isinstance(answer.given, Transient)
        assert answer.takes == 7.0
    assert listed(cloud, at(90)) == {ONE: ServerState.RUNNING}


@pytest.mark.parametrize(("much", "hit"), [({"count": 3}, 3), ({"share": 0.25}, 3), ({"count": 99}, 10)])
def test_what_is_scripted_befalls_so_many_once_and_at_its_time(much: dict[str, Any], hit: int) -> None:
    cloud = peopled(10, script=(Incident(at=60.0, what=ScriptedEvent.ERROR, **much),))

    assert set(listed(cloud, at(59)).values()) == {ServerState.RUNNING}
    for instant in (at(61), at(500)):
        assert list(listed(cloud, instant).values()).count(ServerState.ERROR) == hit


def test_a_member_that_vanishes_leaves_no_trace() -> None:
    cloud = peopled(4, script=(Incident(at=60.0, what=ScriptedEvent.VANISH, share=0.5),))

    assert len(listed(cloud, at(61))) == len(cloud.machines(at(61))) == 2


def test_a_listing_shows_one_mark_or_all() -> None:
    cloud = peopled(2)
    cloud.add("database-1", BEGAN)

    all_members = cloud.list(None, at(1)).given

    assert isinstance(all_members, Listing)
    assert {server.name for server in all_members.servers} == {ONE, TWO, "database-1"}
    assert set(listed(cloud, at(1))) == {ONE, TWO}


def test_a_member_that_has_been_gone_for_long_is_forgotten() -> None:
    cloud = peopled(3, stop=0.0, listing=ListingFaults(lag=10.0))
    cloud.destroy(ONE, at(10), grace=0.0)

    cloud.advance(at(19))
    late = cloud.machine(ONE)
    cloud.advance(at(20))

    assert late is not None
    assert cloud.machine(ONE) is None


def test_a_server_made_again_under_the_name_of_one_that_is_gone_stays() -> None:
    cloud = peopled(1, stop=0.0, listing=ListingFaults(lag=10.0))
    cloud.destroy(ONE, at(10), grace=0.0)
    cloud.create(ONE, at(15))

    assert listed(cloud, at(100)) == {ONE: ServerState.RUNNING}
    again = cloud.machine(ONE)
    assert again is not None
    assert again.number == 2


def test_when_the_callers_clock_jumps_back_no_server_disappears() -> None:
    cloud = a_cloud(boot=BootTime(median=30.0, p95=30.0), stop=5.0)
    cloud.create(ONE, at(100))

    assert listed(cloud, at(40)) == {ONE: ServerState.BUILDING}
    cloud.destroy(ONE, at(50), grace=60.0)
    assert listed(cloud, at(104)) == {ONE: ServerState.DELETING}
    assert listed(cloud, at(105)) == {}


def test_a_cloud_that_is_read_again_remembers_that_its_servers_have_been_made() -> None:
    cloud = a_cloud()
    machine = cloud.add(ONE, at(100))

    again = Simulation(cloud.behaviour, BEGAN)
    again.put(machine)

    assert listed(again, at(40)) == {ONE: ServerState.BUILDING}


calls = st.lists(
    st.tuples(st.sampled_from(["create", "destroy", "find", "list"]), st.integers(1, 4), st.floats(0, 100)), max_size=30
)
trouble = CallFaults(error=0.2, false_error=0.2, timeout=0.2)


@given(calls=calls, seed=st.integers(0, 9), lag=st.sampled_from([0.0, 20.0]))
def test_a_cloud_that_is_read_again_is_the_same_cloud(
    calls: list[tuple[str, int, float]], seed: int, lag: float
) -> None:
    """What changed is enough to know all of it; listings and findings change nothing."""
    behaviour = Behaviour(
        seed=seed,
        create=trouble,
        destroy=trouble,
        error_after=200.0,
        vanish_after=300.0,
        listing=ListingFaults(lag=lag),
    )
    cloud, kept = Simulation(behaviour, BEGAN), {}
    now = 0.0
    for call, number, pause in calls:
        now += pause
        _call(cloud, call, f"web-k3f9ab-{number}", at(now))
        kept.update({machine.name: machine for machine in cloud.changes()})
        assert call in {"create", "destroy"} or not cloud.changes()

    again = Simulation(behaviour, BEGAN)
    for machine in kept.values():
        again.put(machine)

    for later in (now, now + 50.0, now + 1000.0):
        assert again.machines(at(later)) == cloud.machines(at(later))


def _call(cloud: Simulation, call: str, name: str, now: Instant) -> None:
    match call:
        case "create":
            cloud.create(name, now)
        case "destroy":
            cloud.destroy(name, now, grace=30.0)
        case "find":
            cloud.find(name, now)
        case _:
            cloud.list(WEB, now)
