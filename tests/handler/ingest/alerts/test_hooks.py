"""The webhooks in memory beside those on disk, while both are read and changed at once."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from config.errors import StoreError
from config.model.access import SecretRef
from config.units import Instant
from handler.ingest.alerts.hooks import Hooks
from handler.ingest.alerts.tokens import NewWebhook
from handler.ports.alerts import StoredHook
from handler.store.sqlite import SqliteStore
from tests.support.store import NOW, opened
from tests.support.waiting import PATIENT


class SlowlyRead:
    """A store whose webhooks reach the reader only when the test says so."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.was_read, self.handed_over = threading.Event(), threading.Event()
        self.handed_over.set()

    def hooks(self) -> tuple[StoredHook, ...]:
        found = self._store.hooks()
        self.was_read.set()
        assert self.handed_over.wait(PATIENT)
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


@pytest.fixture
def store(tmp_path: Path) -> SlowlyRead:
    return SlowlyRead(opened(tmp_path / "trimtab.sqlite"))


def a_keeper(store: SlowlyRead) -> Hooks:
    return Hooks(store, lambda ref: "key", lambda: NOW)  # type: ignore[arg-type]


def test_a_webhook_that_is_revoked_while_all_are_read_stays_revoked(store: SlowlyRead) -> None:
    async def scene() -> None:
        hooks = a_keeper(store)
        token = await hooks.make(NewWebhook(name="prometheus"), ())
        store.was_read.clear()
        store.handed_over.clear()
        reading = asyncio.create_task(hooks.reload())
        await asyncio.to_thread(store.was_read.wait, PATIENT)
        revoking = asyncio.create_task(hooks.revoke("prometheus"))
        await asyncio.wait({revoking}, timeout=0.2)
        store.handed_over.set()
        await asyncio.gather(reading, revoking)
        assert hooks.holder(token, NOW) is None

    asyncio.run(scene())


def test_a_webhook_may_be_made_while_secrets_are_read(store: SlowlyRead) -> None:
    async def scene() -> None:
        hooks = a_keeper(store)
        for number in range(3):
            await hooks.make(NewWebhook(name=f"signed-{number}", hmac_secret=SecretRef(env="KEY")), ())
        await asyncio.gather(hooks.reload(), hooks.make(NewWebhook(name="another"), ()))
        assert len(hooks.all()) == 4

    asyncio.run(scene())


def test_uses_that_could_not_be_written_are_written_by_the_next_flush(
    store: SlowlyRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    async def scene() -> None:
        hooks = a_keeper(store)
        token = await hooks.make(NewWebhook(name="prometheus"), ())
        hooks.holder(token, Instant(NOW + 5.0))
        with monkeypatch.context() as patch:
            patch.setattr(store, "use_hooks", full, raising=False)
            with pytest.raises(StoreError):
                await hooks.flush()
        await hooks.flush()
        (stored,) = store.hooks()
        assert stored.last_used_at == NOW + 5.0

    asyncio.run(scene())
