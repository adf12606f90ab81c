"""Endpoints of clouds and balancers in ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from collector.clients.circuit import Position
from collector.clients.circuits import EndpointStatus


class EndpointGauges(Collector):
    """How the circuit of each endpoint is, at each scrape. Labels are addresses that are declared or in a catalogue."""

    def __init__(self, endpoints: Callable[[], Sequence[EndpointStatus]]) -> None:
        self._endpoints = endpoints

    def collect(self) -> Iterator[Metric]:
        """Two families: one has a sample for each position of each circuit, of which one is 1."""
        circuits = GaugeMetricFamily(
            "trimtab_endpoint_circuit",
            "1 for how the circuit of an endpoint is: closed, or open where nothing is sent.",
            labels=("endpoint", "position"),
        )
        unsent = CounterMetricFamily(
            "trimtab_endpoint_unsent_calls",
            "Calls that were not sent, since their endpoint answered nobody.",
            labels=("endpoint",),
        )
        for each in self._endpoints():
            for position in Position:
                circuits.add_metric((each.endpoint, position.value), float(each.position is position))
            unsent.add_metric((each.endpoint,), each.unsent)
        yield circuits
        yield unsent
