"""Fields that were renamed go by their old names wherever they are read or shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from handler.snapshots.parts import FoundProblems, Part
from handler.snapshots.text import read_text
from handler.web.render import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A class with a field that was called ``registrations``."""

    registrations: int = field(metadata={"wire": "seats"})
    note: str


def test_a_renamed_field_is_shown_and_read_under_its_old_name() -> None:
    value = Registered(registrations=3, note="new")
    shown = plain(value)
    assert shown == {"seats": 3, "note": "new"}
    document, places = read_text(b'{"seats": 3, "note": "new"}', "world.json")
    problems = FoundProblems("world.json", places)
    assert Registered(**Part(document, (), problems).fields(Registered)) == value
    problems.conclude()
