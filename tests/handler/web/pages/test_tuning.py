"""A person tries settings, and looks at members over time, in a real browser, over what a daemon has just recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.axe import broken_rules
from tests.support.chromium import Browser, Page, running_chromium
from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until

pytestmark = pytest.mark.real("chromium")

_PASSWORD = "correct horse battery"
_MODEL = """\
# kept: what a person wrote
writable: true
record: {}
counters: {load: {push: LOAD, unit: percent, range: [0, 100], shared: true}, jobs: {push: JOBS, per: group}}
conditions:
  busy: {counter: load, above: 80}  # percent
  many: {counter: jobs, above: 10}
policies: {out: {when: [busy], duration: 1s, add: 1, quiet_time: 1h}, more: {when: [many], add: 1}}
clouds: {box: {process: {}}}
profiles: {app: {cloud: box, command: [sleep, "3600"]}}
groups:
  web: {profile: app, min: 2, max: 5, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, policies: [out]}
  queue: {profile: app, min: 0, max: 1, interval: 10s, policies: [more]}
"""
_ABOVE = "set-conditions-busy-above"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """Its two members are at 60 % and 80 % for some seconds; tom is a tuner, bob an operator."""
    with a_daemon(_MODEL) as daemon:
        daemon.start()
        daemon.settled(2, "web")
        token = daemon.json("hook", "new", "shop", "--push", "web")["token"]
        members = [member["name"] for member in daemon.json("member", "list", "web")]
        pushed = [{"member": member, "values": {"LOAD": load}} for member, load in zip(members, (60, 80), strict=True)]

        def pushes() -> bool:
            return daemon.ask("POST", "/push", pushed, headers={"Authorization": f"Bearer {token}"}).status < 300

        for _ in range(20):
            until(pushes)
            time.sleep(0.25)  # the recording is of real ticks
        assert daemon.trimtab("user", "init", "ada", "--anonymous", "viewer").code == 0
        for name, role in (("tom", "tuner"), ("bob", "operator")):
            assert daemon.trimtab("user", "add", name, "--role", role).code == 0
            made = daemon.ask("PUT", f"/api/v1/users/{name}/password", {"password": _PASSWORD}, unix=True)
            assert made.status == 200, made
        yield daemon


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def logged_in(browser: Browser, daemon: Daemon, user: str, path: str, **more: bool) -> Page:
    page, here = browser.page(width=390, height=800, **more), f"http://127.0.0.1:{daemon.port}"
    page.ask("Network.clearBrowserCookies")
    page.go(f"{here}/login?then=/groups/web")
    page.run(
        f"user.value = {user!r}, password.value = {_PASSWORD!r}, document.querySelector('form.login button').click()"
    )
    page.until("location.pathname === '/groups/web'")
    page.go(f"{here}{path}")
    return page


def answered(page: Page) -> None:
    page.until("document.getElementById('asking').textContent.startsWith('Replayed in')")


def figures(page: Page) -> dict[str, list[str]]:
    cells = "row => [...row.children].map(cell => cell.textContent)"
    return {
        name: values for name, *values in page.run(f"[...document.querySelectorAll('.compared tbody tr')].map({cells})")
    }


def test_a_threshold_is_moved_by_key_and_by_drag_and_each_difference_leads_to_its_time(
    daemon: Daemon, browser: Browser
) -> None:
    page = logged_in(browser, daemon, "tom", "/groups/web/tune?span=1h")
    answered(page)
    assert figures(page)["Changes of size"] == ["0", "0", "0", "="]
    handle = f"document.getElementById('handle-{_ABOVE}')"
    page.run(f"{handle}.focus()")
    page.press("ArrowLeft")
    page.until(f"document.getElementById('{_ABOVE}').value === '79'")
    answered(page)
    box = page.run(f"(r => ({{x: r.x, y: r.y, width: r.width, height: r.height}}))({handle}.getBoundingClientRect())")
    for kind, y in (("mousePressed", 0.0), ("mouseMoved", 30.0), ("mouseReleased", 30.0)):
        at = {
            "x": box["x"] + box["width"] / 2,
            "y": box["y"] + box["height"] / 2 + y,
            "button": "left",
            "clickCount": 1,
        }
        page.ask("Input.dispatchMouseEvent", {"type": kind, "buttons": 1, **at})
    page.until(f"Number(document.getElementById('{_ABOVE}').value) < 70")
    page.until("document.querySelectorAll('.differences li').length === 1")
    assert "out: scaled out 2 → 3" in page.run("document.querySelector('.differences .why').textContent")
    assert figures(page)["Changes of size"][2] == "1"
    assert "}  # percent" in page.run("document.querySelector('#patch li:last-child').textContent")
    assert "conditions.busy.above=" in page.run("location.search")
    assert page.run("document.querySelector('.differences a').getAttribute('href')").startswith("/groups/web?from=")
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert not page.problems
    page.close()


def acted(page: Page, button: str) -> str:
    """Open a dialog by its button, do what it offers, and return what it said before."""
    page.run(f"document.getElementById({button!r}).click()")
    page.until("document.querySelector('#acting [name=carry-out]') !== null")
    happens: str = page.run("document.querySelector('#acting .choice').textContent")
    page.run("document.querySelector('#acting [name=carry-out]').click()")
    page.until("document.querySelector('#acting .answer.done') !== null")
    page.run("window.old = true, document.querySelector('#acting [name=cancel]').click()")
    page.until("window.old === undefined && document.readyState === 'complete'")
    return happens


def test_a_setting_is_applied_to_the_file_and_taken_back_by_one_click(daemon: Daemon, browser: Browser) -> None:
    before = daemon.file.read_text()
    page = logged_in(browser, daemon, "tom", "/groups/web/tune?span=1h&conditions.busy.above=60")
    answered(page)
    assert page.run("document.querySelector('a[download]').getAttribute('href')").endswith("above=60")

    happens = acted(page, "act-apply")

    assert "+  busy: {counter: load, above: 60}  # percent" in happens
    assert "The last tick: " in happens
    assert daemon.file.read_text() == before.replace("above: 80}", "above: 60}")
    assert "tom applied at" in page.run("document.getElementById('applied').textContent")
    assert page.run(f"document.getElementById('{_ABOVE}').dataset.declared") == "60"
    assert "+  busy: {counter: load, above: 80}  # percent" in acted(page, "act-back")
    assert daemon.file.read_text() == before
    (row,) = [
        each
        for each in daemon.json("audit", "list", "--group", "web")
        if each["act"] == "return_settings" and each["result"] == "done"
    ]
    assert (row["who"], row["outcome"].partition(": ")[2]) == ("tom", "conditions.busy.above: 60 → 80")
    assert not page.problems
    page.close()


def test_a_setting_runs_as_a_canary_until_it_is_stopped(daemon: Daemon, browser: Browser) -> None:
    page = logged_in(browser, daemon, "tom", "/groups/web/tune?span=1h&conditions.busy.above=60")
    answered(page)
    assert "Nothing that is declared changes." in acted(page, "act-canary")
    shown = page.run("document.getElementById('canary').textContent")
    assert "conditions.busy.above = 60" in shown
    assert "Too early to say: 0 of 3 days are compared." in shown
    acted(page, "act-stop")
    assert page.run("document.getElementById('canary') === null")
    assert not page.problems
    page.close()


def test_members_are_shown_over_time_each_beside_the_median(daemon: Daemon, browser: Browser) -> None:
    page = browser.page(width=390, height=800)
    page.ask("Network.clearBrowserCookies")
    page.go(f"http://127.0.0.1:{daemon.port}/groups/web")
    page.run("document.querySelector('h1 a[href$=\"/values\"]').click()")
    page.until("location.pathname === '/groups/web/values' && document.querySelectorAll('div.plot').length === 3")
    page.run("document.querySelector('article div.plot').focus()")
    page.until("document.activeElement.matches('article div.plot')")
    page.press("ArrowLeft")
    readings = page.run("[...document.querySelectorAll('.readout')].map(each => each.textContent)")
    assert all("median" in reading for reading in readings)
    rows = page.run("[...document.querySelectorAll('.wide tbody')][0].textContent")
    assert "80 % at" in rows
    assert "median 70 %" in rows
    assert "in service" in rows
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert broken_rules(page) == []
    plain = page.run("fetch(location.href).then(reply => reply.text())")
    assert plain.count('<svg class="plot"') == 3
    assert not page.problems
    page.close()


def test_the_api_has_the_same_values_and_says_what_there_is_none_of(daemon: Daemon) -> None:
    found = daemon.get("/api/v1/groups/web/values?counter=load").json
    assert {each["greatest"] for each in found["courses"]["members"]} == {60.0, 80.0}
    assert all(life["in_service_at"] for life in found["lives"].values())
    for query, reason in (
        ("web/values?counter=jobs", "members of group web have no counter jobs; they have load"),
        ("queue/values", "no counter of group queue is measured per member"),
        ("web/values?since=9&until=9", "a time has a beginning before its end"),
        ("web/values?until=1000000", "no value of load of web's members was recorded in that time"),
    ):
        refused = daemon.get(f"/api/v1/groups/{query}")
        assert refused.status == 409, refused
        assert reason in refused.text
    assert daemon.get("/groups/wep/values").status == 404


def test_without_a_script_a_form_asks(daemon: Daemon, browser: Browser) -> None:
    page = logged_in(browser, daemon, "tom", "/groups/web/tune?span=1h&conditions.busy.above=60&asked=1")
    plain = page.run("fetch(location.href).then(reply => reply.text())")
    assert "Desired size as it was and with this setting" in plain
    assert 'value="60"' in plain
    page.close()


def test_a_counter_that_is_unknown_at_another_size_is_refused_with_that_reason(
    daemon: Daemon, browser: Browser
) -> None:
    page = logged_in(browser, daemon, "tom", "/groups/queue/tune")
    assert "it is not known what jobs would have been at another size" in page.text()
    page.close()


def test_a_viewer_who_is_not_logged_in_is_shown_none_of_it(daemon: Daemon) -> None:
    for path in ("/groups/web/tune", "/groups/web/tune/dialog?act=back", "/api/v1/groups/web/settings"):
        assert daemon.get(path).status == 401
    assert daemon.ask("POST", "/api/v1/groups/web/settings/back", {}).status == 401
    assert "/groups/web/tune" not in daemon.get("/groups/web").text


def test_an_operator_is_neither_offered_nor_shown_it(daemon: Daemon, browser: Browser) -> None:
    page = logged_in(browser, daemon, "bob", "/groups/web")
    assert page.run("document.querySelectorAll('a[href$=\"/tune\"]').length") == 0
    assert page.run("fetch('/groups/web/tune').then(reply => reply.status)") == 403
    for part in ("answer", "dialog?conditions.busy.above=60", "patch?conditions.busy.above=60"):
        assert page.run(f"fetch('/groups/web/tune/{part}').then(reply => reply.status)") == 403
    page.close()
    page = logged_in(browser, daemon, "tom", "/groups/web")
    assert page.run("document.querySelectorAll('a[href$=\"/tune\"]').length") == 1
    page.close()
