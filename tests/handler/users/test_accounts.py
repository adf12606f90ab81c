"""Domains and accounts: made, changed, deleted and refused; and the users in them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from config.errors import Refused, StoreError
from config.units import ROOT_ACCOUNT, ROOT_DOMAIN, AccountId, DomainId, GroupId, Instant
from handler.identity.accounts import AccountQuota
from handler.identity.grants import Anonymous, Grants
from handler.identity.rights import VERBS, UserRole
from handler.ports.identity import StoredToken
from handler.users.accounts import DEEPEST, KnownAccounts
from handler.users.known import KnownUsers
from tests.support.memory_users import MemoryUsers

NOW = Instant(1_700_000_000.0)
SHOPS, BOOKS, PAPER = DomainId("shops"), AccountId("books"), AccountId("paper")


class Scene:
    """Ada is the first admin; domain ``shops`` has the accounts ``books`` and ``paper``."""

    def __init__(self) -> None:
        self.store = MemoryUsers()
        self.users = KnownUsers(self.store, lambda: NOW)

    @property
    def accounts(self) -> KnownAccounts:
        return self.users.accounts

    async def grants(self, user: str, **scope: object) -> Grants:
        """What a token of a user allows."""
        wanted = replace(StoredToken(user=user, name="t", digest="", created_at=NOW), **scope)  # type: ignore[arg-type]
        actor = self.users.bearer(await self.users.new_token(wanted), "")
        assert actor is not None
        return actor.grants


def play(scene: Callable[[Scene], Awaitable[None]]) -> Scene:
    made = Scene()

    async def whole() -> None:
        await made.users.load()
        await made.users.begin("ada", Anonymous.NONE)
        await made.accounts.add_domain(SHOPS, ROOT_DOMAIN)
        await made.accounts.add(BOOKS, SHOPS, AccountQuota(groups=3))
        await made.accounts.add(PAPER, SHOPS, AccountQuota())
        await scene(made)

    asyncio.run(whole())
    return made


def test_what_was_made_is_there_after_a_restart_with_the_same_uuids() -> None:
    made = play(lambda it: it.users.add("bob", UserRole.TUNER, None, BOOKS))  # type: ignore[arg-type,return-value]
    again = KnownUsers(made.store, lambda: NOW)
    asyncio.run(again.load())
    assert again.accounts.all() == made.accounts.all()
    assert again.accounts.domains == made.accounts.domains
    assert again.users() == made.users.users()
    uuids = [each.uuid for each in (*again.accounts.all(), *again.accounts.domains.values(), *again.users())]
    assert len({*uuids}) == 3 + 2 + 2


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda it: it.accounts.add(BOOKS, SHOPS, AccountQuota()), "an account books already"),
        (lambda it: it.accounts.add(AccountId("Books"), SHOPS, AccountQuota()), "cannot name a new account"),
        (lambda it: it.accounts.add(AccountId("new"), DomainId("none"), AccountQuota()), "no domain none"),
        (lambda it: it.accounts.add_domain(SHOPS, ROOT_DOMAIN), "a domain shops already"),
        (lambda it: it.accounts.add_domain(DomainId("new"), DomainId("none")), "no domain none"),
        (lambda it: it.accounts.delete_domain(SHOPS), "account books, account paper"),
        (lambda it: it.accounts.delete_domain(ROOT_DOMAIN), "root of the tree"),
        (lambda it: it.accounts.delete(ROOT_ACCOUNT, lambda: ""), "it stays"),
        (lambda it: it.accounts.delete(BOOKS, lambda: "users: bob"), "books has users: bob"),
        (lambda it: it.accounts.set_quota(ROOT_ACCOUNT, lambda _: AccountQuota(groups=1)), "it has no quota"),
        (lambda it: it.users.add("eve", UserRole.VIEWER, None, AccountId("none")), "no account none"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(act: Callable[[Scene], Awaitable[object]], words: str) -> None:
    async def scene(it: Scene) -> None:
        before = (it.accounts.all(), dict(it.accounts.domains), it.users.users())
        with pytest.raises(Refused, match=words):
            await act(it)
        assert (it.accounts.all(), dict(it.accounts.domains), it.users.users()) == before

    play(scene)


def test_what_cannot_be_written_does_not_count() -> None:
    async def scene(it: Scene) -> None:
        it.store.full = True
        for act in (
            it.accounts.add(AccountId("new"), SHOPS, AccountQuota()),
            it.accounts.add_domain(DomainId("new"), SHOPS),
            it.accounts.set_quota(BOOKS, lambda _: AccountQuota()),
            it.accounts.delete(BOOKS, lambda: ""),
        ):
            with pytest.raises(StoreError):
                await act
        assert [account.id for account in it.accounts.all()] == [BOOKS, PAPER, ROOT_ACCOUNT]
        assert it.accounts.account(BOOKS).quota == AccountQuota(groups=3)
        assert "new" not in it.accounts.domains

    play(scene)


def test_an_account_and_then_its_domain_can_be_deleted() -> None:
    async def scene(it: Scene) -> None:
        for account in (BOOKS, PAPER):
            await it.accounts.delete(account, lambda: "")
        await it.accounts.delete_domain(SHOPS)
        assert [account.id for account in it.accounts.all()] == [ROOT_ACCOUNT]

    play(scene)


def test_the_tree_of_domains_has_a_greatest_depth() -> None:
    async def scene(it: Scene) -> None:
        parent = SHOPS
        for number in range(DEEPEST - 2):
            below = DomainId(f"d{number}")
            await it.accounts.add_domain(below, parent)
            parent = below
        with pytest.raises(Refused, match=f"{DEEPEST} within each other"):
            await it.accounts.add_domain(DomainId("deeper"), parent)

    play(scene)


def test_two_accounts_may_each_have_a_user_of_one_name() -> None:
    async def scene(it: Scene) -> None:
        root = await it.users.add("bob", UserRole.VIEWER, None)
        books = await it.users.add("bob", UserRole.VIEWER, None, BOOKS)
        paper = await it.users.add("bob", UserRole.VIEWER, None, PAPER)
        assert (root.name, root.display_name) == ("bob", "bob")
        assert {each.display_name for each in (books, paper)} == {"bob"}
        assert len({root.name, books.name, paper.name}) == 3
        with pytest.raises(Refused, match="a user bob already"):
            await it.users.add("bob", UserRole.VIEWER, None, BOOKS)

    play(scene)


def test_a_user_holds_its_account_and_an_admin_its_domain_and_neither_the_daemon() -> None:
    async def scene(it: Scene) -> None:
        tuner = await it.users.add("tina", UserRole.TUNER, None, BOOKS)
        admin = await it.users.add("dora", UserRole.ADMIN, None, BOOKS)
        assert await it.grants(tuner.name) == Grants(VERBS[UserRole.TUNER], frozenset(), frozenset({BOOKS}))
        assert await it.grants(admin.name) == Grants(VERBS[UserRole.ADMIN], frozenset(), frozenset({BOOKS, PAPER}))
        assert (await it.grants("ada")).groups is None

    play(scene)


def test_who_is_limited_to_groups_holds_no_account() -> None:
    async def scene(it: Scene) -> None:
        web = GroupId("web")
        admin = await it.users.add("dora", UserRole.ADMIN, [web], BOOKS)
        assert (await it.grants(admin.name)).accounts == frozenset()
        assert not (await it.grants("ada", groups=(web,))).holds(ROOT_ACCOUNT)

    play(scene)


def test_an_admin_of_all_accounts_is_one_of_the_root_account_alone() -> None:
    async def scene(it: Scene) -> None:
        guests = (await it.accounts.add(AccountId("guests"), ROOT_DOMAIN, AccountQuota())).id
        with pytest.raises(Refused, match="would have all accounts"):
            await it.users.add("eve", UserRole.ADMIN, None, guests)
        eve = await it.users.add("eve", UserRole.TUNER, None, guests)
        with pytest.raises(Refused, match="would have all accounts"):
            await it.users.give_role(eve.name, UserRole.ADMIN, None)

    play(scene)


def test_an_admin_of_another_account_is_not_the_last_admin_that_must_stay() -> None:
    async def scene(it: Scene) -> None:
        dora = await it.users.add("dora", UserRole.ADMIN, None, BOOKS)
        await it.users.delete(dora.name)
        await it.users.add("dora", UserRole.ADMIN, None, BOOKS)
        with pytest.raises(Refused, match="last admin"):
            await it.users.delete("ada")

    play(scene)
