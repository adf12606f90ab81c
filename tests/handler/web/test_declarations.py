"""Declarations over the API: one model with the file, one owner each, whole or not at all, and every change kept."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from config.document.entities import Entity
from config.errors import Transient
from config.model.sections import Section
from config.units import GroupId
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import Grants
from handler.identity.rights import VERBS, UserRole
from handler.planning.status import GroupCondition, MemberState
from handler.ports.declarations import DeclaredOverApi, EntityChange, EntityRevision
from handler.store.sqlite import SqliteStore
from handler.web.api import build
from tests.support.asked import Reply, asked
from tests.support.engines import MODEL, EngineBed, Up, hurry
from tests.support.store import at
from tests.support.worlds import INSTALLATION

API = "/api/v1/declarations"
A_GROUP: dict[str, Any] = {
    "profile": "web",
    "balancers": [{"use": "edge", "port": 8080}],
    "min": 1,
    "max": 3,
    "interval": "0.05s",
    "warm_up": "0s",
    "drain": "1s",
}
VIRTUAL = {"cloud": "cs", "zone": "z", "template": "t", "offering": "o"}
A_POLICY: dict[str, Any] = {"when": ["high"], "add": 2}


def user(role: UserRole) -> Actor:
    grants = Grants(VERBS[role])
    origin = Origin(way=Way.TOKEN, credential="laptop", peer="127.0.0.1")
    return Actor(name="ada", origin=origin, grants=grants, is_user=True)


ADMIN, TUNER, VIEWER = user(UserRole.ADMIN), user(UserRole.TUNER), user(UserRole.VIEWER)


@dataclass
class Client:
    """Requests to one daemon."""

    up: Up
    actor: Actor = ADMIN

    def __post_init__(self) -> None:
        self.app = build(self.up.operations)

    async def send(
        self, method: str, path: str = "", body: object = None, *, query: str = "", tag: str | None = None
    ) -> Reply:
        headers = None if tag is None else {"If-Match": tag}
        return await asked(self.app, method, API + path, self.actor, body, query, headers)

    async def get(self, path: str = "", query: str = "") -> Any:
        reply = await self.send("GET", path, query=query)
        assert reply.status == 200, reply
        return reply.json

    async def make(self, section: str, name: str, declared: object, **more: object) -> str:
        reply = await self.send("POST", f"/{section}", {"name": name, "declared": declared, **more})
        assert reply.status == 201, reply
        made: str = reply.json["entities"][0]["id"]
        return made

    async def group(self, name: str = "Shop", **changes: object) -> GroupId:
        return GroupId(await self.make("groups", name, A_GROUP | changes))

    async def serving(self, group: GroupId, count: int) -> None:
        def all_serve() -> bool:
            members = self.up.operations.group(group).members
            return [member.state for member in members] == [MemberState.IN_SERVICE] * count

        await self.up.until(all_serve)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


Scene = Callable[[Client], Coroutine[Any, Any, None]]


def play(bed: EngineBed, scene: Scene) -> None:
    async def whole(up: Up) -> None:
        await scene(Client(up))

    bed.run(whole)


def test_a_group_of_the_api_runs_and_explains_itself_like_one_of_the_file(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        more = await client.make("policies", "More", A_POLICY)
        group = await client.group(policies=[more, "in"])
        await client.serving(group, 1)
        await client.up.until(lambda: client.up.engine.runtimes[group].explanation)
        explained = await client.up.operations.why(group, None)
        assert more in str(explained)
        assert f'group="{group}"' in client.up.operations.metrics().decode()

    play(bed, scene)


def test_what_is_declared_has_its_owner_its_place_and_its_users(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        more = await client.make("policies", "More", A_POLICY)
        entries = {(each["section"], each["id"]): each for each in await client.get()}
        of_api, of_file = entries["policies", more], entries["conditions", "high"]
        assert (of_api["owner"], of_api["name"], of_api["at"]) == ("api", "More", f"api/policies/{more}:1")
        assert of_api["declared"] == A_POLICY
        assert (of_file["owner"], of_file["revision"]) == ("file", None)
        assert of_file["at"].endswith("model.yaml:3")
        assert set(of_file["used_by"]) == {"policies.out", f"policies.{more}"}
        assert await client.get(f"/policies/{more}") == of_api
        assert await client.get("/policies") == [each for each in entries.values() if each["section"] == "policies"]

    play(bed, scene)


def test_entities_may_name_each_other_by_their_display_names(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        counter = await client.make("counters", "waiting", {"push": "WAITING"})
        condition = await client.make("conditions", "Queue", {"expression": "waiting > 5 && load > 20"})
        policy = await client.make("policies", "More", {"when": ["Queue"], "add": 1})
        group = await client.group(policies=["More", "out"])
        assert (await client.get(f"/conditions/{condition}"))["declared"] == {
            "expression": f"{counter} > 5 && load > 20"
        }
        assert (await client.get(f"/policies/{policy}"))["declared"]["when"] == [condition]
        assert (await client.get(f"/groups/{group}"))["declared"]["policies"] == [policy, "out"]

    play(bed, scene)


def test_several_entities_are_declared_at_once_or_none_is(bed: EngineBed) -> None:
    sections = {"groups": {"Shop": A_GROUP | {"policies": ["More"]}}, "policies": {"More": A_POLICY}}

    async def scene(client: Client) -> None:
        wrong = {**sections, "conditions": {"odd": {"counter": "nothing", "above": 1}}}
        reply = await client.send("POST", "", {"sections": wrong})
        assert reply.status == 409
        assert [problem["message"] for problem in reply.json["problems"]] == [
            "conditions.odd-"
            + reply.json["problems"][0]["file"].rpartition("-")[2]
            + ".counter: 'nothing' is not among the counters; known are load"
        ]
        assert {each["owner"] for each in await client.get()} == {"file"}
        assert await client.get("/revisions") == []
        assert (await client.send("POST", "", {"sections": sections})).status == 200
        again = await client.send("POST", "", {"sections": sections})
        assert (again.status, again.json["entities"], again.json["revision"]) == (200, [], 1)

    play(bed, scene)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("PUT", "/policies/out", {"declared": A_POLICY}, 409, "model.yaml:6: change it there, and reload"),
        ("DELETE", "/groups/web", None, 409, "groups.web belongs to the file, at"),
        ("POST", "/groups", {"name": "web", "declared": A_GROUP}, 409, "use another name"),
        ("PUT", "/policies/outt", {"declared": A_POLICY}, 404, "policies has no outt; did you mean out?"),
        ("GET", "/policies/outt", None, 404, "did you mean out?"),
        ("POST", "/groups", {"name": "a\nb", "declared": A_GROUP}, 409, "a display name has"),
        ("POST", "/groups", {"name": "x", "declared": []}, 422, "declared"),
        ("POST", "/clouds", {"name": "x", "declared": {}}, 422, "section"),
        ("POST", "/groups", {"name": "x", "declared": A_GROUP | {"max": 0}}, 409, "1 is more than max, 0"),
        ("POST", "/revisions/1/restore", None, 404, "there is no revision 1"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason_and_changes_nothing(
    bed: EngineBed, method: str, path: str, body: object, status: int, words: str
) -> None:
    async def scene(client: Client) -> None:
        before = await client.get()
        reply = await client.send(method, path, body)
        assert (reply.status, words in reply.text) == (status, True), reply
        assert await client.get() == before
        assert await client.get("/revisions") == []

    play(bed, scene)


def test_an_entity_in_use_is_not_deleted_and_its_user_is_named(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        more = await client.make("policies", "More", A_POLICY)
        group = await client.group(policies=[more])
        reply = await client.send("DELETE", f"/policies/{more}")
        assert reply.status == 409
        assert f"policies.{more} is used by groups.{group} (api/groups/{group}:2)" in reply.text

    play(bed, scene)


def test_a_dry_run_says_what_would_change_and_changes_nothing(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        group = await client.group(min=2)
        await client.serving(group, 2)
        wanted = {"declared": A_GROUP | {"min": 3}, "dry_run": True}
        reply = await client.send("PUT", f"/groups/{group}", wanted)
        assert reply.status == 200
        assert reply.json["groups"] == [
            {
                "group": group,
                "act": "changed",
                "members": 2,
                "desired_from": 2,
                "desired_to": 3,
                "changes": [f"groups.{group}.min: 2 → 3"],
            }
        ]
        assert (await client.get(f"/groups/{group}"))["declared"]["min"] == 2
        assert len(await client.get("/revisions")) == 1
        assert (await client.send("PUT", f"/groups/{group}", wanted | {"dry_run": False})).status == 200
        await client.serving(group, 3)

    play(bed, scene)


def test_a_group_with_members_is_deleted_only_if_the_request_says_so_and_then_whole(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        group = await client.group()
        await client.serving(group, 1)
        reply = await client.send("DELETE", f"/groups/{group}")
        assert reply.status == 409
        assert "has 1 member: to have them leave first" in reply.text
        assert (await client.send("DELETE", f"/groups/{group}", query="members=true")).status == 200
        await client.up.until(lambda: group not in client.up.engine.runtimes)
        assert not bed.cloud.ours(INSTALLATION, group)

    play(bed, scene)


def test_a_deletion_that_a_restart_interrupts_goes_on(bed: EngineBed) -> None:
    made = list[GroupId]()

    async def first(client: Client) -> None:
        made.append(await client.group())
        await client.serving(made[0], 1)
        bed.cloud.faults.always["destroy"] = Transient("not now")
        assert (await client.send("DELETE", f"/groups/{made[0]}", query="members=true")).status == 200

    async def second(client: Client) -> None:
        assert {each["owner"] for each in await client.get()} == {"file"}
        await client.up.until(lambda: made[0] not in client.up.engine.runtimes)
        assert not bed.cloud.ours(INSTALLATION, made[0])

    play(bed, first)
    bed.cloud.faults.clear()
    play(bed, second)


def test_trimtab_delete_does_not_take_what_the_api_declares(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        group = await client.group()
        reply = await asked(client.app, "DELETE", f"/api/v1/groups/{group}", ADMIN)
        assert reply.status == 409
        assert f"declared over the API, at api/groups/{group}:1" in reply.text

    play(bed, scene)


def test_every_change_is_a_revision_with_its_author_and_any_can_be_restored(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        more = await client.make("policies", "More", A_POLICY)
        changed = {"declared": A_POLICY | {"add": 3}, "name": "Much more"}
        assert (await client.send("PUT", f"/policies/{more}", changed)).status == 200
        assert (await client.send("DELETE", f"/policies/{more}")).status == 200
        revisions = await client.get("/revisions")
        assert [each["number"] for each in revisions] == [3, 2, 1]
        assert (revisions[1]["by"], revisions[1]["origin"]) == ("ada", "token laptop 127.0.0.1")
        (change,) = revisions[1]["changes"]
        assert change["before"] == {"name": "More", "declared": A_POLICY}
        assert change["after"] == {"name": "Much more", "declared": A_POLICY | {"add": 3}}
        assert (await client.send("POST", "/revisions/1/restore", {"dry_run": True})).json["entities"] == [
            {"section": "policies", "id": more, "act": "added", "name": "More"}
        ]
        assert (await client.send("POST", "/revisions/1/restore")).status == 200
        assert (await client.get(f"/policies/{more}"))["declared"] == A_POLICY
        newest = (await client.get("/revisions", "limit=1"))[0]
        assert (newest["number"], newest["restored"]) == (4, 1)
        assert (await client.send("POST", "/revisions/0/restore")).status == 200
        assert {each["owner"] for each in await client.get()} == {"file"}

    play(bed, scene)


def test_a_restart_has_the_same_declaration(bed: EngineBed) -> None:
    kept = list[Any]()

    async def first(client: Client) -> None:
        group = await client.group()
        await client.serving(group, 1)
        kept.extend((await client.get(), group))

    async def second(client: Client) -> None:
        assert await client.get() == kept[0]
        await client.serving(kept[1], 1)
        history = await client.up.operations.history(kept[1], before=None, limit=50)
        assert not [event for event in history if event.name in {"orphaned", "edited", "declared_again"}]

    play(bed, first)
    play(bed, second)


def test_of_two_writers_that_have_read_the_same_one_changes_it(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        path = "/policies/" + await client.make("policies", "More", A_POLICY)
        tag = (await client.send("GET", path)).headers["etag"]
        assert (await client.send("PUT", path, {"declared": A_POLICY | {"add": 3}}, tag=tag)).status == 200
        assert (await client.send("PUT", path, {"declared": A_POLICY | {"add": 4}}, tag=tag)).status == 412
        assert (await client.send("DELETE", path, tag=tag)).status == 412
        assert (await client.get(path))["declared"]["add"] == 3
        tag = (await client.send("GET", path)).headers["etag"]
        assert (await client.send("DELETE", path, tag=tag)).status == 200

    play(bed, scene)


# Reloads


def test_a_reload_orphans_no_group_of_the_api(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        group = await client.group()
        await client.serving(group, 1)
        bed.declare(MODEL.replace("  web:\n    profile", "  other:\n    profile"))
        reloaded = await client.up.operations.reload()
        assert (reloaded.orphaned, reloaded.added) == (("web",), ("other",))
        await client.serving(group, 1)
        assert client.up.operations.group(group).condition is not GroupCondition.ORPHANED

    play(bed, scene)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "profiles: {web: {cloud: box, command: [serve]}}",
            "profiles: {www: {cloud: box, command: [serve]}}",
            "uses profiles.web, which stood at FILE:12 and is gone from the file",
        ),
        ("  web:\n    profile", "  ID: {profile: web, min: 0, max: 1}\n  web:\n    profile", "belongs to the API, at"),
        ("policies: [out, in]", "policies: [out, in, POLICY]", "the file can use only what the file declares"),
    ],
)
def test_a_reload_that_takes_from_the_api_is_refused_whole_with_both_places(
    bed: EngineBed, before: str, after: str, words: str
) -> None:
    async def scene(client: Client) -> None:
        policy = await client.make("policies", "More", A_POLICY)
        group = await client.group()
        text = MODEL.replace(before, after).replace("ID", group).replace("POLICY", policy)
        bed.declare(text.replace("profile: web\n", "profile: www\n") if "www" in after else text)
        (problem,) = (await client.up.operations.reload()).problems
        assert words.replace("FILE", str(bed.file)) in problem.message
        both = f"{problem.file}:{problem.line}: {problem.message}"
        assert f"{bed.file}:" in both
        assert "api/" in both
        assert client.up.engine.catalogue().groups.keys() == {"web", group}

    play(bed, scene)


def test_a_change_over_the_api_does_not_take_the_file_as_it_is_being_edited(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        bed.declare("nonsense: 1\n")
        group = await client.group()
        assert client.up.engine.catalogue().groups.keys() == {"web", group}

    play(bed, scene)


# Quarantine


def declared_by_an_older_release(bed: EngineBed, group: GroupId) -> None:
    """Have the store hold a group with a key that this release does not know."""
    store: Any = bed.opened(bed.path)
    (entity,) = (each for each in store.entities() if each.id == group)
    text = json.dumps({**entity.body, "cooldown": 5})
    odd = Entity(section=Section.GROUPS, id=group, name=entity.name, text=text, revision=2)
    change = EntityChange(key=odd.key, before=entity, after=odd)
    revision = EntityRevision(number=2, at=at(9), by="older", origin="socket", changes=(change,))
    definitions = [each.definition for each in store.groups()]
    store.declare(definitions, at(9), None, DeclaredOverApi(revision=revision))
    store.close()


def test_an_entity_that_this_release_finds_invalid_is_quarantined_and_its_members_stay(bed: EngineBed) -> None:
    made = list[GroupId]()

    async def first(client: Client) -> None:
        made.append(await client.group())
        await client.serving(made[0], 1)

    async def second(client: Client) -> None:
        group = made[0]
        status = client.up.operations.group(group)
        assert status.condition is GroupCondition.ERROR
        assert "unknown key 'cooldown'" in status.messages[0]
        assert (await client.get(f"/groups/{group}"))["quarantined"]
        assert (await client.up.operations.reload()).problems == ()
        assert await client.make("policies", "More", A_POLICY)
        assert len(bed.cloud.ours(INSTALLATION, group)) == 1
        assert (await client.send("DELETE", f"/groups/{group}")).status == 409
        assert (await client.send("PUT", f"/groups/{group}", {"declared": A_GROUP})).status == 200
        await client.serving(group, 1)
        assert client.up.operations.group(group).condition is not GroupCondition.ERROR

    play(bed, first)
    declared_by_an_older_release(bed, made[0])
    play(bed, second)


def test_a_file_that_took_away_what_the_api_uses_while_no_daemon_ran_quarantines_it(bed: EngineBed) -> None:
    made = list[GroupId]()

    async def first(client: Client) -> None:
        made.append(await client.group(policies=["out"]))
        await client.serving(made[0], 1)

    async def second(client: Client) -> None:
        assert client.up.operations.group(made[0]).condition is GroupCondition.ERROR
        assert (await client.send("DELETE", f"/groups/{made[0]}", query="members=true")).status == 200
        await client.up.until(lambda: made[0] not in client.up.engine.runtimes)
        assert not bed.cloud.ours(INSTALLATION, made[0])

    play(bed, first)
    bed.declare(MODEL.replace("  out:", "  up:").replace("[out, in]", "[up, in]"))
    play(bed, second)


def test_an_id_that_the_file_took_while_no_daemon_ran_is_the_file_s_and_the_entity_can_be_deleted(
    bed: EngineBed,
) -> None:
    made = list[GroupId]()

    async def first(client: Client) -> None:
        made.append(await client.group())
        await client.serving(made[0], 1)

    async def second(client: Client) -> None:
        entry = await client.get(f"/groups/{made[0]}")
        assert entry["owner"] == "file"
        assert "belongs to the API, at" in entry["quarantined"][0]
        assert (await client.send("DELETE", f"/groups/{made[0]}")).status == 200
        assert (await client.get(f"/groups/{made[0]}"))["quarantined"] == []
        await client.serving(made[0], 1)
        assert client.up.operations.group(made[0]).condition is not GroupCondition.ERROR

    play(bed, first)
    same = "{profile: web, balancers: [{use: edge, port: 8080}], min: 1, max: 3, interval: 0.05s, warm_up: 0s}"
    bed.declare(f"{MODEL}  {made[0]}: {same}\n")
    play(bed, second)


# Secrets, rights and the trail


def test_values_that_may_be_secrets_are_shown_to_users_that_may_change_them(bed: EngineBed) -> None:
    cloud = "cs: {cloudstack: {endpoint: 'https://cs.example.org/client/api', api_key: {env: KEY}, secret: {env: S}}}"
    bed.declare(MODEL.replace("clouds: {box: {process: {}}}", f"clouds: {{box: {{process: {{}}}}, {cloud}}}"))

    async def scene(client: Client) -> None:
        profile = await client.make("profiles", "P", VIRTUAL | {"user_data": "sesame"})
        assert "sesame" in str(await client.get(f"/profiles/{profile}"))
        client.actor = VIEWER
        for path in ("", f"/profiles/{profile}", "/revisions"):
            assert "sesame" not in str(await client.get(path))
            assert "(hidden)" in str(await client.get(path))
        rows = await client.up.operations.trail.after(0, 100)
        assert "declare" in str(rows)
        assert "sesame" not in str(rows)

    play(bed, scene)


def test_a_viewer_changes_nothing_and_a_tuner_deletes_what_takes_no_members_along(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        more = await client.make("policies", "More", A_POLICY)
        client.actor = VIEWER
        assert (await client.send("POST", "/policies", {"name": "b", "declared": A_POLICY})).status == 403
        assert (await client.send("DELETE", f"/policies/{more}")).status == 403
        client.actor = TUNER
        assert (await client.send("DELETE", f"/policies/{more}", query="members=true")).status == 403
        assert (await client.send("DELETE", f"/policies/{more}")).status == 200

    play(bed, scene)


def test_the_audit_trail_has_who_asked_and_what_changed(bed: EngineBed) -> None:
    async def scene(client: Client) -> None:
        more = await client.make("policies", "More", A_POLICY)
        asked_row, done = [row.fields for row in await client.up.operations.trail.after(0, 100)][-2:]
        assert (asked_row["who"], asked_row["act"], asked_row["on"]) == (
            "ada",
            "declare",
            "POST /declarations/policies",
        )
        assert done["outcome"] == f"revision 1: policies.{more}: added"

    play(bed, scene)


# Crashes


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("before_commit", [True, False])
def test_a_kill_leaves_the_old_declaration_or_the_new_one(bed: EngineBed, before_commit: bool) -> None:
    async def killed(client: Client) -> None:
        store: Any = client.up.store
        declare = SqliteStore.declare

        def dying(*given: Any, **more: Any) -> None:
            if not before_commit:
                declare(store, *given, **more)
            raise Killed

        store.declare = dying
        with contextlib.suppress(Killed):
            await client.group()
        del store.declare

    async def after(client: Client) -> None:
        entities = {key[1] for key in client.up.engine.declared().entities}
        assert client.up.engine.runtimes.keys() == {"web", *entities}
        assert len(entities) == (0 if before_commit else 1)
        assert len(await client.get("/revisions")) == len(entities)

    play(bed, killed)
    play(bed, after)


def test_the_document_of_both_owners_is_a_file_that_says_the_same(bed: EngineBed, tmp_path: Path) -> None:
    from config.load import parse

    async def scene(client: Client) -> None:
        more = await client.make("policies", "More", A_POLICY)
        await client.group(policies=[more])
        text = json.dumps(await client.get("/document"))
        assert parse(text, "both.json").digest == client.up.engine.catalogue().digest

    play(bed, scene)
