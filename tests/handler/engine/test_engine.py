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
from handler.planning.world import Listing, RegistrationState, ServerState
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind
from handler.runtime.resuming import rules_of
from handler.store.sqlite import SqliteStore
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.worlds import INSTALLATION, name_of
from trigger.reasons import Reason
from trigger.verdicts import Hold


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


# The first start, and a lost store


def test_a_first_start_makes_the_least_that_is_declared(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        assert up.status.desired == 2
        assert up.runtime.explanation is not None

    bed.run(scene)
    assert {event.name for event in _history(bed) if event.kind is EventKind.DECISION} == {"first_listing"}


def test_a_first_start_waits_for_a_complete_listing(bed: EngineBed) -> None:
    bed.cloud.partial = True

    async def scene(up: Up) -> None:
        await up.passed(3)
        await up.ticked(3)
        assert up.status.desired is None
        assert up.status.reason is Reason.NOT_LISTED
        assert not bed.machines
        assert "one host does not answer" in " ".join(up.status.messages)
        bed.cloud.partial = False
        await up.grown(2)

    bed.run(scene)


@pytest.mark.parametrize(("found", "desired"), [(1, 2), (3, 3), (6, 6)], ids=["less than min", "inside", "above max"])
def test_after_a_lost_store_members_are_taken_up_by_their_mark(bed: EngineBed, found: int, desired: int) -> None:
    for number in range(1, found + 1):
        bed.cloud.add(name_of(number))
        bed.edge.states[name_of(number)] = RegistrationState.SERVING
    bed.cloud.add(name_of(1, installation="zzzzzz"))  # another Trimtab's
    bed.cloud.add("stranger")  # type: ignore[arg-type]

    async def scene(up: Up) -> None:
        await up.grown(desired)
        assert up.status.desired == desired
        assert up.status.maximum == 4
        await up.ticked(3)
        assert up.status.desired == desired

    bed.run(scene)
    made = max(desired - found, 0)
    assert bed.cloud.created == [name_of(found + 1 + number) for number in range(made)]
    assert not bed.cloud.destroyed
    assert {"stranger", name_of(1, installation="zzzzzz")} <= bed.cloud.machines.keys()


def test_more_than_max_that_were_found_stay_until_a_person_lowers_them(bed: EngineBed) -> None:
    for number in range(1, 7):
        bed.cloud.add(name_of(number))
        bed.edge.states[name_of(number)] = RegistrationState.SERVING

    async def scene(up: Up) -> None:
        await up.grown(6)
        decision = await up.operations.scale(WEB, 4, force=False, by="ada")
        assert decision.desired_to == 4
        await up.grown(4)

    bed.run(scene)
    assert not bed.cloud.created


def test_the_first_size_is_never_taken_from_a_partial_listing_that_follows_a_complete_one(bed: EngineBed) -> None:
    """While the one complete listing comes, nothing can be written; half of the cloud does not answer otherwise."""
    for number in range(1, 5):
        bed.cloud.add(name_of(number))
        bed.edge.states[name_of(number)] = RegistrationState.SERVING
    bed.cloud.partial = True

    async def scene(up: Up) -> None:
        with _full(up.store):
            bed.cloud.partial = False
            await up.until(lambda: up.runtime.seen is not None and up.runtime.seen.world.complete)
            await up.until(lambda: up.runtime.unrecorded is not None)
            bed.cloud.partial = True
            await up.until(lambda: up.runtime.seen is not None and not up.runtime.seen.world.complete)
            with contextlib.suppress(StoreError):  # decisions that were asked for before it have failed by then
                await up.tick(1.0)
        await up.ticked(3)
        assert up.status.desired is None
        bed.cloud.partial = False
        await up.grown(4)
        assert up.status.desired == 4

    bed.run(scene)
    assert not bed.cloud.destroyed


def test_a_store_that_is_lost_while_members_serve_costs_none_of_them(bed: EngineBed) -> None:
    bed.run(lambda up: up.grown(2))
    before = dict(bed.cloud.machines)
    for path in bed.directory.glob("trimtab.sqlite*"):
        path.unlink()

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.ticked(2)

    bed.run(scene)
    assert bed.cloud.machines == before
    assert len(bed.cloud.created) == 2


def test_a_store_of_a_newer_release_is_refused_and_left_alone(bed: EngineBed) -> None:
    bed.run(lambda up: up.grown(2))
    with contextlib.closing(sqlite3.connect(bed.path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    async def scene(up: Up) -> None: ...

    with pytest.raises(Refused, match="newer release"):
        bed.run(scene)
    assert len(bed.machines) == 2


# Decisions


def test_a_policy_whose_condition_holds_grows_the_fleet_once_and_then_is_quiet(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.readings.value = 95.0
        await up.grown(3)
        await up.ticked(3)
        assert up.status.desired == 3
        assert up.status.reason is Reason.QUIET
        assert [quiet.policy for quiet in up.status.quiets] == ["out"]

    bed.run(scene)


def test_silence_shrinks_nothing(bed: EngineBed) -> None:
    bed.declare(model(minimum=1))

    async def scene(up: Up) -> None:
        await up.grown(1)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        bed.readings.value = None
        await up.until(lambda: up.status.reason is Reason.BLIND)
        await up.ticked(5)
        assert up.status.desired == 3

    bed.run(scene)
    assert not bed.cloud.destroyed


def test_quiet_times_survive_a_restart(bed: EngineBed) -> None:
    async def grow(up: Up) -> float:
        await up.grown(2)
        bed.readings.value = 95.0
        await up.grown(3)
        return up.status.quiets[0].until

    until = bed.run(grow)

    async def after(up: Up) -> None:
        await up.grown(3)
        await up.until(lambda: up.status.reason is Reason.QUIET)
        assert [quiet.until for quiet in up.status.quiets] == [until]

    bed.run(after)
    assert len(bed.cloud.created) == 3


def _held(bed: EngineBed, boot: str = "a-boot") -> None:
    """Let a daemon take ticks until its windows are complete and a hold of 60 s has begun."""
    bed.boot = boot
    text = model(interval="30s").replace("above: 80}", "above: 80, window: 90s}")
    bed.declare(text.replace("add: 1,", "add: 1, duration: 60s,"))
    bed.readings.value = 95.0

    async def scene(up: Up) -> None:
        await up.grown(2)
        assert [await up.tick(30.0) for _ in range(3)] == [Reason.STEADY, Reason.STEADY, Reason.HOLDING]

    bed.run(scene)


def test_windows_and_holds_go_on_over_a_restart_that_no_tick_was_lost_by(bed: EngineBed) -> None:
    _held(bed)

    async def after(up: Up) -> None:
        await up.grown(2)
        assert await up.tick(30.0) is Reason.HOLDING
        assert await up.tick(30.0) is Reason.SCALED_OUT

    bed.run(after)


def test_a_first_tick_waits_for_the_listing_without_which_windows_would_end(bed: EngineBed) -> None:
    _held(bed)

    async def after(up: Up) -> None:
        assert await up.tick(30.0) is Reason.HOLDING

    bed.run(after)


def test_windows_are_empty_after_a_restart_that_took_longer_than_an_interval_and_a_half(bed: EngineBed) -> None:
    _held(bed)
    bed.later += 60.0

    async def after(up: Up) -> None:
        await up.grown(2)
        assert await up.tick(30.0) is Reason.STEADY

    bed.run(after)


@pytest.mark.parametrize(("before", "now"), [("a-boot", "another-boot"), ("", "")], ids=["another", "unknown"])
def test_windows_are_empty_after_a_reboot_and_where_boots_cannot_be_told_apart(
    bed: EngineBed, before: str, now: str
) -> None:
    _held(bed, before)
    bed.boot = now

    async def after(up: Up) -> None:
        await up.grown(2)
        assert await up.tick(30.0) is Reason.STEADY

    bed.run(after)


def test_a_hold_does_not_outlast_an_edit_of_what_its_policy_judges_by(bed: EngineBed) -> None:
    _held(bed)
    bed.declare(bed.file.read_text().replace("above: 80", "above: 90"))

    async def after(up: Up) -> None:
        await up.grown(2)
        assert [await up.tick(30.0) for _ in range(3)] == [Reason.HOLDING, Reason.HOLDING, Reason.SCALED_OUT]

    bed.run(after)


def test_a_member_that_dies_is_replaced_under_a_new_name(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.die(name_of(1))
        await up.until(lambda: bed.machines == {name_of(2), name_of(3)} and up.settled())
        assert up.status.desired == 2

    bed.run(scene)


def test_a_vanished_member_lowers_the_size_where_that_is_declared(bed: EngineBed) -> None:
    bed.declare(model(on_vanish="shrink", minimum=1))

    async def scene(up: Up) -> None:
        await up.grown(1)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        bed.cloud.die(name_of(2))
        await up.grown(2)
        assert up.status.desired == 2

    bed.run(scene)
    assert len(bed.cloud.created) == 3


def test_the_size_follows_a_vanished_member_also_if_that_could_not_be_written_at_first(bed: EngineBed) -> None:
    bed.declare(model(on_vanish="shrink", minimum=1))

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
        bed.cloud.die(name_of(2))
        up.runtime.wake.set()
        await up.until(lambda: failed)
        assert up.status.desired == 3
        up.store.lower = lower  # type: ignore[method-assign]
        up.runtime.wake.set()
        await up.grown(2)
        assert up.status.desired == 2

    bed.run(scene)
    assert len(bed.cloud.created) == 3


def test_no_first_size_is_read_from_a_listing_that_a_balancer_contradicts(bed: EngineBed) -> None:
    """The store is lost, and the cloud answers before it has read its database."""
    bed.run(lambda up: up.grown(2))
    bed.path.unlink()
    listed = bed.cloud.list
    bed.cloud.list = lambda group: Listing(servers=(), complete=True)  # type: ignore[method-assign]
    bed.cloud.faults.always["find"] = Transient("starting")

    async def scene(up: Up) -> None:
        await up.passed(2)
        assert up.status.desired is None
        bed.cloud.list = listed  # type: ignore[method-assign]
        up.runtime.wake.set()
        await up.grown(2)

    bed.run(scene)
    assert len(bed.cloud.created) == 2


def test_machines_that_stand_there_for_the_group_are_counted_into_its_first_size(bed: EngineBed) -> None:
    answers: list[int | Transient] = [Transient("busy"), Transient("busy"), 4, 0]

    def standing(_: Profile) -> int:
        answer = answers.pop(0)
        if isinstance(answer, Transient):
            raise answer
        return answer

    bed.cloud.standing = standing  # type: ignore[attr-defined]

    async def scene(up: Up) -> None:
        await up.grown(4)
        assert up.status.desired == 4

    bed.run(scene)
    assert answers == [0]


# Modes


@pytest.mark.parametrize("mode", ["off", "advise"])
def test_nothing_is_touched_where_trimtab_is_not_to_act(bed: EngineBed, mode: str) -> None:
    bed.declare(model(mode=mode))

    async def scene(up: Up) -> None:
        await up.until(lambda: up.runtime.seen is not None)
        await up.passed(2)
        asked = await up.operations.alarm(WEB, PolicyId("out"), id="a1", by="test")
        assert asked.reason is (Reason.MODE_OFF if mode == "off" else Reason.CATCHING_UP)
        assert not up.status.quiets
        assert up.status.desired is None

    bed.run(scene)
    assert not bed.cloud.created
    assert not bed.edge.states


def test_advice_is_computed_for_members_that_serve_and_moves_none(bed: EngineBed) -> None:
    bed.run(lambda up: up.grown(2))
    bed.declare(model(mode="advise"))
    bed.readings.value = 95.0

    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.reason is Reason.ADVISED)
        assert up.runtime.explanation is not None
        assert (up.status.desired, up.runtime.explanation.advised_to) == (2, 3)
        bed.cloud.die(name_of(1))
        await up.passed(3)
        assert bed.machines == {name_of(2)}

    bed.run(scene)
    assert len(bed.cloud.created) == 2


def test_a_group_that_is_only_advised_writes_no_line_for_every_tick(bed: EngineBed) -> None:
    bed.declare(model(mode="advise"))

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

    bed.run(scene)


def test_the_beginning_of_a_members_state_outlives_the_daemon(bed: EngineBed) -> None:
    """Of a state whose beginning no record has: a machine that has stopped."""

    def states(up: Up) -> dict[str, tuple[MemberState, float]]:
        return {member.name: (member.state, member.state_since) for member in up.status.members}

    async def stop_one(up: Up) -> dict[str, tuple[MemberState, float]]:
        await up.grown(2)
        serving = states(up)
        assert {state for state, _ in serving.values()} == {MemberState.IN_SERVICE}
        await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")
        bed.cloud.say(min(bed.machines), ServerState.STOPPED)
        up.runtime.wake.set()
        await up.until(lambda: MemberState.BROKEN in {state for state, _ in states(up).values()})
        assert states(up)[min(serving)][1] > serving[min(serving)][1]
        assert states(up)[max(serving)] == serving[max(serving)]
        return states(up)

    async def later(up: Up) -> dict[str, tuple[MemberState, float]]:
        await up.passed()
        return states(up)

    assert bed.run(stop_one) == bed.run(later)


# Reload


def test_a_file_with_problems_changes_nothing_and_every_problem_is_reported(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        before = up.engine.catalogue()
        bed.declare(model(maximum=9, colour="blue", policies="[up]"))
        reloaded = await up.operations.reload()
        words = [str(problem).removeprefix(f"{bed.file}:") for problem in reloaded.problems]
        assert len(words) == 2
        assert any("colour" in word for word in words)
        assert any("up" in word for word in words)
        assert up.engine.catalogue() is before
        assert up.status.maximum == 4
        await up.ticked()

    bed.run(scene)


def edited(up: Up) -> list[tuple[str, str]]:
    """The edits of the group with their authors, newest first, from history."""
    return [
        (event.by, event.message) for event in up.store.history(WEB, before=None, limit=200) if event.name == "edited"
    ]


def test_an_edited_threshold_is_shown_by_the_reload_by_history_and_by_the_definitions(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare(bed.text.replace("above: 80", "above: 85"))
        reloaded = await up.operations.reload(by="ada")
        assert [(edit.words, edit.groups) for edit in reloaded.edits] == [("conditions.high.above: 80 → 85", ("web",))]
        assert reloaded.changed == (WEB,)
        ((by, message),) = edited(up)
        assert by == "ada"
        assert message.startswith(f"conditions.high.above: 80 → 85 ({bed.file}:")
        (revision,) = await up.operations.rolling.revisions(WEB)
        assert [(each.by, [edit.words for edit in each.edits]) for each in revision.edits] == [
            ("ada", ["conditions.high.above: 80 → 85"])
        ]
        assert (await up.operations.reload(by="ada")).edits == ()
        assert len(edited(up)) == 1
        assert up.status.old == 0  # nothing is to be replaced for it

    bed.run(scene)


def test_an_edit_of_the_file_while_the_daemon_is_down_is_reported_at_the_start(bed: EngineBed) -> None:
    async def nothing(up: Up) -> None:
        assert edited(up) == []

    async def after(up: Up) -> None:
        assert [(by, message.partition(" (")[0]) for by, message in edited(up)] == [("start", "groups.web.max: 4 → 6")]
        assert up.runtime.edited_at is not None

    bed.run(nothing)
    bed.declare(model(maximum=6))
    bed.run(after)


def test_a_reload_tells_what_was_edited_in_every_section(bed: EngineBed) -> None:
    alert = "alerts: {slow: {match: {alertname: Slow}, groups: [web], fire: out, ttl: 15m}}\n"

    async def scene(up: Up) -> None:
        bed.declare(f"{bed.text}{alert}record: {{budget: 1GiB}}\n")
        reloaded = await up.operations.reload()
        assert [edit.words for edit in reloaded.edits] == ["alerts.slow: added", "record: added"]
        assert reloaded.changed == (WEB,)

    bed.run(scene)


@pytest.mark.parametrize(
    "odd",
    ['"\\ud800": 1\n', "[" * 5_000, "conditions: {odd: {expression: '" + "cpu + " * 3_000 + "cpu > 1'}}\n"],
    ids=["half of a character", "deep", "long expression"],
)
def test_no_file_ends_a_reload_otherwise_than_with_problems(bed: EngineBed, odd: str) -> None:
    async def scene(up: Up) -> None:
        before = up.engine.catalogue()
        bed.declare(odd if odd.startswith("[") else odd + bed.text)
        reloaded = await up.operations.reload()
        assert reloaded.problems
        assert up.engine.catalogue() is before

    bed.run(scene)


def test_members_are_never_left_behind_on_another_cloud(bed: EngineBed) -> None:
    moved = bed.text.replace("clouds: {box:", "clouds: {hut: {process: {}}, box:").replace("{cloud: box", "{cloud: hut")

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare(moved)
        reloaded = await up.operations.reload()
        assert "has members on cloud box" in " ".join(problem.message for problem in reloaded.problems)
        assert up.runtime.definition.cloud.id == "box"
        await up.ticked(2)

    bed.run(scene)
    with pytest.raises(DeclarationError, match="has members on cloud box"):
        bed.run(lambda up: up.ticked(1))
    assert len(bed.machines) == 2


def test_processes_are_never_left_behind_on_another_machine(bed: EngineBed) -> None:
    there = bed.text.replace("clouds: {box: {process: {}}}", "clouds: {box: {process: {}, on: box1}}")
    elsewhere = there.replace("on: box1", "on: box2")
    gone = bed.text.replace("clouds: {box: {process: {}}}", "clouds: {}").partition("profiles:")[0]

    async def scene(up: Up) -> None:
        bed.declare(there)
        assert [edit.words for edit in (await up.operations.reload()).edits] == ["clouds.box.on: not set → box1"]
        await up.grown(2)
        for text in (elsewhere, gone):
            bed.declare(text)
            (problem,) = (await up.operations.reload()).problems
            assert "cloud box: members of group web are processes of the machine that it was on" in problem.message
        bed.declare(there.replace("on: box1", "on: [box1]"))
        assert (await up.operations.reload()).problems == ()
        assert len(up.store.revisions(WEB)) == 1  # nothing that members are made of has changed

    bed.run(scene)
    bed.declare(elsewhere)
    with pytest.raises(DeclarationError, match="leave it as it was until they are gone"):
        bed.run(lambda up: up.ticked(1))
    assert len(bed.machines) == 2
    bed.declare(bed.text)  # of a daemon that is no worker any more
    bed.run(lambda up: up.ticked(1))


def test_a_first_file_with_problems_is_no_start(bed: EngineBed) -> None:
    bed.declare(model(minimum=9))

    async def scene(up: Up) -> None: ...

    with pytest.raises(DeclarationError):
        bed.run(scene)


@pytest.mark.parametrize(("bounds", "size"), [({"minimum": 3}, 3), ({"minimum": 1, "maximum": 1}, 1)])
def test_changed_bounds_clamp_at_once(bed: EngineBed, bounds: dict[str, int], size: int) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare(model(**bounds))
        reloaded = await up.operations.reload()
        assert reloaded.changed == (WEB,)
        assert up.status.desired == size
        assert up.status.reason is Reason.BOUNDS or up.status.desired == size
        await up.grown(size)

    bed.run(scene)
    assert any(event.name == "bounds" for event in _history(bed))


def test_a_changed_policy_keeps_quiet_times_and_begins_its_hold_anew(bed: EngineBed) -> None:
    slow = bed.text.replace("add: 1,", "add: 1, duration: 1h,")
    bed.declare(slow)

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        quiets = up.status.quiets
        bed.readings.value = 95.0
        await up.until(lambda: PolicyId("out") in up.runtime.holds)
        since = up.runtime.holds[PolicyId("out")].true_since
        await up.ticked()
        bed.declare(slow.replace("add: 1,", "add: 2,"))
        reloaded = await up.operations.reload()
        assert reloaded.changed == (WEB,)
        await up.until(lambda: PolicyId("out") in up.runtime.holds)
        assert up.runtime.holds[PolicyId("out")].true_since > since
        assert up.status.quiets == quiets

    bed.run(scene)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [("max: 4", "max: 3", True), ("above: 80", "above: 70", False), ("range: [0, 100]", "range: [0, 200]", False)],
    ids=["bounds", "condition", "counter"],
)
def test_a_hold_goes_on_while_all_that_it_was_judged_by_is_the_same(
    bed: EngineBed, old: str, new: str, kept: bool
) -> None:
    slow = bed.text.replace("add: 1,", "add: 1, duration: 1h,")
    bed.declare(slow)

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.readings.value = 95.0
        await up.until(lambda: PolicyId("out") in up.runtime.holds)
        await up.engine._decider.stop()
        up.engine._decider.start = lambda catalogue: None  # type: ignore[method-assign]  # no tick comes from now on
        before: Hold = up.runtime.holds[PolicyId("out")]
        bed.declare(slow.replace(old, new))
        await up.operations.reload()
        assert up.runtime.holds.get(PolicyId("out")) == (before if kept else None)

    bed.run(scene)


def test_a_reload_that_cannot_be_written_down_leaves_the_old_catalogue_deciding(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        before = up.engine.catalogue()
        bed.declare(model(maximum=9))
        with _full(up.store), pytest.raises(StoreError):
            await up.operations.reload()
        assert up.engine.catalogue() is before
        await up.ticked(3)
        reloaded = await up.operations.reload()
        assert reloaded.changed == (WEB,)
        assert up.status.maximum == 9

    bed.run(scene)


def test_members_leave_the_balancer_that_their_group_no_longer_uses(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare(
            model(balancers="[{use: side, port: 8080}]").replace(
                "  edge: {haproxy: {socket: /run/edge.sock, backend: web}}\n", ""
            )
        )
        await up.operations.reload()
        await up.passed(2)
        assert set(bed.edge.states.values()) == {RegistrationState.SERVING}
        assert len(bed.edge.states) == 2
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        assert set(bed.balancers["side"].states) == {name_of(3)}
        await up.operations.scale(WEB, 2, force=False, by="ada")
        await up.until(lambda: len(bed.machines) == 2)
        assert name_of(1) not in bed.machines
        assert set(bed.edge.states) == {name_of(2)}

    bed.run(scene)


def test_a_balancer_without_members_is_dropped(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare(model(balancers="[{use: side, port: 8080}]"))
        await up.operations.reload()
        for name in (name_of(1), name_of(2)):
            await up.operations.members.replace(WEB, name, by="ada")
        await up.until(lambda: bed.machines == {name_of(3), name_of(4)} and up.settled())
        await up.operations.reload()
        assert set(up.runtime.definition.balancers) == {BalancerId("side")}

    bed.run(scene)


def test_a_balancer_that_lost_its_members_gets_them_registered_again_at_once(
    bed: EngineBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.declare(model(interval="30s"))
    monkeypatch.setattr(engines, "_WATCH", 0.05)

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.until(lambda: bed.edge.looks > 1)
        bed.edge.reload()
        await up.until(lambda: list(bed.edge.states.values()) == [RegistrationState.SERVING] * 2)

    bed.run(scene)


def test_a_balancer_that_lost_its_members_before_the_first_look_gets_them_registered_again(
    bed: EngineBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.declare(model(interval="30s"))
    monkeypatch.setattr(engines, "_WATCH", 0.5)

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.edge.reload()
        await up.until(lambda: list(bed.edge.states.values()) == [RegistrationState.SERVING] * 2)

    bed.run(scene)


# Orphans


def test_a_group_that_leaves_the_file_is_kept_and_comes_back_as_it_was(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        quiets = up.status.quiets
        bed.declare("groups: {}\n")
        reloaded = await up.operations.reload()
        assert reloaded.orphaned == (WEB,)
        assert up.status.condition is GroupCondition.ORPHANED
        assert up.status.reason is Reason.ORPHANED
        decided = up.runtime.decided_at
        bed.cloud.die(name_of(1))
        await up.passed(3)
        assert bed.machines == {name_of(2), name_of(3)}
        assert up.runtime.decided_at == decided
        assert up.engine.health().ready
        bed.declare(model())
        assert (await up.operations.reload()).added == (WEB,)
        await up.grown(3)
        assert up.status.quiets == quiets
        assert up.engine.health().ready

    bed.run(scene)


def test_a_group_that_left_the_file_while_trimtab_was_down_is_orphaned_too(bed: EngineBed) -> None:
    bed.run(lambda up: up.grown(2))
    bed.declare("groups: {}\n")

    async def scene(up: Up) -> None:
        await up.until(lambda: up.runtime.seen is not None)
        assert up.status.condition is GroupCondition.ORPHANED
        assert len(up.status.members) == 2

    bed.run(scene)
    assert len(bed.machines) == 2


def test_a_declared_group_is_not_deleted_and_the_message_has_its_place(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        for members in (False, True):
            with pytest.raises(Refused, match=r"model\.yaml:14"):
                await up.operations.delete(WEB, members=members, by="ada")
        with pytest.raises(Refused):
            await up.engine.forget(up.runtime)  # declared again since it was asked for
        assert not up.runtime.deleting
        await up.ticked()

    bed.run(scene)


def test_a_group_that_comes_back_is_not_late(bed: EngineBed) -> None:
    bed.declare(model(interval="30s"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare("groups: {}\n")
        await up.operations.reload()
        up.runtime.decided_at = Instant(1.0)
        bed.declare(model(interval="30s"))
        await up.operations.reload()
        assert up.engine.health().ready

    bed.run(scene)


def test_an_orphan_can_be_forgotten_with_its_members_left_as_they_are(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare("groups: {}\n")
        await up.operations.reload()
        await up.operations.delete(WEB, members=False, by="ada")
        assert up.operations.status() == ()
        assert b'group="web"' not in up.operations.metrics()
        assert [event.name for event in await up.operations.history(WEB, before=None, limit=1)] == ["delete"]

    bed.run(scene)
    assert len(bed.machines) == 2
    bed.run(_no_member_is_known)


def test_an_orphan_can_be_emptied_and_is_then_forgotten(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.members.protect(WEB, name_of(1), protected=True, by="ada")
        bed.declare("groups: {}\n")
        await up.operations.reload()
        await up.operations.delete(WEB, members=True, by="ada")
        assert up.status.condition is GroupCondition.DELETING
        await up.until(lambda: not up.operations.status())
        assert not bed.machines
        assert not bed.edge.states

    bed.run(scene)


def test_a_group_that_is_declared_again_is_no_longer_deleted(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare("groups: {}\n")
        await up.operations.reload()
        bed.edge.busy = 3600.0
        await up.operations.delete(WEB, members=True, by="ada")
        await up.until(lambda: RegistrationState.DRAINING in bed.edge.states.values())
        bed.declare(model())
        await up.operations.reload()
        bed.edge.busy = 0.0
        await up.grown(2)
        assert up.status.condition is not GroupCondition.DELETING

    bed.run(scene)
    bed.run(lambda up: up.grown(2))


# The disk


def test_where_nothing_can_be_written_nothing_is_made_the_fleet_serves_and_status_says_why(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        serving = dict(bed.edge.states)
        with _full(up.store):
            with pytest.raises(StoreError, match="cannot be written"):
                await up.operations.scale(WEB, 3, force=False, by="ada")
            bed.readings.value = 95.0
            await up.until(lambda: up.runtime.unrecorded is not None)
            bed.cloud.die(name_of(1))
            await up.until(lambda: up.runtime.seen is not None and up.runtime.seen.failures)
            assert up.status.condition is GroupCondition.ERROR
            assert "cannot be written" in " ".join(up.status.messages)
            assert not up.engine.health().ready
            assert len(bed.cloud.created) == 2
            assert up.status.desired == 2
            assert bed.edge.states == serving
        await up.until(lambda: up.serving() == 3 and up.settled())
        assert up.status.condition is not GroupCondition.ERROR
        assert up.engine.health().ready

    bed.run(scene)


def test_stopping_where_nothing_can_be_written_is_a_clean_stop(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.ticked(3)
        _refuse_writes(up.store, "ON")

    bed.run(scene)
    assert len(bed.machines) == 2


# Chores and health


def test_a_dead_loop_shows_in_health(bed: EngineBed) -> None:
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

    bed.run(scene)


def test_an_error_of_the_cloud_is_shown_until_it_is_gone(bed: EngineBed) -> None:
    bed.cloud.faults.always["create"] = Transient("the cloud is full")

    async def scene(up: Up) -> None:
        full = "create: the cloud is full (2 members: web-k3f9ab-1, web-k3f9ab-2)"
        await up.until(lambda: full in up.status.messages)
        assert up.status.condition in {GroupCondition.WARNING, GroupCondition.ERROR}
        await up.operations.observe(WEB)
        assert full in up.status.messages
        bed.cloud.faults.clear()
        await up.operations.converge(WEB, dry_run=False, by="ada")
        await up.grown(2)
        assert not up.status.messages

    bed.run(scene)


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
    connection = store._writer._database.writing.raw_connection()  # the writer's own, between two of its transactions
    connection.cursor().execute(f"PRAGMA query_only={word}")
    connection.close()


def _history(bed: EngineBed) -> tuple[Event, ...]:
    store = SqliteStore.open(bed.path, installation=INSTALLATION)
    try:
        return store.history(WEB, before=None, limit=100)
    finally:
        store.close()


async def _no_member_is_known(up: Up) -> None:
    assert up.operations.status() == ()
