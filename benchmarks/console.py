"""The console's first page with 1,000 groups of 100 members each, half an hour of sizes behind them, in Chromium.

A round begins with news of every group, so that the daemon makes every line anew. One group is grown over a cloud in
memory; the others are copies of what the daemon keeps of it, one in twenty of them in trouble.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.report.figures import ROUNDS, Figure, Measured, NotMeasured, at_most
from config.units import GroupId, Instant
from handler.daemon.serving import bind_tcp, bind_unix, serving
from handler.runtime.series import POINTS_AT_MOST
from tests.support.chromium import Page, running_chromium
from tests.support.engines import WEB, EngineBed, Up, model

_GROUPS, _MEMBERS = 1000, 100
_TROUBLED = 20
"""One of so many groups is in trouble."""
_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_ANSWERED = "performance.getEntriesByType('navigation')[0].responseEnd"
_LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
_SEARCHED = """\
(() => {
  const field = document.querySelector('input[name=q]'), began = performance.now();
  field.value = 'g7';
  field.dispatchEvent(new Event('input', {bubbles: true}));
  document.body.offsetHeight;
  return performance.now() - began;
})()"""


def run(part: int = 1) -> Iterator[Measured]:
    """Load the page once a round."""
    groups, members = _GROUPS // part, max(_MEMBERS // part, 2)
    what = f"the console's first page, {groups:,} groups of {members} members"
    if shutil.which("chromium") is None:
        yield NotMeasured(job=f"{what}: first paint", because="chromium is not installed")
        return
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        taken = asyncio.run(_rounds(Path(place), groups, members))
    spent, painted, answered, loaded, searched = zip(*taken, strict=True)
    yield Figure(job=f"{what}: first paint", unit="ms", samples=painted, goal=at_most(1000.0))
    yield Figure(job=f"{what}: the daemon's answer", unit="ms", samples=answered)
    yield Figure(job=f"{what}: the daemon's processor", unit="CPU-ms", samples=spent)
    yield Figure(job=f"{what}: loaded", unit="ms", samples=loaded)
    yield Figure(job=f"{what}: a search in it", unit="ms", samples=searched, goal=at_most(100.0))


async def _rounds(place: Path, groups: int, members: int) -> list[tuple[float, ...]]:
    bed = EngineBed(place, model(minimum=members, maximum=2 * members, interval="1h"))
    async with bed.running() as up, AsyncExitStack() as stack:
        await up.grown(members)
        _multiply(up, groups)
        tcp, unix = stack.enter_context(bind_tcp("127.0.0.1", 0)), stack.enter_context(bind_unix(place / "s"))
        await stack.enter_async_context(serving(up.operations, up.engine, unix, tcp, "token"))
        browser = stack.enter_context(running_chromium(place))
        taken = []
        for _ in range(ROUNDS):
            for group in up.operations.groups():
                up.operations.pulse.beat(group)
            cpu = time.process_time()
            looked = await asyncio.to_thread(_looked, browser.page(), tcp.getsockname()[1], groups)
            taken.append((1000 * (time.process_time() - cpu), *looked))
        return taken


def _multiply(up: Up, groups: int) -> None:
    """Let the daemon keep so many groups."""
    one, now = up.runtime, up.operations.now()
    for number in range(groups - 1):
        name = GroupId(f"g{number}")
        group = replace(one.definition.group, id=name)
        copied = replace(one, id=name, definition=replace(one.definition, group=group))
        if number % _TROUBLED == 0:
            copied.unrecorded = "the disk is full"
        up.engine.runtimes[name] = copied
    for runtime in up.engine.runtimes.values():
        series = up.engine.reports.recent.series(runtime)
        series.paced(3.0)
        for row in range(POINTS_AT_MOST):
            size = 50 + row // 40
            at = Instant(now - 3.0 * (POINTS_AT_MOST - row))
            series.sized(at, desired=size, in_service=size - row % 3, minimum=2, maximum=100)
    assert WEB in up.engine.runtimes


def _looked(page: Page, port: int, groups: int) -> tuple[float, ...]:
    page.go(f"http://127.0.0.1:{port}/")
    page.until(_FIRST_PAINT)
    page.until("document.getElementById('live').textContent === 'live'")
    assert page.run("document.querySelectorAll('.row').length") == groups
    taken = [float(page.run(each)) for each in (_FIRST_PAINT, _ANSWERED, _LOADED, _SEARCHED)]
    assert not page.problems, page.problems
    page.close()
    return tuple(taken)
