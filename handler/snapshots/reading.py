"""Read the format of docs/worlds.md. Missing fields have defaults, so that people can write a world by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from config.model.catalogue import Group, ProcessCloud, ProcessRecipe, Profile, ReadyProbe
from config.model.parts import MemberPart as Declared
from config.model.parts import OnDelete, Volume
from config.model.repair import HealthRepair, Repair
from config.units import BalancerId, CloudId, GroupId, Instant, MemberName, PartName, ProfileId, Seconds
from handler.planning.desired import Definition, DesiredState, Limits, Rolling
from handler.planning.evidence import Loss, LossEvidence, Testimony
from handler.planning.headroom import Headroom
from handler.planning.plan import Snapshot
from handler.planning.world import (
    Attempts,
    BalancerView,
    Leaving,
    MadePart,
    Member,
    Phase,
    Record,
    Registration,
    Server,
    ServerState,
    World,
)
from handler.snapshots.parts import FoundProblems, Part
from handler.snapshots.text import read_text
from handler.snapshots.writing import FORMAT, OF_GROUP

_MOST_MEMBERS: Final = 10**6
_ENDS_IN_A_NUMBER: Final = re.compile(r"[0-9]{1,15}$")
_OF_NO_SIZE: Final = Volume(size=0)
"""Planning uses only the names of parts and what happens to them on delete."""
_SOMEWHERE: Final = "192.0.2.1"
"""An address for documentation (RFC 5737): planning uses only whether there is one."""


def read_snapshot(content: bytes, file: str) -> Snapshot:
    """Read one snapshot; ``file`` is its name in problems.

    Raises:
        DeclarationError: with every problem (twenty at most), each with file and line, field and what was expected.
    """
    data, places = read_text(content, file)
    problems = FoundProblems(file, places)
    top = Part(data, (), problems)
    top.known(("format", "group", "at", "desired", "definition", "limits", "world"))
    for version in top.values("format", int):
        if version != FORMAT:
            top.wrong("format", f"{version} is not {FORMAT}, the format that this version reads")
    at = Instant(next(top.values("at", Instant), 0.0))
    top.at = at
    group = GroupId(next(top.values("group", GroupId), "group"))
    snapshot = Snapshot(
        desired=_desired(top),
        world=_world(top, group),
        definition=_definition(top, group),
        limits=_limits(top),
        at=at,
    )
    problems.conclude()
    return snapshot


def _desired(top: Part) -> DesiredState:
    part = top.part("desired", short="size") if top.needs("desired", "3, or null where there is none yet") else None
    if part is None:
        return DesiredState(size=None, revision=0)
    part.needs("size", "3, or null where there is none yet")
    given = part.fields(DesiredState, apart=("roll",))
    size = given.get("size")
    if size is not None and not 0 <= size <= _MOST_MEMBERS:
        part.wrong("size", f"{size} is not 0 to {_MOST_MEMBERS} members")
    return DesiredState(**{"size": None, "revision": 0, **given}, roll=_roll(part.part("roll")))


def _roll(part: Part | None) -> Rolling | None:
    if part is None:
        return None
    roll = Rolling(**{"surge": 0, "unavailable": 0, **part.fields(Rolling)})
    if min(roll.surge, roll.unavailable) < 0 or not 0 < roll.surge + roll.unavailable <= _MOST_MEMBERS:
        part.problems.add(part.where, f"needs surge or unavailable above 0, together at most {_MOST_MEMBERS}")
    return roll


def _definition(top: Part, group: GroupId) -> Definition:
    """Make a definition with the fields that planning reads."""
    profile, cloud = ProfileId("profile"), CloudId("cloud")
    ready: Seconds | None = None
    parts: tuple[tuple[PartName, OnDelete], ...] = ()
    given: dict[str, Any] = {}
    part = top.part("definition")
    if part is not None:
        part.known((*OF_GROUP, "ready", "parts"))
        plain = [name for name in OF_GROUP if name != "repair"]
        given = {**part.some(Group, plain), "repair": _repair(part.part("repair"))}
        ready = _within(part.part("ready", short="within"))
        parts = _kept(part.part("parts"))
    return Definition(
        group=Group(id=group, profile=profile, minimum=0, maximum=_MOST_MEMBERS, **given),
        profile=Profile(
            id=profile,
            cloud=cloud,
            recipe=ProcessRecipe(command=()),
            ready=None if ready is None else ReadyProbe(path="/", port=80, within=ready),
            parts=tuple(Declared(name=name, spec=_OF_NO_SIZE, on_delete=fate) for name, fate in parts),
        ),
        cloud=ProcessCloud(id=cloud),
        balancers=MappingProxyType({}),
    )


def _repair(part: Part | None) -> Repair:
    if part is None:
        return Repair()
    given = part.fields(Repair, apart=("unhealthy",))
    unhealthy = part.part("unhealthy")
    return Repair(**given, unhealthy=None if unhealthy is None else HealthRepair(**unhealthy.fields(HealthRepair)))


def _within(ready: Part | None) -> Seconds | None:
    if ready is None:
        return None
    ready.known(("within",))
    ready.needs("within", "5m")
    return next(ready.values("within", Seconds), 0.0)


def _limits(top: Part) -> Limits:
    part = top.part("limits")
    given = {} if part is None else {**part.fields(Limits, apart=("headroom",)), "headroom": _headroom(part)}
    creates = given.get("creates", 0)
    if part is not None and abs(creates) > _MOST_MEMBERS:
        part.wrong("creates", f"{creates} is not at most {_MOST_MEMBERS}")
    return Limits(**{"creates": 10, "back_off_until": None, **given})


def _headroom(limits: Part) -> Headroom | None:
    part = limits.part("headroom", short="members")
    if part is None:
        return None
    given = part.fields(Headroom)
    if part.needs("members", "2") and given.get("members", 0) < 0:
        part.wrong("members", f"{given['members']} is not a number of members")
    return Headroom(**{"members": 0, "by": "its quota", **given})


def _world(top: Part, group: GroupId) -> World:
    part = top.part("world") if top.needs("world", "{}") else None
    if part is None:
        return World(group=group, at=top.at, complete=True, because="", members=(), balancer_views={})
    balancer_views = _balancer_views(part.part("seatings"))
    given = part.fields(World, elsewhere=("group",), apart=("members", "seatings", "losses"))
    members: dict[MemberName, Member] = {}
    for each in part.parts("members"):
        for name in each.values("name", MemberName):
            if name in members:
                each.wrong("name", "is given twice")
            members[name] = _member(each, name, group, balancer_views)
        each.needs("name", "web-k3f9ab-1")
    _known_by_name(part, balancer_views, members)
    defaults = {"at": top.at, "complete": True, "because": ""}
    losses = _losses(part.part("losses"))
    return World(
        **{**defaults, **given},
        group=group,
        members=tuple(members.values()),
        balancer_views=balancer_views,
        losses=losses,
    )


def _losses(part: Part | None) -> LossEvidence:
    if part is None:
        return LossEvidence()
    given = part.fields(LossEvidence, apart=("members", "back"))
    back = part.part("back")
    found = {} if back is None else {MemberName(n): at for n in back.names() for at in back.values(n, Instant)}
    return LossEvidence(**given, members=MappingProxyType(_lost(part.part("members"))), back=MappingProxyType(found))


def _lost(part: Part | None) -> dict[MemberName, Loss]:
    lost: dict[MemberName, Loss] = {}
    for name in () if part is None else part.names():
        each = None if part is None else part.part(name, short="since")
        given = {} if each is None else each.fields(Loss, apart=("testimonies",))
        if each is not None and each.needs("since", "5m ago") and "since" in given:
            lost[MemberName(name)] = Loss(**given, testimonies=tuple(_testimonies(each)))
    return lost


def _testimonies(loss: Part) -> Iterator[Testimony]:
    for part in loss.parts("testimonies"):
        given = part.fields(Testimony)
        if part.needs("source", "snmp") and part.needs("says", "silent") and {"source", "says"} <= given.keys():
            yield Testimony(**{"heard_at": None, "answers": True, **given})


def _known_by_name(
    world: Part, balancer_views: Mapping[BalancerId, BalancerView], members: Mapping[MemberName, Member]
) -> None:
    """Note registrations without a member as problems: in a hand-written world, they are typing mistakes."""
    for balancer, balancer_view in balancer_views.items():
        for name in (balancer_view.registrations or {}).keys() - members.keys():
            where = (*world.where, "seatings", balancer, "seats", name)
            world.problems.add(where, "no member has this name")


def _balancer_views(part: Part | None) -> Mapping[BalancerId, BalancerView]:
    if part is None:
        return {}
    balancer_views: dict[BalancerId, BalancerView] = {}
    for balancer in part.names():
        each = part.part(balancer)
        if each is None:
            part.wrong(balancer, 'is empty: write {"seats": {}}, or {"seats": null} if it could not be read')
            continue
        given = each.fields(BalancerView, apart=("seats", "partly"))
        registrations = None if each.is_null("seats") else _registrations(each.part("seats"))
        answered = each.part("partly")
        partly = None if answered is None else _registrations(answered)
        balancer_views[BalancerId(balancer)] = BalancerView(**given, registrations=registrations, partly=partly)
    return MappingProxyType(balancer_views)


def _registrations(part: Part | None) -> Mapping[MemberName, Registration]:
    if part is None:
        return {}
    registrations: dict[MemberName, Registration] = {}
    for name in part.names():
        each = part.part(name, short="state")
        given = {} if each is None else each.fields(Registration, elsewhere=("member",))
        if "state" in given:
            member = MemberName(name)
            registrations[member] = Registration(**{"connections": None, **given}, member=member)
        elif each is None:
            part.wrong(name, "is empty: write, for example, serving")
        else:
            each.needs("state", "serving")
    return MappingProxyType(registrations)


def _member(part: Part, name: MemberName, group: GroupId, balancer_views: Mapping[BalancerId, BalancerView]) -> Member:
    given = part.fields(Member, apart=("name", "record", "server", "parts", "gone"))
    recorded, listed = part.part("record", short="phase"), part.part("server", short="state")
    if recorded is None and listed is None:
        part.wrong("name", "needs a record, a server, or both")
    record = None if recorded is None else _record(recorded, name, group, balancer_views)
    server = None if listed is None else _server(listed, name, part.at if record is None else record.intended_at)
    before = part.part("gone", short="phase")
    gone = None if before is None else _record(before, name, group, balancer_views)
    defaults = {"disproved": False, "ready": None, "parts": tuple(_made(part.part("parts"))), "gone": gone}
    return Member(**{**defaults, **given}, name=name, record=record, server=server)


def _made(part: Part | None) -> Iterator[MadePart]:
    """Read the parts that exist, by name."""
    for name in () if part is None else part.names():
        each = None if part is None else part.part(name, short="state")
        given = {} if each is None else each.fields(MadePart, elsewhere=("name",))
        if "state" in given:
            yield MadePart(**{"id": name, **given}, name=PartName(name))
        elif each is not None:
            each.needs("state", "ready")


def _record(
    part: Part, name: MemberName, group: GroupId, balancer_views: Mapping[BalancerId, BalancerView]
) -> Record | None:
    """Read a member's record. An instant that its phase implies is by default the one before it."""
    given = part.fields(Record, elsewhere=("name", "group"), apart=("balancers", "seats", "attempts", "parts"))
    if "phase" not in given:
        part.needs("phase", "in_service")
        return None
    phase = given["phase"]
    number = _ENDS_IN_A_NUMBER.search(name)
    behind, registrations = part.part("balancers"), part.part("seats")
    filled = {
        "sequence": int(number[0]) if number else 0,
        "intended_at": part.at,
        "balancers": tuple((balancer, 0) for balancer in balancer_views) if behind is None else _behind(behind),
        "registrations": () if registrations is None else _known_as(registrations),
        "attempts": tuple(_attempts(part)),
        "parts": _kept(part.part("parts")),
        **given,
    }
    if phase is not Phase.INTENDED:
        filled.setdefault("made_at", filled["intended_at"])
    if phase in {Phase.IN_SERVICE, Phase.LEAVING}:
        filled.setdefault("in_service_at", filled["made_at"])
    if phase is Phase.LEAVING:
        filled.setdefault("leaving", Leaving.SURPLUS)
        filled.setdefault("leaving_at", part.at)
    return Record(**filled, name=name, group=group)


