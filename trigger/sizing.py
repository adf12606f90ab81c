"""From a size and an adjustment to the size that is asked for, before any guard.

Arithmetic starts from the *desired* size, whatever runs at the moment; then rounding, then ``at_least``:

==========  ================================  ==================================================
Verb        rounding                          ``at_least``
==========  ================================  ==================================================
add         away from zero: 10 % of 11 is 2   lifts the step; 0 and 0 % stay 0
remove      toward zero, but at least 1:      lifts the step; 0 and 0 % stay 0
            10 % of 19 is 1, of 5 is 1
set         up, the careful way               means nothing: there is no step to lift
==========  ================================  ==================================================

Bounds are not arithmetic: they are guards (`trigger.guards`). Source: DESIGN.md "Sizing". Heat takes one member away
for 0 % with a least step; here 0 % is 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from config.model import Adjustment, Verb


def resized(desired: int, adjustment: Adjustment) -> int:
    """Say which size ``adjustment`` asks for, in members, never below 0.

    >>> from config.model import Adjustment, Verb
    >>> resized(11, Adjustment(verb=Verb.ADD, amount=10, percent=True))
    13
    >>> resized(19, Adjustment(verb=Verb.REMOVE, amount=10, percent=True, at_least=2))
    17
    """
    amount = _amount(desired, adjustment)
    match adjustment.verb:
        case Verb.ADD:
            return desired + _lifted(math.ceil(amount), adjustment)
        case Verb.REMOVE:
            return max(0, desired - _lifted(max(1, math.floor(amount)), adjustment))
        case Verb.SET:
            return max(0, math.ceil(amount))
        case _:
            assert_never(adjustment.verb)


def _amount(desired: int, adjustment: Adjustment) -> Fraction:
    """The amount in members. Exact, as the operator wrote it: 1.1 % of 1,000 is 11, and rounds up to 11."""
    written = Fraction(str(adjustment.amount))
    return written * desired / 100 if adjustment.percent else written


def _lifted(step: int, adjustment: Adjustment) -> int:
    return 0 if adjustment.amount == 0 else max(step, adjustment.at_least)
