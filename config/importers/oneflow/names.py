"""Names of roles → names of groups, no two of them the same; the name of a service."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_LONGEST = 40
"""Host names begin with a group's name (`config.document.scalars.GroupName`)."""
_LONGEST_SERVICE = 80


def group_names(roles: Iterable[str]) -> Mapping[str, str]:
    """Give each role, all of different names, a group's name: small letters, digits and hyphens, a letter first.

    >>> dict(group_names(["frontend", "db_slave", "DB_slave", "3tier"]))
    {'frontend': 'frontend', 'db_slave': 'db-slave', 'DB_slave': 'db-slave-2', '3tier': 'role-3tier'}
    """
    given: dict[str, str] = {}
    for role in roles:
        given[role] = _free(_plain(role), set(given.values()))
    return given


def service_name(service: str) -> str:
    """Give a service a name that a declaration takes: letters, digits, hyphens and underscores, a letter first.

    >>> service_name("Sample Service"), service_name("3 tiers"), service_name("…")
    ('Sample-Service', 'service-3-tiers', 'service')
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", service).strip("-")
    return (name if re.match("[A-Za-z_]", name) else f"service-{name}".rstrip("-"))[:_LONGEST_SERVICE]


def numbered(stem: str, number: int) -> str:
    """The first of several has no number.

    >>> numbered("web-out", 1), numbered("web-out", 2)
    ('web-out', 'web-out-2')
    """
    return stem if number == 1 else f"{stem}-{number}"


def _plain(role: str) -> str:
    name = role.lower().replace("_", "-").strip("-")
    return (name if name[:1].isalpha() else f"role-{name}".rstrip("-"))[:_LONGEST]


def _free(name: str, used: set[str]) -> str:
    number = 1
    while (candidate := numbered(name[: _LONGEST - len(str(number)) - 1] if number > 1 else name, number)) in used:
        number += 1
    return candidate
