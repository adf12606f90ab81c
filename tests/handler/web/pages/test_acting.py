"""Persons act from a group's page in a real browser, by keyboard and on a phone's width."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.axe import AXE, MISSING, broken_rules
from tests.support.chromium import Browser, Page, running_chromium
from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until

pytestmark = pytest.mark.real("chromium")

_PASSWORD = "correct horse battery"
_MODEL = """\
clouds: {box: {process: {}}, sim: {simulated: {boot: 0s}}}
balancers: {edge: {haproxy: {socket: /none/admin.sock, backend: web}}}
profiles: {app: {cloud: box, command: [sh, -c, "echo 'ready <now>'; exec sleep 3600"]}}
groups:
  behind: {profile: app, balancers: [{use: edge, port: 8080}], min: 1, max: 1, interval: 10s}
  web: {profile: app, min: 1, max: 5, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, quiet_time: 0s}
"""
_BUTTON, _CANCEL, _SIZE = "#acting [name=carry-out]", "#acting [name=cancel]", "#acting [name=size]"
_BADGE = "document.querySelector('h1 .badge').textContent"
_SENT = "location.pathname === '/declared' && document.readyState === 'complete'"
_LOG = "document.getElementById('log').textContent"
_DIALOG = "document.getElementById('acting').textContent"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """ada is an admin, bob an operator, eve a viewer; the balancer of ``behind`` cannot be read."""
    with a_daemon(_MODEL) as daemon:
        daemon.start()
        daemon.settled(1, "web")
        assert daemon.trimtab("user", "init", "ada", "--anonymous", "viewer").code == 0
        for name, role in (("ada", ""), ("bob", "operator"), ("eve", "viewer")):
            assert not role or daemon.trimtab("user", "add", name, "--role", role).code == 0
            made = daemon.ask("PUT", f"/api/v1/users/{name}/password", {"password": _PASSWORD}, unix=True)
            assert made.status == 200, made
        yield daemon


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def logged_in(browser: Browser, daemon: Daemon, user: str) -> Page:
    page, here = browser.page(width=390, height=800), f"http://127.0.0.1:{daemon.port}"
    page.go(f"{here}/groups/web")
    if page.run("document.querySelector('.visitor span')?.textContent") != user:
        page.ask("Network.clearBrowserCookies")
        page.go(f"{here}/login?then=/groups/web")
        page.run(f"user.value = {user!r}, password.value = {_PASSWORD!r}")
        press(page, "form.login button")
    page.until("location.pathname === '/groups/web' && document.getElementById('live')?.textContent === 'live'")
    return page


@pytest.fixture
def page(daemon: Daemon, browser: Browser) -> Iterator[Page]:
    """bob's."""
    page = logged_in(browser, daemon, "bob")
    yield page
    page.close()


def at_size(daemon: Daemon, size: int) -> None:
    """Begin a test with so many members."""
    assert daemon.ask("PUT", "/api/v1/groups/web/size", {"size": size}, unix=True).status in {200, 202}
    daemon.settled(size, "web")


def press(page: Page, selector: str) -> None:
    """Press a button by keyboard."""
    button = f"document.querySelector({selector!r})"
    page.until(f"{button} && !{button}.disabled")
    page.run(f"{button}.focus()")
    page.press("Enter")


