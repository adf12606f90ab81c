"""One daemon adopts existing machines into a group and evicts members, over a cloud in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import Full, Permanent, Refused, StoreError, Transient
from config.units import ROOT_DOMAIN, AccountId, GroupId, MemberName
from handler.identity.accounts import AccountQuota
from handler.operations.lookup import NoSuch
from handler.planning.world import Phase, RegistrationState, ServerState
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.worlds import name_of

DATABASE = MemberName("database")
THREE = name_of(3)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


async def grown(up: Up, size: int = 2) -> None:
    await up.grown(2)
    if size != 2:
        await up.operations.scale(WEB, size, force=False, by="ada")
        await up.grown(size)


@pytest.mark.parametrize("by_id", [False, True], ids=["by name", "by id"])
def test_an_adopted_machine_joins_and_the_size_follows(bed: EngineBed, by_id: bool) -> None:
    async def scene(up: Up) -> None:
        await grown(up)
        own = bed.cloud.add(DATABASE).id

        decision = await up.operations.adoption.adopt(WEB, own if by_id else "database", force=False, by="ada")

        assert (decision.desired_from, decision.desired_to) == (2, 3)
        await up.grown(3)
        assert bed.cloud.machines[THREE].id == own
        assert bed.edge.states[THREE] is RegistrationState.SERVING
        (record,) = [record for record in up.store.members(WEB) if record.name == THREE]
        assert (record.given, record.server_id, record.phase) == (True, own, Phase.IN_SERVICE)
        events = await up.operations.history(WEB, before=None, limit=99)
        assert ("adopt", "ada", f"database ({own}) as {THREE}") in {(one.name, one.by, one.message) for one in events}

    bed.run(scene)
    assert len(bed.cloud.created) == 2


@pytest.mark.parametrize(
    ("named", "error", "message"),
    [
        ("missing", NoSuch, "cloud box has no machine missing"),
        (name_of(1), Refused, "bears the mark"),
        ("asleep", Refused, "is stopped, not running"),
    ],
)
def test_a_machine_that_cannot_be_adopted_is_refused_by_name(
    bed: EngineBed, named: str, error: type[Exception], message: str
) -> None:
    async def scene(up: Up) -> None:
        await grown(up)
        bed.cloud.add(MemberName("asleep"))
        bed.cloud.say(MemberName("asleep"), ServerState.STOPPED)
        with pytest.raises(error, match=message):
            await up.operations.adoption.adopt(WEB, named, force=False, by="ada")
        assert (up.status.desired, len(up.store.members(WEB))) == (2, 2)

    bed.run(scene)


def test_above_max_a_machine_is_adopted_only_by_force(bed: EngineBed) -> None:
    bed.declare(model(maximum=2))

    async def scene(up: Up) -> None:
        await grown(up)
        bed.cloud.add(DATABASE)
        refused = await up.operations.adoption.adopt(WEB, "database", force=False, by="ada")
        assert (refused.winner, refused.desired_to) == (None, 2)
        assert len(up.store.members(WEB)) == 2
        forced = await up.operations.adoption.adopt(WEB, "database", force=True, by="ada")
        assert forced.desired_to == 3
        await up.grown(3)

    bed.run(scene)


def test_a_machine_is_adopted_once(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await grown(up)
        bed.cloud.add(DATABASE)
        bed.cloud.faults.always["mark"] = Transient("busy")
        await up.operations.adoption.adopt(WEB, "database", force=False, by="ada")
        with pytest.raises(Refused, match=f"is being adopted already, as {THREE}"):
            await up.operations.adoption.adopt(WEB, "database", force=False, by="ada")
        bed.cloud.faults.clear()
        await up.grown(3)

    bed.run(scene)


def test_a_machine_that_another_daemon_marks_meanwhile_is_not_adopted_and_the_size_returns(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await grown(up)
        bed.cloud.add(DATABASE)
        bed.cloud.faults.script("mark", Permanent("database bears the mark web-zzzzzz-1"))
        await up.operations.adoption.adopt(WEB, "database", force=False, by="ada")
        await up.passed(2)
        assert (up.status.desired, len(up.store.members(WEB))) == (2, 2)
        assert "adoption_refused" in [event.name for event in up.store.history(WEB, before=None, limit=50)]
        assert DATABASE in bed.cloud.machines

    bed.run(scene)
    assert len(bed.cloud.created) == 2


def test_a_machine_is_not_adopted_when_the_store_cannot_be_written(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await grown(up)
        bed.cloud.add(DATABASE)
        record = up.store.record

        def full(*_: object) -> None:
            raise StoreError("the disk is full")

        up.store.record = full  # type: ignore[method-assign]
        with pytest.raises(StoreError):
            await up.operations.adoption.adopt(WEB, "database", force=False, by="ada")
        up.store.record = record  # type: ignore[method-assign]
        await up.passed(2)
        assert (up.status.desired, len(up.store.members(WEB))) == (2, 2)
        assert DATABASE in bed.cloud.machines

    bed.run(scene)


def test_an_evicted_member_leaves_its_balancer_and_is_kept_without_a_mark(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await grown(up, 3)
        own = bed.cloud.machines[THREE].id
        decision = await up.operations.adoption.evict(WEB, THREE, force=False, by="ada")
        assert (decision.desired_from, decision.desired_to) == (3, 2)
        await up.grown(2)
        assert THREE not in bed.edge.states
        assert [machine.id for machine in bed.cloud.machines.values() if machine.name == own] == [own]
        events = await up.operations.history(WEB, before=None, limit=99)
        assert {"drain", "leave", "unmark", "forget"} <= {one.name for one in events if one.by == THREE}
        assert ("evict", "ada") in {(one.name, one.by) for one in events}
        again = await up.operations.adoption.adopt(WEB, own, force=False, by="ada")
        assert again.desired_to == 3
        await up.grown(3)
        assert bed.cloud.machines[name_of(4)].id == own

    bed.run(scene)
    assert bed.cloud.destroyed == []


def test_an_evicted_member_can_be_replaced_at_the_same_size(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await grown(up)
        await up.operations.adoption.exchange(WEB, name_of(1), force=False, by="ada")
        await up.until(lambda: THREE in bed.machines)
        await up.grown(2)
        assert bed.machines == {name_of(2), THREE}

    bed.run(scene)
    assert (bed.cloud.destroyed, bed.cloud.unmarked) == ([], [name_of(1)])


def test_an_eviction_below_min_or_twice_or_of_a_protected_member_is_refused(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await grown(up)
        refused = await up.operations.adoption.evict(WEB, name_of(1), force=False, by="ada")
        assert refused.winner is None
        await up.operations.members.protect(WEB, name_of(1), protected=True, by="ada")
        with pytest.raises(Refused, match="is protected"):
            await up.operations.adoption.evict(WEB, name_of(1), force=False, by="ada")
        bed.edge.faults.always["drain"] = Transient("busy")
        await up.operations.adoption.exchange(WEB, name_of(2), force=False, by="ada")
        with pytest.raises(Refused, match="leaving already"):
            await up.operations.adoption.exchange(WEB, name_of(2), force=False, by="ada")

    bed.run(scene)


def test_where_marks_are_fixed_adoption_and_eviction_are_refused_with_the_reason(bed: EngineBed) -> None:
    bed.cloud.fixed_marks = "box: a process bears its mark in its environment"

    async def scene(up: Up) -> None:
        await grown(up)
        bed.cloud.add(DATABASE)
        with pytest.raises(Refused, match="environment"):
            await up.operations.adoption.adopt(WEB, "database", force=False, by="ada")
        for evict in (up.operations.adoption.evict, up.operations.adoption.exchange):
            with pytest.raises(Refused, match="environment"):
                await evict(WEB, name_of(1), force=False, by="ada")
        assert {record.leaving for record in up.store.members(WEB)} == {None}

    bed.run(scene)


def test_in_mode_advise_history_has_no_adoption_or_eviction_and_no_member_is_to_be_replaced(bed: EngineBed) -> None:
    bed.run(grown)
    bed.declare(model(mode="advise"))

    async def scene(up: Up) -> None:
        await up.passed(1)
        bed.cloud.add(DATABASE)
        await up.operations.adoption.adopt(WEB, "database", force=True, by="ada")
        await up.operations.adoption.evict(WEB, name_of(1), force=True, by="ada")
        with pytest.raises(Refused, match="group web is in mode advise: its members are not changed"):
            await up.operations.adoption.exchange(WEB, name_of(1), force=True, by="ada")
        with pytest.raises(Refused, match="group web is in mode advise: its members are not changed"):
            await up.operations.members.replace(WEB, name_of(1), by="ada")
        events = await up.operations.history(WEB, before=None, limit=99)
        assert {"adopt", "evict"}.isdisjoint(event.name for event in events)
        assert {(record.phase, record.leaving) for record in up.store.members(WEB)} == {(Phase.IN_SERVICE, None)}

    bed.run(scene)


def test_no_named_member_joins_or_leaves_while_another_group_of_the_service_scales(bed: EngineBed) -> None:
    """The turn would come without it: another machine would be made, or another member would leave in its place."""
    other = "  side: {profile: web, min: 1, max: 9, service: shop, interval: 0.05s}\n"
    bed.declare(model(service="shop") + other)

    async def scene(up: Up) -> None:
        side, one = up.engine.runtimes[GroupId("side")], name_of(1)
        await up.until(
            lambda: (up.serving(), up.settled(), side.state.desired, side.state.turn.began) == (2, True, 1, None)
        )
        bed.cloud.add(DATABASE)
        bed.cloud.faults.always["create"] = Full("no host")
        await up.operations.scale(GroupId("side"), 5, force=False, by="ada")
        with pytest.raises(Refused, match="another group of the service scales first: adopt database after it"):
            await up.operations.adoption.adopt(WEB, "database", force=False, by="ada")
        with pytest.raises(Refused, match=f"another group of the service scales first: evict {one} after it"):
            await up.operations.adoption.evict(WEB, one, force=False, by="ada")
        with pytest.raises(Refused, match=f"another group of the service scales first: delete {one} after it"):
            await up.operations.members.dismiss(WEB, one, force=False, by="ada")
        assert (up.runtime.state.turn.queued, up.status.desired) == (None, 2)
        assert [record.phase for record in up.store.members(WEB)] == [Phase.IN_SERVICE] * 2
        decision = await up.operations.adoption.adopt(WEB, "database", force=True, by="ada")
        assert (decision.desired_from, decision.desired_to) == (2, 3)

    bed.run(scene)


def test_force_adopts_no_machine_above_the_quota_of_the_account(bed: EngineBed) -> None:
    bed.declare(model(maximum=2))

    async def scene(up: Up) -> None:
        await grown(up)
        bed.cloud.add(DATABASE)
        shop = await up.operations.users.known.accounts.add(AccountId("shop"), ROOT_DOMAIN, AccountQuota(members=2))
        up.runtime.account = shop.id
        with pytest.raises(Refused, match="account shop may have 2 members"):
            await up.operations.adoption.adopt(WEB, "database", force=True, by="ada")
        assert (up.status.desired, len(up.store.members(WEB))) == (2, 2)
        events = await up.operations.history(WEB, before=None, limit=99)
        assert any(event.name == "adopt" and event.message.startswith("refused: account shop") for event in events)

    bed.run(scene)
