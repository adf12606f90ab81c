"""Paths into the declared model, and how people say them."""

from __future__ import annotations

from typing import TypeAlias

Where: TypeAlias = tuple[str, ...]
"""The keys that lead to a value, from the top; items of a list by their number from 0."""


def dotted(where: Where) -> str:
    """Write a path as people say it; items of a list count from 1.

    >>> dotted(("groups", "web", "policies", "0"))
    'groups.web.policies[1]'
    """
    text = ""
    for part in where:
        if part.isascii() and part.isdigit() and text:
            text += f"[{int(part) + 1}]"
        else:
            text += ("." if text else "") + (part if part.isprintable() and part else ascii(part))
    return text
