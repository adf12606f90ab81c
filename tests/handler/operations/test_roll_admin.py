from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import Permanent, Refused, Transient
from config.model.access import SecretRef, secrets_in
from config.model.rolling import Allowance
from config.settings import read_secret
from handler.operations.lookup import NoSuch
from handler.planning.rolls import RollState
from handler.planning.status import GroupCondition
from handler.ports.stored import EventKind
from tests.support.engines import WEB, EngineBed, Up, hurry, model

ONE, NONE = Allowance(number=1), Allowance(number=0)
ROLLED_BACK = (
    "new members are made from the profile of revision 1; the roll now replaces members with that profile, too"
)


def declared(command: str = "serve", **changes: object) -> str:
    return model(**changes).replace("command: [serve]", f"command: [{command}]")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


async def changed(up: Up, command: str, **changes: object) -> None:
    up.bed.declare(declared(command, **changes))
    assert (await up.operations.reload()).problems == ()


async def good(up: Up, size: int = 2) -> None:
    """Have the definition in force converge."""
    await up.grown(size)
    await up.until(lambda: up.runtime.whole is not None)


def is_done(up: Up) -> bool:
    return up.runtime.roll is not None and up.runtime.roll.state is RollState.DONE and up.settled()


async def notes(up: Up) -> list[tuple[str, str, str]]:
    events = await up.operations.history(WEB, before=None, limit=99, kinds={EventKind.NOTE})
    return [(event.name, event.by, event.message) for event in reversed(events) if event.name != "declared"]


