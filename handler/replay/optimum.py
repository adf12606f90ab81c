"""The cheapest fleet that a load allows, known afterwards: the measure that every policy is held against.

# Note [The optimum]

The optimum knows the load. It orders each member exactly one boot time before it is needed, never has fewer members in
service than are needed, and pays for a member from its order to the end of its draining.

Number the members by the load that calls for them: member i is needed whenever i or more are. Members do not depend on
each other, so each can be looked at by itself: between two times at which it is needed, keeping it costs the time
between them, and replacing it costs a boot and a drain. The optimum takes the cheaper. Any other fleet that is never
too small can be numbered in the same way, and costs no less for any number; so this is exact. Before the first need and
after the last one there is nothing to choose, and neither is paid for.
"""

from __future__ import annotations

import numpy as np

from collector.samples import Floats
from handler.replay.paths import Ints

_ROUNDING = 1e-9


def needed(rate: Floats, each: float, minimum: int) -> Ints:
    """Return how many members a load needs: (step,).

    Args:
        rate: (step,) of the whole group.
        each: the rate that one member serves.
        minimum: there are never fewer.

    >>> needed(np.array([0.0, 80.0, 81.0]), 80.0, 1).tolist()
    [1, 1, 2]
    """
    return np.maximum(np.ceil(rate / each - _ROUNDING), minimum).astype(np.int64)


def least_member_steps(sizes: Ints, boot: int, drain: int) -> int:
    """Return the member-steps of the cheapest fleet that has at least these sizes in service. See Note [The optimum].

    Args:
        sizes: (step,) needed.
        boot: steps from an order until the member is in service.
        drain: steps from the end of service until the member is gone.

    >>> least_member_steps(np.array([1, 2, 1, 1, 2, 1]), boot=1, drain=0)
    9
    >>> least_member_steps(np.array([1, 2, 1, 1, 2, 1]), boot=1, drain=5)
    10
    """
    total = 0
    for number in range(1, int(sizes.max(initial=0)) + 1):
        steps = np.flatnonzero(sizes >= number)
        between = np.diff(steps) - 1
        total += len(steps) + int(np.where(between > 0, np.minimum(between, boot + drain), 0).sum())
    return total
