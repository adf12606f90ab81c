"""Find members' servers on OpenStack; the listing is read when a member is unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from urllib.parse import urlencode

from collector.clients.http.failures import HttpFailure
from collector.clients.openstack.session import COMPUTE
from collector.samples import Reply
from collector.sources.openstack.keystone import Keystone, ServiceCall
from collector.sources.openstack.nova_parsing import Servers, decode_servers
from collector.targets import Round
from config.model.clouds import OpenstackCloud
from config.model.openstack import OpenstackAccess
from config.units import MemberName

NOVA = {"OpenStack-API-Version": "compute 2.48"}
"""The first microversion with the same diagnostics on every hypervisor (Pike)."""
_PAGE, _PAGES = 1000, 1000
_LONG = 64 * 1024
"""From here on (a few ms) decoding goes to a thread, so that the event loop is not held."""


class NovaServers:
    """Remembers the servers' ids, which never change; for one event loop.

    Args:
        keystone: sends the requests; its owner closes it.
    """

    def __init__(self, keystone: Keystone) -> None:
        self._keystone = keystone
        self._known: dict[OpenstackAccess, Mapping[str, Collection[str]]] = {}

    async def find(
        self, poll: Round, cloud: OpenstackCloud, members: Collection[MemberName]
    ) -> Mapping[MemberName, str | HttpFailure]:
        """Return the id of each member's server, or why there is none."""
        known = self._known.get(cloud.access, {})
        failure = HttpFailure(reply=Reply.REFUSED, detail=f"{cloud.id}: no server matches this member")
        if not known.keys() >= set(members):
            listed = await self._listed(poll, cloud)
            if isinstance(listed, HttpFailure):
                failure = HttpFailure(reply=listed.reply, detail=f"{cloud.id}: {listed.detail}")
            else:
                known = self._known[cloud.access] = listed
        return {member: _only(known.get(member, ()), failure) for member in members}

    def forget(self, cloud: OpenstackCloud, member: MemberName) -> None:
        """Forget a member's server, which is gone: look for another at the next round."""
        known = self._known.get(cloud.access, {})
        self._known[cloud.access] = {name: ids for name, ids in known.items() if name != member}

    async def _listed(self, poll: Round, cloud: OpenstackCloud) -> Mapping[str, Collection[str]] | HttpFailure:
        """List the whole project. A server may be on two pages if others come and go meanwhile: it counts once."""
        found: dict[str, set[str]] = {}
        marker = ""
        for _ in range(_PAGES):
            page = await self._page(poll, cloud, marker)
            if isinstance(page, HttpFailure):
                return page
            for member, ids in page.ids.items():
                found.setdefault(member, set()).update(ids)
            marker = page.marker
            if not marker:
                return found
        return HttpFailure(reply=Reply.INCOMPLETE, detail="the listing of servers does not end")

    async def _page(self, poll: Round, cloud: OpenstackCloud, marker: str) -> Servers | HttpFailure:
        query = urlencode({"limit": str(_PAGE), **({"marker": marker} if marker else {})})
        call = ServiceCall(service=COMPUTE, path=f"/servers/detail?{query}", headers=NOVA)
        answer = await self._keystone.ask(poll, cloud, call)
        if isinstance(answer, HttpFailure):
            return answer
        if len(answer.body) < _LONG:
            return decode_servers(answer.body)
        return await asyncio.to_thread(decode_servers, answer.body)


def _only(ids: Collection[str], missing: HttpFailure) -> str | HttpFailure:
    if len(ids) > 1:
        return HttpFailure(reply=Reply.AMBIGUOUS, detail=f"{len(ids)} servers match this member")
    return next(iter(ids), missing)
