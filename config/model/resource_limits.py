"""What one process of this machine may use."""

from __future__ import annotations

from dataclasses import dataclass

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
