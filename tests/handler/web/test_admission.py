from __future__ import annotations

from dataclasses import dataclass

import pytest

from handler.web.admission import WITHIN, WaitPhase, evicted, is_overdue

NOW = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    name: str = ""
    phase: WaitPhase = WaitPhase.HEAD
    since: float = NOW
    peer: str = "127.0.0.1"
    trusted: bool = False
    reads: bool = True


def names(connections: list[Held], at_most: int = 100) -> list[str]:
    return [held.name for held in evicted(connections, at_most)]


def test_the_idlest_makes_room_first() -> None:
    waiting = [Held(name="new", since=NOW), Held(name="old", since=NOW - 9), Held(name="older", since=NOW - 10)]
    assert names(waiting, 2) == ["older", "old"]


@pytest.mark.parametrize("phase", [WaitPhase.HEAD, WaitPhase.BODY, WaitPhase.STALLED, WaitPhase.CLOSING])
def test_a_connection_that_waits_for_its_client_makes_room_before_one_that_is_being_answered(phase: WaitPhase) -> None:
    answered = Held(name="answered", phase=WaitPhase.ANSWER, since=NOW - 60)
    assert names([answered, Held(name="waiting", phase=phase)]) == ["waiting", "answered"]


def test_a_client_that_has_shown_the_token_makes_room_after_those_that_have_not() -> None:
    known = Held(name="known", trusted=True, since=NOW - 60)
    assert names([known, Held(name="unknown")]) == ["unknown", "known"]


@pytest.mark.parametrize(
    "request_",
    [Held(phase=WaitPhase.ANSWER, trusted=True), Held(phase=WaitPhase.ANSWER, reads=False)],
    ids=["token", "change"],
)
def test_a_request_with_the_token_or_that_may_change_something_is_never_cut_off(request_: Held) -> None:
    assert names([request_]) == []


def test_the_peer_that_holds_most_connections_makes_room_first() -> None:
    member = Held(name="member", peer="127.0.0.9", since=NOW - 60)
    crowd = [Held(name="crowd", since=NOW - second) for second in range(5)]
    assert names([member, *crowd], 5) == ["crowd"] * 5


@pytest.mark.parametrize("phase", list(WaitPhase))
def test_every_wait_for_a_client_has_an_end(phase: WaitPhase) -> None:
    limit = WITHIN[phase]
    if phase is WaitPhase.ANSWER:
        assert limit is None
        assert not is_overdue(Held(phase=phase, since=0.0), NOW)
    else:
        assert limit is not None
        assert is_overdue(Held(phase=phase, since=NOW - limit), NOW)
        assert not is_overdue(Held(phase=phase, since=NOW - limit + 0.1), NOW)
