"""`make run`: a daemon, real members, short days of load, and an end that leaves nothing running."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.errors import Refused
from config.units import GroupId
from handler import logs
from handler.daemon.run import Running, running
from handler.demo import fleet
from handler.demo.ending import Outliving
from handler.demo.load import Day
from handler.demo.model import GROUP, declaration, haproxy_configuration
from handler.demo.place import HOST, DemoPlace, require_free
from handler.demo.report import Report, UnexpectedEnds, ending_lines, exit_code
from handler.demo.show import DemoView, Screen, screen_for
from handler.demo.traffic import DemoTraffic
from handler.planning.status import MemberState
from handler.runtime import clock
from handler.web.render import plain
from trigger.explain.words import brief, say

_DAY = Day(length=165.0, low=25.0, high=150.0)
_DAYS_AT_MOST = 100
_READY_WITHIN = 60.0
_TRIES, _BETWEEN_TRIES = 10, 0.1
_REPORT = "load.jsonl"
_WEB = GroupId(GROUP)


@dataclass(slots=True, kw_only=True)
class _Demo:
    """One run of the demo, from its start to its end."""

    place: DemoPlace
    balancer: str
    screen: Screen
    stop: asyncio.Event
    """Set by INT, TERM and HUP: the demo then ends in order, at any stage."""
    began: float
    """When it started, by the wall clock: earlier history is that of a demo that was killed."""
    days: list[Report] = field(default_factory=list)
    losses: UnexpectedEnds = field(default_factory=UnexpectedEnds)

    @property
    def file(self) -> Path:
        """The path of the declaration."""
        return self.place.state / "demo.yaml"

    @property
    def traffic(self) -> DemoTraffic:
        """The load."""
        return DemoTraffic(self.place.state / _REPORT)


async def run_demo(*, balancer: str, place: DemoPlace, once: bool, json: bool) -> int:
    """Run the demo until INT, TERM or HUP, or (``once``) until its first day is over; return 0 if it went well.

    Raises:
        Refused: HAProxy is missing, a port is taken, or another daemon holds the state directory.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if place.console:
        require_free(place.console, "console")
    haproxy = _haproxy() if balancer == "haproxy" else ""
    alive = await asyncio.to_thread(fleet.begin, declaration(balancer, place), place.state / "demo.yaml", place.state)
    if not alive:
        await DemoTraffic(place.state / _REPORT).stop()
        await _edge(place).stop()
        await _freed(place.load)
    demo = _Demo(
        place=place, balancer=balancer, screen=screen_for(as_json=json, lost=stop.set), stop=stop, began=clock.wall()
    )
    with (place.state / "trimtab.log").open("a") as log:
        logs.configure(stream=log)
        try:
            async with _balancer(haproxy, place):
                stay = await _run(demo, once=once)
        finally:
            demo.screen.close()
    return _ending(demo, stay)


async def _freed(port: int) -> None:
    """Wait a moment until the load's port is free: a listener that is ending holds it until it has ended.

    Raises:
        Refused: another program has it.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(Refused):
            return require_free(port, "load")
        await asyncio.sleep(_BETWEEN_TRIES)
    return require_free(port, "load")


async def _run(demo: _Demo, *, once: bool) -> tuple[str, ...]:
    """Run the daemon and its days, then end the fleet; return the names of members that did not end."""
    began = False
    try:
        async with running(demo.file, demo.place.state, port=demo.place.console) as daemon:
            began = True
            await _shown(daemon, demo, once=once)
    finally:
        stay = await asyncio.to_thread(fleet.end, demo.file, demo.place.state) if began else ()
    return stay


def _ending(demo: _Demo, stay: tuple[str, ...]) -> int:
    """Print how the demo ended; return its exit code."""
    stopped = demo.stop.is_set()
    for line in ending_lines(demo.days, demo.losses.members, stopped=stopped):
        demo.screen.say(line)
    demo.screen.say(f"ended; still running: {', '.join(stay)}" if stay else "ended; nothing is left running")
    return 1 if stay else exit_code(demo.days, stopped=stopped)


async def _shown(daemon: Running, demo: _Demo, *, once: bool) -> None:
    near = _seen_from_here(demo.place.state)
    try:
        demo.screen.say(
            f"console and API on http://{HOST}:{daemon.port}, load on port {demo.place.load}; Ctrl-C ends it"
        )
        demo.screen.say(f"in another terminal: .venv/bin/trimtab why {GROUP} --state {near}")
        await _days(daemon, demo, once=once)
    finally:
        await demo.traffic.stop()


def _seen_from_here(path: Path) -> Path:
    """Return the path in its shortest form from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


