"""Judge a policy with a forecast: from a measured load to its truth, and from what is foreseen to a size.

# Note [Foresight]

===============================================  ============  ===================================================
When                                             the truth is  and the size
===============================================  ============  ===================================================
nothing is foreseen yet, or there is no size     UNKNOWN       -
more members are needed than there are           TRUE          is what is needed, also while there is no data
there is no data now                             UNKNOWN       stays, and other policies may not shrink it
fewer are enough for a while                     TRUE          is that
none of these                                    FALSE         stays
===============================================  ============  ===================================================

Two sizes instead of one are what makes it calm: between them nothing happens. A forecast never waits for a quiet time
to grow, since it counts the members that boot (`trigger.guards.gate`).

# Note [Unknown load]

The load of a group is not known if its source did not answer at this tick, or if fewer members answered than the
quorum. Members that warm up, and those of the few that did not answer, are taken to carry as much as the others.
"""

from __future__ import annotations

import math

from aggregator.frames import Aggregate, Cell
from config.model.adjustments import Capacity
from trigger.verdicts import Foreseen, Truth

UNKNOWN_LOAD = math.nan


def load_of(cell: Cell, capacity: Capacity) -> float:
    """Return the load of the whole group, in the unit of its counter; NaN: unknown. See Note [Unknown load]."""
    if not isinstance(cell, Aggregate) or cell.heard == 0 or not math.isfinite(cell.value):
        return UNKNOWN_LOAD
    if not capacity.per_member:
        return max(cell.value, 0.0)
    if cell.heard < capacity.quorum * cell.expected:
        return UNKNOWN_LOAD
    return max(cell.value, 0.0) * (cell.expected + cell.left_out)


def truth_of(foreseen: Foreseen | None, size: int | None) -> Truth:
    """Tell whether a forecast asks for another size than the present one. See Note [Foresight]."""
    if foreseen is None or size is None:
        return Truth.UNKNOWN
    if foreseen.needed > size:
        return Truth.TRUE
    if foreseen.may_shrink_to is None:
        return Truth.UNKNOWN
    return Truth.TRUE if foreseen.may_shrink_to < size else Truth.FALSE


def sized_by(foreseen: Foreseen, desired: int) -> int:
    """Return the size that a forecast asks for; ``desired``: none other.

    >>> shown = {"load": 12.0, "coming": 13.1, "at_most": 13.6, "within": 180.0, "spread": 0.02, "missed": 0.0}
    >>> foreseen = Foreseen(needed=14, may_shrink_to=17, days=5.0, **shown)
    >>> [sized_by(foreseen, size) for size in (12, 14, 17, 20)]
    [14, 14, 17, 17]
    """
    if foreseen.needed > desired:
        return foreseen.needed
    enough = foreseen.may_shrink_to
    return desired if enough is None else min(desired, enough)