def _behind(part: Part) -> tuple[tuple[BalancerId, int], ...]:
    return tuple((BalancerId(balancer), port) for balancer in part.names() for port in part.values(balancer, int))


def _attempts(record: Part) -> Iterator[Attempts]:
    for part in record.parts("attempts"):
        if part.needs("call", "join"):
            given = part.fields(Attempts)
            if "call" in given:
                yield Attempts(**{"count": 1, "again_at": part.at, **given})


def _kept(part: Part | None) -> tuple[tuple[PartName, OnDelete], ...]:
    if part is None:
        return ()
    return tuple((PartName(name), fate) for name in part.names() for fate in part.values(name, OnDelete))


def _known_as(part: Part) -> tuple[tuple[BalancerId, str], ...]:
    return tuple((BalancerId(balancer), known) for balancer in part.names() for known in part.values(balancer, str))


def _server(part: Part, name: MemberName, made_at: Instant) -> Server | None:
    given = part.fields(Server, elsewhere=("name", "claim"))
    if "state" not in given:
        part.needs("state", "running")
        return None
    state = given["state"]
    defaults = {
        "id": name,
        "address": _SOMEWHERE if state is ServerState.RUNNING else None,
        "created_at": made_at,
        "raw_state": state.value,
    }
    return Server(**{**defaults, **given}, name=name)
