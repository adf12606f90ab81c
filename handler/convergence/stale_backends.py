"""Takes seats from members that are proved gone, where a balancer has come back with the state of an earlier time.

Whoever is gone is remembered by nobody but the store, and no plan is made for it. Its seat gives work to an address at
which nobody is any more, or somebody else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from config.errors import DriverError
from config.units import BalancerId, GroupId, MemberName
from handler.convergence.execute import Tools
from handler.planning.step_outcomes import StepResult
from handler.ports.balancer import Reverting

Reverted = Mapping[BalancerId, Collection[MemberName]]
"""Members that are proved gone, and that balancers give work."""

_WHY = "it is gone, and the balancer has come back with the state of an earlier time"


def unseat(reverted: Reverted, group: GroupId, tools: Tools) -> tuple[str, ...]:
    """Take these seats away, one line of history each; say what could not be.

    Raises:
        StoreError: nothing can be written down: the call is not made.
    """
    if not reverted:
        return ()
    with tools.leases.taken(sorted(reverted), group, tools.clock) as may_change:
        return tuple(
            failure
            for balancer, names in sorted(reverted.items())
            for name in sorted(names)
            if may_change(balancer)
            for failure in _unseated(balancer, name, group, tools)
        )


def _unseated(balancer: BalancerId, name: MemberName, group: GroupId, tools: Tools) -> Iterator[str]:
    driver, cloud = tools.balancers.get(balancer), tools.definition.cloud.id
    if not isinstance(driver, Reverting):
        return
    line = tools.store.begin_step(group, "leave", name, tools.clock(), (), cloud)
    try:
        driver.unseat(name)
    except DriverError as error:
        tools.store.end_step(line, StepResult.LIMITED, str(error), tools.clock(), (), cloud)
        yield f"balancer {balancer}: {name} is gone, and still has a seat: {error}"
        return
    tools.store.end_step(line, StepResult.DONE, f"{balancer}: {_WHY}", tools.clock(), (), cloud)
