"""The CloudStack project that holds a cloud's machines and rules.

A project is an account of its own: its objects are listed only by commands that name it, and a command that does not
name it creates its object outside. So every command that accepts a project gets its id. Objects that belong to a rule,
an address or a machine are addressed by that object's id, and are in that object's project.

Source: CloudStack 4.22, the commands on ``BaseListProjectAndAccountResourcesCmd`` and those with ``projectid``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping

from collector.clients.cloudstack.parsing import ListedEntries, one_called
from config.causes import FailureCause
from config.errors import Permanent, Transient
from config.model.clouds import CloudstackCloud

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
TAKING = frozenset(
    {"associateIpAddress", "deployVirtualMachine", "listAffinityGroups", "listLoadBalancerRules", "listNetworks"}
    | {"listPortForwardingRules", "listPublicIpAddresses", "listServiceOfferings", "listTemplates"}
    | {"listVirtualMachines", "listVirtualMachinesMetrics"}
)
"""Commands that take a project."""
ANOTHER = "name another, or add the account to it"


def is_id(written: str) -> bool:
    """Return whether the file gives a project's id rather than its name."""
    return _UUID.fullmatch(written) is not None


class Project:
    """Adds the declared project to commands. Looks its name up once, and again after a refusal.

    Args:
        cloud: its declaration names the project, or none.
        every: reads a listing to its end.
    """

    def __init__(self, cloud: CloudstackCloud, every: Callable[..., ListedEntries]) -> None:
        self._cloud, self._every = cloud, every
        self._lock = threading.Lock()
        self._known: str | None = None

    def within(self, command: str) -> Mapping[str, str]:
        """Return the parameters that keep a command within the project.

        Raises:
            DriverError: no project or several have the name, or the cloud did not answer.
        """
        project = self.id if command in TAKING else None
        return {} if project is None else {"projectid": project}

    @property
    def id(self) -> str | None:
        """Return the id of the declared project; ``None``: none is declared. Raises as `within`."""
        written = self._cloud.project
        if written is None or is_id(written):
            return written
        with self._lock:
            known = self._known
        if known is None:
            known = self._asked(written)
            with self._lock:
                self._known = known
        return known

    def forget(self) -> None:
        """Look the name up again when it is next needed: another project may have it by now."""
        with self._lock:
            self._known = None

    def _asked(self, written: str) -> str:
        entries = self._every("listProjects", "project", name=written)
        if entries.because:
            raise Transient(entries.because)
        try:
            return one_called(entries.read, "project", written, remedy=ANOTHER)
        except ValueError as error:
            raise Permanent(f"{self._cloud.id}: {error}", cause=FailureCause.CREDENTIALS) from None
