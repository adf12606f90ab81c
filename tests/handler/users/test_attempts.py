"""Refused requests in the trail: at most one a minute for each caller, whatever a caller sends."""

from __future__ import annotations

import asyncio
from typing import Any

from config.units import Instant
from handler.identity.actors import Actor, Origin, Way
from handler.users import attempts
from handler.users.attempts import RefusedAttempts
from handler.users.trail import AuditTrail
from tests.support.memory_users import MemoryUsers


def trail_of(*requests: tuple[float, str, str]) -> list[dict[str, Any]]:
    """The rows of requests, each an instant, an address and a path."""
    store, now = MemoryUsers(), [0.0]

    async def scene() -> None:
        trail = AuditTrail(store, None)
        await trail.start()
        noted = RefusedAttempts(trail, lambda: Instant(now[0]))
        for at, peer, on in requests:
            now[0] = at
            noted.note(Actor(name="", origin=Origin(way=Way.NONE, peer=peer)), on, "not accepted")
        await trail.stop()

    asyncio.run(scene())
    return [dict(row.fields) for row in store.trail]


def test_a_caller_has_a_row_a_minute_that_counts_what_was_left_out() -> None:
    rows = trail_of(*((float(second), "10.0.0.7", "GET /") for second in range(61)))
    assert [(row["at"], row["outcome"]) for row in rows] == [
        (0.0, "not accepted"),
        (60.0, "not accepted (59 more attempts before)"),
    ]


def test_callers_are_told_apart_and_a_clock_that_is_set_back_begins_anew() -> None:
    rows = trail_of((5.0, "10.0.0.7", "GET /"), (6.0, "10.0.0.8", "GET /"), (1.0, "10.0.0.7", "GET /"))
    assert [row["peer"] for row in rows] == ["10.0.0.7", "10.0.0.8", "10.0.0.7"]


def test_many_callers_cannot_fill_the_trail_and_a_long_path_is_cut() -> None:
    many = [(1.0, f"10.0.{number // 256}.{number % 256}", "GET /" + "x" * 5000) for number in range(3000)]
    rows = trail_of(*many, (100.0, "10.9.9.9", "GET /"))
    assert len(rows) == attempts._CALLERS_AT_MOST + 1
    assert max(len(row["on"]) for row in rows) == 200
