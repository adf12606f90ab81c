from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from config.units import GroupId
from handler.identity.rights import UserRole
from handler.web.paging import BadCursor, cursor_of, key_in, page
from handler.web.problems import ProblemType, uri_of
from tests.handler.web.test_rights import API, play, user
from tests.support.asked import asked
from tests.support.engines import Up

ADMIN = user(UserRole.ADMIN)
PATH = "/api/v1/things"


@given(st.sets(st.integers(0, 50)), st.sets(st.integers(0, 50)), st.integers(1, 7), st.integers(0, 50))
def test_what_is_there_all_the_time_is_on_one_page_whatever_comes_and_goes(
    always: set[int], sometimes: set[int], limit: int, turn: int
) -> None:
    seen, after, pages = list[int](), None, 0
    while pages == 0 or after is not None:
        there = always | (sometimes if (pages + turn) % 2 else set())
        shown, after = page(sorted(there, reverse=True), lambda item: (item,), limit, after)
        assert len(shown) <= limit
        seen, pages = seen + shown, pages + 1
    assert seen == sorted(set(seen))
    assert set(seen) >= always


@pytest.mark.parametrize("key", [("web",), ("web", 3), (-7,), (1.5,), ("é\x00", "b", 2**62)])
def test_a_cursor_brings_its_key_back(key: tuple[Any, ...]) -> None:
    assert key_in(cursor_of(PATH, key), PATH, key) == key


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "é", "AAAA", "W10", "bnVsbA", cursor_of("/api/v1/others", ("web",)), cursor_of(PATH, (3,)),
     cursor_of(PATH, ("a", "b")), cursor_of(PATH, (2**63,)), "W" * 1000],
)  # fmt: skip
def test_a_cursor_of_another_list_and_what_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(BadCursor):
        key_in(cursor, PATH, (5,) if cursor == cursor_of(PATH, (2**63,)) else ("web",))


LISTS = (
    ("group", "groups"),
    ("name", "groups/web/members"),
    ("number", "groups/web/definitions"),
    ("balancer", "groups/web/balancers"),
    ("name", "hooks"),
)
"""What tells items apart, and the list."""


async def walk(app: FastAPI, path: str, limit: int) -> list[Any]:
    """All items of a list, page by page, by the addresses of Link."""
    found, address, pages = list[Any](), f"{path}?limit={limit}", 0
    while address and pages < 100:
        parts = urlsplit(address)
        reply = await asked(app, "GET", parts.path, ADMIN, query=parts.query)
        assert reply.status == 200, (address, reply)
        items = reply.json if isinstance(reply.json, list) else reply.json["users"]
        link = re.fullmatch(r'<([^>]+)>; rel="next"', reply.headers.get("link", '<>; rel="next"'))
        found, address, pages = found + items, link[1] if link else "", pages + 1
    return found


def test_the_pages_of_every_list_are_the_whole_list(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await up.grown(2)
        for name, path in LISTS:
            whole = (await asked(app, "GET", f"{API}/{path}", ADMIN)).json
            assert sorted(item[name] for item in whole) == [item[name] for item in await walk(app, f"{API}/{path}", 1)]
            assert whole, path

    play(tmp_path, scene)


def test_history_and_audit_lose_and_repeat_nothing_between_pages(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await up.grown(2)
        await asked(app, "POST", f"{API}/groups/web/pause", ADMIN, {})
        for number in range(5):
            await up.operations.attempts._trail.began(up.operations.now(), str(number))
        whole = (
            await asked(app, "GET", f"{API}/groups/web/history", ADMIN, query="limit=1000&kind=step&kind=note")
        ).json
        pages = await walk(app, f"{API}/groups/web/history", 2)
        steps = [event for event in pages if event["kind"] in {"step", "note"}]
        assert [event["at"] for event in steps[-len(whole) :]] == [event["at"] for event in whole]
        rows = [row["row"]["number"] for row in await walk(app, f"{API}/audit", 2)]
        assert rows == list(range(1, len(rows) + 1))
        assert len(rows) > 5

    play(tmp_path, scene)


def test_a_bad_cursor_is_answered_with_400(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        for path, query in (
            ("groups", "limit=1&cursor=x"),
            ("groups/web/history", "cursor=x"),
            ("audit", f"cursor={cursor_of(f'{API}/audit', (10**30,))}"),
        ):
            reply = await asked(app, "GET", f"{API}/{path}", ADMIN, query=query)
            assert (reply.status, reply.json["type"]) == (400, uri_of(ProblemType.BAD_CURSOR)), path

    play(tmp_path, scene)


def test_a_page_has_only_the_caller_s_own_groups(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        reply = await asked(app, "GET", f"{API}/groups", user(UserRole.VIEWER, GroupId("web")), query="limit=1")
        assert [group["group"] for group in reply.json] == ["web"]
        assert "link" not in reply.headers

    play(tmp_path, scene)
