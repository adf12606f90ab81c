"""The end of the demo: unlike Trimtab itself, `make run` takes its fleet with it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from config.errors import DriverError
from config.load import load
from config.model import SharedListener
from config.units import GroupId, Seconds
from handler.app import clock, logs
from handler.app.directory import StateDirectory
from handler.balancers.shared_listener import SharedListenerBalancer
from handler.orchestrators.interface import Orchestrator
from handler.orchestrators.table import orchestrator_for

_LEAVE_WITHIN: Seconds = 15.0


@dataclass(frozen=True, slots=True)
class Remains:
    """Removes what the demo of this state directory has started, when the block ends for whatever reason."""

    file: Path
    state: Path

    async def __aenter__(self) -> None:
        """Nothing yet: a daemon that was killed is followed by one that adopts its members."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End members and holder, and wait until they are gone."""
        await self._clear()

    async def _clear(self) -> None:
        directory = StateDirectory(self.state)
        if not (self.state / "installation").exists():
            return
        catalogue = load(self.file)
        for cloud in catalogue.clouds.values():
            driver = orchestrator_for(cloud, directory.installation(), directory.path, clock.wall)
            for group in catalogue.groups:
                await _empty(driver, group)
        for balancer in catalogue.balancers.values():
            if isinstance(balancer, SharedListener):
                await asyncio.to_thread(SharedListenerBalancer(balancer, directory.listeners).stop)


async def _empty(driver: Orchestrator, group: GroupId) -> None:
    """Tell every member to stop, and wait for the last one."""
    deadline = clock.moment().steady + _LEAVE_WITHIN
    while servers := (await asyncio.to_thread(driver.list, group)).servers:
        left = deadline - clock.moment().steady
        for server in servers:
            try:
                await asyncio.to_thread(driver.destroy, server.name, grace=max(left - 5.0, 0.0))
            except DriverError as error:
                logs.warn("demo_member_stays", member=server.name, error=str(error))
        if left < 0:
            return
        await asyncio.sleep(0.1)
