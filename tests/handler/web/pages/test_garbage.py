from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handler.planning.garbage import GarbageKind, Item
from handler.web.pages.garbage import GarbageFacts, garbage_page
from tests.support.filled import filled
from tests.support.pages import NOW
from tests.support.store import at

HOSTILE = "<img src=x onerror=alert(1)>"
PIECE: Item = replace(filled(Item), name="web-k3f9ab-4", group="web", kind=GarbageKind.STUCK, since=at(0))


def shown(*items: Item, **facts: Any) -> str:
    given = {"unseen": (), "now": NOW, "is_there": lambda group: group == "web", "csrf": "token", **facts}
    return str(garbage_page(GarbageFacts(items=items, **given)))


@pytest.mark.parametrize("kind", GarbageKind)
def test_only_what_can_be_abandoned_has_a_form_for_it(kind: GarbageKind) -> None:
    item = replace(PIECE, kind=kind)
    assert ('value="web-k3f9ab-4"' in shown(item)) is item.can_be_abandoned


def test_a_visitor_who_may_abandon_nothing_sees_no_form() -> None:
    assert "<form" not in shown(PIECE, csrf="")


def test_a_group_is_linked_only_where_it_has_a_page() -> None:
    assert 'href="/groups/web"' in shown(PIECE)
    assert "href" not in shown(replace(PIECE, group="old"))


def test_what_could_not_be_read_is_said_also_where_nothing_was_found() -> None:
    page = shown(unseen=("cloud prod: no answer",))
    assert "cloud prod: no answer" in page
    assert "There may be more" in page
    assert "No garbage." in page
    assert "There may be more" not in shown()


def test_what_a_cloud_says_is_text() -> None:
    hostile = replace(
        PIECE, name=HOSTILE, group=HOSTILE, where=HOSTILE, because=HOSTILE, server_id=HOSTILE, raw_state=HOSTILE
    )
    assert "<img" not in shown(hostile, message=HOSTILE, unseen=(HOSTILE,))
