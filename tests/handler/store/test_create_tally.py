"""Members and their creations are kept in memory as the store has them."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from config.errors import StoreError
from config.units import CloudId, GroupId, Instant, MemberName
from handler.planning.world import Phase, Record
from handler.ports.stored import Creates
from handler.store.create_tally import HOUR, CreateTally, Creation
from handler.store.rows import read_members
from handler.store.sqlite import SqliteStore
from tests.support.store import INSTALLATION, NOW, a_definition

WEB, API = GroupId("web"), GroupId("api")
LOCAL, FAR = CloudId("local"), CloudId("far")
_OUTSTANDING = ("intended", "made")


def counted(path: Path, group: GroupId, cloud: CloudId, now: Instant) -> Creates:
    """What the rows themselves say."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT group_id, cloud, phase, intended_at FROM members").fetchall()
    outstanding = [(row[0], row[1]) for row in rows if row[2] in _OUTSTANDING]
    recent = [(row[0], row[1]) for row in rows if row[3] > now - HOUR]
    return Creates(
        group_outstanding=sum(of == group for of, _ in outstanding),
        group_past_hour=sum(of == group for of, _ in recent),
        cloud_outstanding=sum(on == cloud for _, on in outstanding),
        cloud_past_hour=sum(on == cloud for _, on in recent),
    )


def read(store: SqliteStore, group: GroupId) -> tuple[Record, ...]:
    """The members as they are on disk."""
    with store._snapshot() as connection:
        return read_members(connection, group)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_written_members_and_counts_are_those_of_the_rows(tmp_path: Path, seed: int) -> None:
    chance, path, now = Random(seed), tmp_path / "store.sqlite", NOW  # noqa: S311 a seed, no secret
    store = SqliteStore.open(path, installation=INSTALLATION)
    store.declare([a_definition("web"), a_definition("api")], now)
    for _ in range(40):
        group, cloud = chance.choice([WEB, API]), chance.choice([LOCAL, FAR])
        now = Instant(now + chance.choice([0.0, 1.0, 600.0, 1800.0]))
        members = store.members(group)
        match chance.randrange(4):
            case 0 | 1:
                store.intend(group, cloud, chance.randint(1, 3), (), now)
            case 2 if members:
                record = chance.choice(members)
                phase = chance.choice([phase for phase in Phase if phase is not Phase.INTENDED])
                store.save([replace(record, phase=phase)], cloud)
            case _:
                line = store.begin_step(group, "create", None, now, members[:1], cloud)
                assert line
        asked = chance.choice([LOCAL, FAR])
        assert store.creates(group, asked, now) == counted(path, group, asked, now)
        assert store.members(group) == read(store, group)
    store.drop_group(API)
    assert store.members(API) == ()
    assert store.creates(WEB, LOCAL, now) == counted(path, WEB, LOCAL, now)
    store.close()


def test_a_write_that_failed_changes_no_count(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.sqlite", installation=INSTALLATION)
    store.declare([a_definition("web")], NOW)
    store.intend(WEB, LOCAL, 2, (), NOW)
    before, members = store.creates(WEB, LOCAL, NOW), store.members(WEB)
    unknown = replace(members[0], group=GroupId("unknown"))
    with pytest.raises(StoreError, match="group unknown is not in the store"):
        store.save([replace(members[0], protected=True), unknown], LOCAL)
    assert (store.creates(WEB, LOCAL, NOW), store.members(WEB)) == (before, members)
    store.close()


def test_a_reading_that_fails_is_made_again() -> None:
    tally, fails = CreateTally(), [True]

    def read(_: GroupId | None) -> tuple[Creation, ...]:
        if fails.pop():
            raise StoreError("the disk does not answer")
        return (Creation(WEB, MemberName("web-1"), LOCAL, NOW, outstanding=True),)

    with pytest.raises(StoreError):
        tally.counts(WEB, LOCAL, NOW, read)
    fails.append(False)
    assert tally.counts(WEB, LOCAL, NOW, read).cloud_outstanding == 1


def test_a_group_that_nothing_has_changed_is_not_read_again() -> None:
    tally, asked = CreateTally(), list[GroupId | None]()

    def read(group: GroupId | None) -> tuple[Creation, ...]:
        asked.append(group)
        return ()

    for _ in range(3):
        tally.counts(WEB, LOCAL, NOW, read)
    tally.forget([API])
    tally.counts(WEB, LOCAL, NOW, read)
    assert asked == [None, API]
