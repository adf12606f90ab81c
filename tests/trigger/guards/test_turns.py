from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.catalogue import Group, Mode
from config.units import GroupId, Instant
from tests.support.trigger import (
    a_catalogue,
    a_fleet,
    a_group,
    a_person,
    a_request,
    a_signal,
    add,
    an_advice,
    an_alarm,
    an_evaluation,
    at,
    decided,
    remove,
)
from trigger.decide import decide
from trigger.explain.basis import basis_of, rerun
from trigger.explain.time_words import say_queued
from trigger.guards.turns import KEPT, Peer, ahead, peer, scales
from trigger.reasons import Reason
from trigger.requests import Decision, Fleet, GroupState, Pause, Queued, Request, ServiceTurn, SignalKind

SHOP = replace(a_group(), service="shop")
BEHIND = replace(a_fleet(), ahead=GroupId("db"))
NEVER = ServiceTurn()


def asked(
    *requests: Request, fleet: Fleet = BEHIND, turn: ServiceTurn = NEVER, group: Group = SHOP, late: float = 0.0
) -> Decision:
    return decided(*requests, group=group, fleet=fleet, state=GroupState(turn=turn), now=at(late))


def waiting(request: Request, since: float = 0.0) -> ServiceTurn:
    return ServiceTurn(queued=Queued(request=request, since=at(since).wall, until=Instant(at(since).wall + KEPT)))


def reasons(decision: Decision) -> list[tuple[str, Reason]]:
    return [(answer.request.id, answer.reason) for answer in decision.answers]


# One group in decisions


@pytest.mark.parametrize(
    "request_", [a_request(add(2)), an_alarm(remove(1)), a_person(6)], ids=["policy", "alarm", "person"]
)
def test_a_request_waits_while_another_group_scales_first_and_is_kept(request_: Request) -> None:
    decision = asked(request_)
    assert reasons(decision) == [(request_.id, Reason.WAITING_TURN)]
    assert (decision.desired_to, decision.state.turn) == (4, waiting(request_))
    assert not decision.state.quiets
    assert not decision.restarts_holds


def test_a_kept_request_is_carried_out_when_no_group_is_ahead() -> None:
    decision = asked(fleet=a_fleet(), turn=waiting(an_alarm(add(2))), late=60)
    assert (decision.desired_to, decision.reason) == (6, Reason.SCALED_OUT)
    assert decision.state.turn == ServiceTurn(began=at(60).wall)


def test_a_policys_kept_request_waits_for_a_tick_at_which_policies_can_agree() -> None:
    kept = waiting(a_request(remove(2)))
    between = asked(fleet=a_fleet(), turn=kept, late=60)
    assert (between.desired_to, between.answers, between.state.turn) == (4, (), kept)
    blind = an_evaluation(an_advice("out", remove(2), Reason.BLIND))
    state = GroupState(turn=kept)
    assert reasons(decided(group=SHOP, state=state, evaluation=blind)) == [("r1", Reason.DISAGREED)]


def test_a_kept_request_passes_all_guards_anew_and_their_answer_is_final() -> None:
    state = GroupState(turn=waiting(an_alarm(remove(1))), signals=(a_signal(SignalKind.SHIELD),))
    decision = decided(group=SHOP, state=state)
    assert reasons(decision) == [("a1", Reason.SHIELDED)]
    assert decision.state.turn == ServiceTurn()


def test_a_refused_request_is_not_kept() -> None:
    decision = asked(a_request(add(2)), group=replace(SHOP, maximum=4))
    assert reasons(decision) == [("r1", Reason.AT_MAX)]
    assert decision.state.turn == ServiceTurn()


def test_a_newer_request_takes_the_place_of_the_older_one_which_is_outbid() -> None:
    decision = asked(an_alarm(remove(1)), turn=waiting(a_request(add(2))), late=30)
    assert reasons(decision) == [("a1", Reason.WAITING_TURN), ("r1", Reason.OUTBID)]
    queued = decision.state.turn.queued
    assert queued is not None
    assert (queued.request.id, queued.since, queued.until) == ("a1", at().wall, at(30 + KEPT).wall)


