"""What CloudStack has measured of members that are its virtual machines.

The cloud of the group's profile is asked, with its key, for the machines of the account, a page at a time. What becomes
of a field:

* CloudStack has not measured it, cannot, or adds it up: NO_SUCH_COUNTER; text where a number is due: MALFORMED;
* all that is measured of the machine has been the same for longer than the group's freshness: STALE;
* no machine is the member, or it does not run: REFUSED; several are: AMBIGUOUS;
* no answer in time: UNREACHABLE, for everybody. A key that is not known, or may not ask: AUTH.

Note [Age]: ``listVirtualMachinesMetrics`` does not say when anything was measured, and shows the last of what there is
for as long as 12 hours (``vm.stats.max.retention.time``). As long as nothing of a machine's changes, it is taken for
the same measurement, which is as old as its first appearance here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from collector.clients.http.client import Answer, Failure, HttpClient, Question
from collector.clients.http.failures import of_server
from collector.samples import Reply, Sheet
from collector.source import Round
from collector.sources.cloud_wishes import Wish, Wishes, fail_all, wishes_of
from collector.sources.cloudstack.answers import (
    PAGE,
    Machine,
    Page,
    can_tell_what_moved,
    decode,
    largest_page,
    look_up,
    project_called,
)
from collector.sources.cloudstack.signing import signed
from config.counters.cloud_measures import CLOUDSTACK_MOVED
from config.errors import TrimtabError
from config.model.access import HttpAccess
from config.model.clouds import CloudstackCloud
from config.model.counters import CloudstackField
from config.units import CloudId, MemberName, Seconds

_LARGEST = 64 * 1024 * 1024
_PAGES = 1000
_LONG = 64 * 1024
"""From here on (a few ms) decoding goes to a thread, so that the event loop is not held."""
_REFUSALS = frozenset(range(400, 600))
"""Statuses with which CloudStack tells what is wrong."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MEASURED = {"details": "stats", "accumulate": "false"}
"""Measurements only, and not added up: it spares CloudStack looking up templates, offerings, groups."""
_KEPT: Seconds = 900.0
_VERSION_HOLDS: Seconds = 3600.0


class _Seen(NamedTuple):
    measured: Mapping[str, object]
    since: float
    """Steady seconds, as `asked`."""
    asked: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """All machines, and when the last page came."""

    machines: Sequence[Machine]
    moved: bool
    """Whether it tells what has moved in one collection."""
    at: float
    """Steady seconds."""


