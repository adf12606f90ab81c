"""The recording in ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from handler.recording.status import Figures

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
