"""Logging in over HTTP: what a browser gets, what its cookie allows, and what pages of other origins cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from handler.web.callers import Access
from handler.web.session_cookie import SessionCookie, form_of, is_foreign, own_path
from tests.support.chromium import running_chromium
from tests.support.daemon import Answer, Daemon, a_daemon
from tests.support.waiting import until

GOOD = "correct horse battery"
MODEL = """\
clouds: {box: {process: {}}}
profiles: {app: {cloud: box, command: [sleep, "3600"]}}
groups:
  web: {profile: app, min: 0, max: 2}
  db: {profile: app, min: 0, max: 2}
"""
WEB = "/api/v1/groups/web"
HTML = {"Accept": "text/html,*/*"}


def set_password(daemon: Daemon, user: str, password: str = GOOD) -> None:
    made = daemon.ask("PUT", f"/api/v1/users/{user}/password", {"password": password}, unix=True)
    assert made.status == 200, made


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """ada is an admin, bob an operator of one group, eve a viewer; all have one password."""
    with a_daemon(MODEL) as daemon:
        daemon.start()
        assert daemon.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
        for name, role, *limit in (("bob", "operator", "--groups", "web"), ("eve", "viewer")):
            assert daemon.trimtab("user", "add", name, "--role", role, *limit).code == 0
        for user in ("ada", "bob", "eve"):
            set_password(daemon, user)
        yield daemon


def posted(daemon: Daemon, path: str, fields: dict[str, str], **headers: str) -> Answer:
    sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return daemon.ask("POST", path, urlencode(fields).encode(), headers=sent)


@pytest.fixture(scope="module")
def ada(daemon: Daemon) -> Browsing:
    """A session of ada's that no test ends."""
    return Browsing(daemon)


class Browsing:
    """A browser that is logged in."""

    def __init__(self, daemon: Daemon, user: str = "ada") -> None:
        self.daemon = daemon
        answer = posted(daemon, "/login", {"user": user, "password": GOOD, "then": "/groups/web"})
        assert (answer.status, answer.headers["location"]) == (303, "/groups/web"), answer
        self.set_cookie = answer.headers["set-cookie"]
        self.cookie = self.set_cookie.partition(";")[0]
        page = self.get("/groups/web").text
        self.csrf = re.findall(r'<meta name="csrf" content="([^"]+)">', page)[0]

    def get(self, path: str) -> Answer:
        return self.daemon.get(path, Cookie=self.cookie, **HTML)

    def scale(self, size: int = 0, group: str = "web", **headers: str) -> int:
        """The status of a change; with its session's CSRF token, unless another one is given."""
        sent = {"Cookie": self.cookie, "X-Trimtab-CSRF": self.csrf, **headers}
        return self.daemon.ask("PUT", f"/api/v1/groups/{group}/size", {"size": size}, headers=sent).status

    def log_out(self) -> Answer:
        return posted(self.daemon, "/logout", {"csrf": self.csrf}, Cookie=self.cookie)


def test_without_a_session_a_browser_is_led_to_the_login_and_a_program_is_answered_401(daemon: Daemon) -> None:
    led = daemon.get("/groups/web?span=1h", **HTML)
    assert (led.status, led.headers["location"]) == (303, "/login?then=%2Fgroups%2Fweb%3Fspan%3D1h")
    page = daemon.get("/login?then=/groups/web", **HTML)
    assert (page.status, 'name="then" value="/groups/web"' in page.text) == (200, True)
    assert daemon.get("/groups/web").status == 401
    assert daemon.get(WEB, **HTML).status == 401, "the API leads no program to a page"


def test_a_login_shows_the_console_and_acts_in_the_user_s_name_by_the_same_rights(
    daemon: Daemon, ada: Browsing
) -> None:
    bob, eve = (Browsing(daemon, user) for user in ("bob", "eve"))
    assert "ada</span>" in ada.get("/").text
    assert [who.scale() for who in (ada, bob, eve)] == [200, 200, 403]
    assert [who.scale(group="db") for who in (ada, bob)] == [200, 404]
    assert "/groups/db" not in bob.get("/").text
    assert {"person ada", "person bob"} <= {event["by"] for event in daemon.json("history", "web")}


