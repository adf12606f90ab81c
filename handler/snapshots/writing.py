"""Write snapshots in the format of docs/worlds.md, with only the fields that planning reads, and so no secrets."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from config.build.wire import name_of
from config.units import MemberName
from handler.planning.evidence import LossEvidence, Testimony
from handler.planning.plan import Snapshot
from handler.planning.world import BalancerView, Member, Record, Registration

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FORMAT = 1
"""The version of the format that is written, and the only one that is read."""

OF_GROUP = ("interval", "drain", "grace", "build_timeout", "on_vanish", "repair", "victims", "distrust")
"""The fields of a declared group that planning reads."""

_SHORT = 100
"""Columns: a value that fits stays on one line."""


def written(snapshot: Snapshot) -> Mapping[str, object]:
    """Return a snapshot with the format's keys; the values are still ours (enums, for example)."""
    group, ready = snapshot.definition.group, snapshot.definition.profile.ready
    world = snapshot.world
    return {
        "format": FORMAT,
        "group": world.group,
        "at": snapshot.at,
        "desired": snapshot.desired,
        "definition": {
            **{name: getattr(group, name) for name in OF_GROUP},
            "ready": None if ready is None else {"within": ready.within},
            "parts": {part.name: part.on_delete for part in snapshot.definition.profile.parts},
        },
        "limits": snapshot.limits,
        "world": {
            **_fields(world, besides=("group", "members", "seatings", "losses")),
            "members": [_member(member) for member in world.members],
            "seatings": {
                balancer: _balancer_view(balancer_view) for balancer, balancer_view in world.balancer_views.items()
            },
            "losses": _losses(world.losses),
        },
    }


def _member(member: Member) -> dict[str, object]:
    record, server = member.record, member.server
    return {
        **_fields(member, besides=("record", "server", "parts", "gone")),
        "parts": {part.name: _fields(part, besides=("name",)) for part in member.parts},
        "record": None if record is None else _record(record),
        "server": None if server is None else _fields(server, besides=("name", "claim")),
        "gone": None if member.gone is None else _record(member.gone),
    }


def _losses(losses: LossEvidence) -> dict[str, object]:
    members = {
        name: {"since": loss.since, "believed": loss.believed, "testimonies": [*map(_testimony, loss.testimonies)]}
        for name, loss in losses.members.items()
    }
    return {**_fields(losses, besides=("members",)), "members": members}


def _testimony(testimony: Testimony) -> dict[str, object]:
    return _fields(testimony, besides=())


def _record(record: Record) -> dict[str, object]:
    attempts = [_fields(one, besides=()) for one in record.attempts]
    lists = {
        "balancers": dict(record.balancers),
        "seats": dict(record.registrations),
        "attempts": attempts,
        "parts": dict(record.parts),
    }
    return {**_fields(record, besides=("name", "group")), **lists}


def _balancer_view(balancer_view: BalancerView) -> dict[str, object]:
    partly = {} if balancer_view.partly is None else {"partly": _registrations(balancer_view.partly)}
    seats = _registrations(balancer_view.registrations)
    return {**_fields(balancer_view, besides=("seats", "partly")), **partly, "seats": seats}


def _registrations(registrations: Mapping[MemberName, Registration] | None) -> dict[str, object] | None:
    if registrations is None:
        return None
    return {name: _fields(registration, besides=("member",)) for name, registration in registrations.items()}


def _fields(value: DataclassInstance, *, besides: Collection[str]) -> dict[str, object]:
    named = {name_of(field): field.name for field in fields(value)}
    return {name: getattr(value, attribute) for name, attribute in named.items() if name not in besides}


def laid_out(value: object) -> str:
    """Write JSON for people: items of lists and short values on a line of their own, the rest unfolded.

    >>> print(laid_out({"a": {"b": 1}, "c": [{"d": 2}, {"d": 3}]}))
    {"a": {"b": 1}, "c": [{"d": 2}, {"d": 3}]}
    """
    return "".join(_unfolded(value, "\n"))


def _unfolded(value: object, newline: str) -> Iterator[str]:
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) <= _SHORT or not isinstance(value, (dict, list)):
        yield flat
        return
    inner = newline + "  "
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    yield opened
    for index, item in enumerate(value):
        yield ("," if index else "") + inner
        if isinstance(value, dict):
            yield json.dumps(item, ensure_ascii=False) + ": "
            yield from _unfolded(value[item], inner)
        else:
            yield json.dumps(item, ensure_ascii=False)
    yield newline + closed
