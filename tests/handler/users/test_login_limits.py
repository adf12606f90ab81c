"""How long wrong passwords make a name and a peer wait."""

from __future__ import annotations

import pytest

from handler.users.login_limits import FREE, FREE_OF_PEER, LONGEST, LoginLimits


def waits(limits: LoginLimits, tries: int, user: str = "ada", peer: str = "p", now: float = 0.0) -> list[float]:
    return [limits.begin(user, peer, now) for _ in range(tries)]


def test_the_wait_doubles_with_each_wrong_try_up_to_its_longest() -> None:
    limits, now, seen = LoginLimits(), 0.0, []
    assert waits(limits, FREE) == [0.0] * FREE
    for _ in range(9):
        seen.append(limits.begin("ada", "p", now))
        now += seen[-1]
        assert limits.begin("ada", "p", now) == 0.0
    assert seen == [1, 2, 4, 8, 16, 32, LONGEST, LONGEST, LONGEST]


def test_tries_at_once_count_before_any_of_them_is_answered() -> None:
    assert [wait > 0 for wait in waits(LoginLimits(), FREE + 3)] == [False] * FREE + [True] * 3


def test_a_try_that_must_wait_makes_no_longer_wait() -> None:
    limits = LoginLimits()
    assert waits(limits, FREE + 50)[-1] == 1.0


def test_a_name_waits_wherever_it_is_tried_from_and_another_name_does_not() -> None:
    limits = LoginLimits()
    for number in range(FREE):
        assert limits.begin("ada", f"peer {number}", 0.0) == 0.0
    assert limits.begin("ada", "one more", 0.0) > 0
    assert limits.begin("bob", "one more", 0.0) == 0.0


def test_a_peer_waits_whichever_names_it_tries() -> None:
    limits = LoginLimits()
    for number in range(FREE_OF_PEER):
        assert limits.begin(f"user {number}", "p", 0.0) == 0.0
    assert limits.begin("ada", "p", 0.0) > 0
    assert limits.begin("ada", "q", 0.0) == 0.0


def test_a_right_password_begins_its_name_anew_but_not_its_peer() -> None:
    limits = LoginLimits()
    waits(limits, FREE)
    limits.proved("ada", "p")
    assert waits(limits, FREE) == [0.0] * FREE
    for number in range(FREE_OF_PEER - 2 * FREE + 1):
        assert limits.begin(f"user {number}", "p", 0.0) == 0.0
    assert limits.begin("more", "p", 0.0) > 0, "who knows one password cannot try those of others for ever"


@pytest.mark.parametrize(("later", "free"), [(3599.0, False), (3600.0, True)])
def test_an_hour_without_a_try_forgets_the_wrong_ones(later: float, free: bool) -> None:
    limits, now = LoginLimits(), 0.0
    for _ in range(FREE + 8):
        now += limits.begin("ada", "p", now)
    assert [wait == 0.0 for wait in waits(limits, 2, now=now + later)] == [True, free]


def test_many_names_take_no_more_memory_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handler.users.login_limits._KEYS_AT_MOST", 10)
    limits = LoginLimits()
    for number in range(100):
        limits.begin(f"user {number}", f"peer {number}", 0.0)
    assert len(limits._tried) == 10
