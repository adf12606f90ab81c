"""The identity of a member process: its mark in the environment, and a loopback address of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from config.errors import Permanent
from handler.planning.launches import LaunchId

PREFIX = "TRIMTAB_"
MEMBER, INSTALLATION, GROUP = "TRIMTAB_MEMBER", "TRIMTAB_INSTALLATION", "TRIMTAB_GROUP"
ADDRESS, STATE = "TRIMTAB_ADDRESS", "TRIMTAB_STATE"

_HOSTS = 254  # .1 to .254: .0 and .255 look like networks and broadcasts to too many programs
_ADDRESSES = 256 * _HOSTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """A process' identity, stored where its children and a restarted Trimtab can read it."""

    id: LaunchId
    address: str

    def environment(self, state: Path) -> dict[str, str]:
        """Return the variables with the mark, and ``TRIMTAB_STATE``: the directory of the shared listeners."""
        return {
            MEMBER: self.id.name,
            INSTALLATION: self.id.installation,
            GROUP: self.id.group,
            ADDRESS: self.address,
            STATE: str(state),
        }

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> ProcessMark | None:
        """Read a mark; ``None``: there is none, or it is foreign."""
        launch = LaunchId.parse(environment.get(MEMBER, ""))
        if launch is None or (environment.get(INSTALLATION), environment.get(GROUP)) != (
            launch.installation,
            launch.group,
        ):
            return None
        return cls(id=launch, address=environment.get(ADDRESS, ""))


def choose_address(id: LaunchId, taken: Collection[str]) -> str:
    """Return a free address for a member: ``127.X.Y.Z``, X from the installation (64 to 127), Y.Z from the sequence.

    All of 127.0.0.0/8 is loopback on Linux. The low half stays free for other uses.

    Raises:
        Permanent: all 65,024 addresses of the installation are taken.

    >>> choose_address(LaunchId(installation="k3f9ab", group="web", sequence=12), ())
    '127.124.0.12'
    """
    block = 64 + hashlib.sha256(id.installation.encode()).digest()[0] % 64
    for step in range(_ADDRESSES):
        high, low = divmod((id.sequence - 1 + step) % _ADDRESSES, _HOSTS)
        address = f"127.{block}.{high}.{low + 1}"
        if address not in taken:
            return address
    raise Permanent(
        f"no loopback address of 127.{block}.0.0/16 is free for {id.name}: run fewer processes on this machine"
    )