def changed(who: Browsing, now: str, new: str, again: str | None = None) -> Answer:
    fields = {"csrf": who.csrf, "now": now, "new": new, "again": new if again is None else again}
    return posted(who.daemon, "/password", fields, Cookie=who.cookie)


def test_a_person_changes_the_own_password_and_all_other_sessions_end(daemon: Daemon) -> None:
    eve, elsewhere = Browsing(daemon, "eve"), Browsing(daemon, "eve")
    assert 'href="/password"' in eve.get("/").text
    assert 'name="now"' in eve.get("/password").text
    done = changed(eve, GOOD, "another battery staple")
    assert (done.status, done.headers["location"]) == (303, "/")
    new = done.headers["set-cookie"].partition(";")[0]
    assert daemon.get("/groups/web", Cookie=new, **HTML).status == 200
    assert [who.get("/groups/web").status for who in (eve, elsewhere)] == [303, 303]
    assert posted(daemon, "/login", {"user": "eve", "password": GOOD}).status == 403
    set_password(daemon, "eve")


@pytest.mark.parametrize(
    ("now", "new", "again", "status", "why"),
    [
        ("wrong battery staple", "another battery staple", None, 403, "The password now is wrong"),
        (GOOD, "another battery staple", "another battery stable", 409, "not the same both times"),
        (GOOD, "short", None, 409, "12 to 256 characters"),
    ],
)
def test_a_password_is_not_changed_without_the_old_one_or_to_an_unfit_one(
    daemon: Daemon, now: str, new: str, again: str | None, status: int, why: str
) -> None:
    bob = Browsing(daemon, "bob")
    refused = changed(bob, now, new, again)
    assert (refused.status, why in refused.text) == (status, True), refused.text
    assert bob.get("/groups/web").status == 200, "the session goes on"


def test_no_one_changes_a_password_without_a_session_and_its_token(daemon: Daemon) -> None:
    bob = Browsing(daemon, "bob")
    fields = {"now": GOOD, "new": "another battery staple", "again": "another battery staple"}
    assert posted(daemon, "/password", fields, Cookie=bob.cookie).status == 403, "no CSRF token"
    led = posted(daemon, "/password", fields)
    assert (led.status, led.headers["location"]) == (303, "/login?then=%2Fpassword")
    Browsing(daemon, "bob")


def test_a_form_declares_only_with_its_session_s_token_and_for_who_may(daemon: Daemon) -> None:
    ada, eve = Browsing(daemon), Browsing(daemon, "eve")
    new, counter = (
        "/declared/counters/new",
        {"act": "save", "name": "of a form", "source": "push", "source.value": "LOAD"},
    )
    assert [who.get(new).status for who in (ada, eve)] == [200, 403]
    assert posted(daemon, new, counter, Cookie=ada.cookie).status == 403, "no CSRF token"
    assert posted(daemon, new, {**counter, "csrf": eve.csrf}, Cookie=eve.cookie).status == 403
    assert posted(daemon, new, counter).status == 401
    assert daemon.ask("POST", new, counter, headers={"Cookie": ada.cookie}).status == 415, "no form"
    made = posted(daemon, new, {**counter, "csrf": ada.csrf}, Cookie=ada.cookie)
    assert (made.status, made.headers["location"]) == (303, "/declared")
    (path,) = re.findall(r'href="(/declared/counters/at/[^"]+)">of a form<', ada.get("/declared").text)
    assert "<form method" not in eve.get(path).text.partition("<main")[2], "eve reads, and has no form"

    fields = {"csrf": ada.csrf, "revision": "99", "act": "delete"}
    refused = posted(daemon, path, fields, Cookie=ada.cookie)
    assert (refused.status, "has changed since" in refused.text) == (409, True)
    assert posted(daemon, path, {**fields, "act": "save", "csrf": eve.csrf}, Cookie=eve.cookie).status == 403
    (revision,) = set(re.findall(r'name="revision" value="([0-9]+)"', ada.get(path).text))
    assert posted(daemon, path, {**fields, "revision": revision}, Cookie=ada.cookie).status == 303
    assert ada.get(path).status == 404


