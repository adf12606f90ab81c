"""Clouds that say how much room they have, and groups that share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from config.errors import Permanent
from config.model.catalogue import Profile
from config.units import GroupId, Instant, MemberName, ProfileId, Seconds
from handler.convergence.passes import Pass
from handler.planning.desired import Definition
from handler.planning.headroom import Quota, UsageLimit
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from handler.ports.stored import StoredGroup
from tests.support.beds import Bed
from tests.support.fake_cloud import FakeCloud
from tests.support.worlds import WEB, a_definition, a_group


@dataclass
class MeteredCloud(FakeCloud):
    """A cloud that tells its quota of servers and, of each profile, how many cores a member takes. It refuses who asks
    for more than there are.
    """

    cores: int | None = None
    sizes: Mapping[ProfileId, int] = field(default_factory=dict)
    """Cores of a member, by profile; of others, 1."""
    late: Seconds = 0.0
    """How long it takes until a server is counted."""
    reads: int = 0
    refused: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    made_at: dict[MemberName, Instant] = field(default_factory=dict)

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        with self.faults.around("quotas"):
            self.reads += 1
            known = {name for name, at in self.made_at.items() if self.clock() >= at + self.late}
            counted = [name for name in self.machines if name in known]
            others = len(self.machines) - sum(name in self.machines for name in self.made_at)
            used = sum(self.taken.get(name, 0) for name in counted)
            servers = UsageLimit(what="servers", used=others + len(counted), most=self.simulation.behaviour.quota)
            cores = UsageLimit(what="cores", used=used, most=self.cores)
            return Quota(limit=servers, each=1), Quota(limit=cores, each=self.sizes.get(profile.id, 1))

    @property
    def used_cores(self) -> int:
        return sum(self.taken.get(name, 0) for name in self.machines)

    def create(self, launch: Launch) -> Server:
        wants = self.sizes.get(launch.profile.id, 1)
        if self.cores is not None and launch.id.name not in self.machines and self.used_cores + wants > self.cores:
            self.refused += 1
            raise Permanent("Quota exceeded for cores")
        full = self.simulation.behaviour.quota
        self.refused += full is not None and launch.id.name not in self.machines and len(self.machines) >= full
        made = super().create(launch)
        self.taken[made.name] = wants
        self.made_at.setdefault(made.name, self.clock())
        return made


class QuotaBed(Bed):
    """A bed on a metered cloud, also for other groups on it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.metered = MeteredCloud(self.clock, instants=self.instants)
        self.cloud = self.orchestrator = self.metered

    def limit(self, servers: int | None = None, *, cores: int | None = None) -> None:
        self.cloud.behave(quota=servers)
        self.metered.cores = cores

    def join(self, group: str, size: int) -> None:
        """One more group, whose profile is called like it."""
        own = GroupId(group)
        self.store.kept[own] = a_group(size, named(self.definition, group), id=own)

    def pass_of(self, group: str) -> Pass:
        return self.converger.run(self.store.kept[GroupId(group)])

    def went_round(self, groups: Sequence[str]) -> list[Pass]:
        return [self.pass_of(group) for group in groups]

    def count(self, group: str) -> int:
        return sum(name.rpartition("-")[0].rpartition("-")[0] == group for name in self.metered.machines)


def named(definition: Definition, group: str) -> Definition:
    """The same, for a group and a profile of this name."""
    profile = replace(definition.profile, id=ProfileId(group))
    return replace(
        definition, profile=profile, group=replace(definition.group, id=GroupId(group), profile=ProfileId(group))
    )


def a_bed(size: int | None = 0, *, servers: int | None = None, cores: int | None = None) -> QuotaBed:
    bed = QuotaBed(definition=a_definition(ready=None), size=size)
    bed.limit(servers, cores=cores)
    return bed


def stored_of(bed: QuotaBed) -> StoredGroup:
    return bed.store.kept[WEB]
