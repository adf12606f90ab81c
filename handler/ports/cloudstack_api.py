"""The port to what CloudStack's query API keeps beside declarations: ids of its own kind, and its jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from config.model.sections import Section
from config.units import GroupId, Instant
from handler.ports.stored import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHandle:
    """How clients of CloudStack's API know a declared entity. It outlives a reload, and goes with its entity."""

    section: Section
    id: str
    """Of the entity."""
    uuid: str
    made_at: Instant
    """When the entity was made over that API, or first listed."""
    details: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What only that API has: the provider of a counter, the name of a group, details of a profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob:
    """What became of one command. Jobs are written when they have ended."""

    uuid: str
    command: str
    user: str
    """The user that gave it."""
    account: str
    made_at: Instant
    ended_at: Instant
    code: int
    """0: it succeeded; else the code of its error."""
    result: str
    """The answer, as JSON."""
    section: Section | None
    """Of the entity that it was about."""
    subject: str
    """The UUID of that entity."""
    name: str
    """Its name, for people."""


class CloudstackApiStore(Protocol):
    """The part of the store for CloudStack's query API."""

    def handles(self) -> tuple[StoredHandle, ...]:
        """Return every handle, sorted by section and id."""
        ...

    def save_handles(self, handles: Collection[StoredHandle]) -> None:
        """Insert or replace handles, in one transaction."""
        ...

    def save_job(self, job: StoredJob, since: Instant) -> None:
        """Write a job, and delete those that ended before ``since``."""
        ...

    def job(self, uuid: str) -> StoredJob | None:
        """Return one job; ``None``: there is none."""
        ...

    def size_changes(self, since: Instant, limit: int, groups: Collection[GroupId] | None = None) -> tuple[Event, ...]:
        """Return the newest decisions that changed a desired size, newest first; ``None``: those of all groups."""
        ...

    def jobs(self, since: Instant, limit: int, accounts: Collection[str] | None = None) -> tuple[StoredJob, ...]:
        """Return the newest jobs that ended at ``since`` or later, newest first; ``None``: those of all accounts."""
        ...
