"""Make foreign text fit to be repeated. Pure."""

from __future__ import annotations

_LONGEST = 300


def shown(text: str) -> str:
    r"""Make a foreign text fit for one line of a message.

    >>> shown(" no\nhost ")
    'no host'
    """
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
