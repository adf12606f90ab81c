"""``listEvents``: what commands did, as their jobs have it, and the changes of size, as the history has them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable
from heapq import merge
from itertools import islice
from typing import Final

from config.model.sections import Section
from config.units import AccountId, GroupId, Instant
from handler.cloudstack_api.call import ListResult
from handler.cloudstack_api.jobs import KEPT, KINDS, Jobs, time_given
from handler.cloudstack_api.owners import shown_owner
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.rendering import Shown
from handler.cloudstack_api.view import View, shown_time
from handler.ports.cloudstack_api import CloudstackApiStore, StoredJob
from handler.ports.stored import Event

_MOST: Final = 5_000
_NAMED: Final = 10_000
"""Groups that the store is asked about at once: a database bounds the values of a statement."""
_SYSTEM: Final = "system"
_VERBS: Final = ("create", "update", "delete", "enable", "disable", "add", "remove", "")


async def listed(arguments: Arguments, view: View, jobs: Jobs, store: CloudstackApiStore, now: Instant) -> ListResult:
    """Carry out listEvents: newest first.

    Raises:
        CloudstackFault: a time is none.
        StoreError: the store cannot be read.
    """
    begin, end = time_given(arguments, "startdate"), time_given(arguments, "enddate", is_end=True)
    moves = await asyncio.to_thread(_moves, arguments, view, store, Instant(now - KEPT))
    own = await jobs.own(arguments, view)
    objects = await asyncio.to_thread(_asked, arguments, view, [*own, *moves], begin, end)
    return ListResult(kind="event", objects=objects)


def _moves(arguments: Arguments, view: View, store: CloudstackApiStore, since: Instant) -> tuple[Event, ...]:
    """Return the newest changes of size in the groups that a list is about: those of others hide none of them."""
    groups = [GroupId(each) for each in view.owned(arguments, Section.GROUPS)]
    named = (groups[first : first + _NAMED] for first in range(0, len(groups), _NAMED))
    newest = merge(*(store.size_changes(since, _MOST, some) for some in named), key=lambda move: move.at, reverse=True)
    return tuple(islice(newest, _MOST))


def _asked(
    arguments: Arguments,
    view: View,
    found: Iterable[StoredJob | Event],
    begin: Instant | None,
    end: Instant | None,
) -> list[Shown]:
    """Return the events that a request asks for. They may be thousands: it is no work for the event loop."""
    groups = {*view.owned(arguments, Section.GROUPS)}
    shown = [
        _of_job(view, each) if isinstance(each, StoredJob) else _of_move(view, each)
        for each in found
        if isinstance(each, StoredJob) or each.group in groups
    ]
    shown.sort(key=lambda event: str(event["created"]), reverse=True)
    return [
        event
        for event in shown
        if all(arguments.text(name) in {None, event.get(name)} for name in ("id", "type", "level", "resourceid"))
        and (begin is None or str(event["created"]) >= shown_time(begin))
        and (end is None or str(event["created"]) <= shown_time(end))
        and (arguments.text("keyword") or "").lower() in str(event["description"]).lower()
    ]


def type_of(command: str) -> str:
    """Return the type of the event that a command is.

    >>> type_of("createAutoScalePolicy"), type_of("disableAutoScaleVmGroup"), type_of("deleteCounter")
    ('AUTOSCALEPOLICY.CREATE', 'AUTOSCALEVMGROUP.DISABLE', 'COUNTER.DELETE')
    """
    verb = next(each for each in _VERBS if command.startswith(each))
    return f"{command.removeprefix(verb)}.{verb}".upper()


def _of_job(view: View, job: StoredJob) -> Shown:
    outcome = "failed" if job.code else "completed"
    about = "" if job.section is None else f" {KINDS[job.section]}: {job.name}"
    return {
        "id": job.uuid,
        "username": job.user,
        "type": type_of(job.command),
        "level": "ERROR" if job.code else "INFO",
        "description": f"{job.command} {outcome}{about}",
        **shown_owner(view.accounts, AccountId(job.account)),
        "created": shown_time(job.ended_at),
        "state": "Completed",
        "resourceid": job.subject or None,
        "resourcetype": None if job.section is None else KINDS[job.section],
        "resourcename": job.name or None,
    }


def _of_move(view: View, move: Event) -> Shown:
    key = Section.GROUPS, move.group
    is_up = (move.desired_from or 0) < (move.desired_to or 0)
    return {
        "id": str(uuid.uuid5(uuid.UUID(view.uuid(key)), f"{move.at!r} {move.name}")),
        "username": _SYSTEM,
        "type": f"AUTOSCALEVMGROUP.{'SCALEUP' if is_up else 'SCALEDOWN'}",
        "level": "INFO",
        "description": f"{view.name(key)}: {move.desired_from} to {move.desired_to} members, {move.name} by {move.by}",
        **view.owner(key),
        "created": shown_time(move.at),
        "state": "Completed",
        "resourceid": view.uuid(key),
        "resourcetype": KINDS[Section.GROUPS],
        "resourcename": view.name(key),
    }
