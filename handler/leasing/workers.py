"""The workers of one store, as they see each other and as people see them."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from config.units import Seconds
from handler.leasing.lease import LeaseRow

GONE_AFTER: Seconds = 15.0
"""A worker that has not written for so long is shown as gone."""
SETTLED: Seconds = 60.0
"""How long a worker runs before one of a lower priority hands the lease over to it: one that ends again and again, or
has just started with its machine, would take it in vain."""
REGAINED: Seconds = 600.0
"""How long a worker that wants the lease back after it was lost waits until it has its priority again: a database that
is cut off again and again moves the lease no more often."""
_UNREAD_AFTER: Seconds = 5.0
"""A worker that has not read the database for so long, and for half of the lease's span, says so: standbys read each
second, and the holder four times in a span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What a worker writes of itself."""

    name: str
    process: str
    """Minted at each start."""
    url: str
    """Where its API listens, for others."""
    version: str
    problem: str = ""
    """Why it cannot take the lease; empty: it can."""
    priority: int = 0
    """Of those that can take the lease, the one with the highest is to have it. 0 once this process has held it: a
    worker that a person, or a failure, has taken the lease from does not want it back, or not before `REGAINED`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWorker:
    """A worker, as it last wrote."""

    presence: Presence
    age: Seconds
    """Since it last wrote, by the database's clock."""
    up: Seconds
    """From its start until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The lease, and who is there."""

    row: LeaseRow
    worker: str
    """Which worker holds it, or held it last; empty: there has been none."""
    left: Seconds
    """Until it ends if it is not renewed, by the database's clock; below 0: it has ended."""
    declaration: str
    """Digest of the file that the last holder took; empty: there was none."""
    applied: int
    """Revision of the file that was applied for all workers; 0: each has its own."""
    sealing: str
    """How that file is sealed: another text after each apply and each rotation of the key; empty: there is none."""
    schema: str
    """The revision of the store's tables."""
    workers: tuple[SeenWorker, ...]
    clock: Seconds
    """The database's time, in seconds since the epoch."""


class WorkerRole(enum.Enum):
    """What a worker is doing."""

    HOLDER = "holder"
    """It has the lease, and acts."""
    STANDBY = "standby"
    """It waits for the lease."""
    BARRED = "barred"
    """It is there, and cannot take the lease; its problem says why."""
    GONE = "gone"
    """It has not been heard of for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """One worker, for people."""

    name: str
    role: WorkerRole
    api: str
    """Where its API listens, for others."""
    version: str
    age_s: Seconds
    """Since it was last heard of."""
    up_s: Seconds
    """From its start until then."""
    problem: str
    priority: int = 0
    """Of those that could take the lease, the one with the highest is to have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """The workers of one store and their lease, for people."""

    worker: str
    """The one that answers."""
    holder: str
    """The one that has the lease; empty: none has."""
    api: str
    """Where the holder's API listens; empty: it is not known."""
    epoch: int
    left_s: Seconds
    """Until the lease ends if it is not renewed; below 0: it has ended; 0: no worker ever had it."""
    span_s: Seconds
    unread_s: Seconds = 0.0
    """For how long the worker that answers has not been able to read the database: roles and problems are as they were
    then; 0: it can."""
    applied: int = 0
    """Revision of the file that was applied for all workers; 0: each has its own."""
    workers: tuple[WorkerStatus, ...]

    @property
    def standbys(self) -> int:
        """How many workers could take over."""
        return sum(each.role is WorkerRole.STANDBY for each in self.workers)

    @property
    def is_stranded(self) -> bool:
        """Whether workers are there, none of which acts or could: without a person nothing will change."""
        roles = {each.role for each in self.workers}
        return WorkerRole.BARRED in roles and not roles & {WorkerRole.HOLDER, WorkerRole.STANDBY}


NO_WORKERS = ClusterStatus(worker="", holder="", api="", epoch=0, left_s=0.0, span_s=0.0, workers=())
"""Of a daemon that is alone over its store."""


def cluster_status(own: str, seen: Looked, since: Seconds = 0.0) -> ClusterStatus:
    """Return what is known of all workers, ``since`` this time after it was read."""
    holder = next((each.presence for each in seen.workers if each.presence.process == seen.row.process), None)
    return ClusterStatus(
        worker=own,
        holder=seen.worker if seen.row.process else "",
        api="" if holder is None else holder.url,
        epoch=seen.row.epoch,
        left_s=seen.left - since if seen.row.epoch else 0.0,
        span_s=seen.row.span,
        unread_s=since if since > max(_UNREAD_AFTER, seen.row.span / 2) else 0.0,
        applied=seen.applied,
        workers=tuple(_statuses(seen, since)),
    )


def _statuses(seen: Looked, since: Seconds) -> Iterator[WorkerStatus]:
    for each in seen.workers:
        own = each.presence
        yield WorkerStatus(
            name=own.name,
            role=_role(each, holds=own.process == seen.row.process),
            api=own.url,
            version=own.version,
            age_s=each.age + since,
            up_s=each.up,
            problem=own.problem,
            priority=own.priority,
        )


def preferred(own: Presence, seen: Looked, *, up: Seconds = 0.0) -> str:
    """Return which worker is to have the lease rather than this one; empty: none.

    It could take the lease now, has a higher priority than all others, and has run for ``up`` at least.
    """
    others = [
        each.presence
        for each in seen.workers
        if _role(each, holds=each.presence.process == seen.row.process) is WorkerRole.STANDBY and each.up >= up
    ]
    first = max(others, key=lambda presence: presence.priority, default=own)
    return first.name if first.priority > own.priority else ""


def priority_for(worker: str, shard: str) -> int:
    """Return the priority of a worker for one of several shards, from 1 to 999.

    Of the workers that are there, each shard has another order, so the shards spread over them; one that is lost moves
    only the shards that it had.

    Source: D. Thaler, C. Ravishankar: A Name-Based Mapping Scheme for Rendezvous (1996).

    >>> [max("abc", key=lambda worker: priority_for(worker, shard)) for shard in ("north", "south", "west", "east")]
    ['b', 'a', 'b', 'b']
    """
    digest = hashlib.sha256(f"{shard}\n{worker}".encode()).digest()
    return 1 + int.from_bytes(digest[:8]) % 999


def _role(seen: SeenWorker, *, holds: bool) -> WorkerRole:
    if seen.age > GONE_AFTER:
        return WorkerRole.GONE
    if holds:
        return WorkerRole.HOLDER
    return WorkerRole.BARRED if seen.presence.problem else WorkerRole.STANDBY


def standby_words(status: ClusterStatus) -> str:
    """Why a standby does not carry out a request, and what to do."""
    if status.unread_s:
        return (
            f"worker {status.worker} is a standby, and has not been able to read the database for "
            f"{status.unread_s:.0f} s: which worker holds the lease is not known; try again when it is back"
        )
    if status.is_stranded:
        return f"worker {status.worker} may not act, nor may any other that is there: trimtab cluster status says why"
    if not status.holder:
        return f"worker {status.worker} is a standby, and no worker holds the lease now: try again in some seconds"
    return (
        f"worker {status.worker} is a standby; worker {status.holder} holds the lease (epoch {status.epoch}): "
        f"ask it at {status.api}, or run the command on its machine"
    )
