"""What a new member is made of, by the kind of its cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecipe:
    """How to start one member process; the driver adds ``TRIMTAB_*`` to the environment."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    directory: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoProgram:
    """A simulated member runs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackRecipe:
    """What a virtual machine of CloudStack is made of. What has a name there may be written as name or id."""

    zone: str
    template: str
    offering: str
    """The service offering."""
    networks: tuple[str, ...] = ()
    """None: the account's default network."""
    affinity_groups: tuple[str, ...] = ()
    user_data: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    """More parameters of ``deployVirtualMachine``, sorted by name."""
    short_names: bool = False
    """Host names of at most 15 characters, as NetBIOS and so Windows have them."""


Recipe = ProcessRecipe | NoProgram | CloudstackRecipe
"""Closed union of what members are made of."""
