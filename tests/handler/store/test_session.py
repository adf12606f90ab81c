from __future__ import annotations

from handler.store.session import Kept


class Shelf:
    """The content of the disk, and the number of reads."""

    def __init__(self) -> None:
        self.content = "old"
        self.looks = 0

    def look(self) -> str:
        self.looks += 1
        return self.content


def test_what_was_read_is_not_read_again() -> None:
    shelf, kept = Shelf(), Kept[str, str]()

    assert [kept.read("web", shelf.look), kept.read("web", shelf.look)] == ["old", "old"]
    assert shelf.looks == 1


def test_after_a_write_it_is_read_anew_and_others_are_not() -> None:
    web, api, kept = Shelf(), Shelf(), Kept[str, str]()
    kept.read("web", web.look)
    kept.read("api", api.look)

    web.content = "new"
    kept.forget({"web"})

    assert (kept.read("web", web.look), kept.read("api", api.look)) == ("new", "old")
    assert (web.looks, api.looks) == (2, 1)


def test_a_read_during_a_write_keeps_no_outdated_value() -> None:
    shelf, kept = Shelf(), Kept[str, str]()

    def overtaken() -> str:
        seen = shelf.look()
        shelf.content = "new"
        kept.forget({"web"})
        return seen

    assert kept.read("web", overtaken) == "old"
    assert kept.read("web", shelf.look) == "new"


def test_a_slow_reader_does_not_bring_back_what_a_quick_one_has_read_anew() -> None:
    shelf, kept = Shelf(), Kept[str, str]()

    def slow() -> str:
        seen = shelf.look()
        shelf.content = "new"
        kept.forget({"web"})
        kept.read("web", shelf.look)
        return seen

    kept.read("web", slow)

    assert kept.read("web", shelf.look) == "new"
