"""Entity tags of sizes: by them a caller says which size it has read (RFC 9110, ``ETag`` and ``If-Match``). Pure.

A tag has the revision of the desired size and the size, ``"7.4"``. The tag of a whole group begins alike and goes on
with a digest of the answer: ``"7.4.mJ5…"``. So either says which size its reader has seen.
"""

from __future__ import annotations

import re

from config.errors import Refused

NEVER = -1
"""A revision that no group has."""
ANY = "*"
_TAG = re.compile(r'(?P<weak>W/)?"(?P<opaque>[\x21\x23-\x7e\x80-\xff]*)"')
_SIZE = re.compile(r"(?P<revision>\d{1,18})\.(?P<size>\d{1,18}|none)(?:\..*)?")


class ChangedSince(Refused):
    """What the caller has read has changed since, and nothing was done."""


def size_tag(revision: int, desired: int | None) -> str:
    """Return the tag of a size.

    >>> size_tag(7, 4), size_tag(0, None)
    ('"7.4"', '"0.none"')
    """
    return f'"{revision}.{"none" if desired is None else desired}"'


def expected_revision(if_match: str | None, revision: int, desired: int | None) -> int | None:
    """Return the revision that a size must have for a request to be carried out.

    Args:
        if_match: the header; ``None``: the request has none.
        revision: of the size at this moment.
        desired: the size at this moment.

    Returns:
        ``None``: any; `NEVER`: the header names no tag of the present size.

    >>> expected_revision('"7.4"', 7, 4), expected_revision('"6.4", "7.4.abc"', 7, 4), expected_revision('"6.4"', 7, 4)
    (7, 7, -1)
    >>> expected_revision("*", 7, 4), expected_revision('W/"7.4"', 7, 4), expected_revision("7.4", 7, 4)
    (None, -1, -1)
    """
    if if_match is None or if_match.strip() == ANY:
        return None
    present = (str(revision), "none" if desired is None else str(desired))
    strong = (found["opaque"] for found in _TAG.finditer(if_match) if not found["weak"])
    sizes = (_SIZE.fullmatch(opaque) for opaque in strong)
    return revision if any(found and found.groups() == present for found in sizes) else NEVER


def matches_revision(if_match: str | None, revision: int) -> bool:
    """Tell whether a request may change what a revision wrote, whose tag begins with its number; without a tag it may.

    >>> matches_revision('"7.mJ5x"', 7), matches_revision('"6.mJ5x"', 7), matches_revision(None, 7)
    (True, False, True)
    """
    if if_match is None or if_match.strip() == ANY:
        return True
    strong = (found["opaque"] for found in _TAG.finditer(if_match) if not found["weak"])
    return any(opaque.partition(".")[0] == str(revision) for opaque in strong)


def matches_tag(if_match: str | None, tag: str) -> bool:
    """Tell whether a request may change what has this tag; one without a tag may.

    >>> matches_tag('"a", "b"', '"b"'), matches_tag('W/"b"', '"b"'), matches_tag("*", '"b"'), matches_tag(None, '"b"')
    (True, False, True, True)
    """
    if if_match is None or if_match.strip() == ANY:
        return True
    return any(f'"{found["opaque"]}"' == tag for found in _TAG.finditer(if_match) if not found["weak"])


def matches_none(if_none_match: str, tag: str) -> bool:
    """Tell whether a reader does not have this tag's answer yet (``If-None-Match``; weak comparison).

    >>> matches_none('"a", W/"b"', '"b"'), matches_none("*", '"b"'), matches_none('"a"', '"b"')
    (False, False, True)
    """
    if if_none_match.strip() == ANY:
        return False
    return f"{tag.removeprefix('W/')}" not in {f'"{found["opaque"]}"' for found in _TAG.finditer(if_none_match)}
