"""The pages in a real browser: what it asks for, what it complains of, and what a person sees."""

from __future__ import annotations

import contextlib
import json
import re
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chromium import Browser, Page, PageLeft, running_chromium
from tests.support.daemon import TRIMTAB, Daemon, a_daemon

pytestmark = pytest.mark.real("chromium")

_GROUP = (
    "{profile: web, min: 1, max: 5, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, quiet_time: 0s, policies: [out]}"
)
_MODEL = f"""\
counters: {{load: {{snmp: 1.3.6.1.4.1.8072.9999.1.0, range: [0, 100]}}}}
conditions: {{high: {{counter: load, above: 80}}}}
policies: {{out: {{when: [high], add: 5, quiet_time: 1h}}}}
clouds: {{local: {{process: {{}}, budget: {{outstanding: 50, per_hour: 500}}}}}}
profiles: {{web: {{cloud: local, command: [sleep, "3600"], snmp: {{port: 1}}}}}}
groups: {{web: {_GROUP}, other: {_GROUP}, last: {_GROUP}}}
"""
_IS_LIVE = "document.getElementById('live').textContent === 'live'"
_USED = {"link", "button", "searchbox", "textbox", "combobox", "img", "image"}
_HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    with a_daemon(_MODEL) as daemon:
        yield daemon.start()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def scale(daemon: Daemon, group: str, size: int) -> None:
    answer = daemon.ask(
        "PUT", f"/api/v1/groups/{group}/size", {"size": size}, unix=True, headers={"X-Trimtab-User": _HOSTILE}
    )
    assert answer.status == 202, answer
    daemon.settled(size, group)


