"""What is garbage among all that bears our mark, and what never is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import pytest

from config.units import CloudId, GroupId, Instant, MemberName, PartName
from handler.planning.garbage import Abandoned, FleetRecords, GarbageKind, Item, garbage_of
from handler.planning.world import (
    Attempts,
    Listing,
    MadePart,
    PartListing,
    PartState,
    Phase,
    Record,
    Server,
    ServerState,
)
from tests.support.worlds import EDGE, INSTALLATION, NOW, WEB, a_definition, a_record, a_server, name_of

BOX = CloudId("box")
ONE = name_of(1)
OLD = GroupId("old")
HOUR = 3600.0


def ago(seconds: float) -> Instant:
    return Instant(NOW - seconds)


def known(*records: Record, gone: Iterable[MemberName] = (), abandoned: Iterable[MemberName] = ()) -> FleetRecords:
    let_go = (Abandoned(name=name, group=WEB, cloud=BOX, server_id=None, at=ago(60), by="ada") for name in abandoned)
    return FleetRecords(
        installation=INSTALLATION,
        definitions={WEB: a_definition()},
        records={record.name: record for record in records},
        gone=frozenset(gone),
        abandoned={each.name: each for each in let_go},
    )


def found(
    what: FleetRecords,
    *servers: Server,
    registered: Collection[MemberName] = (),
    complete: bool = True,
    parts: Any = (),
):
    listing = Listing(servers=servers, complete=complete)
    return garbage_of(what, {BOX: listing}, {BOX: PartListing(parts=parts, complete=True)}, {EDGE: registered}, NOW)


def kinds(items: Iterable[Item]) -> list[tuple[str, GarbageKind]]:
    return [(item.name, item.kind) for item in items]


def a_machine(name: MemberName = ONE, **fields: Any) -> Server:
    return replace(a_server(1, ServerState.RUNNING), name=name, **fields)


STUCK = a_record(
    1,
    Phase.LEAVING,
    destroy_attempts=10,
    removal_at=ago(900),
    attempts=(Attempts(call="destroy", count=10, again_at=NOW, because="locked"),),
)


def test_a_member_is_no_garbage_listed_or_not() -> None:
    assert found(known(a_record(1), a_record(2), a_record(3, Phase.LEAVING)), a_machine(), registered=[ONE]) == ()


def test_a_member_that_cannot_be_removed_is_listed_with_its_age_and_the_message_of_the_cloud() -> None:
    (item,) = found(known(STUCK), a_machine())
    assert (item.kind, item.since, item.server_id, item.where) == (GarbageKind.STUCK, ago(900), "id-1", BOX)
    assert item.because == "cannot be removed: locked"
    assert item.raw_state == "running"


@pytest.mark.parametrize(
    ("age", "listed", "expected"),
    [
        pytest.param(900 + HOUR, False, [(ONE, GarbageKind.OPEN_INTENT)], id="open for too long"),
        pytest.param(HOUR, False, [], id="it may still be settled"),
        pytest.param(900 + HOUR, True, [], id="found"),
    ],
)
def test_an_intent_that_stays_open(age: float, listed: bool, expected: list[tuple[str, GarbageKind]]) -> None:
    record = a_record(1, Phase.INTENDED, intended_at=ago(age))
    assert kinds(found(known(record), *([a_machine()] if listed else []))) == expected


@pytest.mark.parametrize(
    ("server", "what", "expected"),
    [
        pytest.param(name_of(1, group=OLD), known(), [GarbageKind.NO_GROUP], id="of a forgotten group"),
        pytest.param(ONE, known(gone=[ONE]), [GarbageKind.RETURNED], id="proved gone before"),
        pytest.param(ONE, known(abandoned=[ONE]), [GarbageKind.ABANDONED], id="abandoned"),
        pytest.param(
            ONE, known(gone=[ONE], abandoned=[ONE]), [GarbageKind.ABANDONED], id="abandoned after it was gone"
        ),
        pytest.param(ONE, known(), [], id="about to be taken up"),
        pytest.param(name_of(1, installation="zzzzzz"), known(), [], id="of another installation"),
        pytest.param(MemberName("database"), known(), [], id="foreign"),
    ],
)
def test_a_machine_without_a_record(server: MemberName, what: FleetRecords, expected: list[GarbageKind]) -> None:
    items = found(what, a_machine(server))
    assert [item.kind for item in items] == expected
    assert {item.since for item in items} <= {ago(3600)}


def test_a_second_machine_under_the_name_of_a_member_is_listed_with_its_own_id() -> None:
    member, second = a_machine(), a_machine(id="id-2", created_at=ago(60))
    for machines in ((member, second), (second, member)):
        (item,) = found(known(a_record(1)), *machines)
        assert (item.name, item.kind, item.server_id, item.since) == (ONE, GarbageKind.DUPLICATE, "id-2", ago(60))
        assert "id-1 is" in item.because
        assert not item.can_be_abandoned
    assert found(known(a_record(1)), member, replace(second, state=ServerState.DELETING)) == ()


def test_a_second_machine_that_a_cloud_lists_apart_is_listed_though_it_is_older() -> None:
    listing = Listing(servers=(a_machine(),), twins=(a_machine(id="id-2", created_at=ago(9 * HOUR)),), complete=True)
    for what, kind in ((known(a_record(1)), GarbageKind.DUPLICATE), (known(gone=[ONE]), GarbageKind.RETURNED)):
        items = garbage_of(what, {BOX: listing}, {}, {}, NOW)
        assert (items[-1].kind, items[-1].server_id) == (kind, "id-2")


def test_a_machine_on_another_cloud_is_no_second_one_of_the_member() -> None:
    one = Listing(servers=(a_machine(),), complete=True)
    assert garbage_of(known(a_record(1)), {BOX: one, CloudId("again"): one}, {}, {}, NOW) == ()


@pytest.mark.parametrize(
    ("registered", "listed", "what", "expected"),
    [
        pytest.param(ONE, False, known(), [GarbageKind.REGISTRATION], id="left behind"),
        pytest.param(ONE, False, known(gone=[ONE]), [GarbageKind.REGISTRATION], id="left behind by one that is gone"),
        pytest.param(ONE, True, known(), [], id="about to be taken up"),
        pytest.param(ONE, False, known(a_record(1)), [], id="a member's"),
        pytest.param(name_of(1, group=OLD), False, known(), [GarbageKind.REGISTRATION], id="of a forgotten group"),
        pytest.param(name_of(1, installation="zzzzzz"), False, known(), [], id="of another installation"),
    ],
)
def test_a_registration_without_a_member(
    registered: MemberName, listed: bool, what: FleetRecords, expected: list[GarbageKind]
) -> None:
    items = found(what, *([a_machine()] if listed else []), registered=[registered])
    assert [item.kind for item in items] == expected
    assert not any(item.can_be_abandoned for item in items)


def test_what_was_abandoned_is_shown_until_its_cloud_says_that_it_is_gone() -> None:
    what = known(abandoned=[ONE])
    assert found(what) == ()
    (item,) = found(what, complete=False)
    assert (item.kind, item.since) == (GarbageKind.ABANDONED, ago(60))
    assert kinds(garbage_of(what, {}, {}, {}, NOW)) == [(ONE, GarbageKind.ABANDONED)]


def test_garbage_comes_by_group_and_name_whatever_the_order_of_the_listing() -> None:
    groups = (OLD, GroupId("api"))
    machines = [a_machine(name_of(number, group=group)) for group in groups for number in (2, 1)]
    names = [item.name for item in found(known(), *machines)]
    assert names == sorted(names)
    assert found(known(), *machines) == found(known(), *reversed(machines))


FRONT = MadePart(name=PartName("front"), id="sim-part-1", state=PartState.READY)


@pytest.mark.parametrize(
    ("what", "machines", "why"),
    [
        pytest.param(known(), [], "of an unknown member", id="of a lost store"),
        pytest.param(known(gone=[ONE]), [], "of an unknown member", id="of one that is gone"),
        pytest.param(known(abandoned=[ONE]), [], "of a member that ada abandoned", id="of an abandoned intent"),
        pytest.param(known(a_record(1)), [], None, id="of a member"),
        pytest.param(known(), [a_machine()], None, id="taken up with its machine"),
    ],
)
def test_a_part_without_a_member_and_a_machine(what: FleetRecords, machines: list[Server], why: str | None) -> None:
    items = [item for item in found(what, *machines, parts=((ONE, FRONT),)) if item.kind is GarbageKind.PART]
    assert len(items) == (why is not None)
    for item in items:
        assert (item.name, item.where, item.server_id, item.can_be_abandoned) == (ONE, BOX, "sim-part-1", False)
        assert f"its part front, {why}" in item.because


def test_a_part_is_no_garbage_while_its_cloud_does_not_show_all_machines_nor_is_that_of_others() -> None:
    assert [
        item for item in found(known(), complete=False, parts=((ONE, FRONT),)) if item.kind is GarbageKind.PART
    ] == []
    assert found(known(), parts=((MemberName("web-zzzzzz-1"), FRONT),)) == ()