class CloudstackSource:
    """Asks CloudStack; keeps between rounds what was measured, and since when it is the same.

    Args:
        http: asked through; closed by whoever made it.
    """

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._seen: dict[tuple[CloudId, MemberName], _Seen] = {}
        self._moved: dict[CloudId, tuple[bool, float]] = {}
        self._projects: dict[CloudId, str] = {}
        self._sizes: dict[CloudId, int] = {}

    async def fetch(self, asked: Round) -> None:
        """Ask every cloud of the round, once, however many groups are on it."""
        now = asked.clock().steady
        self._seen = {who: seen for who, seen in self._seen.items() if seen.asked > now - _KEPT}
        async with asyncio.TaskGroup() as tasks:
            for cloud, wishes in wishes_of(asked, CloudstackCloud, CloudstackField).items():
                tasks.create_task(self._answer(asked, cloud, wishes))

    async def close(self) -> None:
        """Nothing to give back: the client is not ours."""

    async def _answer(self, asked: Round, cloud: CloudstackCloud, wishes: Wishes[CloudstackField]) -> None:
        fail_all(asked.sheet, wishes, Failure(reply=Reply.UNREACHABLE, said=f"no answer yet from {cloud.id}"))
        heard = await self._heard(asked, cloud, wishes)
        if isinstance(heard, Failure):
            fail_all(asked.sheet, wishes, Failure(reply=heard.reply, said=f"{cloud.id}: {heard.said}"))
            return
        directory = _directory(heard.machines)
        for member, rows in wishes.items():
            machine = directory(member)
            if isinstance(machine, Failure):
                fail_all(asked.sheet, {member: rows}, Failure(reply=machine.reply, said=f"{cloud.id}: {machine.said}"))
                continue
            since = self._since(cloud.id, member, machine, heard.at)
            for wish in rows:
                _put(asked.sheet, wish, machine, heard, since)

    def _since(self, cloud: CloudId, member: MemberName, machine: Machine, at: float) -> float:
        """Since when what is measured is the same: Note [Age]."""
        before = self._seen.get((cloud, member))
        since = before.since if before is not None and before.measured == machine.measured else at
        self._seen[cloud, member] = _Seen(machine.measured, since, at)
        return since

    async def _heard(self, asked: Round, cloud: CloudstackCloud, wishes: Wishes[CloudstackField]) -> _Heard | Failure:
        wanted = {wish.source.name for rows in wishes.values() for wish in rows}
        moved = await self._tells_what_moved(asked, cloud) if wanted & CLOUDSTACK_MOVED else True
        if isinstance(moved, Failure):
            return moved
        project = await self._project(asked, cloud)
        if isinstance(project, Failure):
            return project
        machines: list[Machine] = []
        for number in range(1, _PAGES + 1):
            answer = await self._page(asked, cloud, "listVirtualMachinesMetrics", {**_MEASURED, **project}, number)
            page = await _decoded(answer, before=len(machines), size=self._sizes.get(cloud.id, PAGE))
            if isinstance(page, Failure):
                self._projects.pop(cloud.id, None)
                return page
            machines.extend(page.machines)
            if page.whole:
                return _Heard(machines=machines, moved=moved, at=asked.clock().steady)
        return Failure(reply=Reply.INCOMPLETE, said="the listing does not end")

    async def _tells_what_moved(self, asked: Round, cloud: CloudstackCloud) -> bool | Failure:
        now = asked.clock().steady
        known, until = self._moved.get(cloud.id, (False, 0.0))
        if now < until:
            return known
        answer = await self._ask(asked, cloud, "listCapabilities", {})
        told = answer if isinstance(answer, Failure) else can_tell_what_moved(answer.body, answer.status)
        if not isinstance(told, Failure):
            self._moved[cloud.id] = told, now + _VERSION_HOLDS
        return told

    async def _project(self, asked: Round, cloud: CloudstackCloud) -> Mapping[str, str] | Failure:
        """What keeps a command within the cloud's project; its name is looked up anew after a refusal."""
        if cloud.project is None:
            return {}
        if _UUID.fullmatch(cloud.project):
            return {"projectid": cloud.project}
        if cloud.id not in self._projects:
            answer = await self._page(asked, cloud, "listProjects", {"name": cloud.project})
            if isinstance(answer, Failure):
                return answer
            found = project_called(cloud.project, answer.body, answer.status)
            if isinstance(found, Failure):
                return found
            self._projects[cloud.id] = found
        return {"projectid": self._projects[cloud.id]}

    async def _page(
        self, asked: Round, cloud: CloudstackCloud, command: str, parameters: Mapping[str, str], number: int = 1
    ) -> Answer | Failure:
        """One page of a listing. If the first one is larger than CloudStack gives, all are as large as it says."""
        size = self._sizes.get(cloud.id, PAGE)
        answer = await self._ask(asked, cloud, command, {**parameters, "page": str(number), "pagesize": str(size)})
        most = None if number > 1 or isinstance(answer, Failure) else largest_page(answer.body, answer.status)
        if most is None:
            return answer
        self._sizes[cloud.id] = most
        return await self._ask(asked, cloud, command, {**parameters, "page": str(number), "pagesize": str(most)})

    async def _ask(
        self, asked: Round, cloud: CloudstackCloud, command: str, parameters: Mapping[str, str]
    ) -> Answer | Failure:
        try:
            key, secret = asked.read_secret(cloud.api_key), asked.read_secret(cloud.secret)
        except (TrimtabError, OSError) as error:
            return Failure(reply=Reply.AUTH, said=str(error))
        answer = await self._http.ask(
            Question(
                url=cloud.endpoint,
                access=HttpAccess(trust=cloud.trust),
                timeout=cloud.timeout,
                method="POST",
                headers={"Content-Type": "application/x-www-form-urlencoded"},
                body=signed(command, parameters, key=key, secret=secret, now=asked.clock().wall),
                accept=_REFUSALS,
                only_reads=True,
                largest=_LARGEST,
            )
        )
        return of_server(answer) if isinstance(answer, Failure) else answer


async def _decoded(answer: Answer | Failure, *, before: int, size: int) -> Page | Failure:
    if isinstance(answer, Failure):
        return answer
    if len(answer.body) < _LONG:
        return decode(answer.body, answer.status, before=before, size=size)
    return await asyncio.to_thread(decode, answer.body, answer.status, before=before, size=size)


def _directory(machines: Iterable[Machine]) -> Callable[[MemberName], Machine | Failure]:
    """Find machines by member: who bears its name, and else who is shown by it."""
    named: dict[str, list[Machine]] = {}
    shown: dict[str, list[Machine]] = {}
    for machine in machines:
        named.setdefault(machine.name, []).append(machine)
        shown.setdefault(machine.display, []).append(machine)

    def find(member: MemberName) -> Machine | Failure:
        found = named.get(member) or shown.get(member) or []
        if not found:
            return Failure(reply=Reply.REFUSED, said="no machine is this member")
        several = Failure(reply=Reply.AMBIGUOUS, said=f"{len(found)} machines are this member")
        return found[0] if len(found) == 1 else several

    return find


def _put(sheet: Sheet, wish: Wish[CloudstackField], machine: Machine, heard: _Heard, since: float) -> None:
    if not machine.runs:
        sheet.fail(wish.row, Reply.REFUSED, "its machine does not run")
        return
    value = look_up(machine, wish.source.name, moved=heard.moved)
    age = heard.at - since
    if isinstance(value, Failure):
        sheet.fail(wish.row, value.reply, value.said)
    elif age > wish.limit:
        sheet.fail(wish.row, Reply.STALE, f"nothing that is measured has changed for {age:.0f} s")
    else:
        sheet.put(wish.row, value, at=since)
