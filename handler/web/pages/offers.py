"""What a person can do with a group and its members, each with what will happen, in sentences. Pure.

The sentences come from the status that the page shows. Whether the daemon does it, the daemon decides when it is asked.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from config.model.catalogue import Mode
from config.units import Seconds
from handler.operations.group_operations import ConvergeGroup, EndRollback, RollBack, StartRoll, StopRoll
from handler.operations.member_operations import DeleteMember, EvictMember, ProtectMember, ReplaceMember
from handler.operations.outcomes import RevisionStatus
from handler.operations.size_operations import ScaleGroup
from handler.operations.size_tags import size_tag
from handler.planning.rolls import RollState
from handler.planning.status import GroupCondition, GroupStatus, MemberState, MemberStatus
from handler.web.pages.figures import minute
from handler.web.pages.freeze_offers import AT_FIRST, freezing
from handler.web.pages.offer import Offer
from handler.web.pages.pause_offers import pausing
from trigger.explain.words import sentence_of
from trigger.reasons import Reason
from trigger.requests import Pause
from trigger.verdicts import Direction

ON_MEMBERS = (ProtectMember, ReplaceMember, DeleteMember, EvictMember)
"""Every kind of operation that `member_offers` offers."""


class Topic(enum.Enum):
    """What a button of the page is about; the value is in the address of its dialog."""

    SCALE = "scale"
    PAUSE = "pause"
    FREEZE = "freeze"
    CONVERGE = "converge"
    ROLL = "roll"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """What a person has entered in a dialog."""

    size: int | None = None
    """``None``: none yet."""
    lasts: Seconds = AT_FIRST
    """How long a freeze is to last."""


NOTHING_ENTERED = Entered()


def offers_of(
    topic: Topic,
    status: GroupStatus,
    entered: Entered = NOTHING_ENTERED,
    plan: Iterable[str] = (),
    revisions: Iterable[RevisionStatus] = (),
    *,
    becomes_quiet: bool = True,
) -> tuple[Offer, ...]:
    """Return what a topic offers, for any person.

    Args:
        topic: what the person wants to do.
        status: of the group, now.
        entered: what the person has entered so far.
        plan: the steps of a pass now, in words.
        revisions: of the group's definition, newest first.
        becomes_quiet: a change of size begins a quiet time of the group, which is none of 0 s.
    """
    match topic:
        case Topic.SCALE:
            return tuple(_scaling(status, size_now(status) if entered.size is None else entered.size, becomes_quiet))
        case Topic.PAUSE:
            return tuple(pausing(status))
        case Topic.FREEZE:
            return tuple(freezing(status, entered.lasts))
        case Topic.CONVERGE:
            return (_converging(status, plan),)
        case Topic.ROLL:
            return (_rolling(status), *_rolling_back(status, revisions))
        case _:
            assert_never(topic)


def size_now(status: GroupStatus) -> int:
    """Return the size that a dialog begins with."""
    return status.minimum if status.desired is None else status.desired


def _scaling(status: GroupStatus, size: int, becomes_quiet: bool) -> Iterator[Offer]:
    """Yield the size, and after a refusal that force overcomes, the forced size."""
    tag = size_tag(status.revision, status.desired)  # what is carried out is what was shown, or nothing
    refusal = _refusal(status, size)
    yield Offer(
        operation=ScaleGroup(group=status.group, size=size, if_match=tag),
        label=f"Scale to {size}",
        happens=tuple(_scaled(status, size, becomes_quiet, refusal)),
        done=f"The desired size is {size}.",
    )
    if refusal is not None and size != status.desired and _refusal(status, size, force=True) is None:
        yield Offer(
            operation=ScaleGroup(group=status.group, size=size, force=True, if_match=tag),
            label=f"Force {size}",
            happens=(*_forced(status, size), *_scaled(status, size, becomes_quiet, None)),
            done=f"The desired size is {size}.",
        )


def _scaled(status: GroupStatus, size: int, becomes_quiet: bool, refusal: Reason | None) -> Iterator[str]:
    before, quiet = status.desired, " The group's quiet time begins." if becomes_quiet else ""
    if before is not None:
        yield _change(status, size)
    if refusal is not None:
        yield _refused(sentence_of(refusal))
    elif before is None or before == size:
        yield "Nothing changes."
    elif status.mode is Mode.ADVISE:
        yield "The group only advises: the decision is recorded, and no member changes."
    elif size > before:
        yield f"{_members(size - before)} more; each serves once it is ready.{quiet}"
    else:
        yield (
            f"{_members(before - size)} fewer: broken ones leave first, then those that are being built, and never a "
            f"protected one. Each drains before it leaves.{quiet}"
        )


def _forced(status: GroupStatus, size: int) -> Iterator[str]:
    """Yield what is special about a size that is forced. Source: `trigger.guards.gate`."""
    if not status.minimum <= size <= status.maximum:
        yield "The size is outside the bounds. It stays until the next decision that is accepted, also by a policy."
    stopped = _stopped(status)
    if stopped is Pause.ALL:
        yield "The pause stays: members change once a person ends it."
    elif stopped is not Pause.NO:
        yield "The pause of decisions stays, and this size goes past it."


def _change(status: GroupStatus, size: int) -> str:
    return f"Desired size {status.desired} → {size}, bounds {status.minimum}–{status.maximum}."


def _refused(why: str) -> str:
    return f"As things are, this is refused: {why}."


def _members(count: int) -> str:
    return "1 member" if count == 1 else f"{count} members"


def _refusal(status: GroupStatus, size: int, *, force: bool = False) -> Reason | None:
    """Return why the daemon would refuse a person's size, as far as the status shows. Source: `trigger.decide`."""
    halted, insists = _halted(status), force and _stopped(status).halts
    if status.desired is None:
        return halted or Reason.NOT_LISTED
    if halted is not None and not (insists and halted is Reason.PAUSED):
        return halted
    if size == status.desired:
        return None
    if not force and _stopped(status).stops(Direction.OUT if size > status.desired else Direction.IN):
        return Reason.PAUSED
    if size > status.maximum:
        return None if force else Reason.ABOVE_MAX
    return Reason.BELOW_MIN if size < status.minimum and not insists else None


