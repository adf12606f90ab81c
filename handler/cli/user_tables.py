"""Users and tokens as tables, from the API's JSON."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from rich.console import RenderableType

from handler.cli.columns import Column, table
from handler.cli.time_format import clock_text

Row = dict[str, Any]


def _scope(words: list[str] | None) -> str:
    return "all" if words is None else ", ".join(words)


def _notes(token: Row) -> str:
    return "two tokens live" if token["rotating"] else ""


_USERS: tuple[Column[Row], ...] = (
    Column("USER", itemgetter("name")),
    Column("ROLE", itemgetter("role")),
    Column("GROUPS", lambda user: _scope(user["groups"])),
    Column("CREATED (UTC)", lambda user: clock_text(user["created_at"])),
    Column("DISABLED (UTC)", lambda user: clock_text(user["disabled_at"])),
)
_TOKENS: tuple[Column[Row], ...] = (
    Column("USER", itemgetter("user")),
    Column("TOKEN", itemgetter("name")),
    Column("GROUPS", lambda token: _scope(token["groups"])),
    Column("RIGHTS", lambda token: _scope(token["verbs"])),
    Column("EXPIRES (UTC)", lambda token: "never" if token["expires_at"] is None else clock_text(token["expires_at"])),
    Column("LAST USED (UTC)", lambda token: clock_text(token["last_used_at"])),
    Column("NOTES", _notes),
)


def users_table(users: list[Row]) -> RenderableType:
    """Return one line for each user."""
    return table(_USERS, users, nothing="there are no users: trimtab user init NAME")


def tokens_table(tokens: list[Row]) -> RenderableType:
    """Return one line for each token."""
    return table(_TOKENS, tokens, nothing="there are no tokens: trimtab token new USER NAME")
