"""Read OpenNebula's values for members that are its virtual machines: measured by hypervisors, or sent by guests.

The source asks the cloud of the group's profile, as its user, for the last measurements of all the user's machines, and
for the machines, page by page. Failures of an attribute:

* the machine has none of this name: NO_SUCH_COUNTER; a vector, or text instead of a number: MALFORMED;
* the hypervisors' last measurement is older than the group's freshness: STALE;
* no machine matches the member, or it does not run: REFUSED;
* no answer in time: UNREACHABLE, for all members. A refused user: AUTH.

A measurement has the age that OpenNebula reports, by its own clock. Values that a guest sends have no time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar, assert_never

from collector.clients.http.client import HttpClient, HttpFailure, HttpRequest
from collector.clients.http.failures import of_server
from collector.clients.opennebula.messages import PAGE, XML
from collector.samples import AHEAD_AT_MOST, Reply, Sheet
from collector.sources.member_matching import CloudSheetRow, MemberRows, fail_all, rows_by_cloud
from collector.sources.opennebula.parsing import (
    OpennebulaPage,
    OpennebulaUsage,
    Value,
    decode,
    decode_measured,
    look_up,
    measured,
    measured_question,
    question,
)
from collector.sources.sample_times import SampleTimes, clock_of
from collector.targets import Round
from config.errors import TrimtabError
from config.model.access import HttpAccess
from config.model.catalogue import OpennebulaCloud
from config.model.counters import OpennebulaAttribute
from config.units import MemberName

_LARGEST = 64 * 1024 * 1024
_PAGES = 1000
_LONG = 64 * 1024
"""From here on (a few ms) decoding goes to a thread, so that the event loop is not held."""

_Known = TypeVar("_Known")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read(Generic[_Known]):
    """One answer, and its arrival."""

    known: _Known
    at: float
    """Steady seconds."""
    there: float
    """Seconds since the epoch, by OpenNebula's clock."""


class OpennebulaSource:
    """Asks OpenNebula; keeps the times of measurements between rounds.

    Args:
        http: sends the requests; its owner closes it.
    """

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._times = SampleTimes()

    async def fetch(self, poll: Round) -> None:
        """Ask every cloud of the round once, for all its groups."""
        self._times.tidy(poll.clock().steady)
        async with asyncio.TaskGroup() as tasks:
            for cloud, rows in rows_by_cloud(poll, OpennebulaCloud, OpennebulaAttribute).items():
                tasks.create_task(self._answer(poll, cloud, rows))

    async def close(self) -> None:
        """Do nothing: the client belongs to its owner."""

    async def _answer(self, poll: Round, cloud: OpennebulaCloud, rows: MemberRows[OpennebulaAttribute]) -> None:
        fail_all(poll.sheet, rows, HttpFailure(reply=Reply.UNREACHABLE, detail=f"no answer yet from {cloud.id}"))
        measurements = await self._read(poll, cloud, measured_question, decode_measured)
        if isinstance(measurements, HttpFailure):
            fail_all(
                poll.sheet, rows, HttpFailure(reply=measurements.reply, detail=f"{cloud.id}: {measurements.detail}")
            )
            return
        waiting = dict(rows)
        for number in range(_PAGES):
            read = await self._read(poll, cloud, partial(question, offset=number * PAGE), decode)
            if isinstance(read, HttpFailure):
                fail_all(poll.sheet, waiting, HttpFailure(reply=read.reply, detail=f"{cloud.id}: {read.detail}"))
                return
            for machine in read.known.machines:
                for row in waiting.pop(MemberName(machine.member), ()):
                    self._put(poll.sheet, row, measured(machine, measurements.known.get(machine.id, {})), read)
            if read.known.count < PAGE:
                break
        fail_all(
            poll.sheet, waiting, HttpFailure(reply=Reply.REFUSED, detail=f"{cloud.id}: no machine matches this member")
        )

    async def _read(
        self,
        poll: Round,
        cloud: OpennebulaCloud,
        question: Callable[[str], bytes],
        decode: Callable[[bytes], _Known | HttpFailure],
    ) -> _Read[_Known] | HttpFailure:
        try:
            session = f"{cloud.user}:{poll.read_secret(cloud.password)}"
        except (TrimtabError, OSError) as error:
            return HttpFailure(reply=Reply.AUTH, detail=str(error))
        answer = await self._http.ask(
            HttpRequest(
                url=cloud.endpoint,
                access=HttpAccess(trust=cloud.trust),
                timeout=cloud.timeout,
                method="POST",
                headers=XML,
                body=question(session),
                only_reads=True,
                largest=_LARGEST,
            )
        )
        if isinstance(answer, HttpFailure):
            return of_server(answer)
        long = len(answer.body) >= _LONG
        known = await asyncio.to_thread(decode, answer.body) if long else decode(answer.body)
        there = clock_of(answer, poll.clock())
        return known if isinstance(known, HttpFailure) else _Read(known=known, at=answer.at, there=there)

    def _put(
        self,
        sheet: Sheet,
        row: CloudSheetRow[OpennebulaAttribute],
        machine: OpennebulaUsage,
        read: _Read[OpennebulaPage],
    ) -> None:
        if not machine.runs:
            sheet.fail(row.index, Reply.REFUSED, "its machine does not run")
            return
        found, at = look_up(machine, row.source.name), read.at
        match found:
            case HttpFailure(reply=reply, detail=detail):
                sheet.fail(row.index, reply, detail)
            case Value(value=value, taken=taken):
                age = 0.0 if taken is None else max(read.there - taken, 0.0)
                ahead = 0.0 if taken is None else taken - read.there
                if ahead > AHEAD_AT_MOST:
                    detail = f"its measurement is {ahead:.0f} s ahead of OpenNebula's clock"
                    sheet.fail(row.index, Reply.FUTURE, detail)
                    return
                if age > row.limit:
                    sheet.fail(row.index, Reply.STALE, f"it was measured {age:.0f} s ago")
                    return
                if taken is not None:
                    at = self._times.instant(row.series, taken, at=at - age, now=at)
                sheet.put(row.index, value, at=at)
            case _:
                assert_never(found)
