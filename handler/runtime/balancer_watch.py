"""Balancers may lose registrations when they restart: detect restarts, and wake the groups that they serve."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from config.errors import DriverError
from config.model.balancers import Balancer
from config.units import BalancerId, GroupId
from handler import logs
from handler.ports.balancer import Balancer as BalancerPort
from handler.runtime.group_runtime import GroupRuntime


class BalancerWatch:
    """Watch for restarts of balancers by the incarnation that each returned last.

    Args:
        runtimes: all groups.
        port_of: returns the driver of a declared balancer.
    """

    def __init__(self, runtimes: Mapping[GroupId, GroupRuntime], port_of: Callable[[Balancer], BalancerPort]) -> None:
        self._runtimes = runtimes
        self._port_of = port_of
        self._incarnations: dict[BalancerId, str] = {}

    async def look(self) -> None:
        """Wake the groups of a balancer that has restarted, or may have since their last pass."""
        for declared in _balancers(self._runtimes.values()):
            try:
                incarnation = await asyncio.to_thread(self._port_of(declared).incarnation)
            except DriverError:
                continue  # the next pass reports the error
            before = self._incarnations.get(declared.id)
            self._incarnations[declared.id] = incarnation
            if before == incarnation:
                continue
            if before is not None:
                logs.warn("balancer_restarted", balancer=declared.id)
            for runtime in self._runtimes.values():
                if declared.id in runtime.definition.balancers:
                    runtime.wake.set()


def _balancers(runtimes: Iterable[GroupRuntime]) -> list[Balancer]:
    """Return the balancers of the last passes."""
    declared = {
        balancer: runtime.definition.balancers[balancer]
        for runtime in list(runtimes)
        if runtime.seen is not None
        for balancer in runtime.seen.world.balancer_views
        if balancer in runtime.definition.balancers
    }
    return [declared[name] for name in sorted(declared)]
