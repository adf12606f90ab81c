"""`trimtab user` and `trimtab token` on a daemon of their own, and what they change for requests over TCP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, a_daemon, typed
from tests.support.waiting import until

API = "/api/v1"
MODEL = """\
clouds: {box: {process: {}}}
profiles: {app: {cloud: box, command: [sleep, "3600"]}}
groups:
  web: {profile: app, min: 0, max: 2}
  db: {profile: app, min: 0, max: 2}
"""


@pytest.fixture
def fresh() -> Iterator[Daemon]:
    """A daemon whose groups have sizes."""
    with a_daemon(MODEL) as daemon:
        daemon.start()
        until(lambda: all(daemon.group(name)["desired"] is not None for name in ("web", "db")))
        yield daemon


def token_of(daemon: Daemon, *words: str) -> str:
    made = daemon.trimtab("token", "new", *words)
    assert made.code == 0, made
    return made.out.strip()


def test_rights_hold_from_the_first_user_on_and_not_before(fresh: Daemon) -> None:
    web, size = f"{API}/groups/web", {"size": 0}
    assert fresh.get(web).status == 200
    assert fresh.ask("PUT", f"{web}/size", size, bearer=fresh.token).status == 200
    assert fresh.get("/metrics").status == 200

    assert fresh.trimtab("user", "init", "ada").code == 2, "there is no default"
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "metrics").code == 0
    assert "first user already" in fresh.trimtab("user", "init", "eve", "--anonymous", "none").err

    assert fresh.get(web).status == 401
    assert fresh.get(f"{API}/groups").status == 401
    assert fresh.get("/metrics").status == 200
    refused = fresh.ask("PUT", f"{web}/size", size, bearer=fresh.token)
    assert (refused.status, fresh.token in refused.text) == (401, False), "the token of the state directory has ended"
    assert fresh.ask("GET", web, unix=True).status == 200

    ada = token_of(fresh, "ada", "laptop")
    assert fresh.ask("PUT", f"{web}/size", size, bearer=ada, headers={"X-Trimtab-User": "root"}).status == 200
    assert {event["by"] for event in fresh.json("history", "web") if "ada" in event["by"]} == {"person ada"}
    assert ada not in fresh.log.read_text()


def test_a_user_of_one_group_sees_and_changes_that_group_alone(fresh: Daemon) -> None:
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
    assert fresh.trimtab("user", "add", "bob", "--role", "operator", "--groups", "web").code == 0
    bob = token_of(fresh, "bob", "ci", "--expires", "1d")

    assert [group["group"] for group in fresh.ask("GET", f"{API}/groups", bearer=bob).json] == ["web"]
    assert fresh.ask("POST", f"{API}/groups/web/pause", {}, bearer=bob).status == 200
    other = fresh.ask("POST", f"{API}/groups/db/pause", {}, bearer=bob)
    assert (other.status, other.json["error"]) == (404, "there is no group db")
    assert fresh.ask("POST", f"{API}/pause", {}, bearer=bob).status == 403
    assert fresh.ask("DELETE", f"{API}/groups/web", bearer=bob).status == 403
    assert 'group="db"' not in fresh.ask("GET", "/metrics", bearer=bob).text

    listed = fresh.json("user", "list")
    assert [(user["name"], user["role"], user["groups"]) for user in listed["users"]] == [
        ("ada", "admin", None),
        ("bob", "operator", ["web"]),
    ]
    assert fresh.trimtab("user", "role", "bob", "viewer", "--groups", "db").code == 0
    assert fresh.ask("GET", f"{API}/groups/web", bearer=bob).status == 404
    assert fresh.ask("POST", f"{API}/groups/db/pause", {}, bearer=bob).status == 403


def test_a_new_role_leaves_the_groups_of_a_user_as_they_are_unless_it_names_some_or_all(fresh: Daemon) -> None:
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
    assert fresh.trimtab("user", "add", "bob", "--role", "operator", "--groups", "web").code == 0
    bob = token_of(fresh, "bob", "ci")

    assert fresh.trimtab("user", "role", "bob", "viewer").out == "bob: viewer, groups: web\n"
    assert fresh.ask("GET", f"{API}/groups/db", bearer=bob).status == 404
    role = f"{API}/users/bob/role"
    assert fresh.ask("PUT", role, {"role": "operator"}, unix=True).json["groups"] == ["web"]
    assert fresh.ask("PUT", role, {"role": "operator", "groups": []}, unix=True).status == 422
    assert fresh.ask("GET", f"{API}/groups/db", bearer=bob).status == 404

    both = fresh.trimtab("user", "role", "bob", "viewer", "--groups", "db", "--all-groups")
    assert (both.code, "leave one out" in both.err) == (2, True)
    assert fresh.trimtab("user", "role", "bob", "viewer", "--groups", "db").out == "bob: viewer, groups: db\n"
    assert fresh.trimtab("user", "role", "bob", "viewer", "--all-groups").out == "bob: viewer, groups: all\n"
    assert fresh.ask("GET", f"{API}/groups/db", bearer=bob).status == 200
    assert fresh.ask("PUT", role, {"role": "viewer", "groups": ["web"]}, unix=True).json["groups"] == ["web"]
    assert fresh.ask("PUT", role, {"role": "viewer", "groups": None}, unix=True).json["groups"] is None


@pytest.mark.parametrize(
    "line",
    [
        ("user", "add", "bob", "--role", "viewer", "--groups", ""),
        ("user", "role", "bob", "viewer", "--groups", ""),
        ("token", "new", "bob", "ci", "--groups", " , "),
        ("token", "new", "bob", "ci", "--verbs", ""),
        ("hook", "new", "pager", "--groups", ""),
        ("hook", "new", "values", "--push", ""),
        ("hook", "new", "news", "--observe", ""),
        ("hook", "new", "out", "--execute", "/out"),
    ],
    ids=" ".join,
)
def test_a_limit_that_names_nothing_is_refused_before_the_daemon_is_asked(line: tuple[str, ...]) -> None:
    refused = typed(*line, "--state", "/nowhere")

    assert (refused.code, f"{line[-2]} names nothing" in refused.err) == (2, True), refused


def test_an_empty_list_of_groups_is_not_all_groups(fresh: Daemon) -> None:
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
    asked = {
        "users": {"name": "bob", "role": "viewer", "groups": []},
        "users/ada/tokens": {"name": "ci", "groups": []},
        "hooks": {"name": "pager", "groups": []},
    }

    assert [fresh.ask("POST", f"{API}/{path}", body, unix=True).status for path, body in asked.items()] == [422] * 3
    assert [each["name"] for each in fresh.json("user", "list")["users"]] == ["ada"]
    assert (fresh.json("token", "list"), fresh.json("hook", "list")) == ([], [])


def test_a_token_is_rotated_revoked_and_known_after_a_restart(fresh: Daemon) -> None:
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
    old = token_of(fresh, "ada", "laptop", "--verbs", "read")
    new = fresh.trimtab("token", "rotate", "ada", "laptop").out.strip()
    assert [fresh.ask("GET", f"{API}/groups", bearer=each).status for each in (old, new)] == [200, 200]
    assert fresh.ask("POST", f"{API}/groups/web/pause", {}, bearer=new).status == 403, "its scope stays"
    assert fresh.trimtab("token", "rotate", "ada", "laptop", "--finish").out == "ada laptop: the old token has ended\n"

    fresh.stop()
    fresh.start()
    assert [fresh.ask("GET", f"{API}/groups", bearer=each).status for each in (old, new)] == [401, 200]
    shown = fresh.json("token", "list")
    assert [(each["name"], each["verbs"], each["last_used_at"] is not None) for each in shown] == [
        ("laptop", ["read"], True)
    ]
    assert new not in fresh.trimtab("token", "list").out
    assert fresh.trimtab("token", "revoke", "ada", "laptop").code == 0
    assert fresh.ask("GET", f"{API}/groups", bearer=new).status == 401
    stored = (fresh.state / "trimtab.sqlite").read_bytes() + (fresh.state / "trimtab.sqlite-wal").read_bytes()
    assert not [token for token in (old, new) if token.encode() in stored]


def test_what_is_rotated_lasts_as_long_as_before_unless_it_says_how_long(fresh: Daemon) -> None:
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "none").code == 0

    def lasts(listed: str, *rotate: str) -> float | None:
        assert fresh.trimtab(*rotate).code == 0
        (shown,) = [each for each in fresh.json(*listed.split()) if each["name"] == rotate[-1]]
        return None if shown["expires_at"] is None else round(shown["expires_at"] - shown["created_at"])

    for place, listed in ((("token",), "token list"), (("user", "key"), "user key list")):
        assert lasts(listed, *place, "new", "--expires", "1d", "ada", "short") == 86400
        assert lasts(listed, *place, "rotate", "ada", "short") == 86400
        assert lasts(listed, *place, "rotate", "ada", "short") == 86400, "not from when the first one was made"
        assert lasts(listed, *place, "rotate", "--expires", "2d", "ada", "short") == 2 * 86400
        assert lasts(listed, *place, "new", "--expires", "never", "ada", "endless") is None
        assert lasts(listed, *place, "rotate", "ada", "endless") is None
        assert lasts(listed, *place, "rotate", "--expires", "1d", "ada", "endless") == 86400
        assert lasts(listed, *place, "rotate", "--expires", "never", "ada", "endless") is None


def test_a_disabled_user_and_a_wrong_token_get_one_answer(fresh: Daemon) -> None:
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "viewer").code == 0
    assert fresh.trimtab("user", "add", "bob", "--role", "viewer").code == 0
    bob = token_of(fresh, "bob", "laptop")
    assert fresh.trimtab("user", "disable", "bob").code == 0
    disabled, wrong = (fresh.ask("GET", f"{API}/groups", bearer=each) for each in (bob, "trimtab_wrong"))
    assert (disabled.status, disabled.text) == (401, wrong.text)
    assert fresh.get(f"{API}/groups").status == 200, "without a token, requests may read"
    assert "last admin" in fresh.trimtab("user", "delete", "ada").err


def test_an_account_of_another_domain_has_users_of_its_own_who_see_nothing_of_the_file(fresh: Daemon) -> None:
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
    assert fresh.trimtab("domain", "add", "shops").code == 0
    assert fresh.trimtab("account", "add", "books", "--domain", "shops", "--groups", "3").code == 0
    dora = fresh.json("user", "add", "dora", "--role", "admin", "--account", "books")
    assert (dora["display_name"], dora["account"]) == ("dora", "books")
    bearer = token_of(fresh, dora["name"], "laptop")

    assert fresh.ask("GET", f"{API}/groups", bearer=bearer).json == []
    hidden = fresh.ask("GET", f"{API}/groups/web", bearer=bearer)
    assert (hidden.status, hidden.json["error"]) == (404, "there is no group web")
    assert [user["name"] for user in fresh.ask("GET", f"{API}/users", bearer=bearer).json["users"]] == [dora["name"]]
    assert fresh.ask("DELETE", f"{API}/users/ada", bearer=bearer).status == 404
    assert fresh.ask("POST", f"{API}/accounts", {"name": "more"}, bearer=bearer).status == 403
    added = fresh.ask("POST", f"{API}/users", {"name": "ada", "role": "viewer"}, bearer=bearer)
    assert (added.status, added.json["display_name"], added.json["account"]) == (201, "ada", "books")

    accounts = {account["account"]: account for account in fresh.json("account", "list")}
    assert (accounts["books"]["path"], accounts["books"]["quota"]) == ("ROOT/shops", {"groups": 3, "members": None})
    assert [each["account"] for each in fresh.ask("GET", f"{API}/accounts", bearer=bearer).json] == ["books"]
    assert "users: ada-" in fresh.trimtab("account", "delete", "books").err


def test_a_limit_of_a_quota_that_is_named_changes_and_the_other_stays(fresh: Daemon) -> None:
    def after(*words: str) -> dict[str, int | None]:
        changed = fresh.trimtab("account", "quota", "books", *words)
        assert changed.code == 0, changed
        return fresh.json("account", "show", "books")["quota"]

    assert fresh.trimtab("account", "add", "books", "--groups", "3", "--members", "40").code == 0
    assert after("--groups", "8") == {"groups": 8, "members": 40}
    assert after("--members", "60") == {"groups": 8, "members": 60}
    assert after("--any-members") == {"groups": 8, "members": None}
    assert after("--any-groups", "--members", "0") == {"groups": None, "members": 0}
    for unclear in ((), ("--groups", "1", "--any-groups"), ("--members", "1", "--any-members")):
        assert fresh.trimtab("account", "quota", "books", *unclear).code == 2, unclear
    said = fresh.trimtab("account", "quota", "books", "--groups", "5").out
    assert said == "books: groups: at most 5; members: at most 0\n"
