"""`make run`: a daemon, real members, short days of load, and an end that leaves nothing behind."""

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
from handler.app import logs
from handler.app.run import Running, running
from handler.demo import fleet
from handler.demo.load import Day
from handler.demo.model import GROUP, SERVICE, declaration, haproxy_configuration
from handler.demo.outliving import Outliving
from handler.demo.show import Frame, Screen, screen_for
from handler.demo.traffic import Traffic
from handler.status import MemberState
from handler.web.render import plain
from trigger.words import brief, say

_DAY = Day(length=165.0, low=25.0, high=150.0)
_DAYS_AT_MOST = 100
_READY_WITHIN = 60.0
_REPORT = "load.jsonl"
_WEB = GroupId(GROUP)


@dataclass(slots=True, kw_only=True)
class Report:
    """What one day came to."""

    sent: int = 0
    failed: int = 0
    p95: float | None = None
    rate: float = 0.0
    joined: bool = False
    """The day had begun before, under a daemon that was killed: where the fleet came from is not known."""
    sizes: list[int] = field(default_factory=list)
    """Members in service, once a second."""

    @property
    def good(self) -> bool:
        """Nothing failed, and the fleet followed the load there and back."""
        if self.failed or not self.sizes:
            return False
        return self.joined or max(self.sizes) > self.sizes[0] == self.sizes[-1]

    def words(self) -> str:
        """One line."""
        p95 = f", p95 {self.p95 * 1000:.0f} ms" if self.p95 is not None else ""
        sizes = (
            f"; from {self.sizes[0]} to {max(self.sizes)} and to {self.sizes[-1]} members in service"
            if self.sizes
            else ""
        )
        return f"{self.sent} requests, {self.failed} failed{p95}{sizes}"


async def run_demo(*, balancer: str, state: Path, port: int, once: bool, json: bool) -> int:
    """Run the demo until INT, TERM or HUP, or (``once``) until its first day is over; 0 if every day went well.

    Raises:
        Refused: HAProxy is asked for and not there, or another daemon holds the state directory.
    """
    file = state / "demo.yaml"
    if not await asyncio.to_thread(fleet.begin, declaration(balancer, state), file, state):
        await Traffic(state / _REPORT).stop()
    screen, began = screen_for(as_json=json), False
    with (state / "trimtab.log").open("a") as log:
        logs.configure(stream=log)
        async with _balancer(balancer, state):
            try:
                async with running(file, state, port=port) as daemon:
                    began = True
                    well = await _shown(daemon, screen, once=once)
            finally:
                screen.close()
                if began:  # else the fleet belongs to somebody else
                    await asyncio.to_thread(fleet.end, file, state)
    screen.say("ended; nothing is left running")
    return 0 if well else 1


async def _shown(daemon: Running, screen: Screen, *, once: bool) -> bool:
    state = daemon.directory.path
    traffic, near = Traffic(state / _REPORT), _seen_from_here(state)
    screen.say(f"console and API on http://127.0.0.1:{daemon.port}; Ctrl-C ends it")
    screen.say(f"in another terminal: .venv/bin/trimtab why {GROUP} --state {near}")
    try:
        return await _days(daemon, screen, traffic, once=once)
    finally:
        await traffic.stop()


def _seen_from_here(path: Path) -> Path:
    """As short as it can be typed."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


async def _days(daemon: Running, screen: Screen, traffic: Traffic, *, once: bool) -> bool:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    well = True
    for _ in range(1 if once else _DAYS_AT_MOST):
        day = asyncio.create_task(_one_day(daemon, screen, traffic))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({day, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not day.done():
            day.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await day
            screen.close()
            screen.say("ending the demo fleet …")
            break
        stopped.cancel()
        report = day.result()
        well = well and report.good
        screen.say(f"the day is over: {report.words()}")
    return well


async def _one_day(daemon: Running, screen: Screen, traffic: Traffic) -> Report:
    report = Report(joined=traffic.under_way)
    showing = asyncio.create_task(_show(daemon, screen, report))
    try:
        await _settled(daemon)
        report.sizes.clear()
        await _drive(traffic, report)
        return report
    finally:
        showing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await showing


async def _settled(daemon: Running) -> None:
    """Wait until the fleet that the day begins with is in service."""
    for _ in range(round(_READY_WITHIN / 0.2)):
        status = daemon.desk.group(_WEB)
        serving = sum(member.state is MemberState.IN_SERVICE for member in status.members)
        if status.desired is not None and serving >= status.desired:
            return
        await asyncio.sleep(0.2)
    raise Refused(f"the demo fleet did not come up within {_READY_WITHIN:.0f} s: see {daemon.directory.path / 'logs'}")


async def _drive(traffic: Traffic, report: Report) -> None:
    """Run the load in a process of its own, so that it and the daemon do not wait for each other."""
    target = f"{SERVICE[0]}:{SERVICE[1]}"
    options = ["--day", f"{_DAY.length}s", "--low", str(_DAY.low), "--high", str(_DAY.high), "--report", "1s"]
    async for told in traffic.day("--target", target, *options):
        report.sent, report.failed = told["sent"], told["failed"]
        report.p95, report.rate = told["p95"], told["rate"]


async def _show(daemon: Running, screen: Screen, report: Report) -> None:
    while True:
        status = daemon.desk.group(_WEB)
        report.sizes.append(sum(member.state is MemberState.IN_SERVICE for member in status.members))
        explanation = daemon.engine.rooms[_WEB].explanation
        now = daemon.engine.parts.clock().wall
        shown: Any = plain(status)
        events: Any = plain(await daemon.desk.history(_WEB, before=None, limit=100))
        screen.show(
            Frame(
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
async def _balancer(kind: str, state: Path) -> AsyncIterator[None]:
    """Run HAProxy for the demo, if that is what it is to use: the one that is there, after a demo that was killed."""
    haproxy = Outliving(state / "haproxy.log")
    if kind == "haproxy":
        (state / "haproxy.cfg").write_text(haproxy_configuration(state))
        haproxy.start([_haproxy(), "-db", "-f", str(state / "haproxy.cfg")])
    else:
        await haproxy.stop()
    try:
        yield
    finally:
        await haproxy.stop()


def _haproxy() -> str:
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is None:
        raise Refused("haproxy is not on the PATH; on Debian: apt-get install haproxy, or run without BALANCER=haproxy")
    return program
