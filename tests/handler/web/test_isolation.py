"""Two accounts on one daemon: what the other one has answers like what does not exist, whatever is asked for.

Made from the router and from the registry of operations, so that what is added is asked for, too.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from config.units import ROOT_DOMAIN, AccountId, DomainId, GroupId
from handler.identity.accounts import AccountQuota
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import Anonymous
from handler.identity.rights import OWN_ACCOUNT, OnInstallation, OnOwn, Reach, UserRole, Verb
from handler.ingest.alerts.tokens import NewWebhook
from handler.operations.address import right_of
from handler.operations.registry import OPERATIONS
from handler.web.api import build
from tests.support.asked import Reply, asked
from tests.support.engines import MODEL, EngineBed, Up
from tests.support.routed import A_MEMBER, API, READING, Target, looked_at, operation, performed

USES = ("policies.out", "profiles.web")
A_GROUP: dict[str, Any] = {"profile": "web", "min": 0, "max": 2, "interval": "1h"}

A_POLICY: dict[str, Any] = {"when": ["high"], "add": 1}


@dataclass(frozen=True, kw_only=True)
class Party:
    """One account with a user of each role, and something of every kind."""

    has: Target
    users: Mapping[UserRole, Actor]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The daemon, and its two accounts beside the root."""

    up: Up
    app: FastAPI
    books: Party
    paper: Party

    async def ask(self, by: Actor, method: str, path: str, body: object = None, *, query: str = "") -> Reply:
        return await asked(self.app, method, API + path, by, body, query)

    async def declare(self, by: Actor, section: str, name: str, declared: object, **more: object) -> Reply:
        return await self.ask(by, "POST", f"/declarations/{section}", {"name": name, "declared": declared, **more})


async def _settled(up: Up, app: FastAPI, account: str, domain: str) -> Party:
    """Make an account in a domain of its own, its users, a policy, a group and a webhook."""
    accounts, users = up.operations.accounts, up.engine.users
    await accounts.add_domain(DomainId(domain), ROOT_DOMAIN)
    await accounts.add(AccountId(account), DomainId(domain), AccountQuota(groups=3, members=9), USES)
    names = {role: (await users.add(role.value, role, None, AccountId(account))).name for role in UserRole}

    def actor(role: UserRole) -> Actor:
        found = users.actor(names[role], Origin(way=Way.TOKEN, credential="t"))
        assert found is not None
        return found

    async def make(path: str, by: UserRole, body: object) -> Any:
        reply = await asked(app, "POST", API + path, actor(by), body)
        assert reply.status == 201, reply
        return reply.json

    policy = await make("/declarations/policies", UserRole.TUNER, {"name": "Grow", "declared": A_POLICY})
    group = await make("/declarations/groups", UserRole.TUNER, {"name": "Ledger", "declared": A_GROUP})
    owned = group["entities"][0]["id"]
    hook = await make("/hooks", UserRole.ADMIN, {"name": "pager", "groups": [owned]})
    has = Target(
        group=owned,
        hook=hook["name"],
        account=account,
        user=names[UserRole.VIEWER],
        policy=policy["entities"][0]["id"],
    )
    return Party(has=has, users={role: actor(role) for role in UserRole})


