"""Sessions: begun by a login, used by a person, ended by time, logout or a change of the user."""

from __future__ import annotations

import pytest

from handler.users.sessions import ABSOLUTE, IDLE, OF_USER, Sessions


class Scene:
    def __init__(self) -> None:
        self.now = 1000.0
        self.sessions = Sessions(lambda: self.now)

    def lives(self, cookie: str, *, by_person: bool = False) -> bool:
        return self.sessions.find(cookie, by_person=by_person) is not None


@pytest.fixture
def it() -> Scene:
    return Scene()


def test_a_cookie_finds_its_session_and_nothing_else_does(it: Scene) -> None:
    cookie, session = it.sessions.begin("ada")
    assert it.sessions.find(cookie, by_person=True) is session
    assert not [other for other in ("", cookie[:-1], session.csrf) if it.lives(other)]
    assert cookie not in repr(vars(it.sessions)), "memory holds its hash alone"
    assert session.csrf not in repr(session)


def test_a_session_proves_itself_by_its_own_token_alone(it: Scene) -> None:
    (_, one), (_, other) = it.sessions.begin("ada"), it.sessions.begin("ada")
    assert one.proves(one.csrf)
    assert not [shown for shown in ("", other.csrf, one.csrf[:-1], "é\udcff") if one.proves(shown)]


def test_a_session_ends_when_no_person_used_it_for_a_while(it: Scene) -> None:
    cookie, _ = it.sessions.begin("ada")
    it.now += IDLE - 1
    assert it.lives(cookie, by_person=True)
    it.now += IDLE - 1
    assert it.lives(cookie), "it is looked up by a page by itself"
    it.now += 1
    assert not it.lives(cookie), "what a page does by itself is no use"


def test_a_session_ends_after_its_longest_time_however_much_it_is_used(it: Scene) -> None:
    cookie, _ = it.sessions.begin("ada")
    for _ in range(int(ABSOLUTE / (IDLE / 2)) - 1):
        it.now += IDLE / 2
        assert it.lives(cookie, by_person=True)
    it.now += IDLE / 2
    assert not it.lives(cookie, by_person=True)


def test_a_user_s_sessions_end_together_and_another_s_do_not(it: Scene) -> None:
    ada, bob, more = (it.sessions.begin(user)[0] for user in ("ada", "bob", "ada"))
    it.sessions.end_all("ada")
    assert [it.lives(cookie) for cookie in (ada, bob, more)] == [False, True, False]
    it.sessions.end(bob)
    it.sessions.end(bob)
    assert not it.lives(bob)


def test_a_user_with_many_sessions_loses_the_one_that_was_used_longest_ago(it: Scene) -> None:
    cookies = [it.sessions.begin("ada")[0] for _ in range(OF_USER)]
    assert it.lives(cookies[0], by_person=True)
    it.sessions.begin("ada")
    assert [it.lives(cookie) for cookie in cookies[:3]] == [True, False, True]
