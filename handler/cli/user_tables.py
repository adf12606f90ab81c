"""Users, tokens, key pairs, accounts and domains as tables, from the API's JSON."""

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
    Column("NAME IN ITS ACCOUNT", itemgetter("display_name")),
    Column("ACCOUNT", itemgetter("account")),
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

_ACCOUNTS: tuple[Column[Row], ...] = (
    Column("ACCOUNT", itemgetter("account")),
    Column("DOMAIN", itemgetter("path")),
    Column("GROUPS", lambda account: _used(account, "groups")),
    Column("MEMBERS (MAX)", lambda account: _used(account, "members")),
    Column("CREATED (UTC)", lambda account: clock_text(account["created_at"] or None)),
)
_DOMAINS: tuple[Column[Row], ...] = (
    Column("DOMAIN", itemgetter("domain")),
    Column("PATH", itemgetter("path")),
    Column("UUID", itemgetter("uuid")),
)


def _used(account: Row, what: str) -> str:
    most = account["quota"][what]
    return f"{account['used'][what]} of {'any number' if most is None else most}"


def accounts_table(accounts: list[Row]) -> RenderableType:
    """Return one line for each account."""
    return table(_ACCOUNTS, accounts, nothing="there are no accounts")


def domains_table(domains: list[Row]) -> RenderableType:
    """Return one line for each domain."""
    return table(_DOMAINS, domains, nothing="there are no domains")


def _pair_notes(pair: Row) -> str:
    notes = ("two pairs live" if pair["rotating"] else "", "" if pair["opens"] else "cannot be opened")
    return "; ".join(note for note in notes if note)


_KEY_PAIRS: tuple[Column[Row], ...] = (
    Column("USER", itemgetter("user")),
    Column("NAME", itemgetter("name")),
    Column("API KEY", itemgetter("api_key")),
    Column("EXPIRES (UTC)", lambda pair: "never" if pair["expires_at"] is None else clock_text(pair["expires_at"])),
    Column("LAST USED (UTC)", lambda pair: clock_text(pair["last_used_at"])),
    Column("NOTES", _pair_notes),
)


def users_table(users: list[Row]) -> RenderableType:
    """Return one line for each user."""
    return table(_USERS, users, nothing="there are no users: trimtab user init NAME")


def tokens_table(tokens: list[Row]) -> RenderableType:
    """Return one line for each token."""
    return table(_TOKENS, tokens, nothing="there are no tokens: trimtab token new USER NAME")


def key_pairs_table(pairs: list[Row]) -> RenderableType:
    """Return one line for each key pair."""
    return table(_KEY_PAIRS, pairs, nothing="there are no key pairs: trimtab user key new USER")
