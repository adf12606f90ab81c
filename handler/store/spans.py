"""Run-length history of evaluations: successive ticks with the same answer are one span.

Pure bookkeeping in memory; `handler.store.sqlite` writes the rows that this returns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

from config.units import GroupId, Instant
from handler.ports.stored import RepeatedTick, StoredTick, TickSpan
from trigger.explain.explanation import Explanation
from trigger.explain.shapes import shape


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSpan:
    """The last span of a group: the next tick may extend it."""

    id: int
    shape: Hashable
    span: TickSpan
    on_disk: bool
    """Its row exists, perhaps with an earlier end."""

    def extended(self, tick: StoredTick) -> OpenSpan:
        """Return the span with one more tick of the same form."""
        return self.reaching(Extension(tick.at, _values(tick.explanation)))

    def reaching(self, further: Extension) -> OpenSpan:
        """Return the span with more ticks of the same shape."""
        span = self.span
        longer = TickSpan(
            group=span.group,
            first_at=span.first_at,
            last_at=further.last_at,
            ticks=span.ticks + further.ticks,
            first=span.first,
            least=tuple(map(_least, span.least, further.least)),
            greatest=tuple(map(_greatest, span.greatest, further.greatest)),
        )
        return OpenSpan(id=self.id, shape=self.shape, span=longer, on_disk=self.on_disk)


class Extension:
    """Ticks that repeat a group's last span and are not yet counted in it.

    Most ticks of most groups are such ticks: one is added in place, which takes a sixth of the time of a new span.
    """

    __slots__ = ("greatest", "last_at", "least", "ticks")

    def __init__(self, at: Instant, values: Sequence[float | None]) -> None:
        self.last_at = at
        self.ticks = 1
        self.least = list(values)
        self.greatest = list(values)

    def add(self, at: Instant, values: Sequence[float | None]) -> None:
        """Add one tick."""
        self.last_at = at
        self.ticks += 1
        for place, value in enumerate(values):
            self.least[place] = _least(self.least[place], value)
            self.greatest[place] = _greatest(self.greatest[place], value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanWrite:
    """The changes that ticks make to the book."""

    new: tuple[OpenSpan, ...]
    """Rows to insert."""
    ended: tuple[OpenSpan, ...]
    """Rows to update: another span follows them."""
    last: Mapping[GroupId, OpenSpan]
    """The groups' last spans afterwards."""


class Book:
    """The last span of every group, with a lock for each.

    A thread that holds a group (`holding`) is the only one to change it, from reading it until the disk has confirmed.
    """

    def __init__(self, next_id: Callable[[], int]) -> None:
        self._next_id = next_id
        self._last: dict[GroupId, OpenSpan] = {}
        self._further: dict[GroupId, Extension] = {}
        """Beyond the last spans."""
        self._behind: dict[GroupId, None] = {}
        """Those that have been behind for longest come first."""
        self._held: set[GroupId] = set()
        self._released = threading.Condition()

    @contextmanager
    def holding(self, groups: frozenset[GroupId]) -> Iterator[frozenset[GroupId]]:
        """Wait until no other thread holds any of these, then hold all of them."""
        with self._released:
            self._released.wait_for(lambda: not self._held & groups)
            self._held |= groups
        try:
            yield groups
        finally:
            with self._released:
                self._held -= groups
                self._released.notify_all()

    def last(self, group: GroupId) -> OpenSpan | None:
        """Return the group's last span since the start, as in memory."""
        with self._released:
            span, further = self._last.get(group), self._further.get(group)
            return span if span is None or further is None else span.reaching(further)

    def behind(self, at_most: int | None = None) -> frozenset[GroupId]:
        """Return the groups whose row on disk is behind memory, or so many that have been so for longest."""
        with self._released:
            return frozenset(islice(self._behind, at_most))

    def plan(self, ticks: Sequence[StoredTick]) -> SpanWrite:
        """Return the changes that ``ticks`` make, in their order, without applying them."""
        new: dict[int, OpenSpan] = {}
        ended: list[OpenSpan] = []
        last: dict[GroupId, OpenSpan] = {}
        for tick in ticks:
            before = last.get(tick.group) or self.last(tick.group)
            form = shape(tick.explanation)
            if before is not None and before.shape == form:
                after = before.extended(tick)
            else:
                after = self._opened(tick, form)
                if before is not None and before.on_disk:
                    ended.append(before)
            if not after.on_disk:
                new[after.id] = after
            last[tick.group] = after
        return SpanWrite(new=tuple(new.values()), ended=tuple(ended), last=last)

    def extend(self, ticks: Sequence[RepeatedTick]) -> None:
        """Let the last span of each of these groups reach to one more tick; a group that was forgotten has none."""
        with self._released:
            for group, at, values in ticks:
                further = self._further.get(group)
                if further is not None:
                    further.add(at, values)
                elif group in self._last:
                    self._further[group] = Extension(at, values)
                    self._behind.setdefault(group)

    def confirm(self, last: Mapping[GroupId, OpenSpan], written: frozenset[GroupId]) -> None:
        """Apply changes. The rows of the ``written`` groups are on disk as they are now, the others' not."""
        with self._released:
            for group, span in last.items():
                self._last[group] = replace(span, on_disk=True) if group in written else span
                self._further.pop(group, None)
                self._behind.setdefault(group)
            for group in written:
                self._behind.pop(group, None)

    def forget(self, group: GroupId) -> None:
        """Forget a deleted group; its rows stay as they are."""
        with self._released:
            self._last.pop(group, None)
            self._further.pop(group, None)
            self._behind.pop(group, None)

    def _opened(self, tick: StoredTick, form: Hashable) -> OpenSpan:
        values = _values(tick.explanation)
        span = TickSpan(
            group=tick.group,
            first_at=tick.at,
            last_at=tick.at,
            ticks=1,
            first=tick.explanation,
            least=values,
            greatest=values,
        )
        return OpenSpan(id=self._next_id(), shape=form, span=span, on_disk=False)


def _values(explanation: Explanation) -> tuple[float | None, ...]:
    return tuple(each.value for each in explanation.measured)


def _least(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return other if other < one else one  # as `min`


def _greatest(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return other if other > one else one
