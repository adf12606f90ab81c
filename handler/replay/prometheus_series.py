"""``--series prometheus:URL``: read the declared counters' past values from a Prometheus, page by page."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from urllib.parse import urlencode

from collector.clients.http.client import HttpClient, HttpFailure, HttpRequest
from collector.clients.vault.reader import SecretReader
from collector.sources.prometheus.parsing import PromSeries, decode
from collector.sources.prometheus.questions import with_stamps
from config.model.access import OPEN, HttpAccess, PrometheusServer
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Moment, Monotonic
from handler.replay.prometheus_rows import QueryResult, Ranged, ranged, samples_of
from handler.replay.samples import Samples, Unreplayable

_AT_ONCE = 4
_TIMEOUT = 60.0
_LARGEST = 128 * 1024 * 1024
"""Bytes of one response: 5,000 points of some 500 series."""
_ERRORS = frozenset({400, 422, 500, 503})


def read_prometheus(
    url: str, catalogue: Catalogue, groups: Sequence[GroupId], since: float, until: float
) -> tuple[Samples, tuple[str, ...]]:
    """Read a series out of Prometheus; return it with caveats on counters that could not be read.

    Credentials and trust are those of the entry of ``sources`` that has this address, if there is one.

    Args:
        url: of the server, without ``/api/v1``.
        catalogue: declares the counters, and how to reach the server.
        groups: to be replayed.
        since: the first poll; seconds since the epoch.
        until: after the last one.

    Raises:
        Unreplayable: it does not answer, or not completely, or has no value; no counter's source is Prometheus.
    """
    asked, caveats = ranged(catalogue, groups, since, until)
    secrets = SecretReader(os.environ, lambda: 0.0)
    secrets.use(catalogue)
    return asyncio.run(_read(url.rstrip("/"), _access(catalogue, url), asked, secrets)), caveats


def _access(catalogue: Catalogue, url: str) -> HttpAccess:
    servers = (each for each in catalogue.sources.values() if isinstance(each, PrometheusServer))
    return next((server.access for server in servers if server.url.rstrip("/") == url.rstrip("/")), OPEN)


async def _read(url: str, access: HttpAccess, asked: Sequence[Ranged], secrets: SecretReader) -> Samples:
    client = HttpClient(clock=_no_clock, read_secret=secrets)
    turns = asyncio.Semaphore(_AT_ONCE)

    async def lines(one: Ranged, query: str) -> list[PromSeries]:
        found: list[PromSeries] = []
        for start, end in one.pages():
            form = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{one.group.interval:g}"}
            async with turns:
                found += await _page(client, url, access, form, one)
        return found

    async def answered(one: Ranged) -> QueryResult:
        just_a_series = with_stamps(one.query) != one.query
        stamps = await lines(one, f"timestamp({one.query})") if just_a_series else []
        return QueryResult(lines=await lines(one, one.query), stamps=stamps)

    try:
        answers = await asyncio.gather(*(answered(one) for one in asked))
    finally:
        await client.close()
    return samples_of(dict(zip(asked, answers, strict=True)))


async def _page(
    client: HttpClient, url: str, access: HttpAccess, form: dict[str, str], one: Ranged
) -> Sequence[PromSeries]:
    answer = await client.ask(
        HttpRequest(
            url=f"{url}/api/v1/query_range",
            access=access,
            timeout=_TIMEOUT,
            method="POST",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urlencode({**form, "timeout": f"{_TIMEOUT:g}"}).encode(),
            accept=_ERRORS,
            only_reads=True,
            largest=_LARGEST,
        )
    )
    found = answer if isinstance(answer, HttpFailure) else decode(answer.body, answer.status)
    if isinstance(found, HttpFailure):
        raise Unreplayable(f"prometheus: counter {one.counter.id}: {found.reply.word}: {found.detail}")
    return found.lines


def _no_clock() -> Moment:
    """Return a constant: the arrival of a response does not matter, since its points have their own times."""
    return Moment(wall=Instant(0.0), steady=Monotonic(0.0))
