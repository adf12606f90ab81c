"""Start and end of the demo's fleet: unlike Trimtab itself, `make run` ends its fleet when it ends."""

from __future__ import annotations

import time
from pathlib import Path

from config.errors import DriverError
from config.load import load
from config.model.balancers import SharedListener
from config.units import GroupId, Seconds
from handler import logs
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.orchestrators.table import orchestrator_for
from handler.ports.orchestrator import Orchestrator
from handler.runtime import clock
from handler.runtime.directory import StateDirectory

_LEAVE_WITHIN: Seconds = 15.0


def begin(declaration: str, file: Path, state: Path) -> bool:
    """Write the declaration, and keep the fleet of a demo that was killed; return whether there is one.

    A fleet with another declaration is ended. A fleet without a living member, after the end of a demo or of the
    machine, is forgotten: Trimtab itself would rightly ask a person to confirm such a loss.

    Raises:
        Refused: another daemon holds the state directory.
    """
    directory = StateDirectory(state)
    directory.hold()
    try:
        if file.exists() and file.read_text() != declaration:
            end(file, state)
        file.write_text(declaration)
        alive = _alive(file, directory)
        if not alive:
            _stop_listeners(file, directory)
            for name in ("", "-wal", "-shm"):
                directory.store.with_name(directory.store.name + name).unlink(missing_ok=True)
        return alive
    finally:
        directory.release()


def end(file: Path, state: Path) -> tuple[str, ...]:
    """End the demo's members and listener, and wait until they are gone; return the names of those that stay."""
    directory = StateDirectory(state)
    stay = [name for driver, group in _drivers(file, directory) for name in _empty(driver, group)]
    _stop_listeners(file, directory)
    return tuple(stay)


def _stop_listeners(file: Path, directory: StateDirectory) -> None:
    for balancer in load(file).balancers.values():
        if isinstance(balancer, SharedListener):
            SharedListenerBalancer(balancer, directory.listeners).stop()


def _alive(file: Path, directory: StateDirectory) -> bool:
    listings = [driver.list(group) for driver, group in _drivers(file, directory)]
    return any(listing.servers or not listing.complete for listing in listings)


def _drivers(file: Path, directory: StateDirectory) -> list[tuple[Orchestrator, GroupId]]:
    catalogue = load(file)
    return [
        (orchestrator_for(cloud, directory.installation(), directory.path, clock.wall), group)
        for cloud in catalogue.clouds.values()
        for group in catalogue.groups
    ]


def _empty(driver: Orchestrator, group: GroupId) -> tuple[str, ...]:
    """Stop every member and wait; return the names of those that did not end in time."""
    deadline = clock.moment().steady + _LEAVE_WITHIN
    while servers := driver.list(group).servers:
        left = deadline - clock.moment().steady
        for server in servers:
            try:
                driver.destroy(server.name, grace=max(left - 5.0, 0.0))
            except DriverError as error:
                logs.warn("demo_member_stays", member=server.name, error=str(error))
        if left < 0:
            return tuple(server.name for server in servers)
        time.sleep(0.1)
    return ()
