"""An edit of the file, as people are told of it: one key that changed, and which groups that touches."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import GroupId


class Act(enum.Enum):
    """What an edit did to a key or to a whole entry."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One key that was edited, or one entry that was added or removed as a whole."""

    key: str
    """As people say it: ``conditions.busy.above``."""
    act: Act
    before: str | None
    """As it was written; ``None``: it was not there, it is a whole entry, or it may be a secret."""
    after: str | None
    """Likewise, as it is written now."""
    file: str
    line: int
    """Where it stands now; of what was removed, what it stood in."""
    groups: tuple[GroupId, ...]
    """Which groups it touches, itself or through what they use; sorted."""

    @property
    def words(self) -> str:
        """What changed, without the place.

        >>> Edit(key="groups.web.max", act=Act.CHANGED, before="8", after="9", file="f", line=1, groups=()).words
        'groups.web.max: 8 → 9'
        """
        if self.before is None and self.after is None:
            return f"{self.key}: {self.act.value}"
        return f"{self.key}: {self.before or 'not set'} → {self.after or 'not set'}"
