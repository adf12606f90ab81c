"""Passwords and logging in: every wrong try costs the same, and sessions end with what they stood on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from argon2 import PasswordHasher

from config.errors import Refused, StoreError
from config.units import Instant
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole
from handler.users.known import KnownUsers
from handler.users.login import LoggedIn, Login, NotLoggedIn, TooManyTries
from handler.users.login_limits import FREE
from handler.users.passwords import LONGEST, SHORTEST, KnownPasswords
from handler.users.sessions import Sessions
from tests.support.memory_users import MemoryUsers

NOW = Instant(1_700_000_000.0)
GOOD = "correct horse battery"


class CountedHasher(PasswordHasher):
    """Quick, and counts what it does."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.checked: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # literal True
        self.checked.append(str(hash))
        return super().verify(hash, password)


class Scene:
    """ada is the first admin, bob a viewer; both have one password."""

    def __init__(self) -> None:
        self.store, self.steady, self.hasher = MemoryUsers(), 0.0, CountedHasher()
        self.users = KnownUsers(self.store, lambda: NOW)
        self.passwords = KnownPasswords(self.store, self.users, lambda: NOW, self.hasher)
        self.sessions = Sessions(lambda: self.steady)
        self.login = Login(self.users, self.passwords, self.sessions, lambda: self.steady)

    async def log_in(self, user: str = "bob", password: str = GOOD) -> object:
        return await self.login.log_in(user, password, "127.0.0.1")

    async def session(self, user: str = "bob") -> str:
        """The cookie of a new session."""
        outcome = await self.log_in(user)
        assert isinstance(outcome, LoggedIn)
        return outcome.cookie

    def lives(self, cookie: str) -> bool:
        return self.sessions.find(cookie, by_person=True) is not None


def play(scene: Callable[[Scene], Awaitable[None]]) -> None:
    async def whole() -> None:
        made = Scene()
        await made.users.load()
        await made.users.begin("ada", Anonymous.NONE)
        await made.users.add("bob", UserRole.VIEWER, None)
        for user in ("ada", "bob"):
            await made.passwords.give(user, GOOD)
        await scene(made)

    asyncio.run(whole())


def test_the_right_password_begins_a_session_also_after_a_restart() -> None:
    async def scene(it: Scene) -> None:
        assert it.lives(await it.session())
        again = KnownPasswords(it.store, it.users, lambda: NOW, it.hasher)
        await again.load()
        assert await again.fits("bob", GOOD)
        assert GOOD not in repr((it.store, vars(it.passwords)))

    play(scene)


@pytest.mark.parametrize(
    ("user", "password"), [("bob", "wrong horse battery"), ("bob", ""), ("eve", GOOD), ("", ""), ("carl", GOOD)]
)
def test_every_wrong_try_costs_one_hash_and_gets_one_answer(user: str, password: str) -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("carl", UserRole.VIEWER, None)  # without a password
        await it.log_in("ada")
        it.hasher.checked.clear()
        outcome = await it.log_in(user, password)
        assert isinstance(outcome, NotLoggedIn)
        (checked,) = it.hasher.checked
        assert checked.rpartition("$")[0].rpartition("$")[0] == "$argon2id$v=19$m=8,t=1,p=1", "of the same parameters"

    play(scene)


def test_a_disabled_user_is_refused_like_a_wrong_password() -> None:
    async def scene(it: Scene) -> None:
        await it.users.disable("bob", disabled=True)
        assert isinstance(await it.log_in(), NotLoggedIn)
        assert len(it.hasher.checked) == 1

    play(scene)


@pytest.mark.parametrize("user", ["bob", "no such user"])
def test_too_many_wrong_tries_wait_whether_or_not_the_name_is_known(user: str) -> None:
    async def scene(it: Scene) -> None:
        for _ in range(FREE):
            assert isinstance(await it.log_in(user, "wrong horse battery"), NotLoggedIn)
        assert await it.log_in(user, GOOD) == TooManyTries(1.0), "the right password waits, too: it is not even checked"
        it.steady += 1.0
        assert isinstance(await it.log_in(user, GOOD), LoggedIn if user == "bob" else NotLoggedIn)

    play(scene)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda it: it.passwords.give("bob", "another long password"), id="a new password"),
        pytest.param(lambda it: it.passwords.remove("bob"), id="no password"),
        pytest.param(lambda it: it.users.disable("bob", disabled=True), id="disabled"),
        pytest.param(lambda it: it.users.give_role("bob", UserRole.ADMIN, None), id="a new role"),
        pytest.param(lambda it: it.users.delete("bob"), id="deleted"),
    ],
)
def test_sessions_end_with_what_they_stood_on(change: Callable[[Scene], Awaitable[object]]) -> None:
    async def scene(it: Scene) -> None:
        bob, ada = await it.session("bob"), await it.session("ada")
        await change(it)
        assert (it.lives(bob), it.lives(ada)) == (False, True)

    play(scene)


def test_a_deleted_user_s_password_does_not_come_back_with_its_name() -> None:
    async def scene(it: Scene) -> None:
        await it.users.delete("bob")
        await it.users.add("bob", UserRole.VIEWER, None)
        assert isinstance(await it.log_in(), NotLoggedIn)

    play(scene)


def test_a_change_that_the_password_before_proved_does_not_undo_what_an_administrator_set_meanwhile() -> None:
    async def scene(it: Scene) -> None:
        known = it.passwords.known("bob")
        assert await it.passwords.fits("bob", GOOD)
        await it.passwords.give("bob", "set by an administrator")
        with pytest.raises(Refused, match="changed meanwhile"):
            await it.passwords.give("bob", "another long password", instead_of=known)
        assert await it.passwords.fits("bob", "set by an administrator")
        await it.passwords.give("bob", "another long password", instead_of=it.passwords.known("bob"))
        assert await it.passwords.fits("bob", "another long password")

    play(scene)


def test_a_password_that_could_not_be_written_does_not_count() -> None:
    async def scene(it: Scene) -> None:
        it.store.full = True
        with pytest.raises(StoreError):
            await it.passwords.give("bob", "another long password")
        assert isinstance(await it.log_in(), LoggedIn)

    play(scene)


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("x" * (SHORTEST - 1), "has 12 to 256 characters: this one has 11"),
        ("x" * (LONGEST + 1), "has 12 to 256 characters"),
        ("a-user-of-long-name", "must not be the user's name"),
    ],
)
def test_a_password_that_is_too_short_too_long_or_the_name_is_refused(password: str, words: str) -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("a-user-of-long-name", UserRole.VIEWER, None)
        with pytest.raises(Refused, match=words) as refused:
            await it.passwords.give("a-user-of-long-name", password)
        assert password not in str(refused.value)

    play(scene)


def test_a_password_is_the_same_in_every_spelling_of_its_letters() -> None:
    async def scene(it: Scene) -> None:
        await it.passwords.give("bob", "Zo\u00eb's long password")
        assert await it.passwords.fits("bob", "Zoe\u0308's long password")

    play(scene)


def test_the_real_parameters_are_those_of_rfc_9106() -> None:
    hasher = PasswordHasher()
    assert (hasher.type.name, hasher.time_cost, hasher.memory_cost, hasher.parallelism) == ("ID", 3, 65536, 4)
