"""The workers on one store, as the holder of the lease shows them, and how it hands the lease over."""

from __future__ import annotations

from config.errors import Refused
from handler.engine.engine import Engine
from handler.leasing.workers import NO_WORKERS, ClusterStatus


class ClusterAdmin:
    """Shows the workers, and hands the lease over."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def status(self) -> ClusterStatus:
        """Return the lease and the workers; of a daemon that is none, that there are none."""
        cluster = self._engine.parts.cluster
        return NO_WORKERS if cluster is None else cluster.status()

    def hand_over(self) -> ClusterStatus:
        """Give the lease back soon, and return who could take it.

        Raises:
            Refused: this daemon is no worker, or no other worker could take over.
        """
        cluster = self._engine.parts.cluster
        if cluster is None:
            raise Refused("this daemon is no worker: it runs without --worker, alone over its store")
        cluster.hand_over()
        return cluster.status()
