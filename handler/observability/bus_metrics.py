"""What ``/metrics`` says of the message buses of clouds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from config.units import CloudId
from handler.ingest.buses.reading import BusResult


class BusMetrics(Collector):
    """Whether each bus is listened to, as it is at each scrape; and what became of its messages.

    Args:
        registry: where both are exported.
        connected: returns of each cloud with a bus whether it is listened to now.
    """

    def __init__(self, registry: CollectorRegistry, connected: Callable[[], Mapping[CloudId, bool]]) -> None:
        self._connected = connected
        self._messages = Counter(
            "trimtab_event_bus_messages",
            "Messages on the event bus of a cloud, by what became of them.",
            ["cloud", "result"],
            registry=registry,
        )
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """One family."""
        family = GaugeMetricFamily(
            "trimtab_event_bus_connected", "1 while the event bus of a cloud is listened to.", labels=("cloud",)
        )
        for cloud, connected in self._connected().items():
            family.add_metric((cloud,), float(connected))
        yield family

    def begin(self, clouds: Iterable[CloudId]) -> None:
        """Have the counts of these clouds begin at zero."""
        for cloud in clouds:
            for result in BusResult:
                self._messages.labels(cloud, result.value)

    def count(self, cloud: CloudId, result: BusResult) -> None:
        """Count a message."""
        self._messages.labels(cloud, result.value).inc()