def play(place: Path, scene: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def whole(up: Up) -> None:
        app = build(up.operations)
        books = await _settled(up, app, "books", "shops")
        paper = await _settled(up, app, "paper", "labs")
        again = {role: up.engine.users.actor(each.name, each.origin) for role, each in books.users.items()}
        assert again == books.users, "what another account makes changes nothing here"
        await scene(Scene(up=up, app=app, books=books, paper=paper))

    EngineBed(place, MODEL).run(lambda up: _begun(up, whole))


async def _begun(up: Up, scene: Callable[[Up], Coroutine[Any, Any, None]]) -> None:
    await up.engine.users.begin("ada", Anonymous.NONE)
    await up.operations.webhooks.make(NewWebhook(name="of-all"))
    await scene(up)


def set_clock(up: Up, step: float) -> None:
    """Set the machine's clock, and have the daemon follow it."""
    assert up.engine.parts.held is not None
    up.bed.ahead += step
    up.engine.parts.held.follow(step)


def expected(actor: Actor, verb: Verb, reach: Reach | None, *, own: bool) -> set[int]:
    """The statuses that refuse, by rules written anew here; empty: it is not refused."""
    if isinstance(reach, OnInstallation):
        return {403}
    if not (reach is OWN_ACCOUNT or isinstance(reach, OnOwn)) and not own:
        return {404}
    return set() if verb in actor.grants.verbs else {403}


def test_each_role_of_an_account_reads_and_acts_on_what_is_its_own_alone(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        other = re.compile("|".join(map(re.escape, (*it.paper.has.names, "labs", "of-all"))))
        for actor, own in product(it.books.users.values(), (True, False)):
            target = it.books.has if own else it.paper.has
            asked_for = re.compile("|".join(map(re.escape, target.names)))
            for path, (verb, reach) in READING.items():
                reply = await looked_at(it.app, path, target, actor)
                refused = expected(actor, verb, reach, own=own)
                answered = {404} if path == A_MEMBER else {200, 400, 409, 503}
                assert reply.status in (refused or answered), (
                    actor.name,
                    path,
                    own,
                    reply,
                )
                shown = reply.text if own else asked_for.sub("", reply.text)
                assert not other.search(shown), (actor.name, path, own, reply)
            for kind in OPERATIONS:
                right = right_of(operation(kind, target))
                refused = expected(actor, right.verb, right.on, own=own)
                if refused:
                    reply = await performed(it.app, kind, target, actor)
                    assert reply.status in refused, (kind, actor.name, own, reply)

    play(tmp_path, scene)


def test_what_is_answered_does_not_depend_on_what_another_account_has(tmp_path: Path) -> None:
    """The same requests to two daemons: in one the other account has all these names, in the other none."""
    of_paper: list[Target] = []
    answers: list[list[tuple[str, int, str]]] = []

    async def with_it(it: Scene) -> None:
        taken = await it.declare(it.paper.users[UserRole.TUNER], "policies", "Shrink", A_POLICY)
        assert taken.status == 201
        of_paper.append(it.paper.has)
        answers.append([each async for each in _answers(it.app, it.books, it.paper.has)])

    async def without_it(up: Up) -> None:
        app = build(up.operations)
        books = await _settled(up, app, "books", "shops")
        answers.append([each async for each in _answers(app, books, of_paper[0])])

    with_paper, without = tmp_path / "with", tmp_path / "without"
    with_paper.mkdir()
    without.mkdir()
    play(with_paper, with_it)
    EngineBed(without, MODEL).run(lambda up: _begun(up, without_it))
    for there, nowhere in zip(*answers, strict=True):
        assert there == nowhere


async def _answers(app: FastAPI, own: Party, other: Target) -> AsyncIterator[tuple[str, int, str]]:
    """Ask for everything of another account by its names, and then give the same names to things of one's own."""
    admin = own.users[UserRole.ADMIN]
    for path, (verb, reach) in READING.items():
        if expected(admin, verb, reach, own=False):
            reply = await looked_at(app, path, other, admin)
            yield path, reply.status, _timeless(reply)
    for kind in OPERATIONS:
        right = right_of(operation(kind, other))
        if expected(admin, right.verb, right.on, own=False):
            reply = await performed(app, kind, other, admin)
            yield kind.__name__, reply.status, _timeless(reply)
    named = {"name": "eve", "role": "viewer"}
    for path, body in (
        ("/declarations/policies", {"name": "Shrink", "declared": A_POLICY}),
        ("/declarations/policies", {"name": "in", "declared": A_POLICY}),
        ("/declarations/groups", {"name": "web", "declared": A_GROUP}),
        ("/declarations/groups", {"name": "New", "declared": A_GROUP | {"policies": [other.policy]}}),
        ("/declarations/groups", {"name": "New", "declared": A_GROUP | {"policies": ["Shrink", "in"]}}),
        ("/declarations", {"sections": {"policies": {other.policy: A_POLICY}}}),
        ("/hooks", {"name": "pager", "groups": [own.has.group]}),
        ("/hooks", {"name": "of-all", "groups": [own.has.group]}),
        ("/hooks", {"name": other.hook, "groups": [own.has.group]}),
        ("/users", {"name": "ada", "role": "viewer"}),
        ("/users", {"name": other.user, "role": "viewer"}),
        ("/users", named | {"groups": [other.group]}),
        ("/users", named | {"account": other.account}),
        (f"/users/{own.has.user}/tokens", {"name": "t", "groups": [other.group]}),
    ):
        reply = await asked(app, "POST", API + path, admin, body)
        yield f"{path} {body}", reply.status, _timeless(reply)


def _timeless(reply: Reply) -> str:
    """An answer without what differs between two daemons, or two moments, by chance."""
    text = re.sub(r'"(token|uuid|path)":"[^"]*"', "", reply.text)
    return re.sub(r"[0-9]+(\.[0-9]+)?", "0", text)


def test_an_account_reads_its_own_declarations_users_groups_metrics_and_webhooks(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        admin, has = it.books.users[UserRole.ADMIN], it.books.has

        async def read(path: str) -> Any:
            return (await it.ask(admin, "GET", path)).json

        assert [group["group"] for group in await read("/groups")] == [has.group]
        assert {entry["id"] for entry in await read("/declarations")} == {has.group, has.policy}
        assert (await read("/declarations/document")).keys() >= {"groups", "policies"}
        assert [len(revision["changes"]) for revision in await read("/declarations/revisions")] == [1, 1]
        assert {user["account"] for user in (await read("/users"))["users"]} == {"books"}
        assert [hook["name"] for hook in await read("/hooks")] == [has.hook]
        account = await read("/accounts/books")
        assert (account["used"], account["quota"]) == ({"groups": 1, "members": 2}, {"groups": 3, "members": 9})
        metrics = await asked(it.app, "GET", "/metrics", admin)
        assert set(re.findall(r'group="([^"]*)"', metrics.text)) == {has.group}

    play(tmp_path, scene)


def test_the_root_account_sees_and_changes_what_every_account_has(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        ada = it.up.engine.users.actor("ada", Origin(way=Way.TOKEN))
        assert ada is not None
        owners = {entry["id"]: entry["account"] for entry in (await it.ask(ada, "GET", "/declarations")).json}
        assert (owners["web"], owners[it.books.has.group], owners[it.paper.has.policy]) == ("root", "books", "paper")
        path = f"/declarations/policies/{it.paper.has.policy}"
        assert (await it.ask(ada, "PUT", path, {"declared": A_POLICY | {"add": 2}})).status == 200
        used = await it.declare(ada, "groups", "Mine", A_GROUP | {"policies": [it.paper.has.policy]})
        assert used.status == 409, "the root account uses nothing of others either"
        made = await it.declare(ada, "policies", "More", A_POLICY, account="books")
        assert made.status == 201
        assert (await it.ask(ada, "GET", f"/declarations/policies/{made.json['entities'][0]['id']}")).json[
            "account"
        ] == "books"

    play(tmp_path, scene)


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_account_declares_no_more_than_its_quota(tmp_path: Path, *, dry_run: bool) -> None:
    async def scene(it: Scene) -> None:
        tuner, group = it.books.users[UserRole.TUNER], f"/declarations/groups/{it.books.has.group}"
        refused = await it.ask(tuner, "PUT", group, {"declared": A_GROUP | {"max": 10}, "dry_run": dry_run})
        assert (refused.status, "may have 9 members" in refused.text) == (409, True)
        assert (await it.ask(tuner, "PUT", group, {"declared": A_GROUP | {"max": 9}})).status == 200
        full = await it.declare(tuner, "groups", "One more", A_GROUP | {"max": 1}, dry_run=dry_run)
        assert (full.status, "has 9 and would have 10" in full.text) == (409, True)

    play(tmp_path, scene)


def test_a_document_that_is_written_back_as_it_was_read_names_the_same_entities(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        tuner, policy = it.books.users[UserRole.TUNER], f"/declarations/policies/{it.books.has.policy}"
        own = await it.declare(tuner, "conditions", "high", {"counter": "load", "above": 90})
        read = (await it.ask(tuner, "GET", policy)).json["declared"]
        assert read["when"] == ["high"], "the entry of account root"
        for method, path, body in (
            ("PUT", policy, {"declared": read}),
            ("POST", "/declarations", {"sections": {"policies": {it.books.has.policy: read}}}),
        ):
            back = await it.ask(tuner, method, path, body)
            assert (back.status, back.json["entities"]) == (200, []), method
        its_id = own.json["entities"][0]["id"]
        assert (await it.ask(tuner, "PUT", policy, {"declared": read | {"when": [its_id]}})).status == 200
        named = await it.ask(tuner, "PUT", policy, {"declared": read})
        assert (named.status, named.json["entities"]) == (200, []), "a name that it had not is one of the account's own"

    play(tmp_path, scene)


def test_a_quota_that_was_lowered_refuses_growth_and_nothing_else(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        tuner, group = it.books.users[UserRole.TUNER], f"/declarations/groups/{it.books.has.group}"
        await it.up.operations.accounts.set_quota(AccountId("books"), lambda _: AccountQuota(groups=0, members=1))
        assert (await it.declare(tuner, "groups", "More", A_GROUP | {"max": 0})).status == 409
        assert (await it.ask(tuner, "PUT", group, {"declared": A_GROUP | {"max": 3}})).status == 409
        assert (await it.ask(tuner, "PUT", group, {"declared": A_GROUP | {"interval": "2h"}})).status == 200
        assert (await it.ask(tuner, "PUT", group, {"declared": A_GROUP | {"max": 1}})).status == 200

    play(tmp_path, scene)


def test_a_size_is_forced_as_far_as_the_other_groups_of_the_account_leave_room(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        operator, size = it.books.users[UserRole.OPERATOR], f"/groups/{it.books.has.group}/size"
        assert (await it.declare(it.books.users[UserRole.TUNER], "groups", "Other", A_GROUP | {"max": 4})).status == 201
        await it.up.until(lambda: it.up.operations.group(it.up.operations.groups()[0]).desired is not None)
        refused = await it.ask(operator, "PUT", size, {"size": 6, "force": True})
        assert (refused.status, "can be forced to 5 at most" in refused.text) == (409, True)
        told = await it.up.operations.history(GroupId(it.books.has.group), before=None, limit=1)
        assert "can be forced to 5 at most" in str(told)

    play(tmp_path, scene)


def test_what_an_account_uses_cannot_be_taken_from_it_and_what_needs_a_group_cannot_be_given(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        ada = it.up.engine.users.actor("ada", Origin(way=Way.TOKEN))
        assert ada is not None
        taken = await it.ask(ada, "PUT", "/accounts/books/uses", {"uses": ["policies.out"]})
        assert (taken.status, "uses what would be left out" in taken.text) == (409, True)
        for word in ("groups.web", "policies.none", f"policies.{it.paper.has.policy}", "nonsense"):
            wrong = await it.ask(ada, "PUT", "/accounts/books/uses", {"uses": [word, "profiles.web"]})
            assert (wrong.status, "cannot be used by another account" in wrong.text) == (409, True), word
        assert (
            await it.ask(ada, "PUT", "/accounts/books/uses", {"uses": ["conditions.high", "profiles.web"]})
        ).status == 200

    play(tmp_path, scene)


def test_whoever_may_declare_may_delete_it_but_not_have_members_leave(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        tuner = it.books.users[UserRole.TUNER]
        made = await it.declare(tuner, "groups", "Other", A_GROUP | {"min": 0, "max": 0})
        other = f"/declarations/groups/{made.json['entities'][0]['id']}"
        refused = await it.ask(tuner, "DELETE", other, query="members=true")
        assert refused.status == 403, refused.text
        assert (await it.ask(tuner, "DELETE", other)).status == 200
        assert (await it.ask(it.books.users[UserRole.OPERATOR], "DELETE", other)).status in {403, 404}

    play(tmp_path, scene)


def test_an_account_goes_when_nothing_of_it_is_left(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        accounts = it.up.operations.accounts
        for user in it.books.users.values():
            await it.up.engine.users.delete(user.name)
        ada = it.up.engine.users.actor("ada", Origin(way=Way.TOKEN))
        assert ada is not None
        for section, name in (("groups", it.books.has.group), ("policies", it.books.has.policy)):
            held = await it.ask(ada, "DELETE", "/accounts/books")
            assert (held.status, name in held.text) == (409, True)
            assert (await it.ask(ada, "DELETE", f"/declarations/{section}/{name}")).status == 200
        await it.up.until(lambda: it.books.has.group not in it.up.engine.runtimes)
        assert (await it.ask(ada, "DELETE", "/accounts/books")).status == 200
        restored = await it.ask(ada, "POST", "/declarations/revisions/2/restore", {})
        assert (restored.status, "no account books" in restored.text) == (409, True)
        assert [placed.account.id for placed in accounts.all(ada.grants)] == ["paper", "root"]

    play(tmp_path, scene)


@pytest.mark.parametrize("step", [0.0, -86_400.0], ids=["in time", "after the clock was set back"])
def test_an_account_that_is_made_anew_reads_nothing_of_the_one_that_had_its_name(tmp_path: Path, step: float) -> None:
    async def scene(it: Scene) -> None:
        ada = it.up.engine.users.actor("ada", Origin(way=Way.TOKEN))
        assert ada is not None
        for user in it.books.users.values():
            await it.up.engine.users.delete(user.name)
        for section, name in (("groups", it.books.has.group), ("policies", it.books.has.policy)):
            assert (await it.ask(ada, "DELETE", f"/declarations/{section}/{name}")).status == 200
        await it.up.until(lambda: it.books.has.group not in it.up.engine.runtimes)
        assert (await it.ask(ada, "DELETE", "/accounts/books")).status == 200
        set_clock(it.up, step)
        await it.up.operations.accounts.add(AccountId("books"), DomainId("shops"), AccountQuota(), USES)
        made = await it.up.engine.users.add("dora", UserRole.TUNER, None, AccountId("books"))
        dora = it.up.engine.users.actor(made.name, Origin(way=Way.TOKEN))
        assert dora is not None
        assert (await it.ask(dora, "GET", "/declarations/revisions")).json == []
        assert (await it.declare(dora, "policies", "Own", A_POLICY)).status == 201
        (own,) = (await it.ask(dora, "GET", "/declarations/revisions")).json
        assert len(own["changes"]) == 1
        assert len((await it.ask(ada, "GET", "/declarations/revisions")).json) > 5, "the whole past is the root's"

    play(tmp_path, scene)


def test_an_account_reads_its_revisions_from_before_a_clock_was_set_back_and_after(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        tuner = it.books.users[UserRole.TUNER]
        before = len((await it.ask(tuner, "GET", "/declarations/revisions")).json)
        set_clock(it.up, -86_400.0)
        assert (await it.declare(tuner, "policies", "Later", A_POLICY)).status == 201
        assert len((await it.ask(tuner, "GET", "/declarations/revisions")).json) == before + 1

    play(tmp_path, scene)
