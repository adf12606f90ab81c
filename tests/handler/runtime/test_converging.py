"""The passes of a group that an inventory of its cloud watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import StoreError
from config.units import CloudId, GroupId, Instant
from handler.identity.actors import local
from handler.operations.member_operations import ReplaceMember
from handler.operations.registry import perform
from handler.ports.stored import Creates
from handler.store.sqlite import SqliteStore
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.store import opened
from tests.support.worlds import INSTALLATION


class LockedOnce(SqliteStore):
    """Its database cannot be read once, by the next pass after `lock`."""

    is_locked = False

    def creates(self, group: GroupId, cloud: CloudId, now: Instant) -> Creates:
        if self.is_locked:
            self.is_locked = False
            raise StoreError("the store cannot be read: its database is locked")
        return super().creates(group, cloud, now)


def test_what_a_person_orders_of_a_group_at_rest_is_done_though_the_first_pass_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.until(lambda: up.engine.keeper._watch.vouches(up.runtime))
        first = min(up.bed.machines)
        up.store.is_locked = True
        await perform(up.operations, ReplaceMember(group=WEB, member=first), local("ada"))
        await up.until(lambda: first not in up.bed.machines and len(up.bed.machines) == 2)

    def locked_once(path: Path) -> SqliteStore:
        opened(path).close()
        return LockedOnce.open(path, installation=INSTALLATION)

    EngineBed(tmp_path, model(interval="1s", balancers="[]", policies="[]"), opened=locked_once).run(scene)
