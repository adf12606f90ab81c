"""Read CloudStack's measurements of members that are its virtual machines.

The source asks the cloud of the group's profile, with its key, for the account's machines, page by page. Failures of a
field:

* CloudStack has not measured it, cannot, or adds it up: NO_SUCH_COUNTER; text where a number is due: MALFORMED;
* all that is measured of the machine has been the same for longer than the group's freshness: STALE;
* no machine matches the member, or it does not run: REFUSED; several match: AMBIGUOUS;
* no answer in time: UNREACHABLE, for all members. An unknown key, or one without the right: AUTH.

Note [Age]: ``listVirtualMachinesMetrics`` does not report the time of a measurement, and shows the last one for up to
12 hours (``vm.stats.max.retention.time``). As long as no value of a machine changes, it counts as the same measurement,
which is as old as its first appearance here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from collector.clients.cloudstack.async_client import AsyncCloudstackClient
from collector.clients.http.client import HttpClient, HttpFailure
from collector.samples import Reply, Sheet
from collector.sources.cloudstack.parsing import CloudstackUsage, look_up, machine_of, reports_traffic
from collector.sources.member_matching import CloudSheetRow, MemberRows, fail_all, rows_by_cloud
from collector.targets import Round
from config.counters.cloud_measures import CLOUDSTACK_MOVED
from config.model.clouds import CloudstackCloud
from config.model.counters import CloudstackField
from config.units import CloudId, MemberName, Seconds

_MEASURED = {"details": "stats", "accumulate": "false"}
"""Only measurements, not accumulated: this spares CloudStack the lookup of templates, offerings, groups."""
_KEPT: Seconds = 900.0
_VERSION_HOLDS: Seconds = 3600.0


class _Seen(NamedTuple):
    measured: Mapping[str, object]
    since: float
    """Steady seconds, as `asked_at`."""
    asked_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """All machines, and the arrival of the last page."""

    machines: Sequence[CloudstackUsage]
    moved: bool
    """Whether it reports traffic per collection period."""
    at: float
    """Steady seconds."""


class CloudstackSource:
    """Asks CloudStack; keeps each machine's measurements between rounds, and since when they are the same.

    Args:
        http: sends the requests; its owner closes it.
    """

    def __init__(self, http: HttpClient) -> None:
        self._client = AsyncCloudstackClient(http)
        self._seen: dict[tuple[CloudId, MemberName], _Seen] = {}
        self._moved: dict[CloudId, tuple[bool, float]] = {}

    async def fetch(self, poll: Round) -> None:
        """Ask every cloud of the round once, for all its groups."""
        now = poll.clock().steady
        self._seen = {key: seen for key, seen in self._seen.items() if seen.asked_at > now - _KEPT}
        async with asyncio.TaskGroup() as tasks:
            for cloud, rows_by_member in rows_by_cloud(poll, CloudstackCloud, CloudstackField).items():
                tasks.create_task(self._answer(poll, cloud, rows_by_member))

    async def close(self) -> None:
        """Do nothing: the client belongs to its owner."""

    async def _answer(self, poll: Round, cloud: CloudstackCloud, rows_by_member: MemberRows[CloudstackField]) -> None:
        fail_all(
            poll.sheet, rows_by_member, HttpFailure(reply=Reply.UNREACHABLE, detail=f"no answer yet from {cloud.id}")
        )
        listing = await self._list(poll, cloud, rows_by_member)
        if isinstance(listing, HttpFailure):
            fail_all(
                poll.sheet, rows_by_member, HttpFailure(reply=listing.reply, detail=f"{cloud.id}: {listing.detail}")
            )
            return
        directory = _directory(listing.machines)
        for member, rows in rows_by_member.items():
            machine = directory(member)
            if isinstance(machine, HttpFailure):
                fail_all(
                    poll.sheet, {member: rows}, HttpFailure(reply=machine.reply, detail=f"{cloud.id}: {machine.detail}")
                )
                continue
            since = self._since(cloud.id, member, machine, listing.at)
            for row in rows:
                _put(poll.sheet, row, machine, listing, since)

    def _since(self, cloud: CloudId, member: MemberName, machine: CloudstackUsage, at: float) -> float:
        """Return since when the measurements are the same: Note [Age]."""
        before = self._seen.get((cloud, member))
        since = before.since if before is not None and before.measured == machine.measured else at
        self._seen[cloud, member] = _Seen(machine.measured, since, at)
        return since

    async def _list(
        self, poll: Round, cloud: CloudstackCloud, rows_by_member: MemberRows[CloudstackField]
    ) -> _Listing | HttpFailure:
        wanted = {row.source.name for rows in rows_by_member.values() for row in rows}
        moved = await self._reports_traffic(poll, cloud) if wanted & CLOUDSTACK_MOVED else True
        if isinstance(moved, HttpFailure):
            return moved
        listed = await self._client.every(poll, cloud, "listVirtualMachinesMetrics", "virtualmachine", **_MEASURED)
        if isinstance(listed, HttpFailure):
            return listed
        machines = [machine_of(entry) for entry in listed if isinstance(entry, dict)]
        return _Listing(machines=machines, moved=moved, at=poll.clock().steady)

    async def _reports_traffic(self, poll: Round, cloud: CloudstackCloud) -> bool | HttpFailure:
        now = poll.clock().steady
        known, until = self._moved.get(cloud.id, (False, 0.0))
        if now < until:
            return known
        answer = await self._client.ask(poll, cloud, "listCapabilities")
        reports = answer if isinstance(answer, HttpFailure) else reports_traffic(answer)
        if not isinstance(reports, HttpFailure):
            self._moved[cloud.id] = reports, now + _VERSION_HOLDS
        return reports


def _directory(machines: Iterable[CloudstackUsage]) -> Callable[[MemberName], CloudstackUsage | HttpFailure]:
    """Index machines by member: by name, else by display name."""
    named: dict[str, list[CloudstackUsage]] = {}
    shown: dict[str, list[CloudstackUsage]] = {}
    for machine in machines:
        named.setdefault(machine.name, []).append(machine)
        shown.setdefault(machine.display, []).append(machine)

    def find(member: MemberName) -> CloudstackUsage | HttpFailure:
        found = named.get(member) or shown.get(member) or []
        if not found:
            return HttpFailure(reply=Reply.REFUSED, detail="no machine matches this member")
        several = HttpFailure(reply=Reply.AMBIGUOUS, detail=f"{len(found)} machines match this member")
        return found[0] if len(found) == 1 else several

    return find


def _put(
    sheet: Sheet, row: CloudSheetRow[CloudstackField], machine: CloudstackUsage, listing: _Listing, since: float
) -> None:
    if not machine.runs:
        sheet.fail(row.index, Reply.REFUSED, "its machine does not run")
        return
    value = look_up(machine, row.source.name, moved=listing.moved)
    age = listing.at - since
    if isinstance(value, HttpFailure):
        sheet.fail(row.index, value.reply, value.detail)
    elif age > row.limit:
        sheet.fail(row.index, Reply.STALE, f"no measurement has changed for {age:.0f} s")
    else:
        sheet.put(row.index, value, at=since)
