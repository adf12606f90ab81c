from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.support.grafana import Prometheus, asked, names, rules, selectors, unhidden, variables, watched_fleet
from tests.support.waiting import PATIENT

_NO_RECORDING = "the fleet records no samples"
_NO_VAULT = "the file refers to no vault"
_NO_BUS = "processes have no message bus"
_NO_WORKER = "the fleet has one daemon, which is alone over its store"
ELSEWHERE = {
    "trimtab_forecast_at_most_members": "the fleet has no policy with a forecast",
    "trimtab_forecast_coming_members": "the fleet has no policy with a forecast",
    "trimtab_forecast_enough_members": "the fleet has no policy with a forecast",
    "trimtab_forecast_load_members": "the fleet has no policy with a forecast",
    "trimtab_forecast_member_carries": "the fleet has no policy with a forecast",
    "trimtab_forecast_missed_ratio": "the fleet has no policy with a forecast",
    "trimtab_forecast_needed_members": "the fleet has no policy with a forecast",
    "trimtab_endpoint_circuit": "processes and a shared listener have no endpoint",
    "trimtab_endpoint_unsent_calls_total": "processes and a shared listener have no endpoint",
    "trimtab_vault_secrets": _NO_VAULT,
    "trimtab_vault_failing_seconds": _NO_VAULT,
    "trimtab_event_bus_connected": _NO_BUS,
    "trimtab_event_bus_messages_total": _NO_BUS,
    "trimtab_claim_unwritten": "every claim can be written",
    "trimtab_tls_certificate_expiry_timestamp_seconds": "the daemon listens on the loopback without TLS",
    "trimtab_recording_bytes": _NO_RECORDING,
    "trimtab_recording_budget_bytes": _NO_RECORDING,
    "trimtab_recording_oldest_timestamp_seconds": _NO_RECORDING,
    "trimtab_recording_oldest_whole_timestamp_seconds": _NO_RECORDING,
    "trimtab_member_drain_seconds": "no member of this fleet has left",
    "trimtab_worker_barred": _NO_WORKER,
    "trimtab_worker_holds_lease": _NO_WORKER,
    "trimtab_worker_lease_epoch": _NO_WORKER,
    "trimtab_worker_lease_left_seconds": _NO_WORKER,
    "trimtab_worker_standbys": _NO_WORKER,
    "trimtab_worker_takeovers_total": _NO_WORKER,
}
"""Metrics that are absent, not zero, in a fleet as small as this → why."""

pytestmark = pytest.mark.real("prometheus")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with watched_fleet(tmp_path_factory.mktemp("watched")) as running:
        yield running


def _unanswered(questions: Iterable[str], answered: Callable[[str], bool]) -> list[str]:
    """What has no answer when the deadline comes; each question is asked until it has had one."""
    left, deadline = sorted(set(questions)), time.monotonic() + PATIENT
    while left and time.monotonic() < deadline:
        left = [question for question in left if not answered(question)]
        time.sleep(0.25 if left else 0.0)
    return left


def test_every_panel_and_every_mark_shows_something_of_a_real_fleet(prometheus: Prometheus) -> None:
    queries = {unhidden(one.expression): str(one) for one in asked() if not names(one.expression) & ELSEWHERE.keys()}

    def shows(expression: str) -> bool:
        return any(map(math.isfinite, prometheus.values(expression)))

    assert [f"{queries[query]}: {query}" for query in _unanswered(queries, shows)] == []


def test_prometheus_understands_every_query_also_of_what_this_fleet_lacks(prometheus: Prometheus) -> None:
    values = [value for one in asked() for value in prometheus.values(one.expression)]

    assert len(values) > len(ELSEWHERE)


def test_what_this_fleet_lacks_is_not_there_indeed(prometheus: Prometheus) -> None:
    assert [name for name in ELSEWHERE if prometheus.values(name)] == []


def test_every_variable_has_something_to_choose(prometheus: Prometheus) -> None:
    queries = {one.expression: label for one, label in variables()}

    assert _unanswered(queries, lambda selector: bool(prometheus.labels(queries[selector], selector))) == []


def test_every_series_that_a_rule_looks_at_is_there(prometheus: Prometheus) -> None:
    looked_at = {selector for rule in rules() for selector in selectors(rule["expr"])}
    looked_at = {selector for selector in looked_at if not names(selector) & ELSEWHERE.keys()}

    assert looked_at >= {'up{job="trimtab"}', "trimtab_group_unheard_members"}
    assert _unanswered(looked_at, lambda selector: bool(prometheus.values(selector))) == []


def test_every_rule_is_evaluated_without_an_error(prometheus: Prometheus) -> None:
    def well(name: str) -> bool:
        states: dict[str, Any] = {rule["name"]: rule for rule in prometheus.rules()}
        return states[name]["health"] == "ok"

    assert _unanswered([rule["alert"] for rule in rules()], well) == []


def test_what_is_wrong_with_the_fleet_is_on_its_way_to_an_alert(prometheus: Prometheus) -> None:
    wrong = ('TrimtabBuildsFailing", group="broken', 'TrimtabMembersUnheard", group="mute')

    assert _unanswered(wrong, lambda what: bool(prometheus.values(f'ALERTS{{alertname="{what}"}}'))) == []