def test_the_form_for_a_log_is_for_operators_of_the_group_and_needs_the_csrf_token(daemon: Daemon) -> None:
    bob, eve = (Browsing(daemon, who) for who in ("bob", "eve"))
    path = "/groups/web/members/web-zzzzzz-1"

    def shown(who: Browsing, csrf: str, path: str = path) -> Answer:
        return posted(daemon, path, {"csrf": csrf, "lines": "50"}, Cookie=who.cookie)

    assert [who.get(path).status for who in (bob, eve)] == [404, 404]
    assert [shown(bob, csrf).status for csrf in ("", eve.csrf)] == [403, 403]
    assert shown(eve, eve.csrf).status == 403, "a viewer"
    assert shown(bob, bob.csrf, path.replace("web", "db")).status == 404, "not bob's"
    missing = shown(bob, bob.csrf)
    assert (missing.status, "group web has no member web-zzzzzz-1" in missing.text) == (404, True)


def test_garbage_is_for_operators_to_see_and_for_admins_to_abandon_and_the_trail_for_admins(daemon: Daemon) -> None:
    ada, bob, eve = (Browsing(daemon, who) for who in ("ada", "bob", "eve"))
    assert [who.get("/garbage").status for who in (ada, bob, eve)] == [200, 200, 403]
    assert [who.get("/audit").status for who in (ada, bob, eve)] == [200, 403, 403]
    assert [[page in who.get("/").text for page in ('"/garbage"', '"/audit"')] for who in (ada, bob, eve)] == [
        [True, True], [True, False], [False, False],
    ]  # fmt: skip
    wanted = {"name": "web-zzzzzz-1"}
    assert posted(daemon, "/garbage", wanted, Cookie=ada.cookie).status == 403, "no CSRF token"
    assert posted(daemon, "/garbage", {**wanted, "csrf": bob.csrf}, Cookie=bob.cookie).status == 403
    given = {**wanted, "csrf": ada.csrf, "because": "its disk is kept for the auditors"}
    refused = posted(daemon, "/garbage", given, Cookie=ada.cookie)
    assert (refused.status, "there is no garbage named web-zzzzzz-1" in refused.text) == (409, True)
    trail = ada.get("/audit?who=ada").text
    assert "DELETE /garbage/web-zzzzzz-1" in trail
    assert "its disk is kept for the auditors" in trail
    assert '<td data-label="Who">bob' not in trail


def test_an_admin_makes_a_webhook_sees_its_token_once_rotates_it_and_revokes_it(daemon: Daemon, ada: Browsing) -> None:
    def sent(act: str, **fields: str) -> Answer:
        return posted(daemon, "/webhooks", {"csrf": ada.csrf, "act": act, "name": "pager", **fields}, Cookie=ada.cookie)

    bob = Browsing(daemon, "bob")
    assert (bob.get("/webhooks").status, '"/webhooks"' in bob.get("/").text) == (403, False)
    alerts = {"use": "alerts", "groups": "web, db", "effect.shield": "on"}
    refused = sent("make", **{**alerts, "groups": "wep"})
    assert (refused.status, "there is no group wep" in refused.text) == (409, True)
    made = sent("make", **alerts)
    found = re.search(r"/hooks/alerts/([\w-]{43})<", made.text)
    assert (made.status, found is not None) == (200, True)
    (hook,) = (each for each in daemon.json("hook", "list") if each["name"] == "pager")
    assert (hook["groups"], hook["effects"], hook["directions"]) == (["web", "db"], ["shield"], [])
    assert sent("make", **alerts).status == 409, "sent once more, it makes nothing"
    assert [sent("rotate").status for _ in range(2)] == [200, 409], "sent once more, it ends no token"
    assert found is not None
    assert found[1] not in ada.get("/webhooks").text
    assert [sent(act).status for act in ("finish", "revoke", "revoke")] == [303, 303, 409]
    assert "Revoke: pager" not in ada.get("/webhooks").text


