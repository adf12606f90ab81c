"""What the daemon is in ``/metrics``: its endpoints, its claim on members, and its recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from collector.clients.circuit import Position
from collector.clients.circuits import EndpointStatus
from collector.clients.vault.reader import SecretState, VaultStatus
from config.units import Instant
from handler.convergence.claiming import Generation
from handler.recording.status import Figures


class CertificateGauge(Collector):
    """When the certificate that the daemon shows expires; without one there is no sample."""

    expires_at: Callable[[], Instant] | None = None

    def collect(self) -> Iterator[Metric]:
        """One family."""
        family = GaugeMetricFamily(
            "trimtab_tls_certificate_expiry_timestamp_seconds", "When the certificate that Trimtab shows expires."
        )
        if self.expires_at is not None:
            family.add_metric((), self.expires_at())
        yield family


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
            "Calls that were not sent, since their endpoint did not answer.",
            labels=("endpoint",),
        )
        for each in self._endpoints():
            for position in Position:
                circuits.add_metric((each.endpoint, position.value), float(each.position is position))
            unsent.add_metric((each.endpoint,), each.unsent)
        yield circuits
        yield unsent


class VaultGauges(Collector):
    """How the secrets of the vault are, at each scrape; where the file refers to none there is no sample."""

    def __init__(self, status: Callable[[], VaultStatus | None]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Two families."""
        secrets = GaugeMetricFamily(
            "trimtab_vault_secrets",
            "Secrets of the vault, by the section of the file that uses them and by how they are.",
            labels=("section", "state"),
        )
        failing = GaugeMetricFamily(
            "trimtab_vault_failing_seconds", "For how long a secret of the vault could not be read; 0: all can."
        )
        status = self._status()
        if status is not None:
            for section in sorted({section for section, _ in status.counts}):
                for state in SecretState:
                    secrets.add_metric((section, state.value), status.counts.get((section, state), 0))
            failing.add_metric((), status.failing)
        yield secrets
        yield failing


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
            "trimtab_claim_unwritten", "1 for a cloud where the claim cannot be written to members.", labels=("cloud",)
        )
        generation = self._generation()
        if generation is not None:
            claimed.add_metric((), float(generation.own.counter))
            for cloud in generation.unwritten:
                unwritten.add_metric((cloud,), 1.0)
        superseded.add_metric((), float(generation is not None and generation.rival is not None))
        yield from (claimed, superseded, unwritten)


class StoreGauge(Collector):
    """What the store takes, at each scrape; of one that a database server keeps there is no sample."""

    def __init__(self, bytes_on_disk: Callable[[], int | None]) -> None:
        self._bytes = bytes_on_disk

    def collect(self) -> Iterator[Metric]:
        """One family."""
        family = GaugeMetricFamily("trimtab_store_bytes", "What the store's files take on the disk.")
        taken = self._bytes()
        if taken is not None:
            family.add_metric((), taken)
        yield family


NOTHING = Figures(on=False, settings=None, extent=None, samples=0, dropped_ticks=0)


class RecordingGauges(Collector):
    """What the recording is, at each scrape."""

    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """One family a figure; what is not known has no sample: absence is not zero."""
        now = self._figures()
        extent, settings = now.extent, now.settings
        yield GaugeMetricFamily("trimtab_recording", "1 while samples are being recorded.", value=float(now.on))
        yield CounterMetricFamily("trimtab_recording_samples", "Samples that were recorded.", value=now.samples)
        yield CounterMetricFamily(
            "trimtab_recording_dropped_ticks", "Ticks whose samples could not be recorded.", value=now.dropped_ticks
        )
        yield _gauge("bytes", "What recordings take on the disk.", None if extent is None else extent.bytes)
        yield _gauge("budget_bytes", "Most that they may take.", None if settings is None else settings.budget)
        yield _gauge(
            "oldest_timestamp_seconds",
            "From when on anything is recorded.",
            None if extent is None else extent.oldest_at,
        )
        yield _gauge(
            "oldest_whole_timestamp_seconds",
            "From when on every sample is recorded.",
            None if extent is None else extent.oldest_whole_at,
        )


def _gauge(name: str, text: str, value: float | None) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"trimtab_recording_{name}", text)
    if value is not None:
        family.add_metric((), value)
    return family
