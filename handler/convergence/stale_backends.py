"""Deregister members that are proved gone from a balancer that came back with an earlier state.

A gone member has only its record, and gets no plan. Its stale registration sends work to an address where no machine is
any more, or another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from config.errors import DriverError
from config.units import BalancerId, GroupId, MemberName
from handler.convergence.execute import Tools
from handler.convergence.pass_threads import waiting
from handler.planning.step_outcomes import StepResult
from handler.ports.balancer import Reverting

Reverted = Mapping[BalancerId, Collection[MemberName]]
"""Members that are proved gone, and still get work from balancers."""

_WHY = "it is gone, and the balancer came back with an earlier state"


def deregister(reverted: Reverted, group: GroupId, tools: Tools) -> tuple[str, ...]:
    """Remove these registrations, with one line of history each; return the failures.

    Raises:
        StoreError: the store cannot be written, so the call is not made.
    """
    if not reverted:
        return ()
    with tools.leases.taken(sorted(reverted), group, tools.clock) as may_change:
        return tuple(
            failure
            for balancer, names in sorted(reverted.items())
            for name in sorted(names)
            if may_change(balancer)
            for failure in _deregistered(balancer, name, group, tools)
        )


def _deregistered(balancer: BalancerId, name: MemberName, group: GroupId, tools: Tools) -> Iterator[str]:
    driver, cloud = tools.balancers.get(balancer), tools.definition.cloud.id
    if not isinstance(driver, Reverting):
        return
    line = tools.store.begin_step(group, "leave", name, tools.clock(), (), cloud)
    try:
        with waiting():
            driver.deregister(name)
    except DriverError as error:
        tools.store.end_step(line, StepResult.LIMITED, str(error), tools.clock(), (), cloud)
        yield f"balancer {balancer}: {name} is gone, and is still registered: {error}"
        return
    tools.store.end_step(line, StepResult.DONE, f"{balancer}: {_WHY}", tools.clock(), (), cloud)
