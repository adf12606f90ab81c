"""Paths into the declared model, how people say them, and the nearest of the words that would have been right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeAlias

Where: TypeAlias = tuple[str, ...]
"""The keys that lead to a value, from the top; items of a list by their number from 0."""


_PLACE = 18
"""Digits: no list is longer."""


def dotted(where: Where) -> str:
    """Write a path as people say it; items of a list count from 1.

    >>> dotted(("groups", "web", "policies", "0"))
    'groups.web.policies[1]'
    """
    text = ""
    for part in where:
        if part.isascii() and part.isdigit() and len(part) <= _PLACE and text:
            text += f"[{int(part) + 1}]"
        else:
            text += ("." if text else "") + (part if part.isprintable() and part else ascii(part))
    return text


def nearest_of(word: str, known: Iterable[str]) -> str | None:
    """Find the known word that a mistaken one most likely meant, however it was capitalised.

    >>> nearest_of("intervall", ["interval", "min"])
    'interval'
    >>> nearest_of("colour", ["interval", "min"]) is None
    True
    """
    folded = {entry.lower(): entry for entry in sorted(known, reverse=True)}
    close = difflib.get_close_matches(word[:100].lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def hint(word: str, known: Iterable[str]) -> str:
    """Complete a message about a word that is not known: the nearest, or else the whole short list.

    >>> hint("mx", ["min", "max"])
    '; the nearest is max'
    >>> hint("size", ["min", "max"])
    '; known are max, min'
    """
    words = sorted(known)
    close = nearest_of(word, words)
    if close is not None:
        return f"; the nearest is {close}"
    shown = ", ".join(words[:_SHOWN]) + (", …" if len(words) > _SHOWN else "")
    return f"; known are {shown}" if words else "; none is declared"


_SHOWN = 16