def test_an_admin_makes_a_user_whose_token_is_shown_once_and_whom_it_disables_and_deletes(
    daemon: Daemon, ada: Browsing
) -> None:
    def sent(path: str, **fields: str) -> Answer:
        return posted(daemon, path, {"csrf": ada.csrf, **fields}, Cookie=ada.cookie)

    bob, kim = Browsing(daemon, "bob"), "/users/kim"
    assert [bob.get(path).status for path in ("/users", "/users/bob")] == [403, 403]
    assert posted(daemon, "/users", {"csrf": bob.csrf, "name": "kim", "role": "admin"}, Cookie=bob.cookie).status == 403
    assert [sent("/users", name="kim", role="viewer").status for _ in range(2)] == [303, 409]
    ci = {"kind": "token", "name": "ci", "lasts": "30d"}
    made = sent(kim, act="new", **ci)
    found = re.search(r"Token <code>([^<]+)</code>", made.text)
    assert (made.status, found is not None) == (200, True)
    assert found is not None
    assert found[1] not in ada.get(kim).text
    assert [sent(kim, act="rotate", **ci).status for _ in range(2)] == [200, 409], "sent once more, it ends no token"
    assert [sent(kim, act=act, **ci).status for act in ("finish", "revoke", "revoke")] == [303, 303, 409]
    assert sent(kim, kind="user", act="disable").status == 303
    assert "<b>disabled</b>" in ada.get(kim).text
    assert sent("/users/ada", kind="user", act="delete").status == 409, "the last admin stays"
    assert sent(kim, kind="user", act="delete").headers["location"] == "/users"
    assert ada.get(kim).status == 404
    assert found[1] not in (daemon.state / "audit.jsonl").read_text()


def test_a_person_changes_the_own_tokens_with_the_password_and_those_of_no_other(daemon: Daemon) -> None:
    bob = Browsing(daemon, "bob")

    def sent(now: str = GOOD, **fields: str) -> Answer:
        given = {"csrf": bob.csrf, "now": now, "kind": "token", "name": "own", "lasts": "30d", **fields}
        return posted(daemon, "/tokens", given, Cookie=bob.cookie)

    refused = sent("wrong battery staple", act="new")
    assert (refused.status, "The password is wrong" in refused.text) == (403, True)
    made = sent(act="new")
    found = re.search(r"Token <code>([^<]+)</code>", made.text)
    assert (made.status, found is not None) == (200, True)
    assert found is not None
    read = daemon.get("/api/v1/groups", Authorization=f"Bearer {found[1]}")
    assert [group["group"] for group in read.json] == ["web"], "as far as its user"
    assert sent(act="new", name="more", groups="db").status == 409, "a group that is not the person's"
    again = daemon.ask("POST", "/api/v1/users/bob/tokens", {"name": "more"}, bearer=found[1])
    assert again.status == 403, "a token makes no token"
    assert sent(kind="user", act="role", role="admin").status == 409
    assert sent(act="revoke").status == 303
    assert daemon.get("/api/v1/groups", Authorization=f"Bearer {found[1]}").status == 401
    assert posted(daemon, "/tokens", {"now": GOOD}).headers["location"].startswith("/login")


def test_the_cookie_is_the_browser_s_alone_and_no_secret_is_in_the_log_or_the_audit_trail(
    daemon: Daemon, ada: Browsing
) -> None:
    assert ada.set_cookie == f"{ada.cookie}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
    assert ada.cookie.startswith(f"trimtab-{daemon.port}=")
    kept = daemon.log.read_text() + (daemon.state / "audit.jsonl").read_text()
    assert not [secret for secret in (GOOD, ada.cookie.partition("=")[2], ada.csrf) if secret in kept]
    done = [row["who"] for row in daemon.json("audit", "list") if row["act"] == "login"]
    assert "ada" in done