def restarted(daemon: Daemon) -> None:
    """Run the daemon again, where it was reached before."""
    with daemon.log.open("ab") as log:
        command = [TRIMTAB, "run", daemon.file, "--state", daemon.state, "--port", str(daemon.port)]
        daemon.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def image(path: Path) -> tuple[int, int, int]:
    """Width, height, and how many different rows of pixels a PNG has."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, colour = struct.unpack(">IIBB", content[16:26])
    place, packed = 8, b""
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        if content[place + 4 : place + 8] == b"IDAT":
            packed += content[place + 8 : place + 8 + length]
        place += 12 + length
    rows = zlib.decompress(packed)
    wide = 1 + width * {2: 3, 6: 4}[colour] * depth // 8
    return width, height, len({rows[start : start + wide] for start in range(0, len(rows), wide)})


def settled(page: Page, daemon: Daemon, path: str) -> Page:
    page.go(f"http://127.0.0.1:{daemon.port}{path}")
    page.until(_IS_LIVE)
    return page


@pytest.mark.parametrize(
    ("width", "dark"), [(390, False), (390, True), (1200, False), (1200, True)],
    ids=["phone, light", "phone, dark", "wide, light", "wide, dark"],
)  # fmt: skip
def test_the_pages_show_without_an_error_and_load_nothing_from_elsewhere(
    daemon: Daemon, browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    daemon.settled(1, "last")
    for path in ("/", "/groups/last"):
        page = settled(browser.page(width=width, height=800, dark=dark), daemon, path)
        page.screenshot(tmp_path / "shown.png")
        shown_width, shown_height, rows = image(tmp_path / "shown.png")
        assert (shown_width, shown_height) == (width, 800)
        assert rows > 100
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.run("matchMedia('(prefers-color-scheme: dark)').matches") is dark
        assert not page.problems
        own = (f"http://127.0.0.1:{daemon.port}/", "data:")  # the browser draws icons of its fields from such
        assert [url for url in page.requests if not url.startswith(own)] == []
        page.close()


def test_a_resize_shows_by_itself_and_its_author_cannot_inject_text(daemon: Daemon, browser: Browser) -> None:
    daemon.settled(1, "web")
    page = settled(browser.page(), daemon, "/groups/web")
    overview = settled(browser.page(), daemon, "/")
    scale(daemon, "web", 3)
    page.until("document.querySelectorAll('.members tbody tr').length === 3")
    page.until("document.querySelector('.figures b').textContent === '3'")
    overview.until("document.querySelector('[data-name=web] .figure b').textContent === '3'")
    page.until("document.querySelector('.decisions').textContent.includes('scaled out 1 → 3')")
    assert _HOSTILE in page.text()
    assert page.run("document.querySelectorAll('img').length") == 0
    assert not page.problems
    page.close()
    overview.close()


def shown(page: Page) -> list[str]:
    """The groups that a person sees, from the top."""
    script = "[...document.querySelectorAll('.row')].filter(row => row.checkVisibility()).map(row => row.dataset.name)"
    return list(page.run(script))


def entered(page: Page, field: str, value: str) -> None:
    """Let a person enter a value."""
    page.run(
        f"(() => {{ const field = document.forms[0].elements.{field}; field.value = {value!r};"
        " field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def test_groups_are_searched_filtered_and_sorted_without_asking_for_the_page_again(
    daemon: Daemon, browser: Browser
) -> None:
    daemon.settled(1, "last")
    page = settled(browser.page(), daemon, "/")
    page.run("window.kept = true")
    entered(page, "q", "LAS")
    assert shown(page) == ["last"]
    assert page.run("document.getElementById('shown').textContent") == "1 of 3 shown"
    entered(page, "state", "deleting")
    assert shown(page) == []
    assert "No group fits." in page.text()
    assert page.run("location.search") == "?q=LAS&state=deleting"
    entered(page, "q", "")
    entered(page, "state", "")
    entered(page, "sort", "name")
    assert shown(page) == ["last", "other", "web"]
    assert page.run("location.search") == "?sort=name"
    assert page.run("window.kept")
    assert not page.problems
    page.close()


def test_what_was_chosen_stays_while_lines_change_one_by_one(daemon: Daemon, browser: Browser) -> None:
    daemon.settled(1, "last")
    page = settled(browser.page(), daemon, "/?sort=size")
    page.run("document.querySelector('#groups').seen = 'kept'")
    scale(daemon, "last", 4)
    page.until("document.querySelector('.row').dataset.name === 'last'")
    assert page.run("document.querySelector('#groups').seen") == "kept"
    assert page.run("document.forms[0].elements.sort.value") == "size"
    scale(daemon, "last", 1)
    page.close()


def test_whatever_can_be_used_has_a_name_for_people_who_cannot_see_it(daemon: Daemon, browser: Browser) -> None:
    daemon.settled(1, "last")
    for path in ("/", "/groups/last", "/groups/last/setup"):
        page = browser.page()
        page.go(f"http://127.0.0.1:{daemon.port}{path}")
        nodes = [node for node in page.ask("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
        used = [node for node in nodes if node["role"]["value"] in _USED]
        assert len(used) >= 3
        assert [node for node in used if not node["name"]["value"].strip()] == []
        page.close()


def test_a_form_chooses_where_no_script_runs(daemon: Daemon, browser: Browser) -> None:
    page = browser.page(script=False)
    page.go(f"http://127.0.0.1:{daemon.port}/?q=last")
    assert shown(page) == ["last"]
    page.run("document.forms[0].elements.q.value = 'other'")
    page.run("document.forms[0].querySelector('button').click()")
    page.until("location.search.startsWith('?q=other') && document.readyState === 'complete'")
    assert shown(page) == ["other"]
    assert not page.problems
    page.close()


def test_a_mark_is_reached_by_keyboard_and_keeps_the_focus_through_ticks(daemon: Daemon, browser: Browser) -> None:
    daemon.settled(1, "other")
    scale(daemon, "other", 2)
    page = settled(browser.page(), daemon, "/groups/other")
    page.until("document.querySelector('.lane a[data-title^=\"scaled out\"]')")
    page.run("document.querySelector('.plot').focus()")
    page.press("ArrowLeft")
    page.until("document.querySelector('.readout').textContent.includes('in service')")
    assert re.match(
        r"\d\d:\d\d:\d\d · in service [012] · desired [12]", page.run("document.querySelector('.readout').textContent")
    )
    page.until("document.activeElement.dataset.title?.startsWith('scaled out')", doing=lambda: page.press("Tab"))
    page.until("document.querySelector('.readout').textContent.includes('wants 2 members')")
    focused = page.run("document.activeElement.id")
    assert not page.problems
    page.run("window.before = document.querySelector('.lane')")
    page.until("window.before !== document.querySelector('.lane')")
    assert page.run("document.activeElement.id") == focused
    page.press("Enter")
    page.until("document.querySelector('.decisions li:target')")
    assert not page.problems
    page.close()


_SIZES_UNLESS_LEAVING = """\
JSON.stringify(window.leaving || location.search.startsWith('?from=')
  ? null : document.querySelector('#chart-sizes').getBoundingClientRect())"""


def drag_over_sizes(page: Page) -> None:
    """Unless a drag has succeeded: what stands above the chart may grow just then, and move it away from the mouse."""
    with contextlib.suppress(PageLeft):
        box = json.loads(page.run(_SIZES_UNLESS_LEAVING))
        if box is not None:
            page.drag(box, 0.6, 0.999)


def test_another_time_is_asked_for_by_a_link_or_by_dragging_and_stays_through_ticks(
    daemon: Daemon, browser: Browser
) -> None:
    daemon.settled(1, "last")
    page = settled(browser.page(), daemon, "/groups/last")
    page.run("[...document.querySelectorAll('.window a')].find(link => link.textContent === '1 h').click()")
    page.until("location.search === '?span=1h' && document.readyState === 'complete'")
    page.until(_IS_LIVE)
    looked_at = "location.search.startsWith('?from=') && document.readyState === 'complete'"
    page.run("addEventListener('beforeunload', () => { window.leaving = true })")
    page.until(looked_at, doing=lambda: drag_over_sizes(page))
    page.until(_IS_LIVE)
    chart = "JSON.parse(document.querySelector('[data-chart]').dataset.chart)"
    length = page.run(f"{chart}.end - {chart}.begin")
    assert 0.38 * 3600 < length < 0.42 * 3600
    page.run("window.before = document.querySelector('.members')")
    page.until("window.before !== document.querySelector('.members')")
    assert page.run(f"{chart}.end - {chart}.begin") == length
    assert not page.problems
    page.close()


def test_history_from_before_a_restart_is_shown(daemon: Daemon, browser: Browser) -> None:
    daemon.settled(1, "last")
    scale(daemon, "last", 4)
    scale(daemon, "last", 1)
    page = settled(browser.page(), daemon, "/groups/last")
    daemon.stop()
    page.until("document.getElementById('live').textContent.startsWith('not connected')")
    restarted(daemon)
    page.until(_IS_LIVE)
    page.go(f"http://127.0.0.1:{daemon.port}/groups/last?span=1h")
    sizes = "JSON.parse(document.querySelector('[data-chart]').dataset.chart).columns[1].values"
    assert 4 in page.run(sizes)
    page.close()


def test_the_page_is_complete_without_a_script(daemon: Daemon, browser: Browser) -> None:
    daemon.settled(1, "last")
    page = browser.page(script=False)
    page.go(f"http://127.0.0.1:{daemon.port}/groups/last")
    shown = page.text()
    for words in (
        "In service",
        "so the policy cannot fire",
        daemon.serving("last")[0],
        "the first complete listing sets the size",
        "load it again",
    ):
        assert words.lower() in shown.lower()
    assert page.run("document.querySelectorAll('svg.plot path').length") >= 1
    assert not any("/events" in url for url in page.requests)
    page.close()


def test_a_page_that_has_lost_its_daemon_says_so_and_finds_it_again(daemon: Daemon, browser: Browser) -> None:
    page = settled(browser.page(), daemon, "/groups/last")
    daemon.stop()
    page.until("document.getElementById('live').textContent.startsWith('not connected: this is how it was at')")
    assert page.run("document.body.classList.contains('off')")
    restarted(daemon)
    page.until(_IS_LIVE)
    assert not page.run("document.body.classList.contains('off')")
    page.close()
    daemon.settled(1, "last")
