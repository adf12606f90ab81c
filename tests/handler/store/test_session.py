from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from handler.planning.world import Phase, Record
from handler.store.session import EditionCache, Fleets
from tests.support.store import WEB, a_record


class Shelf:
    """The content of the disk, and the number of reads."""

    def __init__(self) -> None:
        self.content = "old"
        self.looks = 0

    def look(self) -> str:
        self.looks += 1
        return self.content


def test_what_was_read_is_not_read_again() -> None:
    shelf, kept = Shelf(), EditionCache[str, str]()

    assert [kept.read("web", shelf.look), kept.read("web", shelf.look)] == ["old", "old"]
    assert shelf.looks == 1


def test_after_a_write_it_is_read_anew_and_others_are_not() -> None:
    web, api, kept = Shelf(), Shelf(), EditionCache[str, str]()
    kept.read("web", web.look)
    kept.read("api", api.look)

    web.content = "new"
    kept.forget({"web"})

    assert (kept.read("web", web.look), kept.read("api", api.look)) == ("new", "old")
    assert (web.looks, api.looks) == (2, 1)


def test_a_read_during_a_write_keeps_no_outdated_value() -> None:
    shelf, kept = Shelf(), EditionCache[str, str]()

    def overtaken() -> str:
        seen = shelf.look()
        shelf.content = "new"
        kept.forget({"web"})
        return seen

    assert kept.read("web", overtaken) == "old"
    assert kept.read("web", shelf.look) == "new"


def test_a_slow_reader_does_not_bring_back_what_a_quick_one_has_read_anew() -> None:
    shelf, kept = Shelf(), EditionCache[str, str]()

    def slow() -> str:
        seen = shelf.look()
        shelf.content = "new"
        kept.forget({"web"})
        kept.read("web", shelf.look)
        return seen

    kept.read("web", slow)

    assert kept.read("web", shelf.look) == "new"


def test_records_that_are_written_are_added_to_those_that_were_read() -> None:
    first, second, third = (a_record(number) for number in (1, 2, 3))
    fleets = Fleets()
    fleets.read(WEB, lambda: (first, third))

    fleets.take(WEB, [second, replace(third, protected=True), replace(first, phase=Phase.GONE)])

    assert fleets.read(WEB, tuple) == (second, replace(third, protected=True))


class LockWithReaders:
    """A lock; as often as it is free again, a reader comes."""

    def __init__(self, read: Callable[[], tuple[Record, ...]]) -> None:
        self._read = read
        self._taken = False
        self.seen: list[tuple[Record, ...]] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        if not self._taken:
            self._taken = True
            self.seen.append(self._read())
            self._taken = False


def test_no_reader_misses_records_that_were_written_before_their_group_is_forgotten() -> None:
    first, second = (a_record(number) for number in (1, 2))
    fleets = Fleets()
    fleets.read(WEB, lambda: (first,))
    fleets.take(WEB, [second])
    lock = LockWithReaders(lambda: fleets.read(WEB, lambda: (first, second)))
    fleets._lock = lock  # type: ignore[assignment]

    fleets.forget((WEB,))

    assert set(lock.seen) == {(first, second)}


def test_a_read_during_a_write_of_records_is_not_kept() -> None:
    before = a_record()
    after = replace(before, protected=True)
    fleets = Fleets()

    def overtaken() -> tuple[Record, ...]:
        fleets.take(WEB, [after])
        return (before,)

    fleets.read(WEB, overtaken)

    assert fleets.read(WEB, lambda: (after,)) == (after,)


def test_a_slow_reader_does_not_undo_records_that_were_written_meanwhile() -> None:
    before = a_record()
    after = replace(before, protected=True)
    fleets = Fleets()

    def slow() -> tuple[Record, ...]:
        fleets.read(WEB, lambda: (before,))
        fleets.take(WEB, [after])
        fleets.read(WEB, tuple)
        return (before,)

    fleets.read(WEB, slow)

    assert fleets.read(WEB, tuple) == (after,)
