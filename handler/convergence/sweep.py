"""Look for garbage: over all groups in the store, and all declared clouds and balancers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from collector.clients.concurrency import in_parallel
from config.errors import DriverError
from config.model.balancers import Balancer as DeclaredBalancer
from config.model.catalogue import Catalogue, Cloud
from config.units import BalancerId, CloudId, GroupId, Instant, MemberName
from handler.planning.desired import Definition
from handler.planning.garbage import FleetRecords, GarbageReport, UnseenPlace, garbage_of
from handler.planning.launches import LaunchId
from handler.planning.world import Listing, PartListing
from handler.ports.balancer import Balancer
from handler.ports.orchestrator import Orchestrator
from handler.ports.parts import PartMaker
from handler.ports.store import Store

_WORKERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageSweep:
    """Looks, and changes nothing."""

    installation: str
    store: Store
    orchestrator_for: Callable[[Cloud], Orchestrator]
    balancer_for: Callable[[DeclaredBalancer], Balancer]
    clock: Callable[[], Instant]

    def look(self, catalogue: Catalogue) -> GarbageReport:
        """Look once. A cloud or balancer that does not answer is reported, never an exception.

        Raises:
            StoreError: what we remember cannot be read.
        """
        definitions = {stored.id: stored.definition for stored in self.store.groups()}
        clouds = {each.cloud.id: each.cloud for each in definitions.values()} | dict(catalogue.clouds)
        balancers = _balancers(definitions.values()) | dict(catalogue.balancers)
        answers = in_parallel([partial(self._listing, each) for each in clouds.values()], _WORKERS)
        listings = dict(zip(clouds, answers, strict=True))
        making = [each for each in clouds.values() if each.id in _with_parts(definitions.values(), catalogue)]
        shown = in_parallel([partial(self._parts, each) for each in making], _WORKERS)
        parts = {cloud.id: listing for cloud, listing in zip(making, shown, strict=True) if listing is not None}
        read = in_parallel([partial(self._registered, each) for each in balancers.values()], _WORKERS)
        registrations = dict(zip(balancers, read, strict=True))
        items = garbage_of(
            self._known(definitions, listings.values()),
            {cloud: listing for cloud, listing in listings.items() if listing.complete or listing.servers},
            parts,
            {balancer: names for balancer, names in registrations.items() if not isinstance(names, str)},
            self.clock(),
        )
        partly = {cloud: each.because for cloud, each in listings.items() if not each.complete}
        lacking = {cloud: each.because for cloud, each in parts.items() if not each.complete}
        unread = {balancer: because for balancer, because in registrations.items() if isinstance(because, str)}
        return GarbageReport(items=items, unseen=_unseen(definitions, partly, lacking, unread))

    def _known(self, definitions: Mapping[GroupId, Definition], listings: Iterable[Listing]) -> FleetRecords:
        records = {record.name: record for group in definitions for record in self.store.members(group)}
        unknown: dict[GroupId, set[MemberName]] = {}
        for listing in listings:
            for server in listing.servers:
                launch = LaunchId.parse(server.name)
                if launch is not None and launch.group in definitions and server.name not in records:
                    unknown.setdefault(launch.group, set()).add(server.name)
        gone = (self.store.gone(group, names) for group, names in unknown.items())
        return FleetRecords(
            installation=self.installation,
            definitions=definitions,
            records=records,
            gone=frozenset().union(*gone),
            abandoned={let_go.name: let_go for let_go in self.store.abandoned()},
        )

    def _listing(self, cloud: Cloud) -> Listing:
        try:
            return self.orchestrator_for(cloud).list_all()
        except DriverError as error:
            return Listing(servers=(), complete=False, because=str(error))

    def _parts(self, cloud: Cloud) -> PartListing | None:
        """Parts of members; ``None``: the cloud makes none."""
        try:
            maker = self.orchestrator_for(cloud)
            return maker.all_parts() if isinstance(maker, PartMaker) else None
        except DriverError as error:
            return PartListing(parts=(), complete=False, because=str(error))

    def _registered(self, balancer: DeclaredBalancer) -> Collection[MemberName] | str:
        """Return the names registered there, or why they cannot be read."""
        try:
            return tuple(self.balancer_for(balancer).registrations())
        except DriverError as error:
            return str(error) or type(error).__name__


def _unseen(
    definitions: Mapping[GroupId, Definition],
    clouds: Mapping[CloudId, str],
    parts: Mapping[CloudId, str],
    balancers: Mapping[BalancerId, str],
) -> tuple[UnseenPlace, ...]:
    """Say of each place why it could not be read; its groups are those that may learn of it."""

    def on(cloud: CloudId) -> frozenset[GroupId]:
        return frozenset(group for group, each in definitions.items() if each.cloud.id == cloud)

    def at(balancer: BalancerId) -> frozenset[GroupId]:
        return frozenset(group for group, each in definitions.items() if balancer in each.balancers)

    return (
        *(UnseenPlace(words=f"cloud {cloud}: {because}", groups=on(cloud)) for cloud, because in clouds.items()),
        *(UnseenPlace(words=f"parts on cloud {cloud}: {why}", groups=on(cloud)) for cloud, why in parts.items()),
        *(UnseenPlace(words=f"balancer {name}: {because}", groups=at(name)) for name, because in balancers.items()),
    )


def _with_parts(definitions: Iterable[Definition], catalogue: Catalogue) -> set[CloudId]:
    """Return the clouds where a profile declares parts: only there the permission to list them is needed."""
    profiles = [*(each.profile for each in definitions), *catalogue.profiles.values()]
    return {profile.cloud for profile in profiles if profile.parts}


def _balancers(definitions: Iterable[Definition]) -> dict[BalancerId, DeclaredBalancer]:
    return {own: declared for definition in definitions for own, declared in definition.balancers.items()}
