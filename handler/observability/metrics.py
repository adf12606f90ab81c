"""``/metrics``: Prometheus names under ``trimtab_``. Labels are bounded: no member, address or error text in any."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.registry import Collector

from collector.clients.circuits import EndpointStatus
from collector.clients.vault.reader import VaultStatus
from config.errors import StoreError
from config.model.catalogue import Catalogue
from config.units import CloudId, GroupId, Instant
from handler.convergence.claiming import Generation
from handler.convergence.passes import Pass
from handler.ingest.alerts.notifications import Sender
from handler.ingest.alerts.replies import AlertResult
from handler.ingest.buses.reading import BusResult
from handler.ingest.pushes.judging import PushResult
from handler.ingest.pushes.pushed_values import PushShape
from handler.observability.bus_metrics import BusMetrics
from handler.observability.daemon_gauges import (
    NOTHING,
    CertificateGauge,
    EndpointGauges,
    GenerationGauges,
    RecordingGauges,
    StoreGauge,
    VaultGauges,
)
from handler.observability.exposition import TextMetrics, exposition
from handler.observability.gauges import Gauges
from handler.observability.group_counters import GroupCounter
from handler.observability.replies import Replies
from handler.observability.worker_gauges import WorkerGauges
from handler.planning.step_outcomes import StepResult, worst
from handler.planning.steps import KINDS, Create, Destroy, Drain, Enable, Join, Leave, MarkMachine, Unmark
from handler.ports.alerts import HookUse
from handler.ports.cluster import Cluster
from handler.recording.status import Figures
from handler.runtime.deciding import TickReport
from handler.runtime.group_runtime import GroupRuntime
from trigger.reasons import Reason
from trigger.requests import Decision, FleetPause
from trigger.verdicts import Direction

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_CALLS = (Create, Destroy, Drain, Enable, Join, Leave, MarkMachine, Unmark)
_STEPS = tuple(KINDS[step] for step in _CALLS)
_MOVES = (
    *(("out", reason) for reason in (Reason.SCALED_OUT, Reason.FORCED, Reason.BOUNDS, Reason.BLIND_FLOOR)),
    *(("in", reason) for reason in (Reason.SCALED_IN, Reason.FORCED, Reason.BOUNDS)),
)
"""Decisions that move a size: counted from zero, so that the first one shows in a rate."""
_GRANTED = frozenset({Reason.SCALED_OUT, Reason.SCALED_IN, Reason.FORCED, Reason.ADVISED})
_UNASKED = frozenset(
    {
        Reason.FIRST_LISTING,
        Reason.BOUNDS,
        Reason.BLIND_FLOOR,
        Reason.VANISHED,
        Reason.RETURNED,
        Reason.STEADY,
        Reason.UNHEARD,
    }
)
_UNREADY = frozenset({Reason.NOT_MET, Reason.HOLDING, Reason.BLIND})
_REFUSALS = tuple(reason for reason in Reason if reason not in _GRANTED | _UNASKED | _UNREADY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scraped:
    """What is read anew at each scrape, besides the groups."""

    pushes: Callable[[], int] = lambda: 0
    windows: Callable[[], int] = lambda: 0
    store: Callable[[], int | None] = lambda: None
    recording: Callable[[], Figures] = lambda: NOTHING
    fleet_pause: Callable[[], FleetPause | None] = lambda: None
    endpoints: Callable[[], Sequence[EndpointStatus]] = tuple
    buses: Callable[[], Mapping[CloudId, bool]] = dict
    """Clouds with a message bus → whether it is listened to."""
    vault: Callable[[], VaultStatus | None] = lambda: None
    generation: Callable[[], Generation | None] = lambda: None
    cluster: Cluster | None = None


class Metrics:
    """Everything that is exported: events as they are reported, states as they are when scraped."""

    def __init__(
        self, runtimes: Mapping[GroupId, GroupRuntime], now: Callable[[], Instant], scraped: Scraped = Scraped()
    ) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # it would add a second series to each counter
        self._registry = registry = _hold(CollectorRegistry(), scraped)
        self._runtimes = runtimes
        self._begun: set[GroupId] = set()
        self._decisions = GroupCounter(
            "trimtab_decisions", "Decisions by what became of them.", ["direction", "reason"]
        )
        self._restrictions = GroupCounter("trimtab_restrictions", "Requests that a guard refused.", ["reason"])
        self._actions = GroupCounter("trimtab_actions", "Calls to clouds and balancers.", ["step", "result"])
        self._passes = GroupCounter("trimtab_converge_passes", "Convergence passes.", ["result"])
        self._action_seconds = Histogram(
            "trimtab_action_duration_seconds",
            "How long such calls took.",
            ["step"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._poll_seconds = Histogram(
            "trimtab_poll_duration_seconds", "How long polls took.", buckets=_SECONDS, registry=registry
        )
        self._replies = Replies(registry, _SECONDS)
        self._lag = Histogram(
            "trimtab_evaluation_lag_seconds", "How late ticks began.", buckets=_SECONDS, registry=registry
        )
        self._decide_seconds = Histogram(
            "trimtab_evaluation_duration_seconds", "How long deciding a slot took.", buckets=_SECONDS, registry=registry
        )
        self._notices = Counter(
            "trimtab_notices", "Attempts to send a notice of a group's trouble.", ["kind", "result"], registry=registry
        )
        self._holds = Histogram(
            "trimtab_loop_hold_seconds", "How long the event loop was held.", buckets=_SECONDS, registry=registry
        )
        self._store_seconds = Histogram(
            "trimtab_store_write_seconds",
            "How long decisions waited for the disk.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._store_failures = Counter(
            "trimtab_store_write_failures", "Writes of decisions that failed.", registry=registry
        )
        self._webhooks = _webhooks(registry)
        self._pushes = _pushes(registry)
        self._buses = BusMetrics(registry, scraped.buses)
        self.reloads = Gauge(
            "trimtab_config_last_reload_success_timestamp_seconds", "When the file was last taken.", registry=registry
        )
        self._reload_well = Gauge(
            "trimtab_config_last_reload_successful",
            "1 if the file was taken when last read, 0 if it was refused.",
            registry=registry,
        )
        self.config_hash = Gauge("trimtab_config_hash_info", "The configuration in force.", ["hash"], registry=registry)
        Gauge("trimtab_build_info", "The running version.", ["version"], registry=registry).labels(
            version("trimtab")
        ).set(1)
        for step in _STEPS:
            self._action_seconds.labels(step)
        ProcessCollector(registry=registry)
        for kind in ("command", "url", "slack"):
            for became in ("delivered", "failed", "given_up"):
                self._notices.labels(kind, became)
        self._gauges, self._certificate = Gauges(runtimes, now, scraped.fleet_pause), CertificateGauge()
        read_anew: tuple[Collector, ...] = (
            RecordingGauges(scraped.recording),
            WorkerGauges(scraped.cluster),
            EndpointGauges(scraped.endpoints),
            GenerationGauges(scraped.generation),
            VaultGauges(scraped.vault),
            self._certificate,
        )
        for gauges in read_anew:
            registry.register(gauges)

    @property
    def _per_group(self) -> tuple[GroupCounter, ...]:
        return self._decisions, self._restrictions, self._actions, self._passes

    def text(self) -> bytes:
        """The exposition. For thousands of groups it takes a while: call it beside the event loop, from any thread."""
        all_written: tuple[TextMetrics, ...] = (self._gauges, *self._per_group)
        texts = [text for written in all_written for text in written.texts()]
        return exposition(self._registry.collect()) + "".join(texts).encode()

    def decided(self, decision: Decision) -> None:
        """Count a decision and every request that it refused."""
        before, after = decision.desired_from, decision.desired_to
        direction = "none" if before is None or after is None or before == after else _way(before, after).value
        self._decisions.inc(decision.group, direction, decision.reason.value)
        for answer in decision.answers:
            if answer is not decision.winner:
                self._restrictions.inc(decision.group, answer.reason.value)

    def ticked(self, report: TickReport) -> None:
        """Count a slot's tick."""
        self._lag.observe(max(report.lag, 0.0))
        self._poll_seconds.observe(report.poll_took)
        self._decide_seconds.observe(report.decide_took)
        self._replies.count(report.slot.groups, report.scrape)

    def passed(self, group: GroupId, done: Pass) -> None:
        """Count a convergence pass and its calls."""
        results = [outcome.result for outcome in done.outcomes] + [StepResult.FAILED] * bool(done.failures)
        self._passes.inc(group, worst(results).value)
        for outcome in done.outcomes:
            if isinstance(outcome.step, _CALLS):
                name = KINDS[type(outcome.step)]
                self._actions.inc(group, name, outcome.result.value)
                self._action_seconds.labels(name).observe(max(outcome.finished_at - outcome.started_at, 0.0))

    def rested(self, group: GroupId) -> None:
        """Count a pass that found nothing to do, since an inventory shows the group as it was."""
        self._passes.inc(group, StepResult.DONE.value)

    def webhook_answered(self, sender: Sender | HookUse | None, result: AlertResult) -> None:
        """Count a request at ``/hooks/…``: by its sender, which is unknown until its body has been read, or its use."""
        self._webhooks.labels(_source(sender), result.value).inc()

    def pushed(self, shape: PushShape, result: PushResult) -> None:
        """Count a request that brings values."""
        self._pushes.labels(shape.value, result.value).inc()

    def bus_message(self, cloud: CloudId, result: BusResult) -> None:
        """Count a message on the bus of a cloud."""
        self._buses.count(cloud, result)

    def expires(self, at: Callable[[], Instant]) -> None:
        """Export when the certificate that the daemon shows expires."""
        self._certificate.expires_at = at

    def noticed(self, kind: str, result: str) -> None:
        """Count an attempt to send a notice."""
        self._notices.labels(kind, result).inc()

    def held(self, seconds: float) -> None:
        """The event loop was held this long."""
        self._holds.observe(seconds)

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Around a write of decisions: how long it takes, and whether it fails."""
        with self._store_seconds.time(), self._store_failures.count_exceptions(StoreError):
            yield

    def forget(self, group: GroupId) -> None:
        """Remove a group's series."""
        for counter in self._per_group:
            counter.forget(group)
        self._begun.discard(group)

    def took(self, catalogue: Catalogue, at: Instant) -> None:
        """A configuration is in force: its series begin at zero."""
        self.config_hash.clear()
        self.config_hash.labels(catalogue.digest).set(1)
        self.reloads.set(at)
        self._reload_well.set(1)
        self._replies.declare(catalogue)
        self._buses.begin(catalogue.event_buses)
        for group in self._runtimes.keys() - self._begun:
            self._begin(group)

    def refused(self) -> None:
        """A changed file was not taken; the configuration before it stays in force."""
        self._reload_well.set(0)

    def _begin(self, group: GroupId) -> None:
        self._begun.add(group)
        for direction, reason in _MOVES:
            self._decisions.begin(group, direction, reason.value)
        for reason in _REFUSALS:
            self._restrictions.begin(group, reason.value)
        for result in StepResult:
            self._passes.begin(group, result.value)
            for step in _STEPS:
                self._actions.begin(group, step, result.value)


