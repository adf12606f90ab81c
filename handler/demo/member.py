"""A worker to scale: serves HTTP with a few slots and a fixed service time, and answers SNMP about itself.

    python -m handler.demo.member --slots 3 --service-time 100ms --listener edge --snmp-port 1161 --health-port 8081

``GET /`` takes a slot for the service time. ``GET /healthz`` answers 503 until everything is up, then 200.
Its environment has its settings: ``TRIMTAB_ADDRESS``, ``TRIMTAB_MEMBER``, ``TRIMTAB_STATE``, ``SNMP_COMMUNITY``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import os
import platform
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from config.units import Seconds, parse_span
from handler.balancers.shared_listener.member import keep_registered
from handler.demo.http import MemberHttpServer, Response
from handler.demo.meters import Busy, Trailing

if TYPE_CHECKING:
    from handler.demo.agent import MibTable

_WINDOW: Seconds = 2.0
_CPU_EVERY: Seconds = 0.5
_FINISH_WITHIN: Seconds = 10.0
_BACKLOG = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptions:
    """A member's command line."""

    slots: int
    service_time: Seconds
    listener: str | None
    """Serve on the shared listener of this name."""
    listen: int | None
    """Serve on this port of the member's own address."""
    snmp_port: int
    health_port: int
    address: str
    name: str
    state: Path
    community: str


class Worker:
    """The slots, and the measurements of their use."""

    def __init__(self, slots: int, service_time: Seconds) -> None:
        self._service_time = service_time
        self._free = asyncio.Semaphore(slots)
        self._busy = Busy(slots, _WINDOW, at=time.monotonic())
        self._cpu = Trailing(_WINDOW, at=time.monotonic(), total=time.process_time())
        self._began = time.monotonic()
        self.requests = 0
        self.ready = False

    async def answer(self, path: str) -> Response:
        """Answer one request."""
        if path == "/healthz":
            return Response(body="ok\n") if self.ready else Response(status=HTTPStatus.SERVICE_UNAVAILABLE)
        if path != "/":
            return Response(status=HTTPStatus.NOT_FOUND)
        async with self._free:
            self._busy.take(time.monotonic())
            try:
                await asyncio.sleep(self._service_time)
            finally:
                self._busy.give(time.monotonic())
        self.requests += 1
        return Response(body="done\n")

    async def watch_cpu(self) -> None:
        """Read the process's own CPU time at intervals, until cancelled."""
        while True:
            await asyncio.sleep(_CPU_EVERY)
            self._cpu.add(time.monotonic(), time.process_time())

    def table(self, name: str) -> MibTable:
        """Return the objects for SNMP."""
        from handler.demo import agent

        return agent.MibTable(
            {
                agent.SYS_DESCR: lambda: agent.text(f"Trimtab demo member {name} on {platform.system()}"),
                agent.SYS_UP_TIME: lambda: agent.ticks(time.monotonic() - self._began),
                agent.BUSY_PERCENT: lambda: agent.gauge(self._busy.percent(time.monotonic())),
                agent.REQUESTS: lambda: agent.counter64(self.requests),
                agent.CPU_PERCENT: lambda: agent.gauge(min(100.0 * self._cpu.rate(), 100.0)),
            }
        )


async def run(options: MemberOptions) -> None:
    """Serve until SIGTERM (or SIGINT); then accept no more connections, and finish the open ones.

    Raises:
        OSError: an address cannot be bound.
    """
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    worker = Worker(options.slots, options.service_time)
    health, service = MemberHttpServer(worker.answer), _service(worker, options)
    with contextlib.ExitStack() as closing:
        closing.callback(health.close)
        health.open(_listen(options.address, options.health_port))
        closing.callback(service.close)
        if options.listen is not None:
            service.open(_listen(options.address, options.listen))
        closing.callback(await _open_agent(worker, options))
        worker.ready = True
        await _until(stopping, worker.watch_cpu(), *_registrations(service, options))
        service.close(last_call=options.listen is not None)
        await service.finished(within=_FINISH_WITHIN)


async def _open_agent(worker: Worker, options: MemberOptions) -> Callable[[], None]:
    await asyncio.to_thread(importlib.import_module, "handler.demo.agent")
    from handler.demo.agent import open_agent

    return open_agent((options.address, options.snmp_port), options.community, worker.table(options.name))


async def _until(stopping: asyncio.Event, *background: Coroutine[None, None, None]) -> None:
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(coroutine) for coroutine in background]
        await stopping.wait()
        for task in running:
            task.cancel()


def _service(worker: Worker, options: MemberOptions) -> MemberHttpServer:
    """On a shared listener, accept no more than its slots: the rest waits in the queue for any member."""
    return MemberHttpServer(worker.answer, room=options.slots if options.listener is not None else None)


def _registrations(service: MemberHttpServer, options: MemberOptions) -> tuple[Coroutine[None, None, None], ...]:
    if options.listener is None:
        return ()

    async def start(listening: socket.socket) -> None:
        service.open(listening)

    async def stop() -> None:
        service.close()

    control = options.state / "listeners" / f"{options.listener}.sock"
    return (keep_registered(control, options.name, start=start, stop=stop, active=lambda: service.active),)


def _listen(address: str, port: int) -> socket.socket:
    return socket.create_server((address, port), backlog=_BACKLOG)


def _parsed(arguments: list[str]) -> MemberOptions:
    parser = argparse.ArgumentParser(prog="python -m handler.demo.member", description="A worker to scale.")
    parser.add_argument("--slots", type=int, default=3, help="requests at a time")
    parser.add_argument(
        "--service-time", type=parse_span, default=0.1, metavar="SPAN", help="time for each request, such as 100ms"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--listener", metavar="NAME", help="serve on the shared listener of this name")
    where.add_argument("--listen", type=int, metavar="PORT", help="serve on a port of the member's own address")
    parser.add_argument("--snmp-port", type=int, default=1161)
    parser.add_argument("--health-port", type=int, default=8081)
    return MemberOptions(
        **vars(parser.parse_args(arguments)),
        address=os.environ.get("TRIMTAB_ADDRESS", "127.0.0.1"),
        name=os.environ.get("TRIMTAB_MEMBER", "member"),
        state=Path(os.environ.get("TRIMTAB_STATE", ".")),
        community=os.environ.get("SNMP_COMMUNITY", "public"),
    )


def main() -> None:
    """Run as a program; exit 1 with one line if an address cannot be bound."""
    try:
        asyncio.run(run(_parsed(sys.argv[1:])))
    except OSError as error:
        sys.exit(f"member: {error}")


if __name__ == "__main__":
    main()
