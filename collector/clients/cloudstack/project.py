"""The project of CloudStack that a cloud's machines and rules are in.

A project is an account of its own: what is in it is listed only by who names it, and what is made without naming it is
made outside. So its id goes into every command that takes one. What belongs to a rule, an address or a machine is named
by that one's id, and is where that is.

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
    """Whether what the file says is a project's id, and not its name."""
    return _UUID.fullmatch(written) is not None


class Project:
    """What the declared project adds to commands. Its name is looked up once, and again after a refusal.

    Args:
        cloud: whose declaration names it, or none.
        every: reads a listing to its end.
    """

    def __init__(self, cloud: CloudstackCloud, every: Callable[..., ListedEntries]) -> None:
        self._cloud, self._every = cloud, every
        self._lock = threading.Lock()
        self._known: str | None = None

    def within(self, command: str) -> Mapping[str, str]:
        """Give the parameters that keep a command within the project.

        Raises:
            DriverError: nothing or several things have its name, or the cloud did not answer.
        """
        project = self.id if command in TAKING else None
        return {} if project is None else {"projectid": project}

    @property
    def id(self) -> str | None:
        """The id of the declared project; ``None``: none is declared. Raises as `within`."""
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
        """Look the name up again when it is next needed: it may be another project's by now."""
        with self._lock:
            self._known = None

    def _asked(self, written: str) -> str:
        entries = self._every("listProjects", "project", name=written)
        if entries.because:
            raise Transient(entries.because)
        try:
            return one_called(entries.read, "project", written, mend=ANOTHER)
        except ValueError as error:
            raise Permanent(f"{self._cloud.id}: {error}", cause=FailureCause.CREDENTIALS) from None
