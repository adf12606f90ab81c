"""What a new member is made of, by the kind of its cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.model.access import SecretRef
from config.model.libvirt import LibvirtRecipe
from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """Bounds of a member and of each process that it starts, each for itself; ``None``: the daemon's own."""

    memory: int | None = None
    """Bytes that it may write to for itself (``RLIMIT_DATA``)."""
    cpu_time: Seconds | None = None
    open_files: int | None = None
    file_size: int | None = None
    """Bytes of any file that it writes, its log included."""
    core: int = 0
    """Bytes of what is written when it crashes."""
    nice: int | None = None
    """0 to 19: the higher, the less of a busy processor."""


UNLIMITED = ResourceLimits()
"""As the daemon itself, and no core file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecipe:
    """How to start one member process; the driver adds ``TRIMTAB_*`` to the environment."""

    command: tuple[str, ...]
    env: Mapping[str, str | SecretRef] = field(default_factory=lambda: MappingProxyType({}))
    """Values, or where they are kept: those are read for each new member."""
    directory: str | None = None
    limits: ResourceLimits = UNLIMITED
    new_privileges: bool = False
    """Set-user-id programs and file capabilities have an effect."""


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


Extra = tuple[tuple[str, str | tuple[tuple[str, str], ...]], ...]
"""Attributes of an OpenNebula template, in order: names in upper case, and single values or vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute of an OpenNebula template: a single value, or a vector of them."""

    name: str
    single: str | None = None
    vector: tuple[tuple[str, str], ...] = ()


def attributes_of(extra: Extra) -> tuple[Attribute, ...]:
    """Name what each is, so that it can be stored."""
    return tuple(
        Attribute(name=name, single=value) if isinstance(value, str) else Attribute(name=name, vector=value)
        for name, value in extra
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaRecipe:
    """What a virtual machine of OpenNebula is made of. Template and networks may be written as name or id."""

    template: str
    networks: tuple[str, ...] = ()
    """None: those of the template."""
    extra: tuple[Attribute, ...] = ()
    """Attributes that are put in the place of the template's own of the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneflowRecipe:
    """Where a member is to be a node. What it is made of, the service says."""

    service: str
    """By name or id."""
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BootVolume:
    """The disk that a server starts from, made of its image, where the flavor's own is not wanted."""

    size: int
    """GiB."""
    kind: str | None = None
    """The volume type."""
    keep: bool = False
    """It stays when the server is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Which of a server's fixed addresses is its address. ``None``: the first network; version 4 before 6."""

    network: str | None = None
    version: int | None = None


_FIRST = Reach()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenstackRecipe:
    """What a server of OpenStack is made of. What has a name there may be written as name or id."""

    image: str
    flavor: str
    networks: tuple[str, ...] = ()
    """None: Nova chooses."""
    no_network: bool = False
    key_name: str | None = None
    security_groups: tuple[str, ...] = ()
    availability_zone: str | None = None
    server_group: str | None = None
    boot_volume: BootVolume | None = None
    user_data: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Beside our own."""
    config_drive: bool = False
    reach: Reach = _FIRST


Recipe = (
    ProcessRecipe | NoProgram | CloudstackRecipe | OpennebulaRecipe | OneflowRecipe | OpenstackRecipe | LibvirtRecipe
)
"""Closed union of what members are made of."""
