"""The daemon's names, for a shell that completes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

_PATIENCE = 1.0
"""The most seconds that a person waits after the Tab key."""


def group_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the daemon's groups that begin like this; none if no daemon answers."""
    return _beginning(incomplete, (each["group"] for each in _asked(ctx, "groups") or ()))


def member_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the members of the group named before that begin like this."""
    group = ctx.params.get("group")
    found = _asked(ctx, "groups", group, "members") if isinstance(group, str) else None
    return _beginning(incomplete, (each["name"] for each in found or ()))


def hook_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the webhooks that begin like this."""
    return _beginning(incomplete, (each["name"] for each in _asked(ctx, "hooks") or ()))


def user_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the users that begin like this."""
    answer = _answer(ctx, "users")
    users = answer.get("users", ()) if isinstance(answer, dict) else ()
    return _beginning(incomplete, (each["name"] for each in users))


def account_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the accounts that begin like this."""
    return _beginning(incomplete, (each["account"] for each in _asked(ctx, "accounts") or ()))


def domain_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the domains that begin like this."""
    return _beginning(incomplete, (each["domain"] for each in _asked(ctx, "domains") or ()))


def token_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tokens of the user named before that begin like this."""
    user = ctx.params.get("user")
    return _beginning(incomplete, (each["name"] for each in _asked(ctx, "tokens") or () if each["user"] == user))


def key_pair_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the key pairs of the user named before that begin like this."""
    user = ctx.params.get("user")
    return _beginning(incomplete, (each["name"] for each in _asked(ctx, "keys") or () if each["user"] == user))


def _beginning(incomplete: str, names: Any) -> list[str]:  # noqa: ANN401  # JSON from the daemon
    return [name for name in names if name.startswith(incomplete)]


def _asked(ctx: typer.Context, *parts: str) -> Any:  # noqa: ANN401  # JSON from the daemon
    """Return the daemon's answer if it is a list, else ``None``."""
    answer = _answer(ctx, *parts)
    return answer if isinstance(answer, list) else None


def _answer(ctx: typer.Context, *parts: str) -> Any:  # noqa: ANN401  # JSON from the daemon
    """Return the daemon's answer, or ``None``: a shell shows no errors while a person types."""
    import os

    from config.errors import Refused
    from config.settings import state_directory
    from handler.cli import client
    from handler.cli.shards import answers_of, shards_below, socket_for

    chosen = ctx.params.get("state")
    state, call = Path(chosen) if chosen else state_directory(os.environ), client.question(*parts)
    if parts == ("groups",) and (shards := shards_below(state)):
        return [group for found, _ in answers_of(shards, *parts, within=_PATIENCE).values() for group in found or ()]
    try:
        _, answer = client.ask(socket_for(state, call, within=_PATIENCE), call, within=_PATIENCE)
    except (client.NotReachable, Refused, OSError):
        return None
    return answer