def test_a_policy_that_asks_again_at_every_tick_makes_one_request() -> None:
    decision = asked(a_request(add(2), id="r2"), turn=waiting(a_request(add(2))), late=30)
    assert reasons(decision) == [("r2", Reason.WAITING_TURN)]
    again = asked(a_request(add(2), id="r3"), fleet=a_fleet(), turn=decision.state.turn, late=60)
    assert reasons(again) == [("r3", Reason.SCALED_OUT)]
    assert again.desired_to == 6


def test_a_request_that_waited_too_long_expires() -> None:
    decision = asked(turn=waiting(an_alarm(add(2))), late=KEPT)
    assert reasons(decision) == [("a1", Reason.EXPIRED)]
    assert (decision.reason, decision.desired_to, decision.state.turn) == (Reason.EXPIRED, 4, ServiceTurn())


@pytest.mark.parametrize(
    ("asks", "fleet", "late"),
    [
        pytest.param((), a_fleet(), 30, id="carried-out"),
        pytest.param((), a_fleet(), KEPT, id="expired"),
        pytest.param((an_alarm(remove(1), id="a2"),), BEHIND, 30, id="displaced"),
        pytest.param((an_alarm(add(2)),), BEHIND, 30, id="made-again"),
        pytest.param((an_alarm(add(2)),), a_fleet(), 30, id="made-again-in-its-turn"),
    ],
)
def test_a_kept_request_decided_once_more_gets_the_same_answer(
    asks: tuple[Request, ...], fleet: Fleet, late: float
) -> None:
    catalogue = a_catalogue(policies=[], conditions=[], group=replace(SHOP, policies=()))
    group, state = catalogue.groups[SHOP.id], GroupState(desired=4, turn=waiting(an_alarm(add(2))))
    decision = decide(group, asks, fleet, state, at(late), evaluation=None)
    basis = basis_of(catalogue, group, None, decision, fleet, state)
    assert basis is not None
    assert rerun(catalogue, group, basis) == (None, decision)


def test_a_person_with_force_goes_at_once() -> None:
    assert asked(a_person(9, force=True)).desired_to == 9


def test_bounds_and_alerts_floors_do_not_wait() -> None:
    assert asked(group=replace(SHOP, minimum=6)).reason is Reason.BOUNDS
    state = GroupState(signals=(a_signal(SignalKind.FLOOR, 8),))
    assert decided(group=SHOP, fleet=BEHIND, state=state).desired_to == 8


def test_no_group_waits_in_mode_advise() -> None:
    decision = asked(a_request(add(2)), group=replace(SHOP, mode=Mode.ADVISE))
    assert (decision.reason, decision.advised_to) == (Reason.ADVISED, 6)


def test_a_paused_group_keeps_its_request_and_delays_no_other_group() -> None:
    state = GroupState(desired=4, pause=Pause.ALL, turn=waiting(an_alarm(add(2))))
    assert decided(group=SHOP, state=state).state == state
    assert peer(SHOP, state, a_fleet(), at().wall).waits_since is None


def test_why_shows_the_waiting_request_and_the_group_ahead() -> None:
    queued = waiting(an_alarm(add(2))).queued
    assert queued is not None
    assert say_queued(queued, GroupId("db"), at(60).wall) == (
        "waiting for its turn: group db scales first; request of alarm alarm, waiting since 12:00:00 (60 s ago), "
        "expires at 12:10:00"
    )


# Which group scales next


@pytest.mark.parametrize(
    ("in_service", "leaving", "late", "expected"),
    [(4, 0, 60, True), (6, 0, 60, False), (6, 1, 60, True), (4, 0, 900, False)],
    ids=["under way", "all serve", "one drains", "patience is over"],
)
def test_a_turn_lasts_until_the_size_is_there_or_patience_ends(
    in_service: int, leaving: int, late: float, expected: bool
) -> None:
    state = GroupState(desired=6, turn=ServiceTurn(began=at().wall))
    assert scales(SHOP, state, a_fleet(in_service=in_service, leaving=leaving), at(late).wall) is expected


