"""All rows of a column: request by request, each for what follows the last row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from collector.samples import Reply
from collector.snmp.engine import Cure, Raw, Trouble, Varbinds
from collector.snmp.polling import Habits

MOST_ROWS = 10_000
_REPETITIONS = 40
"""Rows of numbers that surely fit into one datagram."""

After = Callable[[str, int], Awaitable[Varbinds | Trouble]]


async def walk(after: After, column: str, habits: Habits) -> Mapping[str, Raw] | Trouble:
    """Read a whole column.

    Args:
        after: asks for so many objects that follow an OID.
        column: its OID.
        habits: of the agent; what happens here is added.

    Returns:
        Row → value, in order: never empty, never a part. A row is what follows the column in its OID.
    """
    found = _Walk(column)
    while not found.ended:
        answer = await after(found.at, habits.repetitions or _REPETITIONS)
        if not isinstance(answer, Trouble):
            trouble = found.take(answer)
        elif answer.cure is Cure.SPLIT and answer.reply is Reply.MALFORMED and _halved(habits):
            continue
        else:
            trouble = answer
        if trouble is not None:
            return trouble
    return found.rows or _EMPTY


class _Walk:
    """Where a walk has come to."""

    def __init__(self, column: str) -> None:
        self.rows: dict[str, Raw] = {}
        self.at = column
        self.ended = False
        self._column = column
        self._place = _place(column)

    def take(self, answer: Varbinds) -> Trouble | None:
        """Take what follows; what lies beyond the column, or nothing, ends it."""
        self.ended = not answer
        for oid, raw in answer.items():
            place = _place(oid)
            if place <= self._place:
                detail = f"the agent's table is without order: after {self.at} comes {oid}"
                return Trouble(reply=Reply.MALFORMED, detail=detail)
            if not oid.startswith(f"{self._column}."):
                self.ended = True
                return None
            self.at, self._place = oid, place
            self.rows[oid[len(self._column) + 1 :]] = raw
        return _ENDLESS if len(self.rows) > MOST_ROWS else None


_EMPTY = Trouble(reply=Reply.NO_SUCH_COUNTER, detail="the column has no rows")
_ENDLESS = Trouble(reply=Reply.MALFORMED, detail=f"the column has more than {MOST_ROWS:,} rows")


def _place(oid: str) -> tuple[int, ...]:
    """Where it stands in the order of OIDs, which is that of numbers and not of texts (RFC 3416, 4.2.2)."""
    return tuple(map(int, oid.split(".")))


def _halved(habits: Habits) -> bool:
    """Ask for fewer rows from now on; no: it is one already."""
    before = habits.repetitions or _REPETITIONS
    habits.repetitions = max(before // 2, 1)
    return habits.repetitions < before
