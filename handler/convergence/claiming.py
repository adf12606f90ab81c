"""Claim the fleet for this daemon, and stop acting at a rival claim that is not below its own.

# Note [Claims]

Each start of a daemon claims a counter above the one that its store remembers, with a nonce of its own, and writes that
down before it acts. At its first contact with a cloud it reads the claims of all members there, and goes above them
too. It writes its claim on the three oldest members of the cloud; every new member bears it from the call that makes
it. From then on a member that bears a claim not below its own under another nonce means that another daemon keeps this
fleet: this daemon stops acting until a person has it `adopt` the store.

So the daemon that started last acts, and the one before it stops. Two that start at the same instant with the same
counter may stop both: a person decides which one continues. A claim that cannot be written is reported, and stops
nothing.

Source: DESIGN.md "Moving" (store generation); ADR 0021.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from config.errors import DriverError
from config.model.catalogue import Cloud, ProcessCloud
from config.units import CloudId, GroupId, Instant, MemberName
from handler.convergence.lock import InstallationLock
from handler.convergence.pass_threads import waiting
from handler.convergence.traffic import CloudTraffic
from handler.planning.claims import ClaimBearers, claims_on, next_claim, rival_of
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Server
from handler.ports.orchestrator import Claimable, Orchestrator


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another daemon's claim on members that this store knows."""

    claim: Claim
    where: str
    """Where it was seen, for people."""
    at: Instant

    @property
    def words(self) -> str:
        """Why nothing is done any more, and what to do; for people."""
        return (
            f"this daemon has stopped acting: another daemon (claim {self.claim.text}, seen on {self.where}) keeps "
            "these members, probably over a copy of this state directory; stop one of the two, and let the other one "
            "go on with: trimtab store adopt"
        )


