"""What a pass means for a roll, and what is written down of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from config.errors import Permanent
from config.model.catalogue import ProcessRecipe
from config.model.rolling import Allowance, RollBudgets
from config.units import Instant, PartName
from handler.planning.declared import Converged, Pinned
from handler.planning.rolls import Roll, RollState
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import Create, EnterService, MakePart, MarkLeaving, Step
from handler.planning.world import Leaving, Phase, World
from handler.ports.stored import EventKind, StoredGroup
from handler.runtime.roll_progress import RollView, after, news_of, write
from tests.support.beds import Bed, grown
from tests.support.memory_store import MemoryStore
from tests.support.rolling import NEW, OLD, made_of
from tests.support.worlds import FRONT, NOW, WEB, a_definition, a_group, a_member, name_of

LATER = Instant(NOW + 9)
ONE = RollBudgets()


def a_roll(**changes: Any) -> Roll:
    return replace(Roll(target=NEW, budgets=ONE, started_at=NOW, by="ada"), **changes)


def an_outcome(step: Step, number: int, result: StepResult = StepResult.DONE) -> StepOutcome:
    return StepOutcome(
        step=step, member=name_of(number), result=result, because="", started_at=NOW, finished_at=NOW, retry_after=None
    )


def seen(
    world: World, *outcomes: StepOutcome, serving: Sequence[int] = (), size: int = 2, believed: bool = True
) -> RollView:
    in_service = {name_of(number) for number in serving}
    return RollView(world=world, outcomes=outcomes, in_service=in_service, size=size, believed=believed)


REFUSED = an_outcome(Create(member=None), 9, StepResult.FAILED)
DONE = a_roll(state=RollState.DONE, ended_at=LATER)


@pytest.mark.parametrize(
    ("roll", "view", "expected"),
    [
        pytest.param(a_roll(), seen(made_of(OLD, NEW), serving=(1, 2)), a_roll(), id="goes on"),
        pytest.param(a_roll(), seen(made_of(NEW, NEW), serving=(1, 2)), DONE, id="done"),
        pytest.param(a_roll(), seen(made_of(NEW, NEW), serving=(1,)), a_roll(), id="too few serve"),
        pytest.param(a_roll(), seen(made_of(NEW, NEW), serving=(1, 2), believed=False), a_roll(), id="not believed"),
        pytest.param(
            a_roll(),
            seen(made_of(OLD, NEW, NEW, m1={"protected": True}), serving=(1, 2, 3)),
            replace(DONE, because="protected, and as they were: web-k3f9ab-1"),
            id="done but for the protected",
        ),
        pytest.param(
            a_roll(),
            seen(made_of(OLD, NEW, NEW, m1={"phase": Phase.LEAVING}), serving=(2, 3)),
            a_roll(),
            id="the last old member still leaves",
        ),
        pytest.param(
            a_roll(),
            replace(seen(made_of(OLD, NEW, NEW, m1={"phase": Phase.LEAVING}), serving=(2, 3)), stuck=(name_of(1),)),
            replace(DONE, because="still there, since they cannot be removed: web-k3f9ab-1"),
            id="done but for one that cannot be removed",
        ),
        pytest.param(
            a_roll(),
            seen(made_of(NEW, NEW, NEW, m1={"phase": Phase.LEAVING}), serving=(2, 3)),
            DONE,
            id="one of the new profile leaves: that is no part of it",
        ),
        pytest.param(a_roll(), seen(made_of(OLD), REFUSED), a_roll(failed=1), id="a build failed"),
        pytest.param(
            a_roll(failed=2),
            seen(made_of(OLD), REFUSED),
            a_roll(failed=3, state=RollState.HALTED, because="3 builds of profile new failed in a row", ended_at=LATER),
            id="too many failed",
        ),
        pytest.param(
            a_roll(failed=2),
            seen(made_of(OLD, NEW), an_outcome(EnterService(member=name_of(2)), 2)),
            a_roll(),
            id="one came into service: no row any more",
        ),
        pytest.param(
            a_roll(failed=2),
            seen(made_of(OLD, NEW), an_outcome(EnterService(member=name_of(1)), 1)),
            a_roll(failed=2),
            id="one of the old profile says nothing of the new",
        ),
        pytest.param(a_roll(target="x", failed=2), seen(made_of(OLD)), a_roll(), id="a newer definition"),
        pytest.param(
            a_roll(state=RollState.STOPPED, target="x"),
            seen(made_of(NEW, NEW), serving=(1, 2)),
            a_roll(state=RollState.STOPPED, target="x"),
            id="one that does not run is left as it is",
        ),
    ],
)
def test_how_a_roll_stands_after_a_pass(roll: Roll, view: RollView, expected: Roll) -> None:
    assert after(roll, view, LATER) == expected


def test_a_part_that_a_new_member_cannot_get_is_a_failure_of_the_profile() -> None:
    """A new member is no part of the world that its pass began with."""
    refused = an_outcome(MakePart(member=name_of(9), part=PartName("front")), 9, StepResult.FAILED)
    assert after(a_roll(), seen(made_of(OLD, OLD), refused, refused, refused), LATER).state is RollState.HALTED


def test_an_old_member_that_times_out_is_no_failure_of_the_new_profile() -> None:
    gone = MarkLeaving(member=name_of(1), why=Leaving.BUILD_TIMEOUT)
    for profile, failed in ((OLD, 0), (NEW, 1)):
        late = a_member(1, Phase.MADE, profile=profile)
        world = replace(made_of(OLD, OLD), members=(late, *made_of(OLD, OLD).members[1:]))
        assert after(a_roll(), seen(world, an_outcome(gone, 1)), LATER).failed == failed


def test_a_roll_ends_although_an_old_member_that_is_gone_left_a_part_that_cannot_be_removed() -> None:
    bed = grown(3, definition=a_definition(parts=(FRONT,)))
    bed.cloud.faults.always["remove_part"] = Permanent("in use")
    bed.cloud.die(name_of(1))
    for number in range(200):
        bed.run()
        bed.clock.advance(60.0)
        if number == 5:
            bed.release(43)
            bed.roll(ONE)
    assert (name_of(1), FRONT.name) in bed.parts()
    assert bed.store.records[name_of(1)][0].phase is Phase.IN_SERVICE
    roll = kept(bed.store).roll
    assert roll is not None
    assert roll.state is RollState.DONE
    assert roll.because.startswith(f"still there, since they cannot be removed: {name_of(1)}")


# What converged


def test_a_change_under_a_pass_is_still_to_be_done_when_the_pass_has_converged() -> None:
    """The mark is taken away for what the pass planned from, and for nothing else."""
    bed = grown(2)
    stored = bed.store.kept[WEB]
    done = bed.run()
    assert done.plan.converged
    bed.desire(3)  # meanwhile

    news = news_of(stored, done, (), bed.clock())
    write(bed.store, stored, news, bed.clock())

    now = bed.store.kept[WEB]
    assert now.converged == Converged(size=stored.state.revision, definition=1, at=bed.clock())
    assert not now.converged.is_of(now.state.revision, now.in_force)


@pytest.mark.parametrize("wholly", [True, False])
def test_a_definition_is_good_to_go_back_to_only_if_every_member_uses_it(wholly: bool) -> None:
    bed = grown(2)
    if not wholly:
        recipe = ProcessRecipe(command=("serve", "43"))
        bed.definition = replace(bed.definition, profile=replace(bed.definition.profile, recipe=recipe))
        bed.store.kept[WEB] = replace(bed.store.kept[WEB], definition=bed.definition)
    stored, done = bed.store.kept[WEB], bed.run()
    assert done.plan.converged, "a change of definition alone moves nothing"
    assert news_of(stored, done, (), NOW).wholly is wholly


def test_nothing_counts_as_converged_while_there_is_something_to_do_or_no_member_exists() -> None:
    bed = Bed(size=2)
    assert news_of(bed.store.kept[WEB], bed.run(), (), NOW).converged is None
    empty = Bed(size=0)
    news = news_of(empty.store.kept[WEB], empty.run(), (), NOW)
    assert (news.converged is not None, news.wholly) == (True, False)


def test_a_pass_for_one_member_leaves_open_whether_the_group_has_converged() -> None:
    bed = grown(2)
    bed.desire(3)
    stored, done = bed.store.kept[WEB], bed.run(only=name_of(1))
    assert (done.outcomes, done.plan.steps) == ((), ()), "the third is another pass's"
    news = news_of(stored, done, (), NOW)
    assert (news.converged, news.wholly) == (stored.converged, False)


def written(before: Roll, now: Roll) -> tuple[Roll | None, list[tuple[str, str]]]:
    store, stored = MemoryStore(), a_group(2, roll=before)
    store.kept[WEB] = stored
    news = replace(news_of(stored, grown(2).run(), (), NOW), roll=now)
    write(store, stored, news, LATER)
    notes = [(event.name, event.message) for event in store.history(WEB, before=None, limit=9, kinds={EventKind.NOTE})]
    return kept(store).roll, notes


def test_the_end_of_a_roll_brings_back_no_rollback_that_a_reload_has_ended_meanwhile() -> None:
    store, pinned = MemoryStore(), Pinned(revision=1, at=NOW, by="ada")
    stored = a_group(2, roll=a_roll(), pinned=pinned)
    store.kept[WEB] = replace(stored, pinned=None)
    write(store, stored, replace(news_of(stored, grown(2).run(), (), NOW), roll=DONE), LATER)
    assert (kept(store).pinned, kept(store).roll) == (None, DONE)


def kept(store: MemoryStore) -> StoredGroup:
    return store.kept[WEB]


@pytest.mark.parametrize(
    ("now", "notes"),
    [
        pytest.param(a_roll(), [], id="nothing"),
        pytest.param(a_roll(failed=1), [], id="a failure is no line of history"),
        pytest.param(a_roll(target="0123456789abcdef"), [("roll_retargeted", "to profile 0123456789ab")], id="target"),
        pytest.param(DONE, [("roll_done", "")], id="done"),
        pytest.param(a_roll(budgets=RollBudgets(surge=Allowance(number=2))).ended(RollState.HALTED, "x", LATER),
                     [("roll_halted", "x")], id="halted"),
    ],
)  # fmt: skip
def test_what_changes_about_a_roll_is_written_down(now: Roll, notes: list[tuple[str, str]]) -> None:
    assert written(a_roll(), now) == (now, notes)
