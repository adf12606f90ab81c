"""SNMP agents that do not answer beside those that do, and ten thousand agents for minutes: delays, losses, growth.

Real snmpd processes on loopback addresses, eight objects of each agent. ``SNMP_SOAK`` is the length of the last part in
seconds, 60 if not set.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.beside.machine import resident
from benchmarks.beside.snmp_agents import (
    INTERVAL,
    OIDS,
    asking,
    expect_whole,
    named_addresses,
    running_agents,
    settle,
)
from benchmarks.report.figures import Figure, Measured, once
from collector.samples import Reply
from config.model.access import SnmpAccess
from handler.daemon import connections
from tests.support.collector import rosters
from tests.support.waiting import scaled

_SOAK = float(os.environ.get("SNMP_SOAK", "60"))

Figures = Iterator[Measured]


def run(part: int = 1) -> Figures:
    """Leave one agent in ten silent first; then ask many agents for long."""
    connections.take_all_descriptors()  # as the daemon does: each agent has a socket
    some, many = max(1000 // part, 10), max(10_000 // part, 10)
    with tempfile.TemporaryDirectory() as place, running_agents(Path(place), some) as port:
        yield from asyncio.run(_silence(port, some // 10))
    with tempfile.TemporaryDirectory() as place, running_agents(Path(place), many) as port:
        yield from asyncio.run(_soak(port, many, _SOAK / part, INTERVAL / part))


# Silence


async def _silence(port: int, deaf_ones: int) -> Figures:
    """One agent in ten does not answer: a socket is open there, and no program reads it."""
    deadline = scaled(4.0)
    loud = named_addresses(9 * deaf_ones)
    silent = {f"s{number:05}": f"127.34.0.{number + 1}" for number in range(deaf_ones)}
    with contextlib.ExitStack() as deaf:
        for address in silent.values():
            opened = deaf.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            opened.bind((address, port))
        last: dict[str, list[float]] = {"alone": [], "beside": []}
        longest = 0.0
        poller, catalogue = asking(SnmpAccess(port=port))
        for _ in range(5):
            for what, members in (("alone", loud), ("beside", {**loud, **silent})):
                began = time.monotonic()
                scrape = await poller.poll(catalogue, rosters(members), timeout=deadline)
                longest = max(longest, time.monotonic() - began)
                answered = scrape.replied_at[scrape.reply == Reply.OK]
                assert answered.size == len(loud) * len(OIDS)
                last[what].append(float(answered.max()) - began)
        await poller.close()
    job = f"{len(loud)} agents answer, the last after"
    both = f"{job}, with {len(silent)} silent ones beside them"
    return iter(
        [
            Figure(job=job, unit="ms", samples=tuple(each * 1e3 for each in last["alone"])),
            Figure(job=both, unit="ms", samples=tuple(each * 1e3 for each in last["beside"])),
            once(f"{both}: longest cycle with a deadline of {deadline:g} s", longest, "s"),
        ]
    )


# For minutes


async def _soak(port: int, agents: int, seconds: float, interval: float) -> Figures:
    """Many agents every 15 s; what has grown since the end of the first minute is growth."""
    poller, catalogue = asking(SnmpAccess(port=port))
    listed = rosters(named_addresses(agents))
    expect_whole(await poller.poll(catalogue, listed, timeout=INTERVAL))
    settle()
    cycles, warm = max(3, int(seconds / interval)), min(4, max(1, int(seconds / interval) // 2))
    late = lost = 0
    longest = 0.0
    settled = (0, 0.0)
    began, used = time.monotonic(), time.process_time()
    for number in range(cycles):
        started = time.monotonic()
        scrape = await poller.poll(catalogue, listed, timeout=INTERVAL)
        took = time.monotonic() - started
        longest, late = max(longest, took), late + (took > interval)
        lost += int((scrape.reply != Reply.OK).sum())
        if number + 1 == warm:
            settled = _descriptors(), resident()
        await asyncio.sleep(max(began + (number + 1) * interval - time.monotonic(), 0.0))
    cost = (time.process_time() - used) / (cycles * agents) * 1000
    grown = _descriptors() - settled[0], resident() - settled[1]
    await poller.close()
    job = f"{agents:,} agents every {interval:g} s for {cycles * interval:g} s"
    return iter(
        [
            once(f"{job}: 1,000 polls", cost, "CPU-s"),
            once(f"{job}: longest cycle", longest, "s"),
            once(f"{job}: late cycles", float(late), ""),
            once(f"{job}: values that were lost", float(lost), f"of {cycles * 8 * agents:,}"),
            once(f"{job}: descriptors more than after a minute", float(grown[0]), ""),
            once(f"{job}: memory more than after a minute", grown[1], "MiB"),
        ]
    )


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
