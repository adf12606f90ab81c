"""Settings of a group that a person applied last: what to go back to, as the store keeps it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from config.model.where import Where, dotted
from config.units import GroupId, Instant


class SettingsOwner(enum.Enum):
    """Which of the two declarations has some values."""

    FILE = "file"
    API = "api"
    BOTH = "both"
    """The file has some of them, and the API has others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingValue:
    """One value that is declared, or was; each as YAML has it, with its quotes."""

    where: Where
    before: str
    after: str

    @property
    def name(self) -> str:
        """As people say it: ``conditions.busy.above``."""
        return dotted(self.where)

    @property
    def words(self) -> str:
        """What changes, as one line."""
        return f"{self.name}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedSettings:
    """What one person's act changed of a group's settings."""

    at: Instant
    by: str
    owner: SettingsOwner
    values: tuple[SettingValue, ...]
    entries: Mapping[str, str]
    """Each entry that has these values → a digest of it after the change."""
    revision: int | None
    """Of what is declared over the API; ``None``: the file has all the values."""
    is_return: bool
    """It went back to earlier values."""


class SettingStore(Protocol):
    """The newest of them for each group."""

    def applied_settings(self, group: GroupId) -> AppliedSettings | None:
        """What was applied last; ``None``: nothing was, or the group is gone."""
        ...

    def save_applied_settings(self, group: GroupId, applied: AppliedSettings) -> None:
        """Write down what was applied.

        Raises:
            StoreError: there is no such group, or it cannot be written.
        """
        ...
