"""What decisions are given that follows from no sample, no file and no earlier decision.

# Note [Given]

Samples and file are enough to repeat the decisions of a group, but for what comes from elsewhere: requests of
people and alarms, what others than decisions do to its state (alerts that begin and end, pauses, members that vanish),
and what the last convergence pass saw of its fleet. A `Given` has these, for one decision. It is put down only where
it differs from the one before, so that a group at rest puts nothing down: whatever lies between two of them was given
what the earlier one says, and found the state that the decision before it had left.

What has changed the state is not asked. Whatever differs from what the last decision left was done by another, so no
way to change a state can be forgotten here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from config.model.catalogue import Group
from config.units import Instant
from trigger.requests import Decision, Fleet, GroupState, Request

FORM = 1
"""The newest form of a `Given` that this release writes and reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What one decision was given. See Note [Given]."""

    form: int = FORM
    life: Instant
    """When the daemon started that decided."""
    number: int
    """Of the group in this life, from 0: the order in which they were decided, whatever the clock says."""
    at: Instant
    after: Instant | None = None
    """The newest poll that had been decided about before; ``None``: none in this life."""
    evaluated: bool
    """It decided about the poll of ``at``; otherwise a request came between two polls."""
    requests: tuple[Request, ...] = ()
    """From outside; those of policies and schedules follow from the samples and the clock."""
    fleet: Fleet
    state: GroupState
    """That it found."""
    before: GroupState | None = None
    """What the last decision had left, where others changed it since."""

    @property
    def begins(self) -> bool:
        """Whether it is the first of a life: windows and holds are empty."""
        return self.number == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTrack:
    """What is put down of a group in one life, to know what the next decision is given anew."""

    last: Given
    left: GroupState
    """By the last decision."""
    polled: Instant | None
    """The newest poll that was decided about."""


def given_to(  # noqa: PLR0913 - all that a decision was made of
    decision: Decision,
    group: Group,
    track: DecisionTrack | None,
    *,
    life: Instant,
    state: GroupState,
    fleet: Fleet,
    requests: tuple[Request, ...],
    evaluated: bool,
) -> tuple[Given | None, DecisionTrack]:
    """Say what a decision was given, and what is known afterwards; ``None``: what the one before says.

    Args:
        decision: any.
        group: as given to `trigger.decide.decide`.
        track: of this life; ``None``: it is the group's first decision.
        life: when the daemon started.
        state: as given to `decide`.
        fleet: likewise.
        requests: those from outside.
        evaluated: whether a poll was decided about.
    """
    polled = decision.at.wall if evaluated else None if track is None else track.polled
    new = Given(
        life=life,
        number=0 if track is None else track.last.number + 1,
        at=decision.at.wall,
        after=None if track is None else track.polled,
        evaluated=evaluated,
        requests=requests,
        fleet=fleet,
        state=state,
        before=None if track is None or track.left == state else track.left,
    )
    after = DecisionTrack(last=new, left=decision.state, polled=polled)
    if track is None or requests or _differs(new, track.last, group):
        return new, after
    if not evaluated and (decision.state != state or decision.answers):
        return new, after
    return None, replace(after, last=track.last)


def _differs(new: Given, last: Given, group: Group) -> bool:
    return new.before is not None or new.state != last.state or _clear(new.fleet, group) != _clear(last.fleet, group)


def _clear(fleet: Fleet, group: Group) -> Fleet:
    """A fleet without what decides nothing: how many more may be made than the group may ever have."""
    return replace(fleet, creates_left=max(min(fleet.creates_left, group.maximum), 0))


_OUTSIDE = ("pause", "signals", "orphaned", "watched", "fresh", "older", "fleet_pause")
"""What hardly any decision changes: at the beginning of a life nothing says what was done before it."""


def carried(own: GroupState, given: Given) -> GroupState:
    """Do to a state what others than decisions had done to the recorded one.

    Args:
        own: what was decided before, here: by another file perhaps, so not always the recorded state.
        given: what the recorded decision found.
    """
    found, before = given.state, given.before
    if given.begins:
        return replace(own, **{name: getattr(found, name) for name in _OUTSIDE})
    if before is None or found == own:
        return own if before is None else found
    names = [field.name for field in fields(found) if getattr(found, field.name) != getattr(before, field.name)]
    state = replace(own, **{name: getattr(found, name) for name in names if name not in {"desired", "revision"}})
    if "revision" not in names:
        return state
    revision = own.revision + found.revision - before.revision
    shrunk = state.shrunk
    if shrunk is not None and shrunk.revision == found.revision:
        shrunk = replace(shrunk, revision=revision)
    return replace(state, desired=_moved(own.desired, before.desired, found.desired), revision=revision, shrunk=shrunk)


def _moved(own: int | None, before: int | None, found: int | None) -> int | None:
    """A size, moved by as much as the recorded one."""
    if own is None or before is None or found is None:
        return found
    return max(own + found - before, 0)
