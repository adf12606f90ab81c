"""What a worker is in ``/metrics``: whether it holds the lease, and whether another one could take over."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from config.errors import Refused
from handler.leasing.workers import ClusterStatus, WorkerRole
from handler.ports.cluster import Cluster


class WorkerGauges(Collector):
    """The lease as this worker knows it, at each scrape; a daemon that is no worker has no samples.

    Of a process that works for several shards, samples bear the shard's name: a rule can tell which has no holder.
    """

    def __init__(self, cluster: Cluster | None) -> None:
        self._cluster = cluster
        shard = "" if cluster is None else cluster.shard
        self._labels, self._values = (["shard"], [shard]) if shard else ([], [])

    def collect(self) -> Iterator[Metric]:
        """Six families; what is not known has no sample."""
        cluster = self._cluster
        status = None if cluster is None else _status(cluster)
        taken = CounterMetricFamily(
            "trimtab_worker_takeovers", "How often this process has taken the lease.", labels=self._labels
        )
        if cluster is not None:
            taken.add_metric(self._values, cluster.taken)
        yield taken
        left = None if cluster is None else max(cluster.left, 0.0)
        holds = None if left is None else float(left > 0)
        yield self._gauge("holds_lease", "1 while this worker has the lease and acts.", holds)
        yield self._gauge("lease_left_seconds", "How long this worker may act if the lease is not renewed.", left)
        yield self._gauge("lease_epoch", "Number of the lease's holder.", None if status is None else status.epoch)
        yield self._gauge("standbys", "Workers that could take over now.", None if status is None else status.standbys)
        barred = None if status is None else float(_is_barred(status))
        yield self._gauge("barred", "1 if this worker could not take over; trimtab cluster status says why.", barred)

    def _gauge(self, name: str, text: str, value: float | None) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"trimtab_worker_{name}", text, labels=self._labels)
        if value is not None:
            family.add_metric(self._values, value)
        return family


def _status(cluster: Cluster) -> ClusterStatus | None:
    """Return what the database says; ``None``: it has not been read lately."""
    try:
        status = cluster.status()
    except Refused:
        return None
    return None if status.unread_s else status


def _is_barred(status: ClusterStatus) -> bool:
    return any(each.name == status.worker and each.role is WorkerRole.BARRED for each in status.workers)
