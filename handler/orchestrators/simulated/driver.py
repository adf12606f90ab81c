"""Members are simulated: `simulation` with a clock, a file and calls that take time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from config.errors import DriverError, Permanent
from config.model.catalogue import Profile, SimulatedCloud
from config.model.parts import MemberPart
from config.units import GroupId, Instant, MemberName, PartName, Seconds
from handler.orchestrators.simulated.ledger import SimulationLedger
from handler.orchestrators.simulated.simulation import ScriptedAnswer, Simulation
from handler.planning.headroom import Quota
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Listing, MadePart, PartListing, Server
from handler.ports.orchestrator import Launch

T = TypeVar("T")


def wait(seconds: Seconds) -> None:
    """Wait, as for the answer of a real cloud."""
    if seconds > 0:
        threading.Event().wait(seconds)


class SimulatedOrchestrator:
    """The driver of a simulated cloud, kept in ``directory/simulated/CLOUD.jsonl``; without it, the cloud is empty."""

    def __init__(
        self,
        declaration: SimulatedCloud,
        installation: str,
        directory: Path,
        clock: Callable[[], Instant],
        wait: Callable[[Seconds], None] = wait,
    ) -> None:
        path = directory / "simulated" / f"{declaration.id}.jsonl"
        self._installation = installation
        self._ledger = SimulationLedger(path, declaration.behaviour, clock)
        self._turn = threading.Lock()
        self._wait = wait

    def list(self, group: GroupId) -> Listing:
        """List servers in no particular order; late and partial as declared."""
        mark = self._mark(group)
        return self._answered(lambda cloud, now: cloud.list(mark, now))

    def list_all(self) -> Listing:
        """List the servers of all groups, as `list`."""
        listing = self._answered(lambda cloud, now: cloud.list(None, now))
        return replace(listing, servers=tuple(server for server in listing.servers if self._is_ours(server.name)))

    def find(self, name: MemberName) -> Server | None:
        """Find a server; never late: ``None`` is definite. Another installation's servers do not count."""
        if not self._is_ours(name):
            return None
        return self._answered(lambda cloud, now: cloud.find(name, now))

    def create(self, launch: Launch) -> Server:
        """Create a server, or fail as declared, possibly after the creation.

        Raises:
            Transient: any declared failure but a quota.
            Permanent: the quota is used up.
        """
        return self._answered(lambda cloud, now: cloud.create(launch.id.name, now, launch.claim))

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Begin to remove a server: it is gone after the declared time, and ``grace`` at the latest."""
        if self._is_ours(name):
            self._answered(lambda cloud, now: cloud.destroy(name, now, grace=grace))

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Return the declared quota of servers."""
        return (Quota(limit=self._answered(lambda cloud, now: cloud.quota(now)), each=1),)

    # Parts

    def parts(self, group: GroupId) -> PartListing:
        """List parts; never late."""
        mark = self._mark(group)
        return self._answered(lambda cloud, now: cloud.ask_parts(lambda parts: parts.of(mark), now))

    def all_parts(self) -> PartListing:
        """List the parts of all groups, as `parts`."""
        listing = self._answered(lambda cloud, now: cloud.ask_parts(lambda parts: parts.of(None), now))
        return replace(listing, parts=tuple((member, part) for member, part in listing.parts if self._is_ours(member)))

    def find_part(self, member: MemberName, name: PartName) -> MadePart | None:
        """Find a part; ``None`` is definite. Another installation's parts do not count."""
        if not self._is_ours(member):
            return None
        return self._answered(lambda cloud, now: cloud.ask_parts(lambda parts: parts.find(member, name), now))

    def make_part(self, member: MemberName, part: MemberPart, profile: Profile) -> None:
        """Create a simulated part, with the declared failures of creations."""
        self._answered(lambda cloud, now: cloud.make_part(member, part.name, now))

    def remove_part(self, member: MemberName, name: PartName) -> None:
        """As the cloud is declared to remove."""
        if self._is_ours(member):
            self._answered(lambda cloud, now: cloud.drop_part(member, name, now, retain=False))

    def release_part(self, member: MemberName, name: PartName) -> None:
        """As the cloud is declared to remove."""
        if self._is_ours(member):
            self._answered(lambda cloud, now: cloud.drop_part(member, name, now, retain=True))

    # Marks: a server's name is its mark, and names can be changed.

    @property
    def fixed_marks(self) -> str:
        """Return why marks cannot be written; empty: they can."""
        return ""

    def foreign_member(self, named: str) -> Server | None:
        """Look for a server by its id or name.

        Raises:
            Permanent: it is a member, of any installation.
        """
        found = self._answered(lambda cloud, now: cloud.known(named, now))
        if found is not None and LaunchId.parse(found.name) is not None:
            raise Permanent(f"{named} bears the mark {found.name}")
        return found

    def mark(self, id: str, launch: LaunchId) -> Server:
        """Give a server the member's name.

        Raises:
            Permanent: there is none with this id, or it is another member.
            Transient: any declared failure of creations.
        """
        return self._answered(lambda cloud, now: cloud.rename(id, launch.name, now))

    def unmark(self, name: MemberName) -> None:
        """Rename a server to its id, which is not a member's name."""
        if not self._is_ours(name):
            return
        server = self.find(name)
        if server is not None:
            self._answered(lambda cloud, now: cloud.rename(server.id, server.id, now))

    def claim(self, name: MemberName, claim: Claim) -> None:
        """Write a claim beside the name."""
        if self._is_ours(name):
            self._answered(lambda cloud, now: cloud.claim(name, claim, now))

    # Inside

    def _mark(self, group: GroupId) -> str:
        return LaunchId(installation=self._installation, group=group, sequence=1).name.rpartition("-")[0]

    def _answered(self, ask: Callable[[Simulation, Instant], ScriptedAnswer[T]]) -> T:
        with self._turn, self._ledger.turn() as (cloud, now):
            answer = ask(cloud, now)
        self._wait(answer.takes)
        if isinstance(answer.given, DriverError):
            raise answer.given
        return answer.given

    def _is_ours(self, name: MemberName) -> bool:
        launch = LaunchId.parse(name)
        return launch is not None and launch.installation == self._installation