def _hold(registry: CollectorRegistry, scraped: Scraped) -> CollectorRegistry:
    """Export what is held in memory and in the store."""
    Gauge("trimtab_pushed_values", "Pushed values that are held.", registry=registry).set_function(scraped.pushes)
    help_text = "Memory that the windows of all groups take."
    Gauge("trimtab_window_bytes", help_text, registry=registry).set_function(scraped.windows)
    registry.register(StoreGauge(scraped.store))
    return registry


def _webhooks(registry: CollectorRegistry) -> Counter:
    """Requests at webhooks, every series at zero."""
    requests = Counter("trimtab_webhook_requests", "Requests at /hooks.", ["source", "result"], registry=registry)
    for sender in (*Sender, HookUse.EXECUTE, HookUse.OBSERVE, None):
        for result in AlertResult:
            requests.labels(_source(sender), result.value)
    return requests


def _pushes(registry: CollectorRegistry) -> Counter:
    """Requests that bring values, every series at zero."""
    requests = Counter("trimtab_push_requests", "Requests that bring values.", ["shape", "result"], registry=registry)
    for shape in PushShape:
        for result in PushResult:
            requests.labels(shape.value, result.value)
    return requests


def _source(sender: Sender | HookUse | None) -> str:
    return "unknown" if sender is None else sender.value


def _way(before: int, after: int) -> Direction:
    return Direction.OUT if after > before else Direction.IN
