"""A running daemon finds garbage, and a person abandons it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import Refused, Transient
from config.units import AccountId, GroupId, Instant, MemberName
from handler.identity.grants import EVERYTHING, Grants
from handler.identity.rights import Verb
from handler.operations.lookup import NoSuch
from handler.planning.garbage import GarbageKind
from handler.planning.status import GroupCondition, MemberState
from handler.planning.world import Phase, Record, RegistrationState
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.worlds import name_of

ONE, TWO = name_of(1), name_of(2)
LOST = name_of(7, group=GroupId("old"))


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


async def kinds(up: Up) -> dict[str, GarbageKind]:
    return {item.name: item.kind for item in (await up.operations.garbage.look(None)).items}


def record_of(up: Up, name: MemberName) -> Record | None:
    return next((record for record in up.store.members(WEB) if record.name == name), None)


async def stuck(up: Up, bed: EngineBed) -> None:
    """Have two members in service, and a third whose removal has failed for long."""
    await up.grown(2)
    await up.operations.scale(WEB, 3, force=False, by="ada")
    await up.grown(3)
    bed.cloud.faults.always["destroy"] = Transient("locked")
    await up.operations.members.dismiss(WEB, ONE, force=False, by="ada")
    await up.until(lambda: (record := record_of(up, ONE)) is not None and record.destroy_attempts)
    async with up.engine.keeper.between(up.runtime):
        record = record_of(up, ONE)
        assert record is not None
        up.store.save((replace(record, destroy_attempts=10),), up.runtime.definition.cloud.id)
    await up.until(lambda: up.status.condition is GroupCondition.WARNING and up.settled())


def test_a_stuck_member_is_reported_and_the_group_goes_on(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await stuck(up, bed)
        assert {member.name: member.state for member in up.status.members}[ONE] is MemberState.STUCK
        assert any(f"{ONE} cannot be removed" in message for message in up.status.messages)
        assert b'trimtab_group_members{group="web",state="stuck"} 1.0' in up.operations.metrics()
        assert await kinds(up) == {ONE: GarbageKind.STUCK}
        await up.operations.scale(WEB, 4, force=False, by="ada")
        await up.until(lambda: up.serving() == 4)

    bed.run(scene)


def test_abandoned_garbage_is_listed_and_never_touched_again(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await stuck(up, bed)
        await up.operations.garbage.abandon(ONE, by="ada")
        await up.until(lambda: ONE not in {member.name for member in up.status.members})
        assert await kinds(up) == {ONE: GarbageKind.ABANDONED}
        events = await up.operations.history(WEB, before=None, limit=99)
        assert ("abandon", "ada", ONE) in {(one.name, one.by, one.message) for one in events}
        with pytest.raises(Refused, match="abandoned already"):
            await up.operations.garbage.abandon(ONE, by="ada")

    bed.run(scene)
    bed.cloud.faults.clear()
    bed.cloud.destroyed.clear()

    async def later(up: Up) -> None:
        await up.until(lambda: up.settled() and up.serving() == 2)
        await up.passed(4)
        assert {member.name for member in up.status.members} == {TWO, name_of(3)}
        assert await kinds(up) == {ONE: GarbageKind.ABANDONED}

    bed.run(later)
    assert (bed.cloud.destroyed, ONE in bed.cloud.machines) == ([], True)


def test_a_group_that_is_deleted_and_declared_again_does_not_take_up_what_was_abandoned(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await stuck(up, bed)
        await up.operations.garbage.abandon(ONE, by="ada")
        bed.declare(model().replace("  web:\n    profile", "  api:\n    profile"))
        await up.operations.reload()
        await up.operations.delete(WEB, members=False, by="ada")
        found = {(item.name, item.kind) for item in (await up.operations.garbage.look(WEB)).items}
        assert {(ONE, GarbageKind.ABANDONED), (TWO, GarbageKind.NO_GROUP), (name_of(3), GarbageKind.NO_GROUP)} <= found
        bed.declare(model())
        await up.operations.reload()
        await up.until(lambda: WEB in up.engine.runtimes and up.serving() == 2 and up.settled())
        assert {record.name for record in up.store.members(WEB)} == {TWO, name_of(3)}

    bed.run(scene)
    assert ONE in bed.cloud.machines


def test_machines_and_registrations_of_unknown_groups_are_found(bed: EngineBed) -> None:
    bed.cloud.add(LOST)
    bed.edge.states[LOST] = RegistrationState.SERVING

    async def scene(up: Up) -> None:
        await up.grown(2)
        found = await up.operations.garbage.look(GroupId("old"))
        assert [(item.name, item.kind, item.where) for item in found.items] == [
            (LOST, GarbageKind.NO_GROUP, "box"),
            (LOST, GarbageKind.REGISTRATION, "edge"),
        ]
        assert (await up.operations.garbage.look(WEB)).items == ()
        await up.operations.garbage.abandon(LOST, by="ada")
        assert {item.kind for item in (await up.operations.garbage.look(None)).items} == {
            GarbageKind.ABANDONED,
            GarbageKind.REGISTRATION,
        }
        bed.cloud.die(LOST)
        assert await kinds(up) == {LOST: GarbageKind.REGISTRATION}
        with pytest.raises(Refused, match="only a registration"):
            await up.operations.garbage.abandon(LOST, by="ada")

    bed.run(scene)
    assert bed.cloud.destroyed == []


def with_ports() -> str:
    """The same group on a cloud that makes parts."""
    front = "parts: {front: {port: {network: web}}}"
    on_openstack = model().replace("box: {process: {}}", "box: {openstack: {cloud: prod}}")
    return on_openstack.replace("command: [serve]", f"image: web, flavor: small, {front}")


def test_parts_of_an_abandoned_intent_stay_on_the_list(bed: EngineBed) -> None:
    bed.declare(with_ports())
    bed.cloud.faults.always["create"] = bed.cloud.faults.always["find"] = Transient("no answer")

    async def scene(up: Up) -> None:
        await up.until(lambda: len(bed.parts()) == 2)
        async with up.engine.keeper.between(up.runtime):
            record = record_of(up, ONE)
            assert record is not None
            old = replace(record, intended_at=Instant(record.intended_at - 86400.0))
            up.store.save((old,), up.runtime.definition.cloud.id)
        assert await kinds(up) == {ONE: GarbageKind.OPEN_INTENT}
        await up.operations.garbage.abandon(ONE, by="ada")
        found = [item for item in (await up.operations.garbage.look(None)).items if item.name == ONE]
        assert [(item.kind, item.because) for item in found] == [
            (GarbageKind.PART, "its part front, of a member that ada abandoned: remove it at the cloud")
        ]
        with pytest.raises(Refused, match="only parts of"):
            await up.operations.garbage.abandon(ONE, by="ada")
        assert (ONE, "front") in bed.parts()

    bed.run(scene)


def test_parts_that_cannot_be_listed_are_reported(bed: EngineBed) -> None:
    bed.declare(with_ports())

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.faults.always["parts"] = Transient("no answer")
        assert [each.words for each in (await up.operations.garbage.look(None)).unseen] == [
            "parts on cloud box: no answer"
        ]
        bed.cloud.faults.clear()

    bed.run(scene)


def test_members_are_not_garbage_and_cannot_be_abandoned(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        assert await kinds(up) == {}
        for name in (ONE, MemberName("nonsense")):
            with pytest.raises(NoSuch, match=f"there is no garbage named {name}"):
                await up.operations.garbage.abandon(name, by="ada")
        assert {record.phase for record in up.store.members(WEB)} == {Phase.IN_SERVICE}

    bed.run(scene)


def test_clouds_and_balancers_that_cannot_be_read_are_reported(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.faults.always["list"] = Transient("no answer")
        bed.balancers["side"].faults.always["registrations"] = Transient("closed")
        found = await up.operations.garbage.look(None)
        assert [each.words for each in found.unseen] == ["cloud box: no answer", "balancer side: closed"]
        bed.cloud.faults.clear()

    bed.run(scene)


def test_a_place_that_cannot_be_read_is_named_only_to_callers_of_a_group_on_it(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.faults.always["list"] = Transient("no answer")
        bed.balancers["side"].faults.always["registrations"] = Transient("closed")
        verbs = frozenset(Verb)
        for grants, words in (
            (EVERYTHING, ["cloud box: no answer", "balancer side: closed"]),
            (Grants(verbs, frozenset({WEB})), ["cloud box: no answer"]),
            (Grants(verbs, frozenset({GroupId("other")})), []),
            (Grants(verbs, frozenset(), frozenset({AccountId("books")})), []),
        ):
            assert [each.words for each in (await up.operations.garbage.shown(grants)).unseen] == words
        bed.cloud.faults.clear()

    bed.run(scene)
