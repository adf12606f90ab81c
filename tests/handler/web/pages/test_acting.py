"""Persons act from a group's page in a real browser, by keyboard and on a phone's width."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chromium import Browser, Page, running_chromium
from tests.support.daemon import Daemon, a_daemon

pytestmark = pytest.mark.real("chromium")

_PASSWORD = "correct horse battery"
_MODEL = """\
clouds: {box: {process: {}}}
profiles: {app: {cloud: box, command: [sleep, "3600"]}}
groups:
  web: {profile: app, min: 1, max: 5, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, quiet_time: 0s}
"""
_BUTTON, _CANCEL, _SIZE = "#acting [name=carry-out]", "#acting [name=cancel]", "#acting [name=size]"
_BADGE = "document.querySelector('h1 .badge').textContent"
_DIALOG = "document.getElementById('acting').textContent"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """ada is an admin, bob an operator, eve a viewer."""
    with a_daemon(_MODEL) as daemon:
        daemon.start()
        daemon.settled(1, "web")
        assert daemon.trimtab("user", "init", "ada", "--anonymous", "viewer").code == 0
        for name, role in (("bob", "operator"), ("eve", "viewer")):
            assert daemon.trimtab("user", "add", name, "--role", role).code == 0
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
    assert [problem for problem in page.problems if "/groups/web/size" not in problem] == []


def test_a_size_that_another_person_changed_meanwhile_is_refused(daemon: Daemon, page: Page) -> None:
    at_size(daemon, 2)
    press(page, "#act-scale")
    enter(page, 4)
    at_size(daemon, 1)
    press(page, _BUTTON)
    page.until("document.querySelector('#acting .answer.refused')?.textContent.includes('has changed since')")


def test_a_group_is_paused_and_resumed(page: Page) -> None:
    press(page, "#act-pause")
    choose(page, "Pause everything")
    carry_out(page, "web is paused.")
    page.until(f"{_BADGE}.includes('paused')")
    press(page, "#act-pause")
    choose(page, "Resume")
    carry_out(page, "web is resumed.")
    page.until(f"!{_BADGE}.includes('paused')")
    assert not page.problems


def test_a_pass_shows_its_steps_beforehand(daemon: Daemon, page: Page) -> None:
    at_size(daemon, 2)
    press(page, "#act-converge")
    page.until(f"{_DIALOG}.includes('converged: nothing to do')")
    carry_out(page, "The pass is done.")
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


def test_a_viewer_is_offered_nothing(daemon: Daemon, browser: Browser) -> None:
    page = logged_in(browser, daemon, "eve")
    assert page.run("document.querySelectorAll('.acts, dialog, .members button').length") == 0
    assert page.run("[...document.scripts].some(script => script.src.includes('acts.js'))") is False
    assert not page.problems
    page.close()
