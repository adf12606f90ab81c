"""Read hypervisors' counts of members that are servers of OpenStack: Nova's diagnostics, one request a member.

The source asks the cloud of the group's profile, as its user. Nova asks the server's host before it answers, so only a
few requests run at a time, and each round starts with a different member: if a round is too short for all, different
members are left out each time. Failures of a field:

* the hypervisor does not report it: NO_SUCH_COUNTER; several values without a rule to combine them: AMBIGUOUS;
* no server matches the member, or it does not run: REFUSED;
* Nova's policy does not let the user read diagnostics: AUTH, for all members;
* no answer in time: UNREACHABLE.

A restarted server counts from zero. The answer's ``uptime`` does not show that: it counts from the server's creation.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

from collector.clients.http.client import HttpFailure, HttpResponse
from collector.clients.openstack.session import COMPUTE
from collector.samples import Reply, Sheet
from collector.sources.member_matching import CloudSheetRow, MemberRows, fail_all, rows_by_cloud
from collector.sources.openstack.keystone import Keystone, ServiceCall
from collector.sources.openstack.nova_parsing import Diagnostics, decode_diagnostics, look_up
from collector.sources.openstack.nova_servers import NOVA, NovaServers
from collector.sources.reducing import ReducedRows, Reducer
from collector.targets import Round
from config.model.clouds import OpenstackCloud
from config.model.counters import NovaField
from config.units import MemberName

_AT_ONCE = 8
_FORBIDDEN, _GONE = 403, 404
_REFUSALS: Mapping[int, HttpFailure] = MappingProxyType(
    {
        _FORBIDDEN: HttpFailure(reply=Reply.AUTH, detail="Nova's policy does not let the user read diagnostics"),
        _GONE: HttpFailure(reply=Reply.REFUSED, detail="its server is gone"),
        406: HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="Nova is older than microversion 2.48 (Pike)"),
        409: HttpFailure(reply=Reply.REFUSED, detail="its server does not run"),
        501: HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="its hypervisor has no diagnostics"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Project:
    """One cloud's requests in one round."""

    poll: Round
    cloud: OpenstackCloud
    rows: MemberRows[NovaField]
    waiting: deque[tuple[MemberName, str]]
    """Members that have not been asked yet, and their servers."""


class NovaSource:
    """Asks Nova; keeps members' servers and the rows of rising counts between rounds.

    Args:
        keystone: sends the requests; closed with the source.
        servers: matches servers with members.
    """

    def __init__(self, keystone: Keystone, servers: NovaServers) -> None:
        self._keystone = keystone
        self._servers = servers
        self._reducer = Reducer()
        self._turn = 0

    async def fetch(self, poll: Round) -> None:
        """Request every server of the round once, for all its counters."""
        self._reducer.tidy(poll.clock().steady)
        self._turn += 1
        async with asyncio.TaskGroup() as tasks:
            for cloud, rows in rows_by_cloud(poll, OpenstackCloud, NovaField).items():
                tasks.create_task(self._answer(poll, cloud, rows))

    async def close(self) -> None:
        """Close the client of Keystone."""
        await self._keystone.close()

    async def _answer(self, poll: Round, cloud: OpenstackCloud, rows: MemberRows[NovaField]) -> None:
        fail_all(poll.sheet, rows, HttpFailure(reply=Reply.UNREACHABLE, detail=f"no answer yet from {cloud.id}"))
        found = await self._servers.find(poll, cloud, rows.keys())
        waiting: deque[tuple[MemberName, str]] = deque()
        for member, server in found.items():
            if isinstance(server, HttpFailure):
                fail_all(poll.sheet, {member: rows[member]}, server)
            else:
                waiting.append((member, server))
        waiting.rotate(-self._turn * _AT_ONCE)
        project = _Project(poll=poll, cloud=cloud, rows=rows, waiting=waiting)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(_AT_ONCE, len(waiting))):
                tasks.create_task(self._work(project))

    async def _work(self, project: _Project) -> None:
        """Request one server after the other, until no member waits, or asking is pointless."""
        while project.waiting:
            member, server = project.waiting.popleft()
            answer = await self._request(project, server)
            decoded = _decoded(answer)
            if isinstance(decoded, HttpFailure):
                failure = HttpFailure(reply=decoded.reply, detail=f"{project.cloud.id}: {decoded.detail}")
                left = [member, *(name for name, _ in project.waiting)] if decoded.reply is Reply.AUTH else [member]
                fail_all(project.poll.sheet, {name: project.rows[name] for name in left}, failure)
                if decoded.reply is Reply.AUTH:
                    project.waiting.clear()
                if isinstance(answer, HttpResponse) and answer.status == _GONE:
                    self._servers.forget(project.cloud, member)
            elif isinstance(answer, HttpResponse):
                self._put_all(project.poll.sheet, project.rows[member], decoded, answer.at)

    async def _request(self, project: _Project, server: str) -> HttpResponse | HttpFailure:
        call = ServiceCall(
            service=COMPUTE,
            path=f"/servers/{quote(server, safe='')}/diagnostics",
            headers=NOVA,
            accept=frozenset(_REFUSALS),
        )
        return await self._keystone.ask(project.poll, project.cloud, call)

    def _put_all(
        self, sheet: Sheet, rows: Sequence[CloudSheetRow[NovaField]], diagnostics: Diagnostics, at: float
    ) -> None:
        for row in rows:
            found = look_up(diagnostics, row.source.name)
            if not isinstance(found, HttpFailure):
                reading = self._reducer.reading(row.series, row.counter, found, at=at, interval=row.interval)
                if isinstance(reading, ReducedRows):
                    sheet.put(row.index, reading.value, at=at, uptime=reading.uptime)
                    continue
                found = reading
            sheet.fail(row.index, found.reply, found.detail)


def _decoded(answer: HttpResponse | HttpFailure) -> Diagnostics | HttpFailure:
    if isinstance(answer, HttpFailure):
        return answer
    if answer.status in _REFUSALS:
        return _REFUSALS[answer.status]
    return decode_diagnostics(answer.body)
