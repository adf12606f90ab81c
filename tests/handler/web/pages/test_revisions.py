from __future__ import annotations

import json
from dataclasses import replace

from config.document.entities import Entity
from config.model.sections import Section
from config.units import Instant
from handler.ports.declarations import EntityChange, EntityRevision
from handler.web.pages.revisions import revisions_page

BUSY = Entity(section=Section.CONDITIONS, id="busy", name="busy", text='{"above": 60, "window": "1m"}', revision=1)
PROFILE = Entity(section=Section.PROFILES, id="app", name="app", text='{"user_data": "s3cret"}', revision=1)


def a_revision(before: Entity | None, after: Entity | None, number: int = 2) -> EntityRevision:
    key = (after or before or BUSY).key
    change = EntityChange(key=key, before=before, after=after)
    return EntityRevision(number=number, at=Instant(0.0), by="ada", origin="token", changes=(change,))


def shown(*revisions: EntityRevision, before: int | None = None) -> str:
    return str(revisions_page(revisions, before))


def test_a_change_is_shown_value_by_value_and_what_means_the_same_is_not() -> None:
    after = replace(BUSY, name="Busy", text=json.dumps({"above": 70, "window": "60s", "aggregate": "max"}))
    page = shown(a_revision(BUSY, after))
    assert "<li>name: busy → Busy</li>" in page
    assert "<li>above: 60 → 70</li>" in page
    assert "<li>aggregate: not set → max</li>" in page
    assert "window" not in page


def test_what_was_made_or_deleted_is_shown_whole() -> None:
    assert "conditions.busy: made <code>" in shown(a_revision(None, BUSY))
    assert "conditions.busy: deleted <code>" in shown(a_revision(BUSY, None))


def test_no_value_that_may_be_a_secret_is_shown_but_that_it_changed_is() -> None:
    after = replace(PROFILE, text='{"user_data": "another s3cret"}')
    page = shown(a_revision(PROFILE, after), a_revision(None, PROFILE), a_revision(after, None))
    assert "s3cret" not in page
    assert "<li>user_data: changed</li>" in page


def test_older_revisions_are_a_link_away() -> None:
    many = [a_revision(None, BUSY, number) for number in range(60, 0, -1)]
    first = shown(*many)
    assert ("Revision 11<" in first, "Revision 10<" in first) == (True, False)
    assert 'href="/declared/revisions?before=11"' in first
    last = shown(*many, before=11)
    assert ("Revision 11<" in last, "Revision 10<" in last, ">Older<" in last, ">Newest<" in last) == (
        False, True, False, True,
    )  # fmt: skip