def test_a_repair_is_no_turn() -> None:
    assert not scales(SHOP, GroupState(desired=6), a_fleet(in_service=5), at().wall)


def a_peer(name: str, *, scales: bool = False, since: float | None = None) -> Peer:
    return Peer(group=GroupId(name), scales=scales, waits_since=None if since is None else Instant(since))


@pytest.mark.parametrize(
    ("mine", "others", "expected"),
    [
        (a_peer("a"), [a_peer("b")], None),
        (a_peer("a"), [a_peer("b", scales=True)], "b"),
        (a_peer("a", since=1), [a_peer("b", since=2)], None),
        (a_peer("a", since=2), [a_peer("b", since=1)], "b"),
        (a_peer("a"), [a_peer("b", since=9)], "b"),
        (a_peer("b", since=1), [a_peer("a", since=1)], "a"),
        (a_peer("a", since=1), [a_peer("b", since=2), a_peer("c", scales=True)], "c"),
    ],
    ids=["no group", "scales", "first in line", "waited longer", "waiting beats coming", "names", "scaling first"],
)
def test_the_scaling_group_comes_first_then_the_longest_waiting_one(
    mine: Peer, others: list[Peer], expected: str | None
) -> None:
    assert ahead(mine, others) == expected


# A whole service


@dataclass
class Member:
    """One group of a simulated service, whose changes take a while."""

    group: Group
    takes: int
    state: GroupState = field(default_factory=lambda: GroupState(desired=4))
    in_service: int = 4
    left: int = 0

    @property
    def fleet(self) -> Fleet:
        return a_fleet(in_service=self.in_service)

    def tick(self) -> None:
        self.left -= 1
        if self.left <= 0 and self.state.desired is not None:
            self.in_service = self.state.desired


REQUESTS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([add(1), remove(1), add(3)])), max_size=3),
    min_size=1,
    max_size=60,
)


@given(REQUESTS, st.lists(st.integers(1, 4), min_size=3, max_size=3), st.permutations([0, 1, 2]))
def test_groups_scale_one_at_a_time_and_every_request_is_answered(
    asked: list[list[tuple[int, object]]], takes: list[int], order: list[int]
) -> None:
    service = [
        Member(group=replace(SHOP, id=GroupId(f"g{number}"), minimum=0, maximum=1000), takes=span)
        for number, span in enumerate(takes)
    ]
    open_: dict[str, int] = {}
    for tick, wanted in enumerate([*asked, *([[]] * 20)]):
        now = at(30.0 * tick)
        for number in order:
            one = service[number]
            peers = {each.group.id: peer(each.group, each.state, each.fleet, now.wall) for each in service}
            mine = peers.pop(one.group.id)
            fleet = replace(one.fleet, ahead=ahead(mine, list(peers.values())))
            requests = [
                replace(an_alarm(does), id=f"{tick}-{at_}", quiet_time=0.0)  # type: ignore[arg-type]  # an adjustment
                for at_, (of, does) in enumerate(wanted)
                if of == number
            ]
            decision = decide(one.group, requests, fleet, one.state, now, evaluation=None)
            for answer in decision.answers:
                if answer.reason is Reason.WAITING_TURN:
                    open_.setdefault(answer.request.id, tick)
                else:
                    open_.pop(answer.request.id, None)
            if decision.changed:
                one.left = one.takes
            one.state = decision.state
            scaling = [each for each in service if scales(each.group, each.state, each.fleet, now.wall)]
            assert len(scaling) <= 1
        kept = {each.state.turn.queued.request.id for each in service if each.state.turn.queued is not None}
        assert kept == open_.keys()
        assert all(tick - since <= 3 * (max(takes) + 1) + 1 for since in open_.values())
        for each in service:
            each.tick()
    assert not open_
