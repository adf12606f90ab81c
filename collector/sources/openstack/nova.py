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
from collector.sources.member_matching import CloudSheetRow, Wishes, fail_all, wishes_of
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
        _FORBIDDEN: HttpFailure(reply=Reply.AUTH, said="Nova's policy does not let the user read diagnostics"),
        _GONE: HttpFailure(reply=Reply.REFUSED, said="its server is gone"),
        406: HttpFailure(reply=Reply.NO_SUCH_COUNTER, said="Nova is older than microversion 2.48 (Pike)"),
        409: HttpFailure(reply=Reply.REFUSED, said="its server does not run"),
        501: HttpFailure(reply=Reply.NO_SUCH_COUNTER, said="its hypervisor has no diagnostics"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Project:
    """One cloud's requests in one round."""

    asked: Round
    cloud: OpenstackCloud
    wishes: Wishes[NovaField]
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

    async def fetch(self, asked: Round) -> None:
        """Request every server of the round once, for all its counters."""
        self._reducer.tidy(asked.clock().steady)
        self._turn += 1
        async with asyncio.TaskGroup() as tasks:
            for cloud, wishes in wishes_of(asked, OpenstackCloud, NovaField).items():
                tasks.create_task(self._answer(asked, cloud, wishes))

    async def close(self) -> None:
        """Close the client of Keystone."""
        await self._keystone.close()

    async def _answer(self, asked: Round, cloud: OpenstackCloud, wishes: Wishes[NovaField]) -> None:
        fail_all(asked.sheet, wishes, HttpFailure(reply=Reply.UNREACHABLE, said=f"no answer yet from {cloud.id}"))
        found = await self._servers.find(asked, cloud, wishes.keys())
        waiting: deque[tuple[MemberName, str]] = deque()
        for member, server in found.items():
            if isinstance(server, HttpFailure):
                fail_all(asked.sheet, {member: wishes[member]}, server)
            else:
                waiting.append((member, server))
        waiting.rotate(-self._turn * _AT_ONCE)
        project = _Project(asked=asked, cloud=cloud, wishes=wishes, waiting=waiting)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(_AT_ONCE, len(waiting))):
                tasks.create_task(self._work(project))

    async def _work(self, project: _Project) -> None:
        """Request one server after the other, until no member waits, or asking is pointless."""
        while project.waiting:
            member, server = project.waiting.popleft()
            answer = await self._asked(project, server)
            said = _decoded(answer)
            if isinstance(said, HttpFailure):
                failure = HttpFailure(reply=said.reply, said=f"{project.cloud.id}: {said.said}")
                left = [member, *(name for name, _ in project.waiting)] if said.reply is Reply.AUTH else [member]
                fail_all(project.asked.sheet, {name: project.wishes[name] for name in left}, failure)
                if said.reply is Reply.AUTH:
                    project.waiting.clear()
                if isinstance(answer, HttpResponse) and answer.status == _GONE:
                    self._servers.forget(project.cloud, member)
            elif isinstance(answer, HttpResponse):
                self._put_all(project.asked.sheet, project.wishes[member], said, answer.at)

    async def _asked(self, project: _Project, server: str) -> HttpResponse | HttpFailure:
        call = ServiceCall(
            service=COMPUTE,
            path=f"/servers/{quote(server, safe='')}/diagnostics",
            headers=NOVA,
            accept=frozenset(_REFUSALS),
        )
        return await self._keystone.ask(project.asked, project.cloud, call)

    def _put_all(
        self, sheet: Sheet, wishes: Sequence[CloudSheetRow[NovaField]], diagnostics: Diagnostics, at: float
    ) -> None:
        for wish in wishes:
            rows = look_up(diagnostics, wish.source.name)
            if not isinstance(rows, HttpFailure):
                reading = self._reducer.reading(wish.series, wish.counter, rows, at=at, interval=wish.interval)
                if isinstance(reading, ReducedRows):
                    sheet.put(wish.row, reading.value, at=at, uptime=reading.uptime)
                    continue
                rows = reading
            sheet.fail(wish.row, rows.reply, rows.said)


def _decoded(answer: HttpResponse | HttpFailure) -> Diagnostics | HttpFailure:
    if isinstance(answer, HttpFailure):
        return answer
    if answer.status in _REFUSALS:
        return _REFUSALS[answer.status]
    return decode_diagnostics(answer.body)
