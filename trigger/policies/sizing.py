"""Calculate the requested size from a size and an adjustment, before any guard.

Arithmetic starts from the *desired* size, not from the members that run; then rounding, then ``at_least``.

# Note [Rounding]

========  ===================  ======================  =================  =======================================
Setting   add                  remove                  set                used by
========  ===================  ======================  =================  =======================================
careful   up                   down, but at least 1    up                 Trimtab: the default
away      up                   up                      up                 Otter
truncate  down, at least 1     down, but at least 1    down               AWS, Heat, Senlin, OneFlow
ceil      up                   down                    up                 Kubernetes, Nomad: the size, up
floor     down                 up                      down               no known system: the size, down
nearest   halves up            halves up               halves up          no known system
========  ===================  ======================  =================  =======================================

"Up" and "down" refer to the number of members added or removed, or to the size that is set. A change of 0 or of 0 % is
0 under every setting, also with ``at_least``: Heat, Senlin and OneFlow remove a member for it, which is their bug.

Bounds are not arithmetic: they are guards (`trigger.guards.gate`). Source: DESIGN.md "Sizing".
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from config.model.adjustments import Adjustment, AdjustmentVerb, Rounding


def resized(desired: int, adjustment: Adjustment) -> int:
    """Return the size that ``adjustment`` asks for, in members, never below 0.

    >>> from config.model.adjustments import Adjustment, AdjustmentVerb
    >>> resized(11, Adjustment(verb=AdjustmentVerb.ADD, amount=10, percent=True))
    13
    >>> resized(19, Adjustment(verb=AdjustmentVerb.REMOVE, amount=10, percent=True, at_least=2))
    17
    """
    amount = _amount(desired, adjustment)
    match adjustment.verb:
        case AdjustmentVerb.ADD:
            return desired + _lifted(amount, adjustment)
        case AdjustmentVerb.REMOVE:
            return max(0, desired - _lifted(amount, adjustment))
        case AdjustmentVerb.SET:
            return max(0, _rounded(amount, adjustment))
        case _:
            assert_never(adjustment.verb)


def _amount(desired: int, adjustment: Adjustment) -> Fraction:
    """Return the amount in members, exactly as the operator wrote it: 1.1 % of 1,000 is 11, and rounds up to 11."""
    written = _written(adjustment.amount)
    return written * desired / 100 if adjustment.percent else written


@lru_cache(maxsize=1024)
def _written(amount: float) -> Fraction:
    return Fraction(str(amount))


def _lifted(amount: Fraction, adjustment: Adjustment) -> int:
    """Return how many members are added or removed."""
    return 0 if adjustment.amount == 0 else max(_rounded(amount, adjustment), adjustment.at_least)


def _rounded(amount: Fraction, adjustment: Adjustment) -> int:
    """Round by Note [Rounding]."""
    removes = adjustment.verb is AdjustmentVerb.REMOVE
    match adjustment.rounding:
        case Rounding.CAREFUL:
            return max(1, math.floor(amount)) if removes else math.ceil(amount)
        case Rounding.AWAY:
            return math.ceil(amount)
        case Rounding.TRUNCATE:
            least = 1 if amount and adjustment.verb is not AdjustmentVerb.SET else 0
            return max(least, math.floor(amount))
        case Rounding.CEIL:
            return math.floor(amount) if removes else math.ceil(amount)
        case Rounding.FLOOR:
            return math.ceil(amount) if removes else math.floor(amount)
        case Rounding.NEAREST:
            return math.floor(amount + Fraction(1, 2))
        case _:
            assert_never(adjustment.rounding)
