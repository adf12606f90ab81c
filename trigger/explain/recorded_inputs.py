"""Record the inputs of decisions that do not follow from samples, the file or earlier decisions.

# Note [Recorded inputs]

Samples and file are enough to repeat the decisions of a group, except for inputs from elsewhere: requests of persons
and alarms, changes of its state between decisions (alerts that begin and end, pauses, members that vanish), and the
fleet of the last convergence pass. `RecordedInputs` has these for one decision. It is recorded only if it differs from
the one before, so that a group at rest records nothing: each decision between two records had the inputs of the earlier
one, and the state after the decision before it.

The cause of a change of state is not recorded: every difference from the state after the last decision counts. So a
new way to change a state needs no code here.

Of a flood of alerts that do the same, one stands for the rest (`trigger.policies.signals.outlasting`): the record of
each alert would else repeat all those before it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from config.model.catalogue import Group
from config.units import Instant
from trigger.policies.signals import outlasting
from trigger.requests import Decision, Fleet, GroupState, Request

FORM = 1
"""The newest form of a `RecordedInputs` that this release writes and reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedInputs:
    """The outside inputs of one decision. See Note [Recorded inputs]."""

    form: int = FORM
    life: Instant
    """Start of the daemon that made the decision."""
    number: int
    """Of the group since the daemon's start, from 0: the order of decisions, independent of the clock."""
    at: Instant
    after: Instant | None = None
    """The newest poll with an earlier decision; ``None``: none since the daemon's start."""
    evaluated: bool
    """It decided about the poll of ``at``; otherwise a request came between two polls."""
    requests: tuple[Request, ...] = ()
    """From outside; the requests of policies and schedules follow from the samples and the clock."""
    fleet: Fleet
    state: GroupState
    """Before the decision; in a record, of its signals those that outlast the others."""
    before: GroupState | None = None
    """After the last decision, if the state has changed since. Likewise."""
    resumed: bool = False
    """At the daemon's start, windows and holds went on where those of its predecessor ended."""
    holds_anew: bool = False
    """Of these only the windows did: the size was changed after holds were saved for the last time."""

    @property
    def begins(self) -> bool:
        """Whether it is the first since the daemon's start: windows and holds are empty, unless ``resumed``."""
        return self.number == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTrack:
    """The last record of a group, with which the next decision's inputs are compared."""

    last: RecordedInputs
    left: GroupState
    """The state after the last decision."""
    polled: Instant | None
    """The newest poll with a decision."""


def given_to(  # noqa: PLR0913 - all inputs of a decision
    decision: Decision,
    group: Group,
    track: DecisionTrack | None,
    *,
    life: Instant,
    state: GroupState,
    fleet: Fleet,
    requests: tuple[Request, ...],
    evaluated: bool,
    resumed: bool = False,
    holds_anew: bool = False,
) -> tuple[RecordedInputs | None, DecisionTrack]:
    """Return the record of a decision's inputs, and the new track; record ``None``: the same inputs as before.

    Args:
        decision: the decision.
        group: as given to `trigger.decide.decide`.
        track: since the daemon's start; ``None``: it is the group's first decision.
        life: when the daemon started.
        state: as given to `decide`.
        fleet: likewise.
        requests: the requests from outside.
        evaluated: whether the decision is about a poll.
        resumed: whether windows and holds went on at the daemon's start; counts for its first decision.
        holds_anew: whether of these only the windows did; likewise.
    """
    polled = decision.at.wall if evaluated else None if track is None else track.polled
    new = RecordedInputs(
        life=life,
        number=0 if track is None else track.last.number + 1,
        at=decision.at.wall,
        after=None if track is None else track.polled,
        evaluated=evaluated,
        requests=requests,
        fleet=fleet,
        state=state,
        before=None if track is None or track.left is state or track.left == state else track.left,
        resumed=resumed and track is None,
        holds_anew=holds_anew and track is None,
    )
    after = DecisionTrack(last=new, left=decision.state, polled=polled)
    if track is None or requests or _differs(new, track.last, group):
        return _recorded(new), after
    if not evaluated and (decision.state != state or decision.answers):
        return _recorded(new), after
    return None, replace(after, last=track.last)


def _recorded(new: RecordedInputs) -> RecordedInputs:
    state = outlasting(new.state)
    before = None if new.before is None else outlasting(new.before)
    return new if state is new.state and before is new.before else replace(new, state=state, before=before)


def _differs(new: RecordedInputs, last: RecordedInputs, group: Group) -> bool:
    if new.before is not None or (new.state is not last.state and new.state != last.state):
        return True
    return new.fleet is not last.fleet and _clear(new.fleet, group) != _clear(last.fleet, group)


def _clear(fleet: Fleet, group: Group) -> Fleet:
    """Limit a fleet's create budget to the group's max: a larger budget changes no decision."""
    return replace(fleet, creates_left=max(min(fleet.creates_left, group.maximum), 0))


_OUTSIDE = ("pause", "signals", "orphaned", "watched", "fresh", "older", "fleet_pause")
"""Fields that decisions hardly ever change: the first record after a start takes them as they are."""


def carried(own: GroupState, given: RecordedInputs) -> GroupState:
    """Apply to a state the changes that happened to the recorded one between decisions.

    Args:
        own: the state of the replay, which may differ from the recorded one if it uses another file.
        given: the record.
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
    """Change a size by as much as the recorded one changed."""
    if own is None or before is None or found is None:
        return found
    return max(own + found - before, 0)
