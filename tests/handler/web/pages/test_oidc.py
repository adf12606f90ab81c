"""Logging in with a provider that we did not write: who gets in, as which user, and what the browser is told."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import requests

from tests.support.daemon import Daemon, a_daemon
from tests.support.oidc import Provider, a_provider, path_of
from tests.support.waiting import until

MODEL = """\
oidc:
  issuer: {issuer}
  client_id: trimtab
  client_secret: {{env: OIDC}}
  claim: email
  scopes: [openid, email]
  users: {{ada@example.org: ada, bob@example.org: bob, gone@example.org: gone}}
clouds: {{box: {{process: {{}}}}}}
profiles: {{app: {{cloud: box, command: [sleep, "3600"]}}}}
groups: {{web: {{profile: app, min: 0, max: 2}}}}
"""
SECRET = "secret-of-the-client"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # parts of the provider warn of each other


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with a_provider() as running:
        for name in ("ada", "bob", "eve", "gone"):
            running.know(f"{name}-1", {"email": f"{name}@example.org", "email_verified": True})
        running.know("faked-1", {"email": "ada@example.org", "email_verified": False})
        yield running


@pytest.fixture(scope="module")
def daemon(provider: Provider) -> Iterator[Daemon]:
    """ada is an admin, bob a disabled operator; the file also maps a person to a user that there is not."""
    with a_daemon(MODEL.format(issuer=provider.issuer)) as daemon:
        daemon.environment = {"OIDC": SECRET}
        daemon.start()
        assert daemon.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
        assert daemon.trimtab("user", "add", "bob", "--role", "operator").code == 0
        assert daemon.trimtab("user", "disable", "bob").code == 0
        yield daemon


@dataclass
class Browser:
    """Keeps cookies, and follows no redirect by itself."""

    daemon: Daemon
    session: requests.Session = field(default_factory=requests.Session)

    def get(self, path: str, **headers: str) -> requests.Response:
        address = f"http://127.0.0.1:{self.daemon.port}{path}"
        return self.session.get(address, headers={"Accept": "text/html", **headers}, allow_redirects=False, timeout=30)

    def sent_to_provider(self, then: str = "/groups/web") -> str:
        answer = self.get(f"/login/oidc?then={then}")
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"]

    @property
    def cookies(self) -> set[str]:
        return {cookie.name for cookie in self.session.cookies}


@pytest.fixture
def browser(daemon: Daemon) -> Browser:
    return Browser(daemon)


def test_a_person_whom_the_file_maps_gets_a_session_as_that_user(
    daemon: Daemon, provider: Provider, browser: Browser
) -> None:
    assert "/login/oidc?then=/groups/web" in browser.get("/login?then=/groups/web").text
    back = provider.agreed(browser.sent_to_provider(), "ada-1")
    done = browser.get(path_of(back))
    assert (done.status_code, done.headers["Refresh"]) == (200, "0; url=/groups/web")
    assert browser.cookies == {f"trimtab-{daemon.port}"}, "the cookie of the flow is gone"
    page = browser.get("/groups/web")
    assert (page.status_code, "ada</span>" in page.text) == (200, True)
    csrf = re.findall(r'<meta name="csrf" content="([^"]+)">', page.text)[0]
    out = browser.session.post(
        f"http://127.0.0.1:{daemon.port}/logout", data={"csrf": csrf}, allow_redirects=False, timeout=30
    )
    assert (out.status_code, "You are logged out." in out.text) == (200, True)
    assert browser.get("/groups/web").status_code == 303, "it has to log in again"
    (there,) = re.findall(r'<a href="([^"]+)">log out there, too</a>', out.text)
    back = provider.logged_out(html.unescape(there))
    assert back == f"http://127.0.0.1:{daemon.port}/login?state=logged-out"
    assert "You are logged out." in browser.get(path_of(back)).text
    acts = {"login with a provider", "logout"}
    until(lambda: acts <= {row["act"] for row in daemon.json("audit", "list") if row["who"] == "ada"}, log=daemon.log)


def test_a_session_of_a_provider_stays_one_when_the_person_changes_the_password(
    daemon: Daemon, provider: Provider, browser: Browser
) -> None:
    old, new = "correct horse battery", "another battery staple"
    assert daemon.ask("PUT", "/api/v1/users/ada/password", {"password": old}, unix=True).status == 200
    browser.get(path_of(provider.agreed(browser.sent_to_provider(), "ada-1")))

    def posted(path: str, **fields: str) -> requests.Response:
        (csrf,) = re.findall(r'<meta name="csrf" content="([^"]+)">', browser.get("/groups/web").text)
        address = f"http://127.0.0.1:{daemon.port}{path}"
        return browser.session.post(address, data={"csrf": csrf, **fields}, allow_redirects=False, timeout=30)

    assert posted("/password", now=old, new=new, again=new).status_code == 303
    assert "log out there, too" in posted("/logout").text


@pytest.mark.parametrize(
    ("person", "why"),
    [("eve-1", "not mapped"), ("gone-1", "mapped to no user"), ("bob-1", "disabled"), ("faked-1", "not verified")],
)
def test_no_one_else_gets_in_and_all_are_told_the_same(
    provider: Provider, browser: Browser, person: str, why: str
) -> None:
    refused = browser.get(path_of(provider.agreed(browser.sent_to_provider(), person)))
    assert (refused.status_code, "You are not among those who may log in here" in refused.text) == (403, True), why
    assert browser.cookies == set()


def test_a_person_who_refuses_at_the_provider_may_begin_again(provider: Provider, browser: Browser) -> None:
    refused = browser.get(path_of(provider.denied(browser.sent_to_provider())))
    assert (refused.status_code, "the provider refuses" in refused.text) == (403, True)
    assert "/login/oidc?then=/groups/web" in refused.text


def test_an_answer_is_of_use_only_to_the_browser_that_began_and_only_once(
    daemon: Daemon, provider: Provider, browser: Browser
) -> None:
    back = path_of(provider.agreed(browser.sent_to_provider(), "ada-1"))
    other = Browser(daemon)
    assert other.get(back).status_code == 403, "it has begun none"
    other.sent_to_provider()
    assert "belongs to another login" in other.get(back).text
    kept = browser.session.cookies.copy()
    assert browser.get(back).status_code == 200
    browser.session.cookies = kept
    assert browser.get(back).status_code == 503, "the provider takes a code once"
    assert other.cookies == set()


def test_the_way_to_the_provider_shows_no_secret_and_only_a_path_of_ours_is_led_to(
    daemon: Daemon, provider: Provider, browser: Browser
) -> None:
    address = browser.sent_to_provider("https://evil.example.org")
    assert address.startswith(f"{provider.url}/oauth2/authorize?")
    assert f"redirect_uri=http%3A%2F%2F127.0.0.1%3A{daemon.port}%2Flogin%2Foidc%2Fcallback" in address
    (cookie,) = browser.session.cookies
    assert cookie.name == f"trimtab-{daemon.port}-oidc"
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "Lax"
    done = browser.get(path_of(provider.agreed(address, "ada-1")))
    assert done.headers["Refresh"] == "0; url=/"
    kept = daemon.log.read_text() + (daemon.state / "audit.jsonl").read_text()
    assert SECRET not in kept


def test_a_provider_that_is_away_leaves_passwords_and_says_so(daemon: Daemon, browser: Browser) -> None:
    text = daemon.file.read_text()
    daemon.declare(re.sub("issuer: .*", "issuer: http://127.0.0.1:9", text))
    assert daemon.trimtab("reload").code == 0
    away = browser.get("/login/oidc")
    assert (away.status_code, "the provider does not answer" in away.text) == (503, True)
    assert 'name="password"' in away.text
    daemon.declare(text)
    assert daemon.trimtab("reload").code == 0
