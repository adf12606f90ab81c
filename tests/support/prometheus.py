"""A real Prometheus that scrapes one target of the test, and catalogues that ask it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from collector.samples import Scrape
from collector.sources.prometheus.source import PrometheusSource
from config.model.access import OPEN, HttpAccess, PrometheusServer
from config.model.catalogue import Catalogue
from config.model.counters import Counter, CounterKind, Per, PrometheusQuery
from config.model.reductions import Reduce
from config.units import CounterId, SourceId
from tests.support.collector import a_catalogue, a_poller, rosters
from tests.support.http_servers import Handler, a_client, a_response, in_a_thread, request
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, stop, until

PROM = SourceId("prom")


@dataclass(kw_only=True)
class Prometheus:
    """A server that scrapes five times a second."""

    home: Path
    port: int
    targets: Mapping[str, int]
    """Job → the port that it scrapes."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        config, log = self.home / "prometheus.yaml", self.home / "prometheus.log"
        jobs = [
            f'{{job_name: {job}, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}'
            for job, port in self.targets.items()
        ]
        config.write_text(
            f"global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\nscrape_configs: [{', '.join(jobs)}]\n"
        )
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.home / 'series'}",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        until(lambda: self.has("vector(1)"), process=self.process, log=log)

    def stop(self) -> None:
        if self.process is not None:
            stop(self.process)

    def has(self, query: str) -> bool:
        """Whether a query finds anything."""
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/query?query={quote(query)}", timeout=PATIENT) as answer:
                return bool(json.load(answer)["data"]["result"])
        except OSError:
            return False


@contextlib.contextmanager
def running_prometheus(home: Path, **jobs: Callable[[], str]) -> Iterator[Prometheus]:
    """Run one until the block ends; its first scrapes are five seconds away.

    Args:
        home: for its configuration, series and log.
        jobs: what the target of each job shows at each scrape; empty: it does not answer.
    """
    with contextlib.ExitStack() as stack:
        targets = {job: stack.enter_context(in_a_thread(_showing(metrics))) for job, metrics in jobs.items()}
        server = Prometheus(home=home, port=free_tcp_port(), targets=targets)
        stack.callback(server.stop)
        server.start()
        yield server


def _showing(metrics: Callable[[], str]) -> Handler:
    async def target(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                await request(reader)
                text = metrics().encode()
                if not text:
                    return
                writer.write(a_response(text, headers={"Content-Type": "text/plain; version=0.0.4"}))

    return target


def a_query(
    query: str,
    *,
    id: str = "q",
    label: str | None = None,
    rows: Reduce | None = None,
    over: float | None = None,
    lag: float = 0.0,
    kind: CounterKind = CounterKind.GAUGE,
) -> Counter:
    return Counter(
        id=CounterId(id),
        source=PrometheusQuery(query=query, server=PROM, label=label, over=over),
        per=Per.MEMBER if label else Per.GROUP,
        rows=rows,
        lag=lag,
        kind=kind,
    )


def asking(
    url: str,
    counters: Sequence[Counter],
    *,
    groups: Sequence[str] = ("web",),
    interval: float = 30.0,
    access: HttpAccess = OPEN,
    timeout: float = PATIENT,
) -> Catalogue:
    server = PrometheusServer(id=PROM, url=url, access=access, timeout=timeout)
    return replace(a_catalogue(counters, groups=groups, interval=interval), sources={PROM: server})


def scraped(
    catalogue: Catalogue,
    members: Mapping[str, str] | None = None,
    *,
    secrets: Mapping[str, str] | None = None,
    timeout: float = PATIENT,
) -> Scrape:
    """One poll of the group ``web`` by a client of its own."""

    async def scene() -> Scrape:
        async with a_client(secrets) as client:
            poller = a_poller(PrometheusSource(client), secrets=secrets)
            return await poller.poll(catalogue, rosters(members or {}), timeout=timeout)

    return asyncio.run(scene())


def replying(document: Mapping[str, Any], heard: list[str] | None = None, *, status: str = "200 OK") -> Handler:
    """Answers every request with this document."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                asked = await request(reader)
                if heard is not None:
                    heard.append(asked)
                writer.write(a_response(json.dumps(document).encode(), status=status))

    return handler


def a_vector(*series: tuple[Mapping[str, str], str], at: float = 1000.0, **more: object) -> dict[str, Any]:
    """An answer: (labels, value) of every series."""
    result = [{"metric": dict(labels), "value": [at, value]} for labels, value in series]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **more}
