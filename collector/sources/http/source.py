"""Counters from any HTTP endpoint, of every member or of the group: a number in JSON, or a metric.

Counters on the same address share one request a round. A member's failures concern it alone: TIMEOUT, REFUSED and so
on, as in `collector.clients.http.client`. A sample with a timestamp has that age, by the clock of its server; one that
is older than the group's freshness is STALE.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import quote, urlsplit

from collector.clients.http.client import HttpClient, HttpFailure, HttpRequest
from collector.samples import AHEAD_AT_MOST, Reply, Series, Sheet
from collector.sources.http.metrics_text import ACCEPT
from collector.sources.http.picks import Picked, PickedNumber, picked
from collector.sources.reducing import ReducedRows, Reducer, RowNumber
from collector.sources.sample_times import SampleTimes, clock_of
from collector.targets import MemberTarget, Round, rows_of
from config.model.access import HttpAccess
from config.model.counters import Counter, FixedAddress, HttpValue, MemberAddress, MetricPick
from config.model.outbound import Outbound
from config.units import GroupId, Seconds

_AT_ONCE = 16
"""Requests that begin in one turn of the event loop (0.1 ms each), so that other tasks get theirs."""
_LONGEST = 1024 * 1024
"""Largest answer in bytes, unless the counter declares another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPage:
    """A page that is requested once a round."""

    url: str
    access: HttpAccess
    outbound: Outbound | None
    """Where the URL may lead; ``None``: where it says, since it is the file's."""
    metrics: bool
    """Whether to prefer OpenMetrics if the server offers a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One row of the sheet that a page fills."""

    index: int
    series: Series
    counter: Counter
    source: HttpValue
    interval: Seconds
    limit: Seconds
    """How old a sample may be."""


class HttpSource:
    """Asks HTTP endpoints; keeps the rows of rising counts between rounds.

    Args:
        http: sends the requests; its owner closes it.
    """

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._reducer = Reducer()
        self._times = SampleTimes()

    async def fetch(self, poll: Round) -> None:
        """Request every address of the round; its rows are filled as soon as it has answered."""
        now = poll.clock().steady
        self._reducer.tidy(now)
        self._times.tidy(now)
        async with asyncio.TaskGroup() as tasks:
            for place, (page, rows) in enumerate(_pages(poll).items()):
                tasks.create_task(self._read(poll, page, rows))
                if place % _AT_ONCE == 0:
                    await asyncio.sleep(0)

    async def close(self) -> None:
        """Do nothing: the client belongs to its owner."""

    async def _read(self, poll: Round, page: HttpPage, rows: Sequence[PageRow]) -> None:
        payer = f"http {min(row.series.group for row in rows)}"
        late = self._http.parser.put_off(payer)
        answer = late or await self._http.ask(
            HttpRequest(
                url=page.url,
                access=page.access,
                outbound=page.outbound,
                timeout=max(row.source.timeout for row in rows),
                headers={"Accept": ACCEPT if page.metrics else "application/json"},
                largest=page.access.body_limit or _LONGEST,
                raised_by="body_limit",
            )
        )
        if isinstance(answer, HttpFailure):
            for row in rows:
                poll.sheet.fail(row.index, answer.reply, f"{place_of(page.url)}: {answer.detail}")
            return
        kind, picks = answer.headers.get("content-type", ""), [row.source.pick for row in rows]
        found = await self._http.parser.run(payer, len(answer.body), lambda: picked(answer.body, kind, picks))
        if isinstance(found, HttpFailure):
            found = [found] * len(rows)
        there = clock_of(answer, poll.clock())
        for row, values in zip(rows, found, strict=True):
            self._put(poll.sheet, row, values, answer.at, there)

    def _put(self, sheet: Sheet, row: PageRow, values: Picked, at: float, there: float) -> None:
        """Write one row; ``there``: the server's time when the answer arrived, at steady seconds ``at``."""
        if isinstance(values, HttpFailure):
            sheet.fail(row.index, values.reply, values.detail)
            return
        taken = min((value.taken for value in values if value.taken is not None), default=None)
        newest = max((value.taken for value in values if value.taken is not None), default=there)
        if newest - there > AHEAD_AT_MOST:
            detail = f"its sample is {newest - there:.0f} s ahead of the server's clock"
            sheet.fail(row.index, Reply.FUTURE, detail)
            return
        if taken is not None:
            age = max(there - taken, 0.0)
            if age > row.limit:
                sheet.fail(row.index, Reply.STALE, f"its sample is {age:.0f} s old")
                return
            at = self._times.instant(row.series, taken, at=at - age, now=at)
        numbers = [RowNumber(value.value, value.name) for value in values]
        reading = self._reducer.reading(row.series, row.counter, numbers, at=at, interval=row.interval)
        match reading:
            case ReducedRows(value=value, uptime=uptime):
                sheet.put(row.index, value, at=at, uptime=_uptime(values, there) if math.isnan(uptime) else uptime)
            case HttpFailure(reply=reply, detail=detail):
                sheet.fail(row.index, reply, detail)
            case _:
                assert_never(reading)