def test_with_encryption_the_cookie_is_for_this_host_and_never_sent_in_clear() -> None:
    cookie = Access(trusted=False, port=443, secure=True).cookie
    assert cookie.holding("v") == "__Host-trimtab-443=v; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"
    assert cookie.value_in("other=1; __Host-trimtab-443=v; trimtab-443=forged") == "v"


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param({"X-Trimtab-CSRF": ""}, id="no token"),
        pytest.param({"X-Trimtab-CSRF": "x" * 43}, id="another token"),
        pytest.param({"Origin": "http://evil.example"}, id="another origin"),
        pytest.param({"Origin": "null"}, id="an origin that hides"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="another host of the site"),
    ],
)
def test_a_page_of_another_origin_cannot_act_with_the_cookie(
    daemon: Daemon, ada: Browsing, forged: dict[str, str]
) -> None:
    assert ada.scale(**forged) == 403
    assert ada.scale(**{"Origin": f"http://127.0.0.1:{daemon.port}", "Sec-Fetch-Site": "same-origin"}) == 200


def test_one_session_s_csrf_token_is_none_of_another_s(daemon: Daemon, ada: Browsing) -> None:
    other = Browsing(daemon)
    assert ada.cookie != other.cookie
    assert ada.scale(**{"X-Trimtab-CSRF": other.csrf}) == 403


def test_a_page_of_another_origin_can_log_no_one_in_or_out(daemon: Daemon, ada: Browsing) -> None:
    fields = {"user": "eve", "password": GOOD}
    assert posted(daemon, "/login", fields, Origin="http://evil.example").status == 403
    assert posted(daemon, "/logout", {}, Cookie=ada.cookie).status == 403
    assert ada.get("/").status == 200


def test_a_logout_ends_the_session_and_has_the_browser_forget_the_cookie(daemon: Daemon, ada: Browsing) -> None:
    again = Browsing(daemon)
    out = again.log_out()
    assert (out.status, out.headers["location"], "Max-Age=0" in out.headers["set-cookie"]) == (303, "/login", True)
    assert again.get("/").status == 303
    assert again.scale() == 401
    assert ada.get("/").status == 200


def test_sessions_end_when_the_password_the_role_or_the_state_of_a_user_changes(daemon: Daemon) -> None:
    for change in (["user", "role", "eve", "viewer"], ["user", "disable", "eve"]):
        eve = Browsing(daemon, "eve")
        assert daemon.trimtab(*change).code == 0
        assert eve.get("/").status == 303
    refused = posted(daemon, "/login", {"user": "eve", "password": GOOD})
    assert (refused.status, "Name or password is wrong, or the user is disabled." in refused.text) == (403, True)
    assert daemon.trimtab("user", "disable", "eve", "--off").code == 0
    eve = Browsing(daemon, "eve")
    set_password(daemon, "eve")
    assert eve.get("/").status == 303


def test_a_login_over_another_one_s_session_is_its_own_in_the_audit_trail(daemon: Daemon) -> None:
    def logins() -> list[str]:
        return [row["who"] for row in daemon.json("audit", "list", "--limit", "10000") if row["act"] == "login"]

    eve = Browsing(daemon, "eve")
    until(lambda: logins()[-1:] == ["eve"], log=daemon.log)
    assert posted(daemon, "/login", {"user": "bob", "password": GOOD}, Cookie=eve.cookie).status == 303
    until(lambda: logins()[-1:] == ["bob"], log=daemon.log)


def test_a_token_counts_before_a_session_and_needs_no_csrf_token(daemon: Daemon, ada: Browsing) -> None:
    made = daemon.trimtab("token", "new", "bob", "both")
    assert ada.scale(group="db", Authorization=f"Bearer {made.out.strip()}") == 404
    assert ada.scale(Authorization=f"Bearer {made.out.strip()}", **{"X-Trimtab-CSRF": ""}) == 200


