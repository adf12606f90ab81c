"""The other workers on the store, as a port of an engine that one of them runs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from config.document.places import ParsedText
from handler.leasing.workers import ClusterStatus


class Cluster(Protocol):
    """The workers of one store, as the holder sees them."""

    def status(self) -> ClusterStatus:
        """Return the lease and the workers, as they were read last."""
        ...

    def hand_over(self) -> None:
        """Begin to give the lease back, so that another worker takes it.

        Raises:
            Refused: no other worker could take it.
        """
        ...

    def announced(self, file: ParsedText) -> AbstractAsyncContextManager[None]:
        """Let the other workers know which file the block brings into force; `StoreError`: that cannot be written."""
        ...

    @property
    def shard(self) -> str:
        """Which of several shards of this process it is; empty: the process works for one store alone."""
        ...

    @property
    def left(self) -> float:
        """How long this worker may act if the lease is not renewed, in seconds; 0 or below: it may not."""
        ...

    @property
    def taken(self) -> int:
        """How often this process has taken the lease."""
        ...
