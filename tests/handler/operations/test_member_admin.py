"""Observing one member, and converging one member alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import Permanent, Refused
from config.units import MemberName
from handler.identity.actors import local
from handler.operations.lookup import NoSuch
from handler.operations.member_log import MemberLog
from handler.operations.member_operations import ReadMemberLog
from handler.operations.registry import perform
from handler.planning.roles import Role
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Create
from handler.planning.world import Phase, ServerState
from handler.ports.stored import EventKind
from tests.support.engines import WEB, EngineBed, Up, hurry, model


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


def test_observing_one_member_gathers_anew_and_changes_nothing(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        one = min(bed.machines)
        seen = await up.operations.members.observe(WEB, one)
        assert (seen.member, seen.role, seen.steps) == (one, Role.SERVING, ())
        assert bed.cloud.destroyed == []
        with pytest.raises(NoSuch, match=f"has no member {one}0; did you mean {one}"):
            await up.operations.members.observe(WEB, MemberName(f"{one}0"))
        with pytest.raises(NoSuch, match=f"has no member {one}0; did you mean {one}"):
            await up.operations.members.recorded(WEB, MemberName(f"{one}0"), 9)

    bed.run(scene)


def test_one_member_is_repaired_by_order_and_no_other(bed: EngineBed) -> None:
    bed.declare(model(repair="off"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        one, two = sorted(bed.machines)
        for name in (one, two):
            bed.cloud.say(name, ServerState.ERROR)
        await up.until(lambda: "unrepaired" in {wait.value for wait, _ in up.status.waits})
        done = await up.operations.members.converge(WEB, one, by="ada")
        assert {outcome.member for outcome in done} == {one}
        assert all(outcome.result is StepResult.DONE for outcome in done)
        assert not any(isinstance(outcome.step, Create) for outcome in done)
        await up.until(lambda: one not in bed.machines and len(bed.machines) == 2)
        assert two in bed.machines
        notes = await up.operations.history(WEB, before=None, limit=99, kinds={EventKind.NOTE})
        assert [(note.by, note.message) for note in notes if note.name == "converge"] == [("ada", one)]
        await up.until(lambda: bool(up.engine.parts.store.gone(WEB, {one})))
        gone = await up.operations.members.recorded(WEB, one, 99)
        assert gone.record is not None
        assert gone.record.phase is Phase.GONE
        assert {"create", "converge", "destroy"} <= {event.name for event in gone.events}
        assert [event.at for event in gone.events] == sorted((event.at for event in gone.events), reverse=True)

    bed.run(scene)


def test_the_log_of_a_member_is_the_end_of_what_it_wrote_and_only_that_it_was_read_is_kept(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        one = min(bed.machines)
        bed.cloud.outputs[one] = b"first\nsecond\nthe secret word\n"
        found = await perform(up.operations, ReadMemberLog(group=WEB, member=one, lines=2), local("ada", "uid 1000"))
        assert isinstance(found, MemberLog)
        assert (found.text, found.lines, found.is_whole) == ("second\nthe secret word", 2, False)
        assert "secret" not in repr(found)
        rows = [row.fields for row in await up.operations.trail.after(0, 99)]
        read = [(row["act"], row["result"]) for row in rows if row["act"] != "start"]
        assert read == [("read_log", "asked"), ("read_log", "done")]
        assert "secret" not in str(rows)
        assert not any(note.name == "read_log" for note in await up.operations.history(WEB, before=None, limit=99))

    bed.run(scene)


def test_a_log_that_is_not_there_is_refused_with_the_reason(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        one = min(bed.machines)
        members = up.operations.members
        with pytest.raises(NoSuch, match="has no member"):
            await members.log(WEB, MemberName("../store"), 9)
        with pytest.raises(Refused, match=f"cloud .* has no output of {one}"):
            await members.log(WEB, one, 9)
        bed.cloud.faults.script("output", Permanent("the host keeps no console log"))
        with pytest.raises(Refused, match=f"the output of {one} cannot be read: the host keeps no console log"):
            await members.log(WEB, one, 9)

    bed.run(scene)


def test_a_paused_group_s_member_is_not_touched(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")
        with pytest.raises(Refused, match="web is paused, ORPHANED or not in mode act"):
            await up.operations.members.converge(WEB, min(bed.machines), by="ada")

    bed.run(scene)