def _uptime(rows: Sequence[PickedNumber], there: float) -> Seconds:
    """Return how long the youngest row has counted; NaN: one row does not report it."""
    created = [row.created for row in rows if row.created is not None]
    return there - max(created) if len(created) == len(rows) else math.nan


def _pages(poll: Round) -> Mapping[HttpPage, Sequence[PageRow]]:
    """Return every page of the round, with the rows that it fills."""
    counters = poll.catalogue.counters.values()
    mine = {counter.id: (counter, counter.source) for counter in counters if isinstance(counter.source, HttpValue)}
    pages: dict[HttpPage, list[PageRow]] = {}
    for index, name, group, member in rows_of(poll.sheet.layout, poll.targets, mine):
        counter, source = mine[name]
        url = url_of(source.at, group, member)
        if url is None:
            poll.sheet.fail(index, Reply.UNREACHABLE, "the member has no address yet")
            continue
        declared = poll.catalogue.groups[group]
        guarded = isinstance(source.at, FixedAddress) and name in poll.catalogue.guarded
        outbound = poll.catalogue.outbound if guarded else None
        page = HttpPage(url=url, access=source.access, outbound=outbound, metrics=isinstance(source.pick, MetricPick))
        pages.setdefault(page, []).append(
            PageRow(
                index=index,
                series=poll.sheet.layout.series[index],
                counter=counter,
                source=source,
                interval=declared.interval,
                limit=declared.freshness * declared.interval + counter.lag,
            )
        )
    return pages


_GROUP = re.compile(r"\$group\b")


def place_of(url: str) -> str:
    """Return the server's host and port for messages, without parts that may hold secrets.

    >>> place_of("https://queue.example.org:8443/web?token=x"), place_of("http://[::1]:9100/metrics")
    ('queue.example.org:8443', '[::1]:9100')
    """
    return urlsplit(url).netloc.rpartition("@")[2]


def url_of(at: MemberAddress | FixedAddress, group: GroupId, member: MemberTarget | None) -> str | None:
    """Return the complete URL; ``None``: the member has no address.

    >>> url_of(FixedAddress(url="http://queue.example.org/$group"), GroupId("web"), None)
    'http://queue.example.org/web'
    >>> six = MemberTarget(name="web-1", address="2001:db8::1", counted=True)
    >>> url_of(MemberAddress(port=9100, path="/metrics", tls=True), GroupId("web"), six)
    'https://[2001:db8::1]:9100/metrics'
    """
    match at:
        case FixedAddress(url=url):
            return _GROUP.sub(quote(group, safe=""), url)
        case MemberAddress(port=port, path=path, tls=tls):
            if member is None or not member.address:
                return None
            host = f"[{member.address}]" if ":" in member.address else member.address
            return f"{'https' if tls else 'http'}://{host}:{port}{path}"
        case _:
            assert_never(at)
