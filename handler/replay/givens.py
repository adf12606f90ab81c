"""Goes along a recording beside its polls: what each decision was given that follows from no sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from config.model.adjustments import outright
from config.model.catalogue import Catalogue, Group
from config.units import GroupId, Instant
from handler.replay.happenings import Course, declared_policy
from trigger.explain.recorded_inputs import Given
from trigger.requests import GroupState, Request, RequestCause


class Givens:
    """What the decisions of one group were given, from a first poll on.

    Args:
        givens: in the order of decisions.
        first_at: the first poll.
    """

    def __init__(self, givens: Sequence[Given], first_at: Instant) -> None:
        self._givens = givens
        self._next = 0
        for _ in self.until(first_at):
            pass

    @property
    def last(self) -> Given | None:
        """The newest that was gone past: it still says what is given; ``None``: the recording does not say."""
        return self._givens[self._next - 1] if self._next else None

    def until(self, poll: Instant) -> Iterator[Given]:
        """Go on to what the decision about a poll was given, that included."""
        while self._next < len(self._givens) and _is_before(self._givens[self._next], poll):
            self._next += 1
            yield self._givens[self._next - 1]

    def state(self) -> GroupState | None:
        """The state that the decision about the first poll found; ``None``: the recording does not say.

        Any other state than the newest that was put down would have been put down.
        """
        return None if self.last is None else self.last.state


def _is_before(given: Given, poll: Instant) -> bool:
    """Whether it was decided before a poll's decision, or is that.

    A poll takes its time: what is asked meanwhile is later than the poll, and may yet be decided before it.
    """
    if given.evaluated:
        return given.at <= poll
    return (given.at if given.after is None else given.after) < poll


def starts_of(courses: Mapping[GroupId, Course]) -> Sequence[Instant]:
    """When daemons started, oldest first: at the next poll after that, windows and holds are empty."""
    return sorted({given.life for course in courses.values() for given in course.givens})


def as_declared(catalogue: Catalogue, group: Group, request: Request) -> Request:
    """A recorded wish, as this file has it: what carries out a policy does what that policy says here."""
    if request.cause is RequestCause.PERSON:
        return replace(request, quiet_time=group.quiet_time)
    declared = None if request.policy is None else declared_policy(catalogue, group, request.policy)
    adjustment = None if declared is None else outright(declared.adjustment)
    if declared is None or adjustment is None:
        return request
    return replace(request, adjustment=adjustment, quiet_time=declared.quiet_time, quiet_scope=declared.quiet_scope)
