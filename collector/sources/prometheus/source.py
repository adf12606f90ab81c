"""Counters from Prometheus and other servers with its query API: Thanos, Mimir, VictoriaMetrics.

Every query is sent once a round for all groups, members and counters that share it, and at most four at a time to one
server. Until the server has answered, its rows are UNREACHABLE: no member has failed.

A value's age is measured by the server's clock alone, so that clocks may differ:

* Prometheus shows a series for five minutes after its last sample, with the time of the query. So a query for a plain
series (``name{...}``) also requests the times of its samples, and one older than the group's freshness is STALE. A
rising count gets its rate from these times, exactly.
* An expression has no such time. A target that is down takes its series with it at once; only a pushed series whose
sender has stopped can hide in it for five minutes. We do not shorten that (``lookback_delta``): if targets are scraped
less often, a sum would lose the series that are between two scrapes.
* Queries in the past (``lag``) and over time (``over``) first ask the server for its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from collector.clients.http.client import LARGEST, HttpClient, HttpFailure, HttpRequest, HttpResponse
from collector.samples import Reply, Sheet
from collector.sources.prometheus.matching import MatchedValue, QueryRow, fulfilled
from collector.sources.prometheus.parsing import PromSeriesSet, decode
from collector.sources.prometheus.questions import Query, form_of, rows_by_query
from collector.sources.reducing import ReducedRows, Reducer
from collector.sources.sample_times import SampleTimes, clock_of
from collector.targets import Round
from config.model.access import PrometheusServer

_AT_ONCE = 4
_ERRORS = frozenset({400, 422, 500, 503})
"""Statuses whose body holds the API's own error."""


class _Answered(NamedTuple):
    lines: PromSeriesSet
    answer: HttpResponse


class PrometheusSource:
    """Asks Prometheus servers; keeps each series' last sample time between rounds, and the rows of rising counts.

    Args:
        http: sends the requests; its owner closes it.
    """

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._times = SampleTimes()
        self._reducer = Reducer()

    async def fetch(self, poll: Round) -> None:
        """Send every query of the round; its rows are filled as soon as it is answered."""
        by_query = rows_by_query(poll)
        servers: dict[PrometheusServer, list[Query]] = {}
        for query, rows in by_query.items():
            servers.setdefault(query.server, []).append(query)
            late = f"{query.server.id}: no answer yet when the round ended"
            for row in rows:
                poll.sheet.fail(row.index, Reply.UNREACHABLE, late)
        now = poll.clock().steady
        self._times.tidy(now)
        self._reducer.tidy(now)
        async with asyncio.TaskGroup() as tasks:
            for server, queries in servers.items():
                tasks.create_task(self._consult(poll, server, queries, by_query))

    async def close(self) -> None:
        """Do nothing: the client belongs to its owner."""

    async def _consult(
        self,
        poll: Round,
        server: PrometheusServer,
        queries: Sequence[Query],
        by_query: Mapping[Query, Sequence[QueryRow]],
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            for query in queries:
                if not query.needs_time:
                    tasks.create_task(self._fill(poll, query, by_query[query], None))
            late = [query for query in queries if query.needs_time]
            now = await self._time(server) if late else None
            for query in late:
                if isinstance(now, HttpFailure):
                    _refuse(poll.sheet, by_query[query], now)
                else:
                    tasks.create_task(self._fill(poll, query, by_query[query], now))

    async def _time(self, server: PrometheusServer) -> float | HttpFailure:
        """Return the server's time, in seconds since the epoch."""
        answered = await self._answer(server, "query", {"query": "time()"})
        if isinstance(answered, HttpFailure):
            return answered
        lines = answered.lines.lines
        return (
            lines[0].points[0][1] if lines else HttpFailure(reply=Reply.MALFORMED, detail="it does not answer time()")
        )

    async def _fill(self, poll: Round, query: Query, rows: Sequence[QueryRow], now: float | None) -> None:
        kind, form = form_of(query, now)
        answered = await self._answer(query.server, kind, form)
        if isinstance(answered, HttpFailure):
            _refuse(poll.sheet, rows, answered)
            return
        evaluated = None if now is None else now - query.lag
        here = poll.clock()
        there = clock_of(answered.answer, here)
        if len(answered.lines.lines) + len(rows) < _MANY:
            done = fulfilled(rows, answered.lines, evaluated, there)
        else:
            done = await asyncio.to_thread(fulfilled, rows, answered.lines, evaluated, there)
        for row, found in done:
            self._put(poll.sheet, row, found, answered.answer.at - query.lag, here.steady)

    def _put(self, sheet: Sheet, row: QueryRow, found: MatchedValue | HttpFailure, at: float, now: float) -> None:
        """Write one row; ``at``: steady seconds that the query was evaluated for."""
        if isinstance(found, MatchedValue):
            at = self._times.instant(row.series, found.newest, at=at - found.age, now=now)
            reading = self._reducer.reading(row.series, row.counter, found.rows, at=at, interval=row.interval)
            if isinstance(reading, ReducedRows):
                sheet.put(row.index, reading.value, at=at, uptime=reading.uptime)
                return
            found = reading
        sheet.fail(row.index, found.reply, found.detail)

    async def _answer(self, server: PrometheusServer, kind: str, form: Mapping[str, str]) -> _Answered | HttpFailure:
        """Send one query when its turn comes."""
        question = HttpRequest(
            url=f"{server.url.rstrip('/')}/api/v1/{kind}",
            access=server.access,
            timeout=server.timeout,
            method="POST",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urlencode({**form, "timeout": f"{server.timeout:g}"}).encode(),
            accept=_ERRORS,
            only_reads=True,
            largest=server.access.body_limit or LARGEST,
            raised_by="body_limit",
        )
        parser, payer = self._http.parser, f"prometheus {server.id} {form['query']}"
        async with self._turns.setdefault(server.url, asyncio.Semaphore(_AT_ONCE)):
            answer = parser.put_off(payer) or await self._http.ask(question)
        if isinstance(answer, HttpFailure):
            return _of_server(server, _blameless(answer))
        lines = await parser.run(payer, len(answer.body), lambda: decode(answer.body, answer.status))
        return lines if isinstance(lines, HttpFailure) else _Answered(lines, answer)


_MANY = 500
"""Rows and series whose matching goes to a thread (5 ms)."""


def _blameless(failure: HttpFailure) -> HttpFailure:
    """Rename a server's failure: no member was silent or refused."""
    match failure.reply:
        case Reply.TIMEOUT | Reply.REFUSED:
            return HttpFailure(reply=Reply.UNREACHABLE, detail=failure.detail)
        case Reply.NO_SUCH_COUNTER:
            return HttpFailure(
                reply=Reply.UNREACHABLE, detail=f"{failure.detail}: there is no query API at this address"
            )
        case _:
            return failure


def _of_server(server: PrometheusServer, failure: HttpFailure) -> HttpFailure:
    """Prefix a failure with the server's name; never its address, which may hold a password."""
    return HttpFailure(reply=failure.reply, detail=f"{server.id}: {failure.detail}")


def _refuse(sheet: Sheet, rows: Iterable[QueryRow], failure: HttpFailure) -> None:
    for row in rows:
        sheet.fail(row.index, failure.reply, failure.detail)
