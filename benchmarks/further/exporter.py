"""What polling SNMP agents costs beside `prometheus-snmp-exporter` and the Prometheus that scrapes it, storage and all.

Real snmpd processes on loopback addresses, eight objects of each agent. Left out where the two programs are not
installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.beside.machine import processor
from benchmarks.beside.snmp_agents import (
    OIDS,
    PATIENT,
    address_of,
    asking,
    expect_whole,
    named_addresses,
    running_agents,
    settle,
)
from benchmarks.report.figures import Measured, NotMeasured, once
from config.model.access import SnmpAccess
from handler.daemon import connections
from tests.support.collector import rosters
from tests.support.ports import free_tcp_port
from tests.support.waiting import stopped, until

_AGENTS = 200
_EXPORTED = 40
"""Seconds for which Prometheus and its exporter are watched."""

Figures = Iterator[Measured]


def run(part: int = 1) -> Figures:
    """Watch both for the same time."""
    connections.take_all_descriptors()  # as the daemon does
    count = max(_AGENTS // part, 2)
    with tempfile.TemporaryDirectory() as place, running_agents(Path(place), count) as port:
        yield from _exporter(Path(place), port, count, _EXPORTED / part)


def _exporter(place: Path, port: int, agents: int, watched: float) -> Figures:
    """Both ask these agents every two seconds, for as long: what does a thousand polls cost each?"""
    if not all(map(shutil.which, ("prometheus", "prometheus-snmp-exporter"))):
        missing = "not installed: apt-get install prometheus prometheus-snmp-exporter"
        yield NotMeasured(job="1,000 polls", by="prometheus-snmp-exporter and its Prometheus", because=missing)
        return
    every = 2.0
    listening, scraping = free_tcp_port(), free_tcp_port()
    (place / "snmp.yml").write_text(_exporter_file())
    (place / "prometheus.yml").write_text(_prometheus_file(port, agents, every, listening))
    exporter = [
        "prometheus-snmp-exporter",
        f"--config.file={place}/snmp.yml",
        f"--web.listen-address=127.0.0.1:{listening}",
    ]
    prometheus = [
        "prometheus",
        f"--config.file={place}/prometheus.yml",
        f"--storage.tsdb.path={place}/tsdb",
        f"--web.listen-address=127.0.0.1:{scraping}",
    ]
    with (
        _running(exporter, place / "exporter.log", listening) as first,
        _running(prometheus, place / "prometheus.log", scraping) as second,
    ):
        time.sleep(3 * every)
        before, began = processor(first) + processor(second), time.monotonic()
        time.sleep(watched)
        used, polls = processor(first) + processor(second) - before, (time.monotonic() - began) / every * agents
    theirs = used / polls * 1000
    ours = asyncio.run(_paced(port, agents, every, max(int(watched / every / 2), 2)))
    job = f"1,000 polls of {agents:,} agents every {every:g} s"
    yield once(job, theirs, "CPU-s", by="prometheus-snmp-exporter and its Prometheus")
    yield once(job, ours, "CPU-s")
    yield once(f"{job}: the exporter and its Prometheus to Trimtab", theirs / ours, "×")


async def _paced(port: int, agents: int, every: float, rounds: int) -> float:
    poller, catalogue = asking(SnmpAccess(port=port))
    listed = rosters(named_addresses(agents))
    expect_whole(await poller.poll(catalogue, listed, timeout=PATIENT))
    settle()
    began, used = time.monotonic(), time.process_time()
    for number in range(rounds):
        expect_whole(await poller.poll(catalogue, listed, timeout=PATIENT))
        await asyncio.sleep(max(began + (number + 1) * every - time.monotonic(), 0.0))
    await poller.close()
    return (time.process_time() - used) / (rounds * agents) * 1000


def _exporter_file() -> str:
    gets = "".join(f"    - {oid}\n" for oid in OIDS)
    metrics = "".join(
        f"    - {{name: c{place}, oid: {oid.removesuffix('.0')}, type: gauge, help: c}}\n"
        for place, oid in enumerate(OIDS)
    )
    return f"m:\n  get:\n{gets}  metrics:\n{metrics}  version: 2\n  auth: {{community: public}}\n"


def _prometheus_file(port: int, agents: int, every: float, listening: int) -> str:
    targets = ", ".join(f"'{address_of(number)}:{port}'" for number in range(agents))
    return f"""
global: {{scrape_interval: {every:g}s}}
scrape_configs:
- job_name: snmp
  metrics_path: /snmp
  params: {{module: [m]}}
  static_configs: [{{targets: [{targets}]}}]
  relabel_configs:
  - {{source_labels: [__address__], target_label: __param_target}}
  - {{source_labels: [__param_target], target_label: instance}}
  - {{target_label: __address__, replacement: "127.0.0.1:{listening}"}}
"""


@contextlib.contextmanager
def _running(command: Sequence[str], log: Path, port: int) -> Iterator[int]:
    """Run a program until the block ends; gives its process id once it listens."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    with stopped(process):
        until(lambda: _listens(port), within=20.0, process=process, log=log)
        yield process.pid


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
