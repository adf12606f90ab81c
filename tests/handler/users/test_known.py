"""Users and their tokens: made, changed, accepted and not accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from config.errors import Refused, StoreError
from config.units import GroupId, Instant
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import Anonymous
from handler.identity.rights import VERBS, UserRole, Verb
from handler.ports.identity import StoredToken
from handler.users.known import KnownUsers
from tests.support.memory_users import MemoryUsers

WEB, DB = GroupId("web"), GroupId("db")
NOW, DAY = Instant(1_700_000_000.0), 86400.0
A_TOKEN = StoredToken(user="ada", name="laptop", digest="", created_at=NOW)


def never(_: StoredToken) -> None:
    """No end."""


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> Instant:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now = Instant(self.now + seconds)


class Scene:
    """Users over a store in memory; ada is the first admin."""

    def __init__(self) -> None:
        self.store, self.clock = MemoryUsers(), Clock()
        self.users = KnownUsers(self.store, self.clock)

    def again(self) -> KnownUsers:
        """Users as a daemon that starts now reads them."""
        users = KnownUsers(self.store, self.clock)
        asyncio.run(users.load())
        return users

    async def token(self, **fields: object) -> str:
        return await self.users.new_token(replace(A_TOKEN, **fields))  # type: ignore[arg-type]

    def accepted(self, token: str) -> bool:
        return self.users.bearer(token, "127.0.0.1") is not None


def play(scene: Callable[[Scene], Awaitable[None]]) -> Scene:
    made = Scene()

    async def whole() -> None:
        await made.users.load()
        await made.users.begin("ada", Anonymous.NONE)
        await scene(made)

    asyncio.run(whole())
    return made


def test_a_token_makes_its_user_the_actor_with_the_role_s_verbs_and_the_user_s_groups() -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("bob", UserRole.OPERATOR, [WEB, DB])
        token = await it.token(user="bob", groups=(WEB,), verbs=(Verb.READ, Verb.SCALE, Verb.DELETE))
        bob = it.users.bearer(token, "10.0.0.7")
        assert bob is not None
        assert (bob.name, bob.is_user) == ("bob", True)
        assert bob.origin == Origin(way=Way.TOKEN, peer="10.0.0.7", credential="laptop")
        assert (bob.grants.verbs, bob.grants.groups) == ({Verb.READ, Verb.SCALE}, {WEB})

    play(scene)


def test_a_user_cannot_call_itself_by_another_name() -> None:
    async def scene(it: Scene) -> None:
        ada = it.users.bearer(await it.token(), "")
        assert ada is not None
        assert ada.called("root") == ada

    play(scene)


def test_a_change_of_role_holds_for_tokens_that_exist() -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("bob", UserRole.OPERATOR, None)
        token = await it.token(user="bob")
        await it.users.give_role("bob", UserRole.VIEWER, [WEB])
        bob = it.users.bearer(token, "")
        assert bob is not None
        assert (bob.grants.verbs, bob.grants.groups) == (VERBS[UserRole.VIEWER], {WEB})

    play(scene)


def test_a_token_is_accepted_until_it_expires() -> None:
    async def scene(it: Scene) -> None:
        token = await it.token(expires_at=Instant(NOW + DAY))
        it.clock.passes(DAY - 1)
        assert it.accepted(token)
        it.clock.passes(1)
        assert not it.accepted(token)

    play(scene)


def test_two_tokens_live_during_a_rotation_and_the_old_one_keeps_its_own_expiry() -> None:
    async def scene(it: Scene) -> None:
        old = await it.token(expires_at=Instant(NOW + DAY))
        new = await it.users.rotate("ada", "laptop", lambda _: Instant(NOW + 90 * DAY))
        assert (it.accepted(old), it.accepted(new)) == (True, True)
        it.clock.passes(DAY)
        assert (it.accepted(old), it.accepted(new)) == (False, True)

    play(scene)


def test_the_old_token_ends_when_the_rotation_is_finished_or_with_the_next_one() -> None:
    async def scene(it: Scene) -> None:
        first = await it.token()
        second = await it.users.rotate("ada", "laptop", never)
        third = await it.users.rotate("ada", "laptop", never)
        assert [it.accepted(each) for each in (first, second, third)] == [False, True, True]
        await it.users.finish("ada", "laptop")
        assert [it.accepted(each) for each in (second, third)] == [False, True]

    play(scene)


@pytest.mark.parametrize(
    "end",
    [
        lambda users: users.revoke("bob", "laptop"),
        lambda users: users.disable("bob", disabled=True),
        lambda users: users.delete("bob"),
    ],
)
def test_a_token_ends_at_once_with_itself_or_its_user(end: Callable[[KnownUsers], Awaitable[None]]) -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("bob", UserRole.ADMIN, None)
        token = await it.token(user="bob")
        await end(it.users)
        assert not it.accepted(token)

    play(scene)


def test_a_disabled_user_s_tokens_are_accepted_again_afterwards() -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("bob", UserRole.VIEWER, None)
        token = await it.token(user="bob")
        await it.users.disable("bob", disabled=True)
        await it.users.disable("bob", disabled=False)
        assert it.accepted(token)

    play(scene)


@pytest.mark.parametrize("offered", ["", "trimtab_", "x" * 1000, "\udcff", "trimtab_" + "A" * 43])
def test_what_is_no_token_is_not_accepted(offered: str) -> None:
    async def scene(it: Scene) -> None:
        await it.token()
        assert not it.accepted(offered)

    play(scene)


def test_the_store_holds_no_token() -> None:
    tokens: list[str] = []

    async def scene(it: Scene) -> None:
        tokens.append(await it.token())
        tokens.append(await it.users.rotate("ada", "laptop", never))

    stored = play(scene).store.bearers["ada", "laptop"]
    fields = [getattr(stored, name) for name in StoredToken.__dataclass_fields__]
    assert not [token for token in tokens if any(token in str(value) for value in fields)]
    assert stored.digest not in repr(stored)


@pytest.mark.parametrize(
    "end", [lambda users: users.revoke("bob", "laptop"), lambda users: users.delete("bob")], ids=["token", "user"]
)
def test_a_new_token_of_an_earlier_name_has_not_been_used(end: Callable[[KnownUsers], Awaitable[None]]) -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("bob", UserRole.VIEWER, None)
        assert it.accepted(await it.token(user="bob"))
        await end(it.users)
        if not it.users.has("bob"):
            await it.users.add("bob", UserRole.VIEWER, None)
        await it.token(user="bob")
        await it.users.flush()
        assert [token.last_used_at for token in it.users.tokens("bob")] == [None]
        assert it.store.bearers["bob", "laptop"].last_used_at is None

    play(scene)


def test_users_tokens_and_last_uses_survive_a_restart() -> None:
    tokens: list[str] = []

    async def scene(it: Scene) -> None:
        tokens.append(await it.token())
        it.clock.passes(5)
        assert it.accepted(tokens[0])
        await it.users.flush()

    again = play(scene).again()
    assert again.exist
    assert again.bearer(tokens[0], "") is not None
    assert [token.last_used_at for token in again.tokens("ada")] == [NOW + 5]


@pytest.mark.parametrize(
    "act",
    [
        lambda users: users.begin("eve", Anonymous.VIEWER),
        lambda users: users.add("ada", UserRole.VIEWER, None),
        lambda users: users.add("Ada!", UserRole.VIEWER, None),
        lambda users: users.add("", UserRole.VIEWER, None),
        lambda users: users.give_role("ada", UserRole.OPERATOR, None),
        lambda users: users.give_role("ada", UserRole.ADMIN, [WEB]),
        lambda users: users.disable("ada", disabled=True),
        lambda users: users.delete("ada"),
        lambda users: users.delete("nobody"),
        lambda users: users.new_token(replace(A_TOKEN, user="nobody")),
        lambda users: users.new_token(replace(A_TOKEN, name="a b")),
        lambda users: users.rotate("ada", "none", never),
        lambda users: users.revoke("ada", "none"),
    ],
)
def test_what_would_lock_everyone_out_or_makes_no_sense_is_refused_and_changes_nothing(
    act: Callable[[KnownUsers], Awaitable[object]],
) -> None:
    async def scene(it: Scene) -> None:
        before = (it.users.users(), it.users.tokens(), it.users.anonymous)
        with pytest.raises(Refused):
            await act(it.users)
        assert (it.users.users(), it.users.tokens(), it.users.anonymous) == before

    play(scene)


def test_the_last_admin_may_go_once_there_is_another_of_all_groups() -> None:
    async def scene(it: Scene) -> None:
        await it.users.add("bob", UserRole.ADMIN, [WEB])
        with pytest.raises(Refused, match="last admin"):
            await it.users.delete("ada")
        await it.users.give_role("bob", UserRole.ADMIN, None)
        await it.users.delete("ada")
        assert [user.name for user in it.users.users()] == ["bob"]

    play(scene)


def test_before_the_first_user_no_user_is_added() -> None:
    users = KnownUsers(MemoryUsers(), Clock())
    for act in (users.add("bob", UserRole.VIEWER, None), users.allow_anonymous(Anonymous.NONE)):
        with pytest.raises(Refused, match="trimtab user init"):
            asyncio.run(act)


def test_a_change_that_is_not_on_disk_does_not_count() -> None:
    async def scene(it: Scene) -> None:
        token = await it.token()
        it.store.full = True
        for act in (it.users.revoke("ada", "laptop"), it.users.rotate("ada", "laptop", never)):
            with pytest.raises(StoreError):
                await act
        assert it.accepted(token)

    play(scene)


def test_without_a_token_a_request_has_no_name_and_the_chosen_rights() -> None:
    async def scene(it: Scene) -> None:
        await it.users.allow_anonymous(Anonymous.METRICS)
        caller: Actor = it.users.without_token("127.0.0.1")
        assert (caller.name, caller.grants.verbs) == ("", {Verb.METRICS})

    play(scene)