class Generation:
    """The claim of this daemon, and what became of it. Passes call it from their threads."""

    def __init__(
        self,
        *,
        stored: Claim | None,
        save: Callable[[Claim], None],
        nonce: str,
        installation: str,
        clock: Callable[[], Instant],
    ) -> None:
        """Claim the next counter, durably.

        Raises:
            StoreError: it cannot be written down.
        """
        self._save, self._clock = save, clock
        self._lock = InstallationLock(installation, self._yielded)
        self._turn = threading.RLock()
        self._meetings: dict[CloudId, threading.Lock] = {}
        self._met: set[CloudId] = set()
        self._whole: set[CloudId] = set()
        """Clouds of which all machines were listed at the first contact."""
        self._seen: set[tuple[CloudId, GroupId]] = set()
        """Groups that were listed."""
        self._bearers: dict[CloudId, ClaimBearers] = {}
        self._written: set[MemberName] = set()
        self._unwritten: dict[CloudId, str] = {}
        self._local = False
        self._rival: Rival | None = None
        self._own = next_claim(stored, (), nonce)
        save(self._own)

    @property
    def own(self) -> Claim:
        """The claim of this daemon."""
        return self._own

    @property
    def rival(self) -> Rival | None:
        """Why this daemon has stopped acting; ``None``: it acts."""
        return self._rival

    @property
    def unwritten(self) -> Mapping[CloudId, str]:
        """Clouds where the claim cannot be written to members, and why."""
        return MappingProxyType(dict(self._unwritten))

    def meet(self, cloud: Cloud, orchestrator: Orchestrator, traffic: CloudTraffic) -> None:
        """Before the first step on a cloud: go above every claim there, and write our own. Later calls do nothing.

        A cloud that does not answer is met by a later call; the pass that asks learns of it from its own listing.

        Raises:
            StoreError: the claim cannot be written down.
        """
        if self._rival is not None:
            return
        if isinstance(cloud, ProcessCloud):
            self._hold()
            return
        if cloud.id in self._met:
            return
        with self._turn:
            meeting = self._meetings.setdefault(cloud.id, threading.Lock())
        with waiting(), meeting:
            if cloud.id in self._met:
                return
            try:
                with traffic.look(cloud, self._clock) as may:
                    servers = orchestrator.list_all().servers if may else None
            except DriverError:
                return
            if servers is not None:
                self._take_in(cloud, _by_group(servers), whole=True)
                self._write(cloud, orchestrator, traffic, self._lacking(cloud))

    def see(
        self, cloud: Cloud, orchestrator: Orchestrator, traffic: CloudTraffic, group: GroupId, servers: Sequence[Server]
    ) -> None:
        """Take in what a group's listing shows: a rival's claim, or old members that do not bear our own yet.

        Raises:
            StoreError: the claim cannot be written down.
        """
        self._take_in(cloud, {group: servers})
        if self._rival is None and cloud.id in self._met:
            there = {server.name for server in servers}
            self._write(cloud, orchestrator, traffic, [name for name in self._lacking(cloud) if name in there])

    def adopt(self) -> Claim:
        """Claim above every claim that was seen, and act again: a person decided that this daemon continues.

        Raises:
            StoreError: the claim cannot be written down; nothing changes for this daemon.
        """
        with self._turn:
            seen = () if self._rival is None else (self._rival.claim,)
            self._claim(seen)
            self._rival = None
            self._met.clear()
            self._whole.clear()
            self._seen.clear()
        if self._local:
            self._lock.demand(self._own)
        return self._own

    def forget(self, group: GroupId) -> None:
        """A group is gone: its machines are no members any more."""
        with self._turn:
            for bearers in self._bearers.values():
                bearers.forget(group)

    def close(self) -> None:
        """Let another daemon of this machine act."""
        self._lock.release()

    def _claim(self, seen: Sequence[Claim]) -> None:
        following = next_claim(self._own, seen, self._own.nonce)
        self._save(following)
        self._own = following
        self._written.clear()

    def _take_in(self, cloud: Cloud, groups: Mapping[GroupId, Sequence[Server]], *, whole: bool = False) -> None:
        """Take listings in; ``whole``: of all groups. See Note [Claims].

        Where a cloud could not be listed as a whole, the first listing of each group is the first contact with it.
        """
        servers = [server for each in groups.values() for server in each]
        with self._turn:
            bearers = self._bearers.setdefault(cloud.id, ClaimBearers())
            for group, each in groups.items():
                bearers.listed(group, each)
            rival = rival_of(self._own, claims_on(servers))
            seen = {(cloud.id, group) for group in groups}
            first = cloud.id not in self._whole and (whole or not seen <= self._seen)
            self._seen |= seen
            self._whole |= {cloud.id} if whole else set()
            self._met.add(cloud.id)
            if rival is None:
                return
            if first and self._rival is None:
                self._claim((rival,))
            else:
                bearer = next(server.name for server in servers if server.claim == rival)
                self._yield_to(rival, f"member {bearer} of cloud {cloud.id}")

    def _hold(self) -> None:
        self._local = True
        holder = self._lock.take(self._own)
        if holder is not None:
            self._yield_to(holder, "the lock of this installation on this machine")

    def _yielded(self, claim: Claim) -> None:
        self._yield_to(claim, "the lock of this installation on this machine")

    def _yield_to(self, claim: Claim, where: str) -> None:
        with self._turn:
            if self._rival is None or self._rival.claim < claim:
                self._rival = Rival(claim=claim, where=where, at=self._clock())

    def _lacking(self, cloud: Cloud) -> Sequence[MemberName]:
        with self._turn:
            bearers = self._bearers.get(cloud.id)
            names = () if bearers is None else bearers.unclaimed(self._own)
            return [name for name in names if name not in self._written]

    def _write(
        self, cloud: Cloud, orchestrator: Orchestrator, traffic: CloudTraffic, names: Iterable[MemberName]
    ) -> None:
        """Write our claim. What cannot be written is reported, and tried again by a later pass."""
        if not isinstance(orchestrator, Claimable):
            return
        for name in names:
            try:
                with traffic.call(cloud, self._clock) as admitted:
                    if not admitted:
                        return
                    with waiting():
                        orchestrator.claim(name, self._own)
            except DriverError as error:
                self._unwritten[cloud.id] = f"the claim of this daemon could not be written on {name}: {error}"
                return
            self._written.add(name)
            self._unwritten.pop(cloud.id, None)


def _by_group(servers: Sequence[Server]) -> Mapping[GroupId, Sequence[Server]]:
    groups: dict[GroupId, list[Server]] = {}
    for server in servers:
        launch = LaunchId.parse(server.name)
        if launch is not None:
            groups.setdefault(launch.group, []).append(server)
    return groups
