"""Which groups the first page shows, and in which order: by a search, a state and a sort, all in its address."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from config.units import GroupId
from handler.planning.status import GroupCondition, GroupOutline, severity

NEEDY = frozenset({GroupCondition.ERROR, GroupCondition.WARNING, GroupCondition.ORPHANED})
"""States in which a group needs a person."""


class Sort(enum.Enum):
    """The order of groups; those that are equal by it are in the order of their names."""

    WORST = "worst"
    NAME = "name"
    SIZE = "size"
    """Most members in service first."""
    MISSING = "missing"
    """The one that is the furthest below its desired size first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFilter:
    """What a person wants to see. The page's script chooses by the same rules (``console.js``)."""

    words: str = ""
    """Each of them is a part of the group's name or of its message, whatever the case."""
    state: str = ""
    """`TROUBLE`, the value of a `GroupCondition`, or empty for all."""
    sort: Sort = Sort.WORST

    def shows(self, outline: GroupOutline, why: str) -> bool:
        """Return whether a group is among them."""
        text = f"{outline.group} {why}".lower()
        return self._of_state(outline.condition) and all(word in text for word in self.words.lower().split())

    def _of_state(self, condition: GroupCondition) -> bool:
        if self.state == TROUBLE:
            return condition in NEEDY
        return self.state in {"", condition.value}


TROUBLE = "trouble"
STATES = ("", TROUBLE, *(condition.value for condition in GroupCondition))


def missing(outline: GroupOutline) -> int:
    """Return by how many members a group is below its desired size; 0 while that is not known."""
    if outline.desired is None or outline.in_service is None:
        return 0
    return max(outline.desired - outline.in_service, 0)


def order(outlines: Iterable[GroupOutline], sort: Sort) -> tuple[GroupId, ...]:
    """Return the groups in the order of a page."""
    return tuple(outline.group for outline in sorted(outlines, key=lambda each: (_rank(each, sort), each.group)))


def _rank(outline: GroupOutline, sort: Sort) -> int:
    match sort:
        case Sort.WORST:
            return severity(outline.condition)
        case Sort.NAME:
            return 0
        case Sort.SIZE:
            return -(outline.in_service or 0)
        case Sort.MISSING:
            return -missing(outline)