async def _days(daemon: Running, demo: _Demo, *, once: bool) -> None:
    for _ in range(1 if once else _DAYS_AT_MOST):
        report = Report(joined=demo.traffic.under_way)
        demo.days.append(report)
        day = asyncio.create_task(_one_day(daemon, demo, report))
        stopped = asyncio.create_task(demo.stop.wait())
        await asyncio.wait({day, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not day.done():
            day.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await day
            demo.screen.close()
            demo.screen.say("ending the demo fleet …")
            break
        stopped.cancel()
        day.result()
        demo.screen.say(f"the day is over: {report.words()}")


async def _one_day(daemon: Running, demo: _Demo, report: Report) -> None:
    showing = asyncio.create_task(_show(daemon, demo, report))
    try:
        await _settled(daemon)
        report.sizes.clear()
        await _drive(demo, report)
    finally:
        showing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await showing


async def _settled(daemon: Running) -> None:
    """Wait until the day's first members are in service."""
    for _ in range(round(_READY_WITHIN / 0.2)):
        status = daemon.operations.group(_WEB)
        serving = sum(member.state is MemberState.IN_SERVICE for member in status.members)
        if status.desired is not None and serving >= status.desired:
            return
        await asyncio.sleep(0.2)
    raise Refused(f"the demo fleet did not come up within {_READY_WITHIN:.0f} s: see {daemon.directory.path / 'logs'}")


async def _drive(demo: _Demo, report: Report) -> None:
    """Run the load in a process of its own, so that it and the daemon do not wait for each other."""
    target = f"{HOST}:{demo.place.load}"
    options = ["--day", f"{_DAY.length}s", "--low", str(_DAY.low), "--high", str(_DAY.high), "--report", "1s"]
    async for figures in demo.traffic.day("--target", target, *options):
        report.sent, report.failed = figures["sent"], figures["failed"]
        report.p95, report.rate = figures["p95"], figures["rate"]


async def _show(daemon: Running, demo: _Demo, report: Report) -> None:
    while True:
        status = daemon.operations.group(_WEB)
        report.sizes.append(sum(member.state is MemberState.IN_SERVICE for member in status.members))
        explanation = daemon.engine.runtimes[_WEB].explanation
        now = daemon.engine.parts.clock().wall
        shown: Any = plain(status)
        events: Any = plain(await daemon.operations.history(_WEB, before=None, limit=100))
        demo.losses.note(event for event in events if event["at"] >= demo.began)
        demo.screen.show(
            DemoView(
                at=now,
                group=shown,
                words=say(explanation, now) if explanation else ("waiting for the first listing",),
                brief=brief(explanation) if explanation else "waiting for the first listing",
                events=events,
                rate=report.rate,
                sent=report.sent,
                failed=report.failed,
                p95=report.p95,
            )
        )
        await asyncio.sleep(1.0)


@contextlib.asynccontextmanager
async def _balancer(program: str, place: DemoPlace) -> AsyncIterator[None]:
    """Run HAProxy for the demo if a program is given; go on with the one that a killed demo left."""
    haproxy = _edge(place)
    if program:
        if not haproxy.under_way:
            require_free(place.load, "load")
        (place.state / "haproxy.cfg").write_text(haproxy_configuration(place))
        haproxy.start([program, "-db", "-f", str(place.state / "haproxy.cfg")])
    else:
        await haproxy.stop()
    try:
        yield
    finally:
        await haproxy.stop()


def _edge(place: DemoPlace) -> Outliving:
    """The demo's HAProxy, running or not."""
    return Outliving(place.state / "haproxy.log")


def _haproxy() -> str:
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is None:
        raise Refused("haproxy is not on the PATH; on Debian: apt-get install haproxy, or run without BALANCER=haproxy")
    return program
