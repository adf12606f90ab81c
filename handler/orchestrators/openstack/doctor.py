"""Checks of `trimtab doctor` for one OpenStack project.

Source: Compute API 2.1, ``/limits``, ``/os-keypairs/{name}``, ``/os-availability-zone``; Image and Networking API v2.
Quotas of Neutron and Cinder are those of `handler.orchestrators.openstack.part_quotas`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import (
    FLAVOR,
    IMAGE_KIND,
    NETWORK_KIND,
    SECURITY_GROUP,
    SERVER_GROUP,
    UUID,
    VOLUME_TYPE,
    OpenstackIds,
    OpenstackKind,
)
from collector.clients.openstack.parsing import entries, mapping, text
from collector.clients.openstack.session import BLOCK_STORAGE, COMPUTE, NoService
from config.causes import REMEDIES, FailureCause, remedy_for
from config.errors import Permanent, Transient
from config.model.catalogue import OpenstackRecipe, Profile
from config.model.parts import FloatingAddress, NetworkPort, Spec, Volume
from config.units import CloudId, Instant
from handler.orchestrators.openstack.nova import GONE, Nova
from handler.orchestrators.openstack.part_quotas import (
    Needs,
    network_quotas,
    of_network,
    of_volumes,
    volume_quotas,
    wanted,
)
from handler.planning.headroom import Quota, UsageLimit
from handler.ports.examination import (
    About,
    Check,
    Look,
    fine,
    found,
    look_at_clock,
    quota_look,
    room_look,
    unknown,
    wrong,
)

_REMEDIES = {
    IMAGE_KIND.word: FailureCause.IMAGE,
    FLAVOR.word: FailureCause.FLAVOR,
    NETWORK_KIND.word: FailureCause.NETWORK,
    SECURITY_GROUP.word: FailureCause.NETWORK,
    SERVER_GROUP.word: FailureCause.SERVER_GROUP,
    VOLUME_TYPE.word: FailureCause.LAUNCH_CONFIGURATION,
}
_COUNTED = (("Cores", "Cores", "cores"), ("RAMSize", "RAM", "MiB of memory"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenstackDoctor:
    """Checks of one project."""

    cloud: CloudId
    connection: OpenstackConnection
    nova: Nova
    ids: OpenstackIds
    clock: Callable[[], Instant]
    present: Callable[[], int]
    """Counts members."""

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """As `handler.ports.examination.Examined`."""
        named = partial(Check, about=About.CLOUD, name=self.cloud)
        return (
            named(what="version", look=self._version),
            named(what="clock", look=self._clock),
            named(what="quota", look=lambda: self._quota(most)),
            *self._quotas_beside(profiles, most),
            *(check for profile in profiles for check in self._of(profile)),
        )

    def _version(self) -> Look:
        newest = self.connection.newest(COMPUTE)
        if newest is None:
            return wrong("Nova has no microversions", "use an OpenStack of Newton (2016) or later")
        return fine(f"Nova {newest[0]}.{newest[1]}; Trimtab uses {self.nova.spoken()}")

    def _clock(self) -> Look:
        self.connection.newest(COMPUTE)  # log in before the clocks are compared: a login may take a while
        return look_at_clock(lambda: self.nova.ask("GET", "/limits").date, self.clock)

    def _quota(self, most: int) -> Look:
        limits = mapping(mapping(self.nova.ask("GET", "/limits").body, "limits"), "absolute")
        machines = limit_of(limits, "Instances", "Instances", "machines")
        if machines is None:
            return unknown("Nova does not report the project's limits")
        others = (limit_of(limits, *each) for each in _COUNTED)
        return quota_look(machines, [limit for limit in others if limit is not None], most, self.present())

    def _quotas_beside(self, profiles: Sequence[Profile], most: int) -> Iterator[Check]:
        """Yield checks of other services' quotas, if members use them."""
        named = partial(Check, about=About.CLOUD, name=self.cloud)
        for what, of, quotas in (
            ("network quota", of_network, network_quotas),
            ("volume quota", of_volumes, volume_quotas),
        ):
            each = wanted(profiles, of)
            if any(each.values()):
                yield named(what=what, look=partial(self._beside, quotas, each, most))

    def _beside(
        self, quotas: Callable[[OpenstackConnection, Needs], tuple[Quota, ...]], each: Needs, most: int
    ) -> Look:
        read = quotas(self.connection, each)
        return room_look(read, most, self.present()) if read else unknown("its quotas are not reported")

    # Images, networks and other inputs of members

    def _of(self, profile: Profile) -> Iterator[Check]:
        recipe = profile.recipe
        if not isinstance(recipe, OpenstackRecipe):
            return
        named = partial(Check, about=About.PROFILE, name=profile.id)
        wanted = [
            (IMAGE_KIND, recipe.image),
            (FLAVOR, recipe.flavor),
            *((NETWORK_KIND, network) for network in recipe.networks),
            *((SECURITY_GROUP, group) for group in recipe.security_groups),
            *((SERVER_GROUP, group) for group in (recipe.server_group,) if group is not None),
            *((VOLUME_TYPE, disk.kind) for disk in (recipe.boot_volume,) if disk is not None and disk.kind is not None),
            *(named for part in profile.parts for named in _of_part(part.spec)),
        ]
        for kind, written in wanted:
            look = partial(self._look_for, kind, written)
            yield named(what=kind.word, look=look, remedy=remedy_for(_REMEDIES[kind.word], kind.word))
        if needs := _needs_volumes(profile, recipe):
            yield named(what="block storage", look=partial(self._block_storage, needs))
        if recipe.key_name is not None:
            yield named(what="key pair", look=partial(self._key, recipe.key_name))
        if recipe.availability_zone is not None:
            yield named(what="zone", look=partial(self._zone, recipe.availability_zone))

    def _block_storage(self, needs: str) -> Look:
        """Check that the project may use Cinder; its quotas are a separate check."""
        try:
            self.connection.ask(BLOCK_STORAGE, "GET", "/limits", but=GONE)
        except NoService:
            remedy = f"ask the cloud's operator for block storage (Cinder), or take {needs} out of the profile"
            return wrong(f"{self.cloud}: there is no block storage (Cinder) for {needs}", remedy)
        return fine(f"block storage is available for {needs}")

    def _look_for(self, kind: OpenstackKind, written: str) -> Look:
        own_id = self.ids.of(kind, written)
        if UUID.fullmatch(written):
            self._confirm(kind, written)
        return found(kind.word, written, own_id)

    def _confirm(self, kind: OpenstackKind, id: str) -> None:
        """Check that an object has this id: the lookup takes an id as it is."""
        path = f"{kind.path.partition('?')[0]}/{id}"
        if self.connection.ask(kind.service, "GET", path, but=GONE).status in GONE:
            raise Permanent(f"{self.cloud}: no {kind.word} that the project can see has the id {id}")

    def _key(self, name: str) -> Look:
        if self.nova.ask("GET", f"/os-keypairs/{quote(name, safe='')}", but=GONE).status in GONE:
            return wrong(f"{self.cloud}: the user has no key pair {name}", REMEDIES[FailureCause.KEY])
        return fine(f"key pair {name} exists")

    def _zone(self, written: str) -> Look:
        zones = entries(self.nova.ask("GET", "/os-availability-zone").body, "availabilityZoneInfo")
        if zones is None:
            raise Transient(f"{self.cloud}: zones: the answer cannot be read")
        zone = written.partition(":")[0]  # administrators may append a host
        for each in zones:
            if text(each, "zoneName") == zone:
                able = mapping(each, "zoneState").get("available") is True
                return (
                    fine(f"zone {zone} is up") if able else wrong(f"zone {zone} is down", REMEDIES[FailureCause.ZONE])
                )
        return wrong(f"{self.cloud}: there is no zone {zone}", REMEDIES[FailureCause.ZONE])


