"""Read Gnocchi's metrics of members that are servers of OpenStack: one request a metric, for 200 servers at a time.

The source asks the cloud of the group's profile, as its user. A value is that of the archive policy's last complete
period, and its age counts from the end of that period, by Gnocchi's clock, at any time of reading. Failures of a
metric:

* the server has no metric with that name, aggregation and granularity: NO_SUCH_COUNTER;
* its last period ended longer ago than the group's freshness and the counter's lag: STALE;
* no server matches the member: REFUSED; several match: AMBIGUOUS;
* no answer in time: UNREACHABLE, for all members. A refused user: AUTH.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlencode

from collector.clients.http.client import HttpFailure, HttpResponse
from collector.clients.openstack.session import METRIC
from collector.samples import AHEAD_AT_MOST, Reply, Sheet
from collector.sources.member_matching import CloudSheetRow, MemberRows, fail_all, rows_by_cloud
from collector.sources.openstack.gnocchi_parsing import Period, decode, newest, question
from collector.sources.openstack.keystone import Keystone, ServiceCall
from collector.sources.openstack.nova_servers import NovaServers
from collector.sources.sample_times import SampleTimes, clock_of
from collector.targets import Round
from config.model.clouds import OpenstackCloud
from config.model.counters import GnocchiMetric

_AT_ONCE = 200
_LONG = 64 * 1024
"""From here on (a few ms) decoding goes to a thread, so that the event loop is not held."""
_LACKING = HttpFailure(
    reply=Reply.NO_SUCH_COUNTER, detail="Gnocchi has no such metric of the server with this aggregation and granularity"
)
_REFUSALS: Mapping[int, HttpFailure] = MappingProxyType({400: _LACKING, 404: _LACKING})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One metric of some servers."""

    cloud: OpenstackCloud
    metric: GnocchiMetric
    rows: Mapping[str, Sequence[CloudSheetRow[GnocchiMetric]]]
    """Server → the rows that it fills."""

    @property
    def call(self) -> ServiceCall:
        """Return the request: for no more periods than are useful."""
        limit = max(row.limit for of_server in self.rows.values() for row in of_server)
        since = math.ceil(limit + 2 * self.metric.granularity)
        query = urlencode({"granularity": str(self.metric.granularity), "start": f"-{since}seconds"})
        return ServiceCall(
            service=METRIC,
            path=f"/v1/aggregates?{query}",
            body=question(self.metric, self.rows.keys()),
            accept=frozenset(_REFUSALS),
        )


class GnocchiSource:
    """Asks Gnocchi; keeps members' servers between rounds, and when their periods ended by our clock.

    Args:
        keystone: sends the requests; closed with the source.
        servers: matches servers with members.
    """

    def __init__(self, keystone: Keystone, servers: NovaServers) -> None:
        self._keystone = keystone
        self._servers = servers
        self._times = SampleTimes()

    async def fetch(self, poll: Round) -> None:
        """Request every metric of the round."""
        self._times.tidy(poll.clock().steady)
        async with asyncio.TaskGroup() as tasks:
            for cloud, rows in rows_by_cloud(poll, OpenstackCloud, GnocchiMetric).items():
                tasks.create_task(self._answer(poll, cloud, rows))

    async def close(self) -> None:
        """Close the client of Keystone."""
        await self._keystone.close()

    async def _answer(self, poll: Round, cloud: OpenstackCloud, rows: MemberRows[GnocchiMetric]) -> None:
        fail_all(poll.sheet, rows, HttpFailure(reply=Reply.UNREACHABLE, detail=f"no answer yet from {cloud.id}"))
        servers: dict[str, Sequence[CloudSheetRow[GnocchiMetric]]] = {}
        for member, server in (await self._servers.find(poll, cloud, rows.keys())).items():
            if isinstance(server, HttpFailure):
                fail_all(poll.sheet, {member: rows[member]}, server)
            else:
                servers[server] = rows[member]
        async with asyncio.TaskGroup() as tasks:
            for each in _questions(cloud, servers):
                tasks.create_task(self._read(poll, each))

    async def _read(self, poll: Round, asking: _Question) -> None:
        read = await _decoded(await self._keystone.ask(poll, asking.cloud, asking.call), asking.metric)
        for server, rows in asking.rows.items():
            for row in rows:
                if isinstance(read, HttpFailure):
                    poll.sheet.fail(row.index, read.reply, f"{asking.cloud.id}: {read.detail}")
                else:
                    answer, found = read
                    there = clock_of(answer, poll.clock())
                    self._put(poll.sheet, row, found.get(server), at=answer.at, there=there)

    def _put(
        self,
        sheet: Sheet,
        row: CloudSheetRow[GnocchiMetric],
        periods: Sequence[Period] | None,
        *,
        at: float,
        there: float,
    ) -> None:
        """Write one row; ``there``: the server's time when the answer arrived, at steady seconds ``at``."""
        if periods is None:
            sheet.fail(row.index, _LACKING.reply, _LACKING.detail)
            return
        ahead = max((period.end for period in periods), default=there) - row.source.granularity - there
        if ahead > AHEAD_AT_MOST:
            detail = f"one of its periods begins {ahead:.0f} s ahead of Gnocchi's clock"
            sheet.fail(row.index, Reply.FUTURE, detail)
            return
        last = newest(periods, there)
        if last is None:
            sheet.fail(row.index, Reply.STALE, "it has no recent measurement")
            return
        age = there - last.end
        if age > row.limit:
            sheet.fail(row.index, Reply.STALE, f"its last period ended {age:.0f} s ago")
            return
        instant = self._times.instant(row.series, last.end, at=at - age, now=at)
        sheet.put(row.index, last.value, at=instant)


def _questions(
    cloud: OpenstackCloud, servers: Mapping[str, Sequence[CloudSheetRow[GnocchiMetric]]]
) -> Iterator[_Question]:
    by_metric: dict[GnocchiMetric, dict[str, list[CloudSheetRow[GnocchiMetric]]]] = {}
    for server, rows in servers.items():
        for row in rows:
            by_metric.setdefault(row.source, {}).setdefault(server, []).append(row)
    for metric, by_server in by_metric.items():
        names = sorted(by_server)
        for first in range(0, len(names), _AT_ONCE):
            some = {name: by_server[name] for name in names[first : first + _AT_ONCE]}
            yield _Question(cloud=cloud, metric=metric, rows=some)


async def _decoded(
    answer: HttpResponse | HttpFailure, metric: GnocchiMetric
) -> tuple[HttpResponse, Mapping[str, Sequence[Period]]] | HttpFailure:
    if isinstance(answer, HttpFailure):
        return answer
    if answer.status in _REFUSALS:
        return _REFUSALS[answer.status]
    if len(answer.body) < _LONG:
        found = decode(answer.body, metric)
    else:
        found = await asyncio.to_thread(decode, answer.body, metric)
    return found if isinstance(found, HttpFailure) else (answer, found)
