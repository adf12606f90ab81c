"""``/metrics``: Prometheus names under ``trimtab_``. Labels are bounded: no member, address or error text in any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from collector.samples import Reply
from config.units import GroupId, Instant
from handler.app.deciding import TickReport
from handler.app.gauges import Gauges
from handler.app.rooms import Room
from handler.converge import Pass
from handler.hooks.payloads import Sender
from handler.hooks.replies import Result as KnockResult
from handler.steps import Create, Destroy, Drain, Enable, Join, Leave, Result
from handler.web.render import snake
from trigger.requests import Decision
from trigger.verdicts import Direction

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_CALLS = (Create, Destroy, Drain, Enable, Join, Leave)


class Metrics:
    """Everything that is exported: events as they are reported, states as they are when scraped."""

    def __init__(self, rooms: Mapping[GroupId, Room], now: Callable[[], Instant]) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._decisions = Counter(
            "trimtab_decisions",
            "Decisions by what became of them.",
            ["group", "direction", "reason"],
            registry=registry,
        )
        self._restrictions = Counter(
            "trimtab_restrictions", "Requests that a guard refused.", ["group", "reason"], registry=registry
        )
        self._actions = Counter(
            "trimtab_actions", "Calls to clouds and balancers.", ["step", "result"], registry=registry
        )
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
        self._replies = Counter("trimtab_poll_replies", "Answers to polls.", ["reply"], registry=registry)
        self._lag = Histogram(
            "trimtab_evaluation_lag_seconds", "How late ticks began.", buckets=_SECONDS, registry=registry
        )
        self._decide_seconds = Histogram(
            "trimtab_evaluation_duration_seconds", "How long deciding a slot took.", buckets=_SECONDS, registry=registry
        )
        self._passes = Counter("trimtab_converge_passes", "Convergence passes.", ["group", "result"], registry=registry)
        self._notices = Counter(
            "trimtab_notices", "Attempts to tell of a group's trouble.", ["kind", "result"], registry=registry
        )
        self._holds = Histogram(
            "trimtab_loop_hold_seconds", "How long the event loop was held.", buckets=_SECONDS, registry=registry
        )
        self._webhooks = Counter(
            "trimtab_webhook_requests", "Requests at /hooks/alerts.", ["source", "result"], registry=registry
        )
        self.reloads = Gauge(
            "trimtab_config_last_reload_success_timestamp_seconds", "When the file was last taken.", registry=registry
        )
        self.config_hash = Gauge("trimtab_config_hash_info", "The configuration in force.", ["hash"], registry=registry)
        Gauge("trimtab_build_info", "The running version.", ["version"], registry=registry).labels(
            version("trimtab")
        ).set(1)
        for reply in Reply:
            self._replies.labels(reply.name.lower())
        for step in _CALLS:
            for result in Result:
                self._actions.labels(snake(step.__name__), result.value)
        for sender in (*Sender, None):
            for outcome in KnockResult:
                self._webhooks.labels(_source(sender), outcome.value)
        for kind in ("command", "url"):
            for became in ("delivered", "failed", "given_up"):
                self._notices.labels(kind, became)
        registry.register(Gauges(rooms, now))

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)

    def decided(self, decision: Decision) -> None:
        """Count a decision and every request that it refused."""
        before, after = decision.desired_from, decision.desired_to
        direction = "none" if before is None or after is None or before == after else _way(before, after).value
        self._decisions.labels(decision.group, direction, decision.reason.value).inc()
        for answer in decision.answers:
            if answer is not decision.winner:
                self._restrictions.labels(decision.group, answer.reason.value).inc()

    def ticked(self, report: TickReport) -> None:
        """Count a slot's tick."""
        self._lag.observe(max(report.lag, 0.0))
        self._poll_seconds.observe(report.poll_took)
        self._decide_seconds.observe(report.decide_took)
        for code, count in zip(*np.unique(report.scrape.reply, return_counts=True), strict=True):
            self._replies.labels(Reply(int(code)).name.lower()).inc(float(count))

    def passed(self, group: GroupId, done: Pass) -> None:
        """Count a convergence pass and its calls."""
        worst = max((outcome.result for outcome in done.outcomes), key=list(Result).index, default=Result.DONE)
        self._passes.labels(group, worst.value).inc()
        for outcome in done.outcomes:
            if isinstance(outcome.step, _CALLS):
                name = snake(type(outcome.step).__name__)
                self._actions.labels(name, outcome.result.value).inc()
                self._action_seconds.labels(name).observe(max(outcome.finished_at - outcome.started_at, 0.0))

    def knocked(self, sender: Sender | None, result: KnockResult) -> None:
        """Count a request at ``/hooks/alerts``; whose it is, is unknown until its body has been read."""
        self._webhooks.labels(_source(sender), result.value).inc()

    def noticed(self, kind: str, result: str) -> None:
        """Count an attempt to send a notice."""
        self._notices.labels(kind, result).inc()

    def held(self, seconds: float) -> None:
        """The event loop was held this long."""
        self._holds.observe(seconds)

    def forget(self, group: GroupId) -> None:
        """Remove a group's series."""
        for metric in (self._decisions, self._restrictions, self._passes):
            metric.remove_by_labels({"group": group})

    def took(self, digest: str, at: Instant) -> None:
        """A configuration is in force."""
        self.config_hash.clear()
        self.config_hash.labels(digest).set(1)
        self.reloads.set(at)


def _source(sender: Sender | None) -> str:
    return "unknown" if sender is None else sender.value


def _way(before: int, after: int) -> Direction:
    return Direction.OUT if after > before else Direction.IN