def test_a_change_of_definition_alone_moves_nothing_and_is_a_revision(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await good(up)
        before = set(bed.machines)
        await changed(up, "serve, v2")
        await up.passed(3)
        assert bed.machines == before
        assert (up.status.old, up.status.roll, up.settled()) == (2, None, True)
        newest, first = await up.operations.rolling.revisions(WEB)
        assert (newest.number, newest.members, newest.declared, newest.in_force) == (2, 0, True, True)
        assert newest.changes == ("profile recipe command: changed",)
        assert (first.number, first.members, first.declared) == (1, 2, False)
        assert first.converged_at is not None
        assert newest.converged_at is None, "no member is made from it"

    bed.run(scene)


def test_a_roll_replaces_every_member_and_history_says_so(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await good(up)
        before = set(bed.machines)
        await changed(up, "serve, v2")
        answer = await up.operations.rolling.roll(WEB, None, None, by="ada")
        assert answer.words == "rolling, surge 1, unavailable 0"
        await up.until(lambda: is_done(up))
        assert not before & bed.machines
        assert up.serving() == len(bed.machines) == 2
        assert up.status.old == 0
        assert [note for note in await notes(up) if note[0] != "edited"] == [
            ("roll", "ada", "surge 1, unavailable 0"),
            ("roll_done", "convergence", ""),
        ]
        await up.until(lambda: not up.status.pending)
        assert (await up.operations.rolling.revisions(WEB))[0].converged_at is not None

    bed.run(scene)


def test_a_roll_goes_on_after_a_restart(bed: EngineBed) -> None:
    bed.declare(declared(minimum=3))

    async def before(up: Up) -> None:
        await good(up, 3)
        bed.cloud.faults.always["create"] = Transient("not now")
        await changed(up, "serve, v2", minimum=3)
        await up.operations.rolling.roll(WEB, NONE, Allowance(number=2), by="ada")

    bed.run(before)
    bed.cloud.faults.always.clear()

    async def after(up: Up) -> None:
        assert up.runtime.roll is not None
        assert (up.runtime.roll.budgets.unavailable, up.runtime.roll.by) == (Allowance(number=2), "ada")
        await up.until(lambda: is_done(up))
        assert up.status.old == 0

    bed.run(after)


def test_a_stopped_roll_replaces_no_more_members_and_goes_on_when_asked(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await good(up)
        await changed(up, "serve, v2")
        bed.cloud.faults.always["list"] = Permanent("not now")
        await up.operations.rolling.roll(WEB, NONE, Allowance(number=50, percent=True), by="ada")
        stopped = await up.operations.rolling.stop_roll(WEB, by="bob")
        assert stopped.roll is not None
        assert (stopped.roll.state, stopped.roll.because, stopped.roll.remaining) == (RollState.STOPPED, "by bob", 2)
        bed.cloud.faults.always.clear()
        await up.passed(3)
        await up.until(up.settled)
        assert up.status.old == 2
        again = await up.operations.rolling.roll(WEB, None, None, by="ada")
        assert again.roll is not None
        assert (again.roll.surge, again.roll.unavailable) == ("0", "50%"), "with the budgets that it had"
        await up.until(lambda: is_done(up))
        with pytest.raises(Refused, match="no roll of group web is under way"):
            await up.operations.rolling.stop_roll(WEB, by="ada")

    bed.run(scene)


def test_a_profile_that_cannot_be_built_halts_the_roll_and_a_rollback_takes_it_back(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await good(up)
        before = set(bed.machines)
        await changed(up, "serve, broken")
        bed.cloud.faults.script("create", *[Permanent("no such image")] * 3)
        await up.operations.rolling.roll(WEB, Allowance(number=3), None, by="ada")
        await up.until(lambda: up.runtime.roll is not None and up.runtime.roll.state is RollState.HALTED)
        profile = (await up.operations.rolling.revisions(WEB))[0].profile
        assert up.runtime.roll is not None
        assert up.runtime.roll.because == f"3 builds of profile {profile[:12]} failed in a row"
        assert before <= bed.machines, "with surge alone no member has left"
        assert up.status.condition in {GroupCondition.WARNING, GroupCondition.ERROR}
        assert any("the roll has stopped: 3 builds" in message for message in up.status.messages)

        answer = await up.operations.rolling.rollback(WEB, None, by="ada")
        assert answer.words == ROLLED_BACK
        await up.until(lambda: is_done(up))
        assert bed.machines == before
        assert up.status.rollback is not None
        assert (up.status.rollback.revision, up.status.definition, up.runtime.builds.back_off_until) == (1, 1, None)

    bed.run(scene)


def test_after_a_rollback_new_members_get_the_earlier_profile_until_the_file_has_a_newer_one(
    bed: EngineBed,
) -> None:
    async def before(up: Up) -> None:
        await good(up)
        await changed(up, "serve, v2")
        await up.operations.rolling.rollback(WEB, None, by="ada")
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        newest, first = await up.operations.rolling.revisions(WEB)
        assert (newest.members, first.members, newest.in_force, first.in_force) == (0, 3, False, True)

    async def after(up: Up) -> None:
        await up.grown(3)
        assert (up.status.old, up.status.definition) == (0, 1)
        await changed(up, "serve, v2", maximum=6)
        assert (up.status.definition, up.runtime.definition.group.maximum) == (1, 6), "only its profile is pinned"
        await changed(up, "serve, v3")
        assert (up.status.rollback, up.status.definition, up.status.old) == (None, 4, 3)
        assert ("rollback_over", "file", "") in await notes(up)

    bed.run(before)
    bed.run(after)


def test_a_rollback_is_ended_by_a_person(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await good(up)
        await changed(up, "serve, v2")
        await up.operations.rolling.rollback(WEB, 1, by="ada")
        assert up.status.old == 0
        await up.operations.rolling.end_rollback(WEB, by="ada")
        assert (up.status.rollback, up.status.old) == (None, 2)
        with pytest.raises(Refused, match="not rolled back"):
            await up.operations.rolling.end_rollback(WEB, by="ada")

    bed.run(scene)


def test_impossible_rollbacks_and_rolls_are_refused_with_what_to_do(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await good(up)
        rolling = up.operations.rolling
        with pytest.raises(Refused, match=r"no definition of group web before revision 1 .* trimtab definitions web"):
            await rolling.rollback(WEB, None, by="ada")
        with pytest.raises(NoSuch, match="no revision 7; trimtab definitions web lists them"):
            await rolling.rollback(WEB, 7, by="ada")
        with pytest.raises(Refused, match="made from the profile of revision 1 already"):
            await rolling.rollback(WEB, 1, by="ada")
        with pytest.raises(Refused, match="no member could be replaced"):
            await rolling.roll(WEB, NONE, None, by="ada")
        await changed(up, "serve, v2", mode="advise")
        with pytest.raises(Refused, match="mode advise: its members are not changed"):
            await rolling.roll(WEB, ONE, NONE, by="ada")
        bed.declare(declared().partition("groups:")[0])
        await up.operations.reload()
        with pytest.raises(Refused, match="no longer declared"):
            await rolling.roll(WEB, ONE, NONE, by="ada")

    bed.run(scene)


def test_a_rollback_to_a_profile_whose_secret_is_gone_is_refused(bed: EngineBed) -> None:
    bed.declare(declared().replace("command: [serve]", "command: [serve], snmp: {community: {env: GONE}}"))

    async def scene(up: Up) -> None:
        await good(up)
        await changed(up, "serve, v2")
        parts = up.engine.parts
        up.engine.parts = replace(parts, inbox=replace(parts.inbox, read_secret=lambda ref: read_secret(ref, {})))
        with pytest.raises(Refused, match=r"revision 1 of group web needs a secret that cannot be read: .* GONE"):
            await up.operations.rolling.rollback(WEB, None, by="ada")
        assert up.status.rollback is None

    bed.run(scene)


def test_every_secret_of_a_profile_is_looked_for() -> None:
    held = SecretRef(env="A"), SecretRef(file="/b")
    assert list(secrets_in((held[0], ("c", held[1])))) == [*held]


def test_a_newer_definition_retargets_a_roll_that_runs(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await good(up)
        await changed(up, "serve, v2")
        bed.cloud.faults.always["create"] = Transient("not now")
        await up.operations.rolling.roll(WEB, None, None, by="ada")
        await changed(up, "serve, v3")
        bed.cloud.faults.always.clear()
        await up.until(lambda: is_done(up))
        newest = (await up.operations.rolling.revisions(WEB))[0]
        assert up.runtime.roll is not None
        assert (up.runtime.roll.target, newest.members) == (newest.profile, 2)

    bed.run(scene)


def test_groups_that_wait_for_convergence_come_first_after_a_start(bed: EngineBed) -> None:
    both = declared() + declared().split("groups:\n")[1].replace("  web:\n", "  api:\n").replace("edge", "side")
    bed.declare(both)

    async def before(up: Up) -> None:
        await good(up)
        await up.until(lambda: all(not runtime.is_pending for runtime in up.engine.runtimes.values()))
        bed.cloud.faults.always["list"] = Permanent("not now")
        await up.operations.scale(WEB, 3, force=False, by="ada")
        assert up.status.pending

    async def after(up: Up) -> None:
        assert [task.get_name() for task in up.engine.keeper.tasks()] == ["converge-web", "converge-api"]
        assert (up.status.pending, up.engine.runtimes[WEB].converged is not None) == (True, True)
        bed.cloud.faults.always.clear()
        await up.grown(3)
        await up.until(lambda: not up.status.pending)

    bed.run(before)
    bed.run(after)
