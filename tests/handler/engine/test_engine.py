from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.errors import DeclarationError, Refused, StoreError, Transient
from config.load import parse
from config.model.catalogue import Profile
from config.units import BalancerId, Instant, PolicyId
from handler.engine import engine as engines
from handler.planning.status import GroupCondition, MemberState
from handler.planning.world import Listing, SeatState, ServerState
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind
from handler.runtime.resuming import rules_of
from handler.store.sqlite import SqliteStore
from tests.support.engines import WEB, House, Up, hurry, model
from tests.support.worlds import INSTALLATION, name_of
from trigger.reasons import Reason
from trigger.verdicts import Hold


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    hurry(monkeypatch)
    return House(tmp_path)


# The first start, and a lost store


def test_a_first_start_makes_the_least_that_is_declared(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        assert up.status.desired == 2
        assert up.runtime.explanation is not None

    house.run(scene)
    assert {event.name for event in _history(house) if event.kind is EventKind.DECISION} == {"first_listing"}


def test_a_first_start_waits_for_a_complete_listing(house: House) -> None:
    house.cloud.partial = True

    async def scene(up: Up) -> None:
        await up.passed(3)
        await up.ticked(3)
        assert up.status.desired is None
        assert up.status.reason is Reason.NOT_LISTED
        assert not house.machines
        assert "one host does not answer" in " ".join(up.status.messages)
        house.cloud.partial = False
        await up.grown(2)

    house.run(scene)


@pytest.mark.parametrize(("found", "desired"), [(1, 2), (3, 3), (6, 6)], ids=["less than min", "inside", "above max"])
def test_after_a_lost_store_members_are_taken_up_by_their_mark(house: House, found: int, desired: int) -> None:
    for number in range(1, found + 1):
        house.cloud.add(name_of(number))
        house.edge.states[name_of(number)] = SeatState.SERVING
    house.cloud.add(name_of(1, installation="zzzzzz"))  # another Trimtab's
    house.cloud.add("stranger")  # type: ignore[arg-type]

    async def scene(up: Up) -> None:
        await up.grown(desired)
        assert up.status.desired == desired
        assert up.status.maximum == 4
        await up.ticked(3)
        assert up.status.desired == desired

    house.run(scene)
    made = max(desired - found, 0)
    assert house.cloud.created == [name_of(found + 1 + number) for number in range(made)]
    assert not house.cloud.destroyed
    assert {"stranger", name_of(1, installation="zzzzzz")} <= house.cloud.machines.keys()


def test_more_than_max_that_were_found_stay_until_a_person_lowers_them(house: House) -> None:
    for number in range(1, 7):
        house.cloud.add(name_of(number))
        house.edge.states[name_of(number)] = SeatState.SERVING

    async def scene(up: Up) -> None:
        await up.grown(6)
        decision = await up.operations.scale(WEB, 4, force=False, by="ada")
        assert decision.desired_to == 4
        await up.grown(4)

    house.run(scene)
    assert not house.cloud.created


def test_the_first_size_is_never_taken_from_a_partial_listing_that_follows_a_complete_one(house: House) -> None:
    """At the first pass nothing can be written; at the second half of the cloud does not answer."""
    for number in range(1, 5):
        house.cloud.add(name_of(number))
        house.edge.states[name_of(number)] = SeatState.SERVING

    async def scene(up: Up) -> None:
        with _full(up.store):
            await up.until(lambda: up.runtime.unrecorded is not None)
            house.cloud.partial = True
            await up.passed(2)
        await up.ticked(3)
        assert up.status.desired is None
        house.cloud.partial = False
        await up.grown(4)
        assert up.status.desired == 4

    house.run(scene)
    assert not house.cloud.destroyed


def test_a_store_that_is_lost_while_members_serve_costs_none_of_them(house: House) -> None:
    house.run(lambda up: up.grown(2))
    before = dict(house.cloud.machines)
    for path in house.directory.glob("trimtab.sqlite*"):
        path.unlink()

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.ticked(2)

    house.run(scene)
    assert house.cloud.machines == before
    assert len(house.cloud.created) == 2


def test_a_store_of_a_newer_release_is_refused_and_left_alone(house: House) -> None:
    house.run(lambda up: up.grown(2))
    with contextlib.closing(sqlite3.connect(house.path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    async def scene(up: Up) -> None: ...

    with pytest.raises(Refused, match="newer release"):
        house.run(scene)
    assert len(house.machines) == 2


# Decisions


def test_a_policy_whose_condition_holds_grows_the_fleet_once_and_then_is_quiet(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.readings.value = 95.0
        await up.grown(3)
        await up.ticked(3)
        assert up.status.desired == 3
        assert up.status.reason is Reason.QUIET
        assert [quiet.policy for quiet in up.status.quiets] == ["out"]

    house.run(scene)


def test_silence_shrinks_nothing(house: House) -> None:
    house.declare(model(minimum=1))

    async def scene(up: Up) -> None:
        await up.grown(1)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        house.readings.value = None
        await up.until(lambda: up.status.reason is Reason.BLIND)
        await up.ticked(5)
        assert up.status.desired == 3

    house.run(scene)
    assert not house.cloud.destroyed


def test_quiet_times_survive_a_restart(house: House) -> None:
    async def grow(up: Up) -> float:
        await up.grown(2)
        house.readings.value = 95.0
        await up.grown(3)
        return up.status.quiets[0].until

    until = house.run(grow)

    async def after(up: Up) -> None:
        await up.grown(3)
        await up.until(lambda: up.status.reason is Reason.QUIET)
        assert [quiet.until for quiet in up.status.quiets] == [until]

    house.run(after)
    assert len(house.cloud.created) == 3


def _held(house: House, boot: str = "a-boot") -> None:
    """Let a daemon take ticks until its windows are complete and a hold of 60 s has begun."""
    house.boot = boot
    text = model(interval="30s").replace("above: 80}", "above: 80, window: 90s}")
    house.declare(text.replace("add: 1,", "add: 1, duration: 60s,"))
    house.readings.value = 95.0

    async def scene(up: Up) -> None:
        await up.grown(2)
        assert [await up.tick(30.0) for _ in range(3)] == [Reason.STEADY, Reason.STEADY, Reason.HOLDING]

    house.run(scene)


def test_windows_and_holds_go_on_over_a_restart_that_no_tick_was_lost_by(house: House) -> None:
    _held(house)

    async def after(up: Up) -> None:
        await up.grown(2)
        assert await up.tick(30.0) is Reason.HOLDING
        assert await up.tick(30.0) is Reason.SCALED_OUT

    house.run(after)


def test_windows_are_empty_after_a_restart_that_took_longer_than_an_interval_and_a_half(house: House) -> None:
    _held(house)
    house.later += 30.0

    async def after(up: Up) -> None:
        await up.grown(2)
        assert await up.tick(30.0) is Reason.STEADY

    house.run(after)


@pytest.mark.parametrize(("before", "now"), [("a-boot", "another-boot"), ("", "")], ids=["another", "unknown"])
def test_windows_are_empty_after_a_reboot_and_where_boots_cannot_be_told_apart(
    house: House, before: str, now: str
) -> None:
    _held(house, before)
    house.boot = now

    async def after(up: Up) -> None:
        await up.grown(2)
        assert await up.tick(30.0) is Reason.STEADY

    house.run(after)


def test_a_hold_does_not_outlast_an_edit_of_what_its_policy_judges_by(house: House) -> None:
    _held(house)
    house.declare(house.file.read_text().replace("above: 80", "above: 90"))

    async def after(up: Up) -> None:
        await up.grown(2)
        assert [await up.tick(30.0) for _ in range(3)] == [Reason.HOLDING, Reason.HOLDING, Reason.SCALED_OUT]

    house.run(after)


def test_a_member_that_dies_is_replaced_under_a_new_name(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.cloud.die(name_of(1))
        await up.until(lambda: house.machines == {name_of(2), name_of(3)} and up.settled())
        assert up.status.desired == 2

    house.run(scene)


def test_a_vanished_member_lowers_the_size_where_that_is_declared(house: House) -> None:
    house.declare(model(on_vanish="shrink", minimum=1))

    async def scene(up: Up) -> None:
        await up.grown(1)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        house.cloud.die(name_of(2))
        await up.grown(2)
        assert up.status.desired == 2

    house.run(scene)
    assert len(house.cloud.created) == 3


def test_the_size_follows_a_vanished_member_also_if_that_could_not_be_written_at_first(house: House) -> None:
    house.declare(model(on_vanish="shrink", minimum=1))

    async def scene(up: Up) -> None:
        await up.grown(1)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        failed = 0
        lower = up.store.lower

        def full(*_: object) -> None:
            nonlocal failed
            failed += 1
            raise StoreError("the disk is full")

        up.store.lower = full  # type: ignore[method-assign]
        house.cloud.die(name_of(2))
        up.runtime.wake.set()
        await up.until(lambda: failed)
        assert up.status.desired == 3
        up.store.lower = lower  # type: ignore[method-assign]
        up.runtime.wake.set()
        await up.grown(2)
        assert up.status.desired == 2

    house.run(scene)
    assert len(house.cloud.created) == 3


def test_no_first_size_is_read_from_a_listing_that_a_balancer_contradicts(house: House) -> None:
    """The store is lost, and the cloud answers before it has read its database."""
    house.run(lambda up: up.grown(2))
    house.path.unlink()
    listed = house.cloud.list
    house.cloud.list = lambda group: Listing(servers=(), complete=True)  # type: ignore[method-assign]
    house.cloud.faults.always["find"] = Transient("starting")

    async def scene(up: Up) -> None:
        await up.passed(2)
        assert up.status.desired is None
        house.cloud.list = listed  # type: ignore[method-assign]
        up.runtime.wake.set()
        await up.grown(2)

    house.run(scene)
    assert len(house.cloud.created) == 2


def test_machines_that_stand_there_for_the_group_are_counted_into_its_first_size(house: House) -> None:
    answers: list[int | Transient] = [Transient("busy"), Transient("busy"), 4, 0]

    def standing(_: Profile) -> int:
        answer = answers.pop(0)
        if isinstance(answer, Transient):
            raise answer
        return answer

    house.cloud.standing = standing  # type: ignore[attr-defined]

    async def scene(up: Up) -> None:
        await up.grown(4)
        assert up.status.desired == 4

    house.run(scene)
    assert answers == [0]


# Modes


@pytest.mark.parametrize("mode", ["off", "advise"])
def test_nothing_is_touched_where_trimtab_is_not_to_act(house: House, mode: str) -> None:
    house.declare(model(mode=mode))

    async def scene(up: Up) -> None:
        await up.until(lambda: up.runtime.seen is not None)
        await up.passed(2)
        asked = await up.operations.alarm(WEB, PolicyId("out"), id="a1", by="test")
        assert asked.reason is (Reason.MODE_OFF if mode == "off" else Reason.CATCHING_UP)
        assert not up.status.quiets
        assert up.status.desired is None

    house.run(scene)
    assert not house.cloud.created
    assert not house.edge.states


def test_advice_is_computed_for_members_that_serve_and_moves_none(house: House) -> None:
    house.run(lambda up: up.grown(2))
    house.declare(model(mode="advise"))
    house.readings.value = 95.0

    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.reason is Reason.ADVISED)
        assert up.runtime.explanation is not None
        assert (up.status.desired, up.runtime.explanation.advised_to) == (2, 3)
        house.cloud.die(name_of(1))
        await up.passed(3)
        assert house.machines == {name_of(2)}

    house.run(scene)
    assert len(house.cloud.created) == 2


def test_a_group_that_is_only_advised_writes_no_line_for_every_tick(house: House) -> None:
    house.declare(model(mode="advise"))

    async def scene(up: Up) -> None:
        await up.until(lambda: up.runtime.seen is not None)
        await up.ticked(2)
        assert up.runtime.explanation is not None
        first = up.store.span_at(WEB, up.runtime.explanation.at)
        await up.ticked(6)
        last = up.store.span_at(WEB, up.runtime.explanation.at)
        assert first is not None
        assert last is not None
        assert last.ticks > first.ticks
        assert last.first_at == first.first_at

    house.run(scene)


def test_the_beginning_of_a_members_state_outlives_the_daemon(house: House) -> None:
    """Of a state whose beginning no record has: a machine that has stopped."""

    def told(up: Up) -> dict[str, tuple[MemberState, float]]:
        return {member.name: (member.state, member.state_since) for member in up.status.members}

    async def stop_one(up: Up) -> dict[str, tuple[MemberState, float]]:
        await up.grown(2)
        serving = told(up)
        assert {state for state, _ in serving.values()} == {MemberState.IN_SERVICE}
        await up.operations.pause(WEB, decisions_only=False, by="ada")
        house.cloud.say(min(house.machines), ServerState.STOPPED)
        up.runtime.wake.set()
        await up.until(lambda: MemberState.BROKEN in {state for state, _ in told(up).values()})
        assert told(up)[min(serving)][1] > serving[min(serving)][1]
        assert told(up)[max(serving)] == serving[max(serving)]
        return told(up)

    async def later(up: Up) -> dict[str, tuple[MemberState, float]]:
        await up.passed()
        return told(up)

    assert house.run(stop_one) == house.run(later)


# Reload


def test_a_file_with_problems_changes_nothing_and_every_problem_is_reported(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        before = up.engine.catalogue()
        house.declare(model(maximum=9, colour="blue", policies="[up]"))
        told = await up.operations.reload()
        words = [str(problem).removeprefix(f"{house.file}:") for problem in told.problems]
        assert len(words) == 2
        assert any("colour" in word for word in words)
        assert any("up" in word for word in words)
        assert up.engine.catalogue() is before
        assert up.status.maximum == 4
        await up.ticked()

    house.run(scene)


def edited(up: Up) -> list[tuple[str, str]]:
    """The edits of the group with their authors, newest first, from history."""
    return [
        (event.by, event.message) for event in up.store.history(WEB, before=None, limit=200) if event.name == "edited"
    ]


def test_an_edited_threshold_is_shown_by_the_reload_by_history_and_by_the_definitions(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare(house.text.replace("above: 80", "above: 85"))
        told = await up.operations.reload(by="ada")
        assert [(edit.words, edit.groups) for edit in told.edits] == [("conditions.high.above: 80 → 85", ("web",))]
        assert told.changed == (WEB,)
        ((by, said),) = edited(up)
        assert by == "ada"
        assert said.startswith(f"conditions.high.above: 80 → 85 ({house.file}:")
        (revision,) = await up.operations.rolling.revisions(WEB)
        assert [(each.by, [edit.words for edit in each.edits]) for each in revision.edits] == [
            ("ada", ["conditions.high.above: 80 → 85"])
        ]
        assert (await up.operations.reload(by="ada")).edits == ()
        assert len(edited(up)) == 1
        assert up.status.old == 0  # nothing is to be replaced for it

    house.run(scene)


def test_an_edit_of_the_file_while_the_daemon_is_down_is_reported_at_the_start(house: House) -> None:
    async def nothing(up: Up) -> None:
        assert edited(up) == []

    async def after(up: Up) -> None:
        assert [(by, said.partition(" (")[0]) for by, said in edited(up)] == [("start", "groups.web.max: 4 → 6")]
        assert up.runtime.edited_at is not None

    house.run(nothing)
    house.declare(model(maximum=6))
    house.run(after)


def test_a_reload_tells_what_was_edited_in_every_section(house: House) -> None:
    alert = "alerts: {slow: {match: {alertname: Slow}, groups: [web], fire: out, ttl: 15m}}\n"

    async def scene(up: Up) -> None:
        house.declare(f"{house.text}{alert}record: {{budget: 1GiB}}\n")
        told = await up.operations.reload()
        assert [edit.words for edit in told.edits] == ["alerts.slow: added", "record: added"]
        assert told.changed == (WEB,)

    house.run(scene)


@pytest.mark.parametrize(
    "odd",
    ['"\\ud800": 1\n', "[" * 5_000, "conditions: {odd: {expression: '" + "cpu + " * 3_000 + "cpu > 1'}}\n"],
    ids=["half of a character", "deep", "long expression"],
)
def test_no_file_ends_a_reload_otherwise_than_with_problems(house: House, odd: str) -> None:
    async def scene(up: Up) -> None:
        before = up.engine.catalogue()
        house.declare(odd if odd.startswith("[") else odd + house.text)
        told = await up.operations.reload()
        assert told.problems
        assert up.engine.catalogue() is before

    house.run(scene)


def test_members_are_never_left_behind_on_another_cloud(house: House) -> None:
    moved = house.text.replace("clouds: {box:", "clouds: {hut: {process: {}}, box:").replace(
        "{cloud: box", "{cloud: hut"
    )

    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare(moved)
        told = await up.operations.reload()
        assert "has members on cloud box" in " ".join(problem.message for problem in told.problems)
        assert up.runtime.definition.cloud.id == "box"
        await up.ticked(2)

    house.run(scene)
    with pytest.raises(DeclarationError, match="has members on cloud box"):
        house.run(lambda up: up.ticked(1))
    assert len(house.machines) == 2


def test_a_first_file_with_problems_is_no_start(house: House) -> None:
    house.declare(model(minimum=9))

    async def scene(up: Up) -> None: ...

    with pytest.raises(DeclarationError):
        house.run(scene)


@pytest.mark.parametrize(("bounds", "size"), [({"minimum": 3}, 3), ({"minimum": 1, "maximum": 1}, 1)])
def test_changed_bounds_clamp_at_once(house: House, bounds: dict[str, int], size: int) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare(model(**bounds))
        told = await up.operations.reload()
        assert told.changed == (WEB,)
        assert up.status.desired == size
        assert up.status.reason is Reason.BOUNDS or up.status.desired == size
        await up.grown(size)

    house.run(scene)
    assert any(event.name == "bounds" for event in _history(house))


def test_a_changed_policy_keeps_quiet_times_and_begins_its_hold_anew(house: House) -> None:
    slow = house.text.replace("add: 1,", "add: 1, duration: 1h,")
    house.declare(slow)

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        quiets = up.status.quiets
        house.readings.value = 95.0
        await up.until(lambda: PolicyId("out") in up.runtime.holds)
        since = up.runtime.holds[PolicyId("out")].true_since
        await up.ticked()
        house.declare(slow.replace("add: 1,", "add: 2,"))
        told = await up.operations.reload()
        assert told.changed == (WEB,)
        await up.until(lambda: PolicyId("out") in up.runtime.holds)
        assert up.runtime.holds[PolicyId("out")].true_since > since
        assert up.status.quiets == quiets

    house.run(scene)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [("max: 4", "max: 3", True), ("above: 80", "above: 70", False), ("range: [0, 100]", "range: [0, 200]", False)],
    ids=["bounds", "condition", "counter"],
)
def test_a_hold_goes_on_while_all_that_it_was_judged_by_is_the_same(
    house: House, old: str, new: str, kept: bool
) -> None:
    slow = house.text.replace("add: 1,", "add: 1, duration: 1h,")
    house.declare(slow)

    async def scene(up: Up) -> None:
        await up.grown(2)
        house.readings.value = 95.0
        await up.until(lambda: PolicyId("out") in up.runtime.holds)
        await up.engine._decider.stop()  # no tick comes between
        before: Hold = up.runtime.holds[PolicyId("out")]
        house.declare(slow.replace(old, new))
        await up.engine.reload()
        assert (up.runtime.holds.get(PolicyId("out")) == before) is kept

    house.run(scene)


def test_a_reload_that_cannot_be_written_down_leaves_the_old_catalogue_deciding(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        before = up.engine.catalogue()
        house.declare(model(maximum=9))
        with _full(up.store), pytest.raises(StoreError):
            await up.operations.reload()
        assert up.engine.catalogue() is before
        await up.ticked(3)
        told = await up.operations.reload()
        assert told.changed == (WEB,)
        assert up.status.maximum == 9

    house.run(scene)


def test_members_leave_the_balancer_that_their_group_no_longer_uses(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare(
            model(balancers="[{use: side, port: 8080}]").replace(
                "  edge: {haproxy: {socket: /run/edge.sock, backend: web}}\n", ""
            )
        )
        await up.operations.reload()
        await up.passed(2)
        assert set(house.edge.states.values()) == {SeatState.SERVING}
        assert len(house.edge.states) == 2
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        assert set(house.balancers["side"].states) == {name_of(3)}
        await up.operations.scale(WEB, 2, force=False, by="ada")
        await up.until(lambda: len(house.machines) == 2)
        assert name_of(1) not in house.machines
        assert set(house.edge.states) == {name_of(2)}

    house.run(scene)


def test_a_balancer_without_members_is_dropped(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare(model(balancers="[{use: side, port: 8080}]"))
        await up.operations.reload()
        for name in (name_of(1), name_of(2)):
            await up.operations.members.replace(WEB, name, by="ada")
        await up.until(lambda: house.machines == {name_of(3), name_of(4)} and up.settled())
        await up.operations.reload()
        assert set(up.runtime.definition.balancers) == {BalancerId("side")}

    house.run(scene)


def test_a_balancer_that_lost_its_members_gets_them_registered_again_at_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.declare(model(interval="30s"))
    monkeypatch.setattr(engines, "_WATCH", 0.05)

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.until(lambda: house.edge.looks > 1)
        house.edge.reload()
        await up.until(lambda: list(house.edge.states.values()) == [SeatState.SERVING] * 2)

    house.run(scene)


def test_a_balancer_that_lost_its_members_before_the_first_look_gets_them_registered_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.declare(model(interval="30s"))
    monkeypatch.setattr(engines, "_WATCH", 0.5)

    async def scene(up: Up) -> None:
        await up.grown(2)
        house.edge.reload()
        await up.until(lambda: list(house.edge.states.values()) == [SeatState.SERVING] * 2)

    house.run(scene)


# Orphans


def test_a_group_that_leaves_the_file_is_kept_and_comes_back_as_it_was(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        quiets = up.status.quiets
        house.declare("groups: {}\n")
        told = await up.operations.reload()
        assert told.orphaned == (WEB,)
        assert up.status.condition is GroupCondition.ORPHANED
        assert up.status.reason is Reason.ORPHANED
        decided = up.runtime.decided_at
        house.cloud.die(name_of(1))
        await up.passed(3)
        assert house.machines == {name_of(2), name_of(3)}
        assert up.runtime.decided_at == decided
        assert up.engine.health().ready
        house.declare(model())
        assert (await up.operations.reload()).added == (WEB,)
        await up.grown(3)
        assert up.status.quiets == quiets
        assert up.engine.health().ready

    house.run(scene)


def test_a_group_that_left_the_file_while_trimtab_was_down_is_orphaned_too(house: House) -> None:
    house.run(lambda up: up.grown(2))
    house.declare("groups: {}\n")

    async def scene(up: Up) -> None:
        await up.until(lambda: up.runtime.seen is not None)
        assert up.status.condition is GroupCondition.ORPHANED
        assert len(up.status.members) == 2

    house.run(scene)
    assert len(house.machines) == 2


def test_a_declared_group_is_not_deleted_and_the_message_has_its_place(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        for members in (False, True):
            with pytest.raises(Refused, match=r"model\.yaml:14"):
                await up.operations.delete(WEB, members=members, by="ada")
        with pytest.raises(Refused):
            await up.engine.forget(up.runtime)  # declared again since it was asked for
        assert not up.runtime.deleting
        await up.ticked()

    house.run(scene)


def test_a_group_that_comes_back_is_not_late(house: House) -> None:
    house.declare(model(interval="30s"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare("groups: {}\n")
        await up.operations.reload()
        up.runtime.decided_at = Instant(1.0)
        house.declare(model(interval="30s"))
        await up.operations.reload()
        assert up.engine.health().ready

    house.run(scene)


def test_an_orphan_can_be_forgotten_with_its_members_left_as_they_are(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare("groups: {}\n")
        await up.operations.reload()
        await up.operations.delete(WEB, members=False, by="ada")
        assert up.operations.status() == ()
        assert b'group="web"' not in up.operations.metrics()
        assert [event.name for event in await up.operations.history(WEB, before=None, limit=1)] == ["delete"]

    house.run(scene)
    assert len(house.machines) == 2
    house.run(_no_member_is_known)


def test_an_orphan_can_be_emptied_and_is_then_forgotten(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.members.protect(WEB, name_of(1), protected=True, by="ada")
        house.declare("groups: {}\n")
        await up.operations.reload()
        await up.operations.delete(WEB, members=True, by="ada")
        assert up.status.condition is GroupCondition.DELETING
        await up.until(lambda: not up.operations.status())
        assert not house.machines
        assert not house.edge.states

    house.run(scene)


def test_a_group_that_is_declared_again_is_no_longer_deleted(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        house.declare("groups: {}\n")
        await up.operations.reload()
        house.edge.busy = 3600.0
        await up.operations.delete(WEB, members=True, by="ada")
        await up.until(lambda: SeatState.DRAINING in house.edge.states.values())
        house.declare(model())
        await up.operations.reload()
        house.edge.busy = 0.0
        await up.grown(2)
        assert up.status.condition is not GroupCondition.DELETING

    house.run(scene)
    house.run(lambda up: up.grown(2))


# The disk


def test_where_nothing_can_be_written_nothing_is_made_the_fleet_serves_and_status_says_why(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        serving = dict(house.edge.states)
        with _full(up.store):
            with pytest.raises(StoreError, match="cannot be written"):
                await up.operations.scale(WEB, 3, force=False, by="ada")
            house.readings.value = 95.0
            await up.until(lambda: up.runtime.unrecorded is not None)
            house.cloud.die(name_of(1))
            await up.until(lambda: up.runtime.seen is not None and up.runtime.seen.failures)
            assert up.status.condition is GroupCondition.ERROR
            assert "cannot be written" in " ".join(up.status.messages)
            assert not up.engine.health().ready
            assert len(house.cloud.created) == 2
            assert up.status.desired == 2
            assert house.edge.states == serving
        await up.until(lambda: up.serving() == 3 and up.settled())
        assert up.status.condition is not GroupCondition.ERROR
        assert up.engine.health().ready

    house.run(scene)


def test_stopping_where_nothing_can_be_written_is_a_clean_stop(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.ticked(3)
        _refuse_writes(up.store, "ON")

    house.run(scene)
    assert len(house.machines) == 2


# Chores and health


def test_a_dead_loop_shows_in_health(house: House) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        assert up.engine.health().ready
        task = up.engine._decider.tasks()[0]
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        health = up.engine.health()
        assert not health.ready
        assert "ended" in health.checks["loops"]

    house.run(scene)


def test_an_error_of_the_cloud_is_shown_until_it_is_gone(house: House) -> None:
    house.cloud.faults.always["create"] = Transient("the cloud is full")

    async def scene(up: Up) -> None:
        full = "create: the cloud is full (2 members: web-k3f9ab-1, web-k3f9ab-2)"
        await up.until(lambda: full in up.status.messages)
        assert up.status.condition in {GroupCondition.WARNING, GroupCondition.ERROR}
        await up.operations.observe(WEB)
        assert full in up.status.messages
        house.cloud.faults.clear()
        await up.operations.converge(WEB, dry_run=False, by="ada")
        await up.grown(2)
        assert not up.status.messages

    house.run(scene)


def test_definitions_know_what_policies_judge_by() -> None:
    before, after = parse(model(), "m"), parse(model().replace("above: 80", "above: 81"), "m")
    policy = (PolicyId("out"),)
    assert rules_of(before, policy) != rules_of(after, policy)
    assert rules_of(before, policy) == rules_of(parse(model(maximum=9), "m"), policy)


@contextlib.contextmanager
def _full(store: Store) -> Iterator[None]:
    """The store can be read and not written, until the block ends."""
    _refuse_writes(store, "ON")
    try:
        yield
    finally:
        _refuse_writes(store, "OFF")


def _refuse_writes(store: Store, word: str) -> None:
    assert isinstance(store, SqliteStore)
    connection = store._writer._engine.raw_connection()  # the writer's own, between two of its transactions
    connection.cursor().execute(f"PRAGMA query_only={word}")
    connection.close()


def _history(house: House) -> tuple[Event, ...]:
    store = SqliteStore.open(house.path, installation=INSTALLATION)
    try:
        return store.history(WEB, before=None, limit=100)
    finally:
        store.close()


async def _no_member_is_known(up: Up) -> None:
    assert up.operations.status() == ()
