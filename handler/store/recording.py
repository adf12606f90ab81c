"""Record ticks: write urgent ones at once, and extend spans in memory for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, update

from config.units import GroupId
from handler.ports.stored import RepeatedTick, StoredTick
from handler.store.decisions import HistoryTick, Refusals, history_of
from handler.store.rows import write_members
from handler.store.schema import answers, decisions, givens, spans
from handler.store.spans import Book, OpenSpan, SpanWrite
from handler.store.state_rows import write_states
from handler.store.upserts import insert_or_ignore
from handler.store.writer import StoreWriter

_EVENT = ("at", "group", "name", "by", "desired_from", "desired_to", "clamps", "message")
_ANSWER = ("request", "at", "reason", "desired_from", "desired_to")
_SPAN = ("group", "first_at", "last_at", "ticks", "first", "least", "greatest")
# Built once: putting a statement together takes about as long as running it.
_FIRST_ANSWERS = insert_or_ignore(answers)
_GROWN = update(spans).where(spans.c.id == bindparam("row"))
_GROWS = ("last_at", "ticks", "least", "greatest")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """One call's ticks, and the rows that they lead to."""

    ticks: Sequence[StoredTick]
    histories: Sequence[HistoryTick]
    entry: SpanWrite
    urgent: frozenset[GroupId]
    """Groups with something that must be durable before the call returns."""

    def write(self, connection: Connection) -> None:
        """Write the urgent rows."""
        states = {tick.group: tick.state for tick in self.ticks if tick.state is not None}
        known = {tick.group: tick.before for tick in reversed(self.ticks) if tick.before is not None}
        write_states(connection, states, known)
        for tick in self.ticks:
            if tick.cloud is not None:
                write_members(connection, tick.members, tick.cloud)
        given = [{"group": tick.group, "at": tick.at, "given": tick.given} for tick in self.ticks if tick.given]
        if given:
            connection.execute(insert(givens), given)
        events = [_columns(event, _EVENT) for history in self.histories for event in history.events]
        if events:
            connection.execute(insert(decisions), events)
        first_answers = [
            _columns(answer, _ANSWER) | {"group": tick.group}
            for tick, history in zip(self.ticks, self.histories, strict=True)
            for answer in history.answers
        ]
        if first_answers:
            _FIRST_ANSWERS.write(connection, first_answers)
        if self.entry.new:
            connection.execute(insert(spans), [_columns(new.span, _SPAN) | {"id": new.id} for new in self.entry.new])
        last = [span for group, span in self.entry.last.items() if group in self.urgent and span.on_disk]
        _write_ends(connection, (*self.entry.ended, *last))


class Recorder:
    """Writes ticks run-length. Calls about one group take turns; calls about different groups share a commit."""

    def __init__(self, writer: StoreWriter, next_id: Callable[[], int]) -> None:
        self._writer = writer
        self._book = Book(next_id)
        self._refusals: dict[GroupId, Refusals] = {}

    def record(self, ticks: Sequence[StoredTick], repeated: Sequence[RepeatedTick] = ()) -> None:
        """Write ticks; see `handler.ports.store.Store.record`."""
        with self._book.holding(frozenset([*(tick.group for tick in ticks), *(tick.group for tick in repeated)])):
            refusals = {tick.group: self._refusals.get(tick.group, {}) for tick in ticks}
            histories = []
            for tick in ticks:
                history = history_of(tick.explanation, refusals[tick.group], evaluated=tick.evaluated)
                refusals[tick.group] = history.refusals
                histories.append(history)
            entry = self._book.plan([tick for tick in ticks if _has_span(tick)])
            page = _Page(ticks=ticks, histories=histories, entry=entry, urgent=_urgent(ticks, histories, entry))
            if page.urgent:
                self._writer.do(page.write)
            self._book.confirm(entry.last, page.urgent & entry.last.keys())
            self._book.extend(repeated)
            self._refusals.update(refusals)

    def flush(self, at_most: int | None = None) -> None:
        """Write every span that is ahead of its row, or so many that have been so for longest."""
        with self._book.holding(self._book.behind(at_most)) as groups:
            last = {group: span for group in groups & self._book.behind() if (span := self._book.last(group))}
            if last:
                self._writer.do(lambda connection: _write_ends(connection, tuple(last.values())))
                self._book.confirm(last, frozenset(last))

    def last(self, group: GroupId) -> OpenSpan | None:
        """Return the group's last span since the start, as in memory."""
        return self._book.last(group)

    def forget(self, group: GroupId, drop: Callable[[Connection], None]) -> None:
        """Run ``drop`` while no other call records the group; the next tick begins a new span."""
        with self._book.holding(frozenset({group})):
            self._writer.do(drop)
            self._book.forget(group)
            self._refusals.pop(group, None)


def _urgent(ticks: Sequence[StoredTick], histories: Sequence[HistoryTick], entry: SpanWrite) -> frozenset[GroupId]:
    eventful = {
        tick.group
        for tick, history in zip(ticks, histories, strict=True)
        if tick.state is not None or tick.given is not None or history.events or history.answers
    }
    return frozenset(eventful | {new.span.group for new in entry.new})


def _has_span(tick: StoredTick) -> bool:
    """Tell whether a tick needs a span: refused requests have their answers instead, so a flood makes no spans."""
    return tick.evaluated or tick.explanation.desired_from != tick.explanation.desired_to


def _write_ends(connection: Connection, ends: Sequence[OpenSpan]) -> None:
    if ends:
        connection.execute(_GROWN, [_columns(end.span, _GROWS) | {"row": end.id} for end in ends])


def _columns(value: object, names: Sequence[str]) -> dict[str, object]:
    return {name: getattr(value, name) for name in names}