def _needs_volumes(profile: Profile, recipe: OpenstackRecipe) -> str:
    """Return the profile's keys that need Cinder; empty: none."""
    boot = ["boot_volume"] if recipe.boot_volume is not None else []
    volumes = [f"part {part.name}" for part in profile.parts if isinstance(part.spec, Volume)]
    return ", ".join([*boot, *volumes])


def _of_part(spec: Spec) -> Iterator[tuple[OpenstackKind, str]]:
    """Yield the objects that a part needs, by name or id."""
    match spec:
        case Volume(kind=kind):
            yield from [] if kind is None else [(VOLUME_TYPE, kind)]
        case NetworkPort(network=network) | FloatingAddress(network=network):
            yield NETWORK_KIND, network


def limit_of(limits: Mapping[str, object], most: str, used: str, what: str) -> UsageLimit | None:
    """Read one of Nova's absolute limits; ``None``: it is not reported. -1 means no limit.

    >>> print(limit_of({"maxTotalInstances": 10, "totalInstancesUsed": 3}, "Instances", "Instances", "machines"))
    machines 3 of 10
    """
    highest, now = limits.get(f"maxTotal{most}"), limits.get(f"total{used}Used")
    if not isinstance(highest, int) or not isinstance(now, int):
        return None
    return UsageLimit(what=what, used=now, most=highest if highest >= 0 else None)