def _halted(status: GroupStatus) -> Reason | None:
    """Return why no size is accepted at all."""
    if status.condition is GroupCondition.ORPHANED:
        return Reason.ORPHANED
    if status.mode is Mode.OFF:
        return Reason.MODE_OFF
    if status.older_store is not None:
        return Reason.OLDER_STORE
    return Reason.PAUSED if _stopped(status).halts else None


def _stopped(status: GroupStatus) -> Pause:
    fleet = status.fleet_pause
    return status.pause if fleet is None else status.pause.also(fleet.pause)


def _converging(status: GroupStatus, plan: Iterable[str]) -> Offer:
    return Offer(
        operation=ConvergeGroup(group=status.group),
        label="Converge",
        happens=("A pass is made now. If many members are missing, your order confirms that they are lost.", *plan),
        done="The pass is done.",
    )


def _rolling(status: GroupStatus) -> Offer:
    group, roll = status.group, status.roll
    if roll is not None and roll.state is RollState.RUNNING:
        return Offer(
            operation=StopRoll(group=group),
            label="Stop the roll",
            happens=(
                f"{_members(roll.remaining)} of {roll.done + roll.remaining} stay as they are.",
                "What is leaving goes on leaving, and the roll can go on later.",
            ),
            done="The roll is stopped.",
        )
    budgets = "budgets as declared"
    if roll is not None and roll.state is not RollState.DONE:
        budgets = f"budgets as before: surge {roll.surge}, unavailable {roll.unavailable}"
    what = f"{_members(status.old)} of an earlier profile to replace, one after the other; {budgets}."
    held = (_refused(f"mode {status.mode.value}"),) if status.mode is not Mode.ACT else ()
    return Offer(
        operation=StartRoll(group=group),
        label="Roll",
        happens=(*held, what if status.old else "No member is of an earlier profile: nothing is replaced."),
        done="The roll has begun.",
    )


def _rolling_back(status: GroupStatus, revisions: Iterable[RevisionStatus]) -> Iterator[Offer]:
    """Yield a rollback to each earlier profile, newest first, and the end of one."""
    group, pinned, goes = status.group, status.rollback, _goes_on(status)
    if pinned is not None:
        yield Offer(
            operation=EndRollback(group=group),
            label="End the rollback",
            happens=(
                f"New members are made from the declared profile again, not from revision {pinned.revision}'s.",
                goes,
            ),
            done="New members are made from the declared profile again.",
        )
    known = tuple(revisions)
    seen = {each.profile for each in known if each.in_force or each.declared}
    for each in known:
        if each.profile in seen:
            continue
        seen.add(each.profile)
        good = "never converged" if each.converged_at is None else f"converged at {minute(each.converged_at)} UTC"
        yield Offer(
            operation=RollBack(group=group, to=each.number),
            label=f"Roll back to revision {each.number}",
            happens=(
                f"New members are made from its profile. Members made from it: {each.members}.",
                f"It came into force at {minute(each.at)} UTC, and {good}.",
                goes,
            ),
            done=f"New members are made from the profile of revision {each.number}.",
        )


def _goes_on(status: GroupStatus) -> str:
    """Return what another profile means for the members that there are."""
    if status.roll is not None and status.roll.state in {RollState.RUNNING, RollState.HALTED}:
        return "The roll replaces members with that profile, too."
    return "Members that there are stay, until a roll replaces them."


def member_offers(status: GroupStatus, member: MemberStatus) -> Iterator[Offer]:
    """Yield what can be done with a member, by any person."""
    group, name = status.group, member.name
    yield _protecting(status, member)
    serves = member.state is MemberState.IN_SERVICE
    yield Offer(
        operation=ReplaceMember(group=group, member=name),
        label="Replace",
        happens=(
            f"A new member is made. Once it serves, {name} drains and its machine is deleted. The desired size stays "
            f"{size_now(status)}."
            if serves
            else _refused(f"{name} is not in service"),
        ),
        done=f"{name} is being replaced.",
    )
    yield Offer(
        operation=DeleteMember(group=group, member=name),
        label="Delete",
        happens=(*_fewer(status, member), f"{name} drains, and its machine is deleted. No other takes its place."),
        done=f"{name} leaves.",
    )
    yield Offer(
        operation=EvictMember(group=group, member=name),
        label="Evict",
        happens=(
            *_fewer(status, member),
            f"{name} leaves its balancers and loses its mark. Its machine goes on running.",
        ),
        done=f"{name} leaves, and its machine stays.",
    )


def _protecting(status: GroupStatus, member: MemberStatus) -> Offer:
    name, ends = member.name, member.protected
    protected, free = f"No scale-in chooses {name}.", f"A scale-in may choose {name} again."
    return Offer(
        operation=ProtectMember(group=status.group, member=name, protected=not ends),
        label="End protection" if ends else "Protect",
        happens=(free if ends else protected,),
        done=free if ends else protected,
    )


def _fewer(status: GroupStatus, member: MemberStatus) -> Iterator[str]:
    """Yield what becomes of the size when a member leaves for good."""
    if status.desired is not None:
        yield _change(status, status.desired - 1)
    refusal = _refusal(status, size_now(status) - 1)
    if refusal is not None:
        yield _refused(sentence_of(refusal))
    elif member.protected:
        yield _refused(f"{member.name} is protected")
