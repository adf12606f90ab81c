"""The claim of this daemon in ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from handler.convergence.claiming import Generation


class GenerationGauges(Collector):
    """Which store generation this daemon claims, whether it acts, and where its claim cannot be written."""

    def __init__(self, generation: Callable[[], Generation | None]) -> None:
        self._generation = generation

    def collect(self) -> Iterator[Metric]:
        """Three families; the first has no sample where nothing is claimed."""
        claimed = GaugeMetricFamily("trimtab_generation", "Counter of the claim of this daemon.")
        superseded = GaugeMetricFamily(
            "trimtab_superseded", "1 while this daemon does nothing, since another one keeps the members."
        )
        unwritten = GaugeMetricFamily(
            "trimtab_claim_unwritten", "1 for a cloud on whose members the claim cannot be written.", labels=("cloud",)
        )
        generation = self._generation()
        if generation is not None:
            claimed.add_metric((), float(generation.own.counter))
            for cloud in generation.unwritten:
                unwritten.add_metric((cloud,), 1.0)
        superseded.add_metric((), float(generation is not None and generation.rival is not None))
        yield from (claimed, superseded, unwritten)
