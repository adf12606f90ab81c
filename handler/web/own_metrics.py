"""The part of the metrics that is about a caller's own groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from config.units import GroupId
from handler.identity.grants import Grants

_GROUP = re.compile(r'[{,]group="((?:[^"\\]|\\.)*)"')


def of_own_groups(text: bytes, grants: Grants) -> bytes:
    r"""Return metrics in Prometheus' text format, of the caller's groups only; what names no group is the daemon's.

    >>> own = Grants(frozenset(), frozenset({GroupId("web")}))
    >>> metrics = b'# TYPE size gauge\nsize{group="web"} 2.0\nsize{group="db"} 3.0\n# TYPE up gauge\nup 1.0\n'
    >>> of_own_groups(metrics, own)
    b'# TYPE size gauge\nsize{group="web"} 2.0\n'
    """
    if grants.groups is None:
        return text
    return "".join(f"{line}\n" for line in _own(text.decode().splitlines(), grants)).encode()


def _own(lines: list[str], grants: Grants) -> Iterator[str]:
    """Yield own samples; the comments before them, once."""
    comments: list[str] = []
    for line in lines:
        if line.startswith("#"):
            if line.startswith("# HELP"):
                comments.clear()
            comments.append(line)
            continue
        found = _GROUP.search(line)
        if found is not None and grants.sees(GroupId(found[1])):
            yield from comments
            comments.clear()
            yield line
