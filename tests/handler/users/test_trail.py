"""The trail in the store and its copy: together after every stop, crash and full disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from config.errors import StoreError
from config.units import Instant
from handler.identity.actors import Way
from handler.identity.audit import AuditEntry, AuditResult, AuditRow, broken
from handler.users.audit_file import AuditFile
from handler.users.trail import AuditTrail
from tests.support.memory_users import MemoryUsers


def entry(who: str) -> AuditEntry:
    return AuditEntry(at=Instant(1.0), who=who, way=Way.SOCKET, act="pause", result=AuditResult.DONE)


class Place:
    """A store, and a copy beside it, that outlive daemons."""

    def __init__(self, folder: Path) -> None:
        self.store, self.path = MemoryUsers(), folder / "audit.jsonl"

    def life(self, scene: Callable[[AuditTrail], Awaitable[object]]) -> None:
        """Play a scene while a daemon runs."""

        async def whole() -> None:
            trail = AuditTrail(self.store, self.path)
            await trail.start()
            await scene(trail)
            await trail.stop()

        asyncio.run(whole())

    def write(self, *names: str) -> None:
        self.life(lambda trail: asyncio.gather(*(trail.write(entry(name)) for name in names)))

    @property
    def copied(self) -> list[AuditRow | int]:
        return list(AuditFile(self.path).rows())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_is_written_is_in_the_store_and_in_the_copy_in_one_order(place: Place) -> None:
    place.write(*(f"user-{number}" for number in range(700)))
    assert len(place.store.trail) == 700
    assert place.copied == place.store.trail
    assert list(broken(place.store.trail)) == []
    assert place.path.stat().st_mode & 0o777 == 0o600


def test_the_chain_goes_on_over_restarts(place: Place) -> None:
    place.write("ada")
    place.write("bob")
    assert [row.number for row in place.store.trail] == [1, 2]
    assert list(broken(place.store.trail)) == []


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_copy_that_a_crash_cut_off_is_completed_at_the_next_start(place: Place, cut: int) -> None:
    place.write("ada", "bob")
    text = place.path.read_bytes()
    place.path.write_bytes(text[:-cut])
    place.write("eve")
    assert place.copied == place.store.trail


def test_a_copy_that_is_lost_is_written_again(place: Place) -> None:
    place.write("ada", "bob")
    place.path.unlink()
    place.write()
    assert place.copied == place.store.trail


def test_a_copy_that_could_not_be_written_is_completed_with_the_next_row(place: Place) -> None:
    async def scene(trail: AuditTrail) -> None:
        await trail.write(entry("ada"))
        aside = place.path.with_suffix(".aside")
        place.path.rename(aside)
        place.path.mkdir()  # nothing can be appended to a directory
        await trail.write(entry("bob"))
        place.path.rmdir()
        aside.rename(place.path)
        await trail.write(entry("eve"))
        assert place.copied == place.store.trail

    place.life(scene)


def test_numbers_go_on_after_the_copy_when_the_store_was_put_back(place: Place) -> None:
    place.write("ada", "bob")
    del place.store.trail[1:]
    place.write("eve")
    assert [row.number for row in place.store.trail] == [1, 3], "row 2 is missing, and stays so"
    assert [row.number for row in place.copied if isinstance(row, AuditRow)] == [1, 2, 3]


def test_an_entry_that_the_store_does_not_take_is_an_error_and_later_ones_are_taken(place: Place) -> None:
    async def scene(trail: AuditTrail) -> None:
        place.store.full = True
        with pytest.raises(StoreError):
            await trail.write(entry("ada"))
        place.store.full = False
        await trail.write(entry("bob"))
        assert [row.fields["who"] for row in place.store.trail] == ["bob"]
        assert place.copied == place.store.trail

    place.life(scene)


def test_a_copy_that_is_no_trail_keeps_the_daemon_from_starting(place: Place) -> None:
    place.path.write_text("hello\n")
    with pytest.raises(StoreError, match="move the file away"):
        place.write("ada")
