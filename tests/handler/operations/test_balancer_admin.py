from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import NotFound, Refused, Transient
from config.units import BalancerId, GroupId
from handler.operations.lookup import NoSuch
from handler.planning.attachments import Behind, Detached
from handler.planning.status import GroupCondition
from handler.planning.world import Phase
from handler.ports.stored import EventKind
from tests.support.engines import MODEL, WEB, EngineBed, Up, hurry, model

EDGE, SIDE = BalancerId("edge"), BalancerId("side")
BOTH = MODEL.replace("[{use: edge, port: 8080}]", "[{use: edge, port: 8080}, {use: side, port: 81}]")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


def registered(up: Up, balancer: BalancerId) -> set[str]:
    return set(up.bed.balancers[balancer].states)


async def attached(up: Up) -> None:
    await up.grown(2)
    assert await up.operations.balancers.attach(WEB, SIDE, 81, by="ada") == 2
    await up.until(lambda: registered(up, SIDE) == up.bed.machines and up.settled())


def test_members_join_an_attached_balancer_and_history_names_the_person(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await attached(up)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        assert registered(up, SIDE) == registered(up, EDGE) == bed.machines
        events = await up.operations.history(WEB, before=None, limit=99, kinds={EventKind.NOTE})
        assert [(event.by, event.message) for event in events if event.name == "attach"] == [("ada", "side at port 81")]

    bed.run(scene)


def test_an_attachment_outlives_reloads_and_restarts_until_it_is_detached(bed: EngineBed) -> None:
    async def before(up: Up) -> None:
        await attached(up)
        assert (await up.operations.reload()).problems == ()
        assert await up.operations.balancers.behind(WEB) == (
            Behind(balancer=EDGE, port=8080, by="file", members=2, leaving=0),
            Behind(balancer=SIDE, port=81, by="ada", members=2, leaving=0),
        )

    async def after(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        assert registered(up, SIDE) == bed.machines
        assert await up.operations.balancers.detach(WEB, SIDE, by="ada") == Detached(members=3)
        await up.until(lambda: not registered(up, SIDE))
        await up.grown(3)
        assert [each.balancer for each in await up.operations.balancers.behind(WEB)] == [EDGE]
        assert bed.cloud.destroyed == []

    bed.run(before)
    bed.run(after)


def test_old_members_join_a_balancer_that_the_file_lists_later_only_when_attached(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare(BOTH)
        await up.operations.reload()
        await up.passed()
        assert registered(up, SIDE) == set()
        with pytest.raises(Refused, match=r"model.yaml:\d+ has group web behind side at port 81: change it there"):
            await up.operations.balancers.attach(WEB, SIDE, 82, by="ada")
        await up.operations.balancers.attach(WEB, SIDE, 81, by="ada")
        await up.until(lambda: registered(up, SIDE) == bed.machines)
        with pytest.raises(Refused, match=r"every member of web is behind side already, by .*model.yaml:\d+"):
            await up.operations.balancers.attach(WEB, SIDE, 81, by="ada")
        with pytest.raises(Refused, match="take it from there and reload"):
            await up.operations.balancers.detach(WEB, SIDE, by="ada")
        bed.declare(MODEL)
        await up.operations.reload()
        assert await up.operations.balancers.detach(WEB, SIDE, by="ada") == Detached(members=2)
        await up.until(lambda: not registered(up, SIDE))

    bed.run(scene)


def test_if_one_member_cannot_join_none_does_and_nothing_has_changed(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        side, before = bed.balancers[SIDE], up.store.members(WEB)
        side.foreign[bed.edge.addresses[min(bed.machines)][0], 81] = "mail"
        with pytest.raises(Refused, match=r"nothing has changed: .* belongs to mail"):
            await up.operations.balancers.attach(WEB, SIDE, 81, by="ada")
        side.faults.always["occupants"] = Transient("too slow")
        with pytest.raises(Refused, match="nothing has changed: too slow"):
            await up.operations.balancers.attach(WEB, SIDE, 81, by="ada")
        side.faults.clear()
        side.faults.always["registrations"] = Transient("no route")
        with pytest.raises(Refused, match="nothing has changed: balancer side: no route"):
            await up.operations.balancers.attach(WEB, SIDE, 81, by="ada")
        assert (up.store.members(WEB), registered(up, SIDE)) == (before, set())
        assert {record.phase for record in before} == {Phase.IN_SERVICE}

    bed.run(scene)


def test_an_exclusive_group_reports_foreign_machines_and_neither_counts_nor_removes_them(tmp_path: Path) -> None:
    bed = EngineBed(tmp_path, text=model(exclusive="true"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        assert up.status.condition is not GroupCondition.WARNING
        bed.edge.foreign["10.0.0.9", 8080] = bed.balancers[SIDE].foreign["10.0.0.8", 81] = "db"
        said = "db is registered with edge and is not ours, and web is exclusive: take it out of edge, or exclusive out"
        await up.until(lambda: any(said in message for message in up.status.messages))
        assert up.status.condition is GroupCondition.WARNING
        with pytest.raises(Refused, match="db is registered with side and is not ours, and web is exclusive"):
            await up.operations.balancers.attach(WEB, SIDE, 81, by="ada")
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        assert bed.edge.foreign == {("10.0.0.9", 8080): "db"}
        bed.edge.foreign.clear()
        await up.until(lambda: up.status.messages == ())

    bed.run(scene)


def test_a_group_is_not_detached_from_a_balancer_that_cannot_be_read(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await attached(up)
        bed.balancers[SIDE].faults.always["registrations"] = Transient("no route")
        with pytest.raises(Refused, match="nothing has changed: no route"):
            await up.operations.balancers.detach(WEB, SIDE, by="ada")
        bed.balancers[SIDE].faults.clear()
        assert await up.operations.balancers.detach(WEB, SIDE, by="ada") == Detached(members=2)

    bed.run(scene)


def test_unknown_names_are_answered_with_the_nearest(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        with pytest.raises(NoSuch, match="did you mean side"):
            await up.operations.balancers.attach(WEB, BalancerId("sid"), 81, by="ada")
        with pytest.raises(NoSuch, match="did you mean web"):
            await up.operations.balancers.detach(GroupId("wbe"), SIDE, by="ada")

    bed.run(scene)


def test_a_group_that_left_the_file_keeps_its_balancers(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await attached(up)
        bed.declare(MODEL.partition("groups:")[0])
        await up.operations.reload()
        with pytest.raises(Refused, match="no longer declared"):
            await up.operations.balancers.detach(WEB, SIDE, by="ada")
        assert registered(up, SIDE) == bed.machines

    bed.run(scene)


def test_members_leave_a_balancer_without_draining_once_it_is_proved_missing(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await attached(up)
        bed.balancers[SIDE].faults.always["registrations"] = NotFound("no backend web, and lists 2 others")
        with pytest.raises(Refused, match=r"it counts as not found after .* trimtab detach web side --force"):
            await up.operations.balancers.detach(WEB, SIDE, by="ada")
        await up.until(lambda: up.runtime.seen is not None and up.runtime.seen.world.balancer_views[SIDE].not_found)
        assert await up.operations.balancers.detach(WEB, SIDE, by="ada") == Detached(members=2)
        await up.grown(2)
        assert [each.balancer for each in await up.operations.balancers.behind(WEB)] == [EDGE]

    bed.run(scene)


def test_force_detaches_from_a_balancer_that_cannot_be_read_and_warns(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await attached(up)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        bed.balancers[SIDE].faults.always["registrations"] = Transient("no route")
        await up.operations.scale(WEB, 2, force=False, by="ada")
        await up.passed(3)
        assert len(bed.machines) == 3, "the member that leaves waits to be drained at side"
        with pytest.raises(Refused, match="no route; to detach without draining: trimtab detach web side --force"):
            await up.operations.balancers.detach(WEB, SIDE, by="ada")

        done = await up.operations.balancers.detach(WEB, SIDE, force=True, by="ada")
        assert done.members == 3
        assert "side could not be asked" in done.warning
        assert all(name in done.warning for name in registered(up, SIDE))
        await up.grown(2)
        assert len(registered(up, SIDE)) == 3, "nothing is changed there"
        (event,) = [
            event for event in await up.operations.history(WEB, before=None, limit=99) if event.name == "detach"
        ]
        assert event.message.startswith("side, by force: side could not be asked")

    bed.run(scene)


def test_force_drains_where_the_balancer_answers(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await attached(up)
        assert await up.operations.balancers.detach(WEB, SIDE, force=True, by="ada") == Detached(members=2)
        await up.until(lambda: not registered(up, SIDE))

    bed.run(scene)


def test_force_frees_a_group_that_is_deleted_from_a_balancer_that_cannot_be_read(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.edge.faults.always["registrations"] = Transient("no route")
        bed.declare(MODEL.partition("groups:")[0])
        await up.operations.reload()
        await up.operations.delete(WEB, members=True, by="ada")
        await up.passed(3)
        assert len(bed.machines) == 2
        await up.operations.balancers.detach(WEB, EDGE, force=True, by="ada")
        await up.until(lambda: not bed.machines and WEB not in up.engine.runtimes)

    bed.run(scene)


def test_force_does_not_move_what_the_file_lists(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.edge.faults.always["registrations"] = Transient("no route")
        with pytest.raises(Refused, match="take it from there and reload"):
            await up.operations.balancers.detach(WEB, EDGE, force=True, by="ada")

    bed.run(scene)
