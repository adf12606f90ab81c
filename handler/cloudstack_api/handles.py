"""The UUIDs by which clients know declared entities: stored, so that they stay the same through every restart."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TypeAlias

from config.model.sections import Section
from config.units import Instant
from handler.ports.cloudstack_api import CloudstackApiStore, StoredHandle

Key: TypeAlias = tuple[Section, str]
"""A section, and the id of an entity in it."""


def new_uuid() -> str:
    """Return a new UUID, version 4."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


class Handles:
    """Kept in memory as they are on disk; only the event loop writes."""

    def __init__(self, store: CloudstackApiStore) -> None:
        self._store = store
        self._by_key: dict[Key, StoredHandle] = {}
        self._by_uuid: dict[str, StoredHandle] = {}
        self._turn = asyncio.Lock()
        self._is_loaded = False
        self.version = 0
        """It grows with each change, for what is kept of answers."""

    async def load(self) -> None:
        """Read the store, once. Raises `StoreError`."""
        if self._is_loaded:
            return
        async with self._turn:
            if not self._is_loaded:
                self._keep(await asyncio.to_thread(self._store.handles))
                self._is_loaded = True

    def of(self, key: Key) -> StoredHandle:
        """Return the handle of an entity that has one (`cover`)."""
        return self._by_key[key]

    def named(self, uuid: str) -> StoredHandle | None:
        """Return the handle with a UUID; ``None``: there is none."""
        return self._by_uuid.get(uuid.lower())

    def has(self, keys: Collection[Key]) -> bool:
        """Tell whether all entities have one."""
        return self._by_key.keys() >= set(keys)

    async def cover(self, keys: Iterable[Key], now: Instant) -> None:
        """Give a handle to each entity that has none: one of the file, or made over another interface.

        Raises:
            StoreError: they could not be written, and none was given.
        """
        async with self._turn:
            fresh = [
                StoredHandle(section=section, id=entity_id, uuid=new_uuid(), made_at=now)
                for section, entity_id in keys
                if (section, entity_id) not in self._by_key
            ]
            if fresh:
                await asyncio.to_thread(self._store.save_handles, fresh)
                self._keep(fresh)

    async def save(self, handle: StoredHandle) -> None:
        """Write a handle. Raises `StoreError`."""
        async with self._turn:
            await asyncio.to_thread(self._store.save_handles, (handle,))
            self._forget((handle.section, handle.id))
            self._keep((handle,))

    async def note(self, key: Key, details: dict[str, str]) -> None:
        """Replace the details of an entity. Raises `StoreError`."""
        if self.of(key).details != details:
            await self.save(replace(self.of(key), details=details))

    async def drop(self, key: Key) -> None:
        """Forget the handle of an entity that is no more: its UUID is not given again. Raises `StoreError`."""
        async with self._turn:
            await asyncio.to_thread(self._store.delete_handle, *key)
            self._forget(key)

    def _keep(self, handles: Iterable[StoredHandle]) -> None:
        for handle in handles:
            self._by_key[handle.section, handle.id] = handle
            self._by_uuid[handle.uuid] = handle
        self.version += 1

    def _forget(self, key: Key) -> None:
        gone = self._by_key.pop(key, None)
        if gone is not None:
            self._by_uuid.pop(gone.uuid, None)
        self.version += 1
