"""One listing of a cloud for all groups that use it. Pure.

# Note [Shared inventory]

A listing costs a call and the reading of its answer, and most groups need nothing from it but that all is as it was. So
one listing of the whole cloud serves all of them: a group with nothing to do whose machines it shows unchanged needs no
pass. It never proves that a member is gone, broken or back: a group whose machines differ in any way makes a pass with
a listing of its own, and only that one counts as evidence. A partial inventory, or one that was asked for before the
group's last pass, says nothing at all.

Source: ADR 0038.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from config.units import CloudId, GroupId, Instant
from handler.planning.launches import LaunchId
from handler.planning.world import Listing, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedListing:
    """A listing of one group's machines that a pass is given, and when it was asked for."""

    asked_at: Instant
    listing: Listing
    kept: bool = False
    """It is from an inventory that was read before anything called for the pass: good enough to create members, since
    it can only lack some, and every record counts as one; nothing else is done by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The machines of this installation on one cloud, by group, as one listing showed them."""

    cloud: CloudId
    asked_at: Instant
    """When the listing was asked for: what happened later may be missing from it."""
    complete: bool
    """The listing has all entries. A partial one says nothing about any group."""
    groups: Mapping[GroupId, tuple[Server, ...]]
    """Also of groups that are not declared; a group without machines is missing."""

    def of(self, group: GroupId) -> tuple[Server, ...]:
        """Return a group's machines, in the cloud's order."""
        return self.groups.get(group, ())

    def listing(self, group: GroupId) -> AskedListing:
        """Return a group's part of a complete inventory, as a listing of that group."""
        return AskedListing(asked_at=self.asked_at, listing=Listing(servers=self.of(group), complete=True))


def inventory_of(cloud: CloudId, listing: Listing, installation: str, asked_at: Instant) -> Inventory:
    """Sort a listing of a cloud by group; machines of other installations are left out."""
    groups: dict[GroupId, list[Server]] = {}
    for server in listing.servers:
        launch = LaunchId.parse(server.name)
        if launch is not None and launch.installation == installation:
            groups.setdefault(launch.group, []).append(server)
    found = {group: tuple(servers) for group, servers in groups.items()}
    return Inventory(cloud=cloud, asked_at=asked_at, complete=listing.complete, groups=MappingProxyType(found))