def enter(page: Page, size: int) -> None:
    page.until(f"document.querySelector({_SIZE!r})")
    page.run(
        f"(() => {{ const size = document.querySelector({_SIZE!r}); size.value = '{size}';"
        " size.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    page.until(f"document.querySelector({_BUTTON!r}).textContent === 'Scale to {size}'")


def choose(page: Page, label: str) -> None:
    found = f"[...document.querySelectorAll('#acting label')].find(each => each.textContent.trim() === {label!r})"
    page.until(found)
    page.run(f"{found}.click()")
    page.until(f"document.querySelector({_BUTTON!r}).textContent === {label!r}")


def carry_out(page: Page, words: str) -> None:
    """Confirm, read the answer, and close."""
    press(page, _BUTTON)
    page.until(f"document.querySelector('#acting .answer.done')?.textContent.includes({words!r})")
    press(page, _CANCEL)
    page.until("!document.getElementById('acting').open")


def test_a_size_says_what_it_does_and_then_shows_by_itself(daemon: Daemon, page: Page) -> None:
    at_size(daemon, 1)
    press(page, "#act-scale")
    enter(page, 3)
    assert "Desired size 1 → 3, bounds 1–5." in page.run(_DIALOG)
    assert "2 members more; each serves once it is ready." in page.run(_DIALOG)
    assert page.run("document.documentElement.scrollWidth") <= 390
    page.run("document.querySelector('#acting [name=because]').value = 'for the fair'")
    carry_out(page, "1 → 3")
    page.until("document.querySelectorAll('.members tbody tr').length === 3")
    page.until("document.querySelector('.figures b').textContent === '3'")
    assert page.run("document.activeElement.id") == "act-scale"
    assert not page.problems
    assert "for the fair" in daemon.ask("GET", "/api/v1/audit", unix=True).text


def test_a_refusal_is_reported_in_words_before_and_after(page: Page) -> None:
    press(page, "#act-scale")
    enter(page, 9)
    assert "this is refused: more than max" in page.run(_DIALOG)
    press(page, _BUTTON)
    page.until("document.querySelector('#acting .answer.refused')?.textContent.startsWith('Refused: more than max')")
    choose(page, "Force 9")
    assert [problem for problem in page.problems if "/groups/web/size" not in problem] == []


def test_a_size_that_another_person_changed_meanwhile_is_refused(daemon: Daemon, page: Page) -> None:
    at_size(daemon, 2)
    press(page, "#act-scale")
    enter(page, 4)
    at_size(daemon, 1)
    press(page, _BUTTON)
    page.until("document.querySelector('#acting .answer.refused')?.textContent.includes('has changed since')")


def test_a_group_is_paused_resumed_and_shielded(page: Page) -> None:
    press(page, "#act-pause")
    choose(page, "Pause everything")
    carry_out(page, "web is paused.")
    page.until(f"{_BADGE}.includes('paused')")
    press(page, "#act-pause")
    choose(page, "Resume")
    carry_out(page, "web is resumed.")
    page.until(f"!{_BADGE}.includes('paused')")
    press(page, "#act-freeze")
    choose(page, "Shield from scale-in")
    page.run("((each) => { each.value = '14400'; each.dispatchEvent(new Event('input', {bubbles: true})) })"
             "(document.querySelector('#acting select'))")  # fmt: skip
    page.until(f"{_DIALOG}.includes('For 4h no policy')")
    carry_out(page, "web: shield from scale-in for 4h.")
    page.until("document.querySelector('.figures').textContent.includes('Shielded')")
    assert not page.problems


def test_the_fleet_is_paused_with_a_reason_and_resumed(daemon: Daemon, page: Page) -> None:
    page.go(f"http://127.0.0.1:{daemon.port}/")
    press(page, "#act-fleet")
    choose(page, "Pause scale-in")
    page.run("document.querySelector('#acting [name=because]').value = 'until the fair is over'")
    carry_out(page, "Scale-in is paused: 2 groups.")
    page.until("document.querySelector('.fleet-pause')?.textContent.includes('until the fair is over')")
    press(page, "#act-fleet")
    choose(page, "Resume the fleet")
    carry_out(page, "The fleet is resumed.")
    page.until("!document.querySelector('.fleet-pause')")
    assert not page.problems


def test_a_pass_shows_its_steps_beforehand(daemon: Daemon, page: Page) -> None:
    at_size(daemon, 2)
    press(page, "#act-converge")
    page.until(f"{_DIALOG}.includes('converged: nothing to do')")
    carry_out(page, "The pass is done.")
    assert not page.problems


@pytest.mark.parametrize(
    ("status", "body", "same"),
    [
        (409, {"type": "/api/v1/problems#still-running", "detail": "ask again"}, True),
        (503, {"type": "/api/v1/problems#standby", "detail": "it may have been carried out"}, True),
        (504, None, True),
        (409, {"type": "/api/v1/problems#outcome-unknown", "detail": "look"}, False),
        (409, {"type": "/api/v1/problems#refused", "detail": "no"}, False),
    ],
    ids=["under way", "not known", "a proxy gives up", "never again", "refused"],
)
def test_what_may_be_under_way_is_asked_again_by_the_same_key(
    page: Page, status: int, body: dict[str, str] | None, *, same: bool
) -> None:
    press(page, "#act-converge")
    page.until(f"{_DIALOG}.includes('A pass is made now')")
    page.run(
        "(() => { window.keys = []; const asked = window.fetch; window.fetch = (path, given) => {"
        " if (given.method !== 'POST') return asked(path, given); keys.push(given.headers['Idempotency-Key']);"
        f" return Promise.resolve(new Response({json.dumps('<html>' if body is None else json.dumps(body))},"
        f" {{status: {status}}})); }} }})()"
    )
    for times in (1, 2):
        press(page, _BUTTON)
        page.until(f"keys.length === {times} && !document.querySelector({_BUTTON!r}).disabled")
    assert page.run("keys[0] === keys[1]") is same
    assert not page.problems


def test_a_member_is_protected_through_ticks_and_set_free(daemon: Daemon, page: Page) -> None:
    at_size(daemon, 2)
    page.until("document.querySelectorAll('.members tbody tr').length === 2")
    press(page, "tr[data-member] button")
    choose(page, "Protect")
    assert "Evict" not in page.run(_DIALOG)
    carry_out(page, "No scale-in chooses")
    page.until("document.querySelector('.members').textContent.includes('protected')")
    page.until("document.activeElement.id.startsWith('act-on-')")
    press(page, "tr[data-member] button")
    choose(page, "End protection")
    carry_out(page, "may choose")
    page.until("!document.querySelector('.members').textContent.includes('protected')")
    assert not page.problems


def test_a_member_s_page_shows_its_log_by_keyboard_and_without_a_script(daemon: Daemon, browser: Browser) -> None:
    page = logged_in(browser, daemon, "bob")
    page.close()
    page, here = browser.page(width=390, height=800, script=False), f"http://127.0.0.1:{daemon.port}"
    page.go(f"{here}/groups/web")
    press(page, "tr[data-member] th a")
    page.until("document.querySelector('section[aria-label=History]')?.textContent.includes('create: done')")
    page.run("document.querySelector('[name=lines]').value = '50'")
    press(page, "#log button")
    page.until("document.querySelector('#log pre')")
    assert page.run("document.querySelector('#log pre').textContent") == "ready <now>"
    assert page.run("document.querySelector('[name=lines]').value") == "50"
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert not page.problems
    page.close()
    assert "read_log" in daemon.ask("GET", "/api/v1/audit", unix=True).text


def test_a_roll_with_nothing_to_replace_says_so_before_and_after(page: Page) -> None:
    press(page, "#act-roll")
    page.until(f"{_DIALOG}.includes('nothing is replaced')")
    carry_out(page, "no member is left to replace")
    assert not page.problems


def test_whatever_a_dialog_has_is_named_for_people_who_cannot_see_it(page: Page) -> None:
    press(page, "tr[data-member] button")
    choose(page, "Replace")
    nodes = [node for node in page.ask("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    named = {node["role"]["value"]: node["name"]["value"] for node in nodes if "name" in node}
    assert named["dialog"].endswith(" of web")
    assert {"radio", "textbox", "button"} <= named.keys()
    used = [node for node in nodes if node["role"]["value"] in {"radio", "textbox", "button", "dialog", "group"}]
    assert [node for node in used if not node["name"]["value"].strip()] == []


@pytest.mark.skipif(not AXE.exists(), reason=MISSING)
def test_no_page_breaks_a_rule_of_wcag_at_level_aa(daemon: Daemon, browser: Browser) -> None:
    page, found = logged_in(browser, daemon, "ada"), {}
    for path in ("/", "/groups/web", "/groups/behind", "/groups/web/setup", "/groups/web/tune",
                 "/declared", "/declared/groups/new",
                 "/declared/revisions",
                 "/garbage", "/webhooks", "/users", "/users/ada", "/audit", "/tokens", "/password"):  # fmt: skip
        for scheme in ("light", "dark") if path in ("/", "/groups/web", "/audit") else ("light",):
            page.ask("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            page.go(f"http://127.0.0.1:{daemon.port}{path}")
            if path == "/groups/behind":
                page.until("document.querySelector('.members')?.textContent.includes('unreadable')")
            found[path, scheme] = broken_rules(page)
    page.go(f"http://127.0.0.1:{daemon.port}/groups/web")
    page.go(page.run("document.querySelector('tr[data-member] th a').href"))
    press(page, "#log button")
    page.until("document.querySelector('#log pre')")
    found["a member", "light"] = broken_rules(page)
    page.run("document.querySelector('main').append(document.createElement('img'))")
    assert [rule.partition(":")[0] for rule in broken_rules(page)] == ["image-alt"], "what is broken is found"
    page.close()
    assert {where: rules for where, rules in found.items() if rules} == {}


def test_a_viewer_is_offered_nothing(daemon: Daemon, browser: Browser) -> None:
    page = logged_in(browser, daemon, "eve")
    assert page.run("document.querySelectorAll('.acts, dialog, .members button').length") == 0
    assert page.run("[...document.scripts].some(script => script.src.includes('acts.js'))") is False
    page.go(page.run("document.querySelector('tr[data-member] th a').href"))
    assert "It takes a person who is logged in with the role operator" in page.run(_LOG)
    assert page.run("document.querySelectorAll('main form').length") == 0
    assert not page.problems
    page.close()


# Declaring


def declare(
    page: Page, here: str, section: str, name: str, fields: dict[str, str], chosen: tuple[str, ...] = ()
) -> None:
    """Fill in the form of a new entity, and send it."""
    page.go(f"{here}/declared/{section}/new")
    send(page, {"name": name, **fields}, chosen)
    page.until(_SENT)


def send(page: Page, fields: dict[str, str], chosen: tuple[str, ...] = ()) -> None:
    """Fill in a form, choosing by what is read beside a box or in a list, and press its button."""
    for field, text in fields.items():
        page.run(
            f"(() => {{ const field = document.querySelector('form.declared [name={json.dumps(field)}]');"
            f" const option = [...(field.options || [])].find(each => each.text === {json.dumps(text)});"
            f" field.value = option ? option.value : {json.dumps(text)}; }})()"
        )
    for label in chosen:
        page.run(
            f"[...document.querySelectorAll('fieldset label')].find(each => each.textContent.trim() === {label!r})"
            ".querySelector('input').checked = true"
        )
    press(page, "form.declared button")


def path_of(page: Page, here: str, name: str) -> str:
    """Where the list leads to for an entity."""
    page.go(f"{here}/declared")
    return str(page.run(f"[...document.querySelectorAll('th a')].find(each => each.text === {name!r}).pathname"))


def opened(page: Page, here: str, name: str) -> None:
    page.go(here + path_of(page, here, name))


def delete(page: Page, here: str, name: str) -> None:
    opened(page, here, name)
    page.run("(document.querySelector('[name=members]') || {}).checked = true")
    press(page, "button[value=delete]")
    page.until(_SENT)


def configured(page: Page, here: str) -> None:
    """Counters, conditions, policies and a profile, and a group of them whose first form is refused."""
    declare(page, here, "counters", "load", {"source": "push", "source.value": "LOAD", "range": "0, 100"})
    for name, comparison, number in (("high", "above", "80"), ("low", "below", "20")):
        fields = {"counter": "load", "comparison": comparison, "comparison.value": number}
        declare(page, here, "conditions", name, fields)
    for name, when, change in (("grow", "high", "add"), ("shrink", "low", "remove")):
        fields = {"change": change, "change.value": "1", "duration": "1m"}
        declare(page, here, "policies", name, fields, (when,))
    declare(page, here, "profiles", "played", {"cloud": "sim"})
    fields = {"profile": "played", "min": "1", "max": "x", "interval": "1s", "drain": "0s"}
    page.go(f"{here}/declared/groups/new")
    send(page, {"name": "shop", **fields}, ("grow", "shrink"))
    page.until("document.querySelector('[role=alert]')?.textContent.includes('max')")
    assert page.run("document.querySelector('[name=profile]').value").startswith("played"), (
        "what was sent is still there"
    )
    send(page, {"max": "2"})
    page.until(_SENT)


def test_a_group_is_configured_edited_while_disabled_enabled_and_deleted_without_a_script(
    daemon: Daemon, browser: Browser
) -> None:
    page, here = browser.page(width=390, height=800, script=False), f"http://127.0.0.1:{daemon.port}"
    page.ask("Network.clearBrowserCookies")
    page.go(f"{here}/login?then=/declared")
    page.run(f"user.value = 'ada', password.value = {_PASSWORD!r}")
    press(page, "form.login button")
    page.until("location.pathname === '/declared'")
    configured(page, here)
    shop = path_of(page, here, "shop").rpartition("/")[2]
    daemon.settled(1, shop)

    opened(page, here, "shop")
    press(page, "button[value=disable]")
    page.until("document.body?.textContent.includes('The group is disabled.')")
    send(page, {"max": "4"})
    page.until(_SENT)
    assert '"max": 4' in page.text()
    assert page.run("document.documentElement.scrollWidth") <= 390
    opened(page, here, "shop")
    press(page, "button[value=enable]")
    page.until("document.body?.textContent.includes('The group is enabled.')")

    opened(page, here, "load")
    press(page, "button[value=delete]")
    page.until("document.querySelector('[role=alert]')?.textContent.includes('conditions.high')")
    for name in ("shop", "grow", "shrink", "high", "low", "load", "played"):
        delete(page, here, name)
    assert "declared here, revision" not in page.text()
    assert not [each for each in page.problems if "409" not in each]
    page.close()
    until(lambda: daemon.ask("GET", f"/api/v1/groups/{shop}", unix=True).status == 404)  # its member has left
