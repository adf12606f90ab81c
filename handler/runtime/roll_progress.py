"""What is written down after a pass: how a roll stands now, and that nothing is left to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from config.units import Instant, MemberName
from handler.convergence.passes import Pass
from handler.planning.declared import Converged
from handler.planning.desired import Builds, Limits
from handler.planning.pacing import builds_after
from handler.planning.rolling import is_old, rolled
from handler.planning.rolls import Roll, RollState, halted_by, short
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import Create, MakePart
from handler.planning.world import World
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind, StoredGroup

_BY = "convergence"

_ACTS = {RollState.HALTED: "roll_halted", RollState.DONE: "roll_done"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RollView:
    """What a pass saw and did, as far as a roll asks."""

    world: World
    outcomes: Sequence[StepOutcome]
    in_service: Collection[MemberName]
    size: int
    """How many are desired."""
    believed: bool
    """The listing was complete, and nothing of it is doubted."""
    stuck: Collection[MemberName] = ()
    """Members with a STUCK removal."""


def after(roll: Roll, seen: RollView, now: Instant) -> Roll:
    """The roll as it stands after a pass; the same value if nothing changes.

    It follows the profile of now; it halts when too many builds of that failed in a row; it is done when no old member
    is there any more (but protected ones, and those that cannot be removed) and as many serve as are desired.
    """
    if not roll.runs or seen.world.profile is None:
        return roll
    aimed = roll.aimed(seen.world.profile)
    counted = replace(aimed, failed=_failed(aimed, seen, now))
    if because := halted_by(counted.failed, counted.target):
        return counted.ended(RollState.HALTED, because, now)
    progress = rolled(seen.world, seen.in_service, seen.stuck)
    if seen.believed and not progress.remaining and not progress.leaving and len(seen.in_service) >= seen.size:
        kept = [
            f"{what}: {', '.join(names)}"
            for what, names in (
                ("protected, and as they were", progress.protected),
                ("still there, since they cannot be removed", progress.stuck),
            )
            if names
        ]
        return counted.ended(RollState.DONE, "; ".join(kept), now)
    return counted


def _failed(roll: Roll, seen: RollView, now: Instant) -> int:
    """Builds of the roll's profile that failed in a row, those of this pass included."""
    own = {
        member.name
        for member in seen.world.members
        if member.record is not None and member.record.profile == roll.target
    }
    making = (Create, MakePart)
    outcomes = [outcome for outcome in seen.outcomes if isinstance(outcome.step, making) or outcome.member in own]
    before = Builds(failed=roll.failed, back_off_until=None)
    return builds_after(before, outcomes, seen.world, Limits(creates=0, back_off_until=None), now).failed


@dataclass(frozen=True, slots=True, kw_only=True)
class PassChanges:
    """What a pass changes beside its members."""

    roll: Roll | None
    converged: Converged | None
    wholly: bool
    """Every member is made of the revision that converged."""


def news_of(stored: StoredGroup, done: Pass, in_service: Collection[MemberName], now: Instant) -> PassChanges:
    """What is to be written down. Pure.

    What converged is what the pass planned from: whatever was decided since is another revision, and is still to do.
    """
    size = stored.state.desired or 0
    believed = done.world.complete and not done.plan.doubts
    seen = RollView(
        world=done.world,
        outcomes=done.outcomes,
        in_service=in_service,
        size=size,
        believed=believed,
        stuck=done.plan.stuck,
    )
    roll = None if stored.roll is None else after(stored.roll, seen, now)
    if not done.converged:
        return PassChanges(roll=roll, converged=stored.converged, wholly=False)
    wholly = bool(done.world.members) and not any(is_old(member, done.world.profile) for member in done.world.members)
    if stored.converged is not None and stored.converged.is_of(done.plan.revision, stored.in_force):
        return PassChanges(roll=roll, converged=stored.converged, wholly=wholly)
    converged = Converged(size=done.plan.revision, definition=stored.in_force, at=now)
    return PassChanges(roll=roll, converged=converged, wholly=wholly)


def write(store: Store, stored: StoredGroup, news: PassChanges, now: Instant) -> None:
    """Write it down, where it is any.

    Raises:
        StoreError: it cannot be written; the next pass finds the same again.
    """
    roll, before = news.roll, stored.roll
    if roll is not None and before is not None and roll != before:
        store.save_roll(
            stored.id, roll, _act(stored, before, roll, now)
        )  # a reload may have ended a rollback meanwhile
    if news.converged is not None and (news.converged != stored.converged or news.wholly):
        store.save_converged(stored.id, news.converged, wholly=news.wholly)


def _act(stored: StoredGroup, before: Roll, roll: Roll, now: Instant) -> Event | None:
    """The line of history, if the change is worth one."""
    if roll.state is not before.state:
        name, message = _ACTS[roll.state], roll.because
    elif roll.target != before.target:
        name, message = "roll_retargeted", f"to profile {short(roll.target)}"
    else:
        return None
    return Event(at=now, group=stored.id, kind=EventKind.NOTE, name=name, by=_BY, message=message)
