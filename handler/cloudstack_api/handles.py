"""The UUIDs by which clients know declared entities: stored, so that they stay the same through every restart."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol, TypeAlias

from config.model.sections import Section
from config.units import Instant
from handler.ports.cloudstack_api import CloudstackApiStore, StoredHandle
from handler.ports.declarations import DeclarationStore

Key: TypeAlias = tuple[Section, str]
"""A section, and the id of an entity in it."""


class HandleStore(CloudstackApiStore, DeclarationStore, Protocol):
    """The handles, and the revisions that say which of them are no more."""


def new_uuid() -> str:
    """Return a new UUID, version 4."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHandles:
    """The handles at one moment: a caller that looks at them sees the same to the end."""

    by_key: Mapping[Key, StoredHandle] = field(default_factory=lambda: MappingProxyType({}))
    by_uuid: Mapping[str, StoredHandle] = field(default_factory=lambda: MappingProxyType({}))
    version: int = 0
    """It grows with each change, for what is kept of answers."""

    def of(self, key: Key) -> StoredHandle:
        """Return the handle of an entity that has one (`Handles.cover`)."""
        return self.by_key[key]

    def named(self, uuid: str) -> StoredHandle | None:
        """Return the handle with a UUID; ``None``: there is none."""
        return self.by_uuid.get(uuid.lower())

    def changed(self, gone: Iterable[Key], new: Collection[StoredHandle]) -> KnownHandles:
        """Return them without some, and with others."""
        by_key, by_uuid = dict(self.by_key), dict(self.by_uuid)
        for key in (*gone, *((handle.section, handle.id) for handle in new)):
            old = by_key.pop(key, None)
            if old is not None:
                by_uuid.pop(old.uuid, None)
        for handle in new:
            by_key[handle.section, handle.id] = by_uuid[handle.uuid] = handle
        return KnownHandles(by_key=by_key, by_uuid=by_uuid, version=self.version + 1)


class Handles:
    """Kept in memory as they are on disk; only the event loop writes."""

    def __init__(self, store: HandleStore) -> None:
        self._store = store
        self.turn = asyncio.Lock()
        """Held while handles are written, and while an entity is declared that gets one of its own."""
        self.known = KnownHandles()
        self._revision: int | None = None
        """Up to which revision of the declaration they are known; ``None``: they were not read."""

    async def load(self, revision: int) -> None:
        """Read the store, once; ``revision`` is the newest that is in force. Raises `StoreError`."""
        if self._revision is not None:
            return
        async with self.turn:
            if self._revision is None:
                self.known = self.known.changed((), await asyncio.to_thread(self._store.handles))
                self._revision = revision

    async def cover(self, keys: Iterable[Key], revision: int, now: Instant) -> None:
        """Give a handle to each entity that has none: one of the file, or made over another interface.

        Args:
            keys: everything that is declared.
            revision: the newest that led to it.
            now: the wall clock's time.

        Raises:
            StoreError: they could not be written, and none was given.
        """
        async with self.turn:
            await self._forget_deleted(revision)
            fresh = [
                StoredHandle(section=section, id=entity_id, uuid=new_uuid(), made_at=now)
                for section, entity_id in keys
                if (section, entity_id) not in self.known.by_key
            ]
            if fresh:
                await asyncio.to_thread(self._store.save_handles, fresh)
                self.known = self.known.changed((), fresh)

    async def begin(self, handle: StoredHandle, revision: int) -> None:
        """Write the handle of an entity that was just made by a revision; ``turn`` is held. Raises `StoreError`."""
        await self._forget_deleted(revision)
        await self._save(handle)

    async def note(self, key: Key, details: Mapping[str, str]) -> None:
        """Replace the details of an entity. Raises `StoreError`."""
        async with self.turn:
            known = self.known.of(key)
            if known.details != details:
                await self._save(replace(known, details=details))

    async def _save(self, handle: StoredHandle) -> None:
        await asyncio.to_thread(self._store.save_handles, (handle,))
        self.known = self.known.changed((), (handle,))

    async def _forget_deleted(self, revision: int) -> None:
        """Forget handles of what revisions deleted, as the store did: an entity made again is another one."""
        since = self._revision or 0
        if revision <= since:
            return
        newest = await asyncio.to_thread(self._store.entity_revisions, revision - since + 1)
        gone = {
            (Section(change.key[0]), change.key[1])
            for each in newest
            if since < each.number <= revision
            for change in each.changes
            if change.after is None
        }
        if gone & self.known.by_key.keys():
            self.known = self.known.changed(gone, ())
        self._revision = revision
