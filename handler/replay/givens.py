"""The recorded inputs of decisions that do not follow from samples, in step with the polls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from collector.samples import Floats
from config.model.adjustments import outright
from config.model.catalogue import Catalogue, Group
from config.units import GroupId, Instant
from handler.replay.events import Course, declared_policy
from trigger.explain.recorded_inputs import RecordedInputs
from trigger.requests import GroupState, Request, RequestCause


class Givens:
    """The inputs of one group's decisions, from a first poll on.

    Args:
        givens: in the order of decisions.
        first_at: the first poll.
    """

    def __init__(self, givens: Sequence[RecordedInputs], first_at: Instant) -> None:
        self._givens = givens
        self._next = 0
        for _ in self.until(first_at):
            pass

    @property
    def last(self) -> RecordedInputs | None:
        """Return the newest input passed, which still holds; ``None``: the recording has none."""
        return self._givens[self._next - 1] if self._next else None

    def until(self, poll: Instant) -> Iterator[RecordedInputs]:
        """Yield the inputs up to and including those of the decision about a poll."""
        while self._next < len(self._givens) and _is_before(self._givens[self._next], poll):
            self._next += 1
            yield self._givens[self._next - 1]

    def polls_before(self, polls: Floats) -> int:
        """Return how many of these polls, which rise, come before the decision of the next input."""
        if self._next >= len(self._givens):
            return len(polls)
        given = self._givens[self._next]
        if given.evaluated:
            return int(np.searchsorted(polls, given.at, side="left"))
        return int(np.searchsorted(polls, given.at if given.after is None else given.after, side="right"))

    def state(self) -> GroupState | None:
        """Return the state before the decision about the first poll; ``None``: the recording has none.

        The newest recorded state holds, since every other state would have been recorded, too.
        """
        return None if self.last is None else self.last.state


def _is_before(given: RecordedInputs, poll: Instant) -> bool:
    """Tell whether an input belongs to a poll's decision or to an earlier one.

    A poll takes time: a request meanwhile is later than the poll, but may be decided before it.
    """
    if given.evaluated:
        return given.at <= poll
    return (given.at if given.after is None else given.after) < poll


def starts_of(courses: Mapping[GroupId, Course]) -> Sequence[Instant]:
    """Return when daemons started, oldest first: at the next poll, windows and holds are empty unless resumed."""
    return sorted({given.life for course in courses.values() for given in course.givens})


def resumed_at(courses: Mapping[GroupId, Course], start: Instant | None) -> tuple[Set[GroupId], Set[GroupId]]:
    """Return the groups whose windows went on at a start, and those of them whose holds did; ``None``: no group."""
    first = {
        group: given
        for group, course in courses.items()
        for given in course.givens
        if given.begins and given.life == start and given.resumed
    }
    return first.keys(), {group for group, given in first.items() if not given.holds_anew}


def as_declared(catalogue: Catalogue, group: Group, request: Request) -> Request:
    """Return a recorded request under this file: one that executes a policy does what this file's policy says."""
    if request.cause is RequestCause.PERSON:
        return replace(request, quiet_time=group.quiet_time)
    declared = None if request.policy is None else declared_policy(catalogue, group, request.policy)
    adjustment = None if declared is None else outright(declared.adjustment)
    if declared is None or adjustment is None:
        return request
    return replace(request, adjustment=adjustment, quiet_time=declared.quiet_time, quiet_scope=declared.quiet_scope)