def test_wrong_tries_wait_and_the_page_says_for_how_long(daemon: Daemon) -> None:
    tries = (posted(daemon, "/login", {"user": "mallory", "password": "wrong"}) for _ in range(15))
    waits = next(answer for answer in tries if answer.status != 403)
    assert (waits.status, f"wait {waits.headers['retry-after']} s" in waits.text) == (429, True)


def test_over_the_unix_socket_there_is_nothing_to_log_in_to(daemon: Daemon) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = daemon.ask("POST", "/login", b"user=ada&password=x", headers=form, unix=True)
    assert (answer.status, "over TCP" in answer.text) == (409, True)


@pytest.mark.parametrize(
    "path",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "evil", "", "/login?then=/", "/logout", "/a\nb"],
)
def test_a_login_leads_to_a_page_of_this_daemon_alone(path: str) -> None:
    assert own_path(path) == "/"


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({"host": "a:1"}, False),
        ({"host": "A:1", "origin": "http://a:1"}, False),
        ({"host": "a:1", "sec-fetch-site": "none"}, False),
        ({"host": "a:1", "origin": "http://a:1.evil"}, True),
        ({"host": "a:1", "origin": "http://[bad"}, True),
        ({"origin": "http://a:1"}, True),
    ],
)
def test_what_a_browser_says_of_an_origin_is_compared_whole(headers: dict[str, str], foreign: bool) -> None:
    assert is_foreign(headers) is foreign


@pytest.mark.parametrize("body", [b"", b"\xff", b"a=" + b"1" * 9 + b"&b" * 20, b"&&&", b"novalue"])
def test_what_is_no_form_has_no_fields(body: bytes) -> None:
    assert form_of(body) == {}


@pytest.mark.parametrize("header", ["", "trimtab-1", "a=b", "trimtab-12=x", '"; =', "trimtab-1=\x00"])
def test_a_cookie_header_without_the_cookie_holds_nothing(header: str) -> None:
    assert SessionCookie(port=1, secure=False).value_in(header) == ""


@pytest.mark.parametrize("other", ["flag", 'seen={"a": "b"}', "path=/x", "name=Ada Byron", "=x", "\xfc=1", 'half="x'])
def test_no_cookie_of_another_program_of_the_host_hides_a_session(other: str) -> None:
    cookie = SessionCookie(port=1, secure=False)
    for header in (f"{other}; trimtab-1=x; trimtab-1-oidc=y", f"trimtab-1=x; trimtab-1-oidc=y; {other}"):
        assert (cookie.value_in(header), cookie.flow_in(header)) == ("x", "y")


@pytest.mark.real("chromium")
def test_a_person_logs_in_acts_and_logs_out_in_a_real_browser(
    daemon: Daemon, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = f"http://127.0.0.1:{daemon.port}"
    with running_chromium(tmp_path_factory.mktemp("chromium")) as browser:
        page = browser.page()
        page.ask("Page.navigate", {"url": f"{here}/groups/web"})
        page.until("location.pathname === '/login' && document.querySelector('#password')")
        page.run(f"user.value = 'ada', password.value = {GOOD!r}, document.querySelector('form.login button').click()")
        page.until("location.pathname === '/groups/web' && document.getElementById('live')?.textContent === 'live'")
        assert "ada" in page.text()
        assert page.run("document.cookie") == "", "no script can read the cookie"
        acted = page.run("act('PUT', '/api/v1/groups/web/size', {size: 0}).then(({done, status}) => [done, status])")
        assert acted == [True, 200]
        problem = page.run(
            "act('PUT', '/api/v1/groups/web/size', {size: 99}).then(({done, answer}) => [done, answer.detail])"
        )
        assert problem[0] is False
        assert "max" in problem[1]
        page.run("document.querySelector('form.visitor button').click()")
        page.until("location.pathname === '/login'")
        page.go(f"{here}/login")
        assert page.run(f"fetch('{here}/api/v1/groups').then(reply => reply.status)") == 401
