from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from collector.clients.circuit import Position
from collector.clients.circuits import EndpointStatus
from collector.clients.vault.reader import SecretState, VaultStatus
from config.errors import StoreError
from config.units import CloudId, Instant
from handler.ingest.buses.reading import BusResult
from handler.observability.exposition import exposition
from handler.observability.metrics import Metrics, Scraped
from handler.planning.status import GroupCondition, MemberState
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Wait
from tests.support.engines import MODEL, EngineBed, Up, hurry, model
from trigger.reasons import Reason
from trigger.requests import Pause

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


def shown(metrics: Metrics) -> dict[tuple[str, frozenset[str]], float]:
    """(name, labels as text) → value, as Prometheus reads them."""
    found = _SAMPLE.findall(metrics.text().decode())
    return {(name, frozenset(labels.split(",") if labels else ())): float(value) for name, labels, value in found}


def the(metrics: Metrics, name: str, **labels: str) -> float | None:
    """One sample, by all of its labels; ``None``: not there."""
    return shown(metrics).get((name, frozenset(f'{key}="{value}"' for key, value in labels.items())))


def words(metrics: Metrics, name: str, label: str) -> dict[str, float]:
    """A gauge of group web that has a value for each of several words."""
    return {
        part.split('"')[1]: value
        for (found, labels), value in shown(metrics).items()
        if found == name and 'group="web"' in labels
        for part in labels
        if part.startswith(f'{label}="')
    }


def test_before_anything_has_happened_every_word_of_a_group_is_there(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        metrics = up.engine.reports.metrics
        assert words(metrics, "trimtab_group_condition", "condition").keys() == {c.value for c in GroupCondition}
        assert words(metrics, "trimtab_group_members", "state").keys() == {state.value for state in MemberState}
        assert words(metrics, "trimtab_group_waits", "wait").keys() == {wait.value for wait in Wait}
        assert words(metrics, "trimtab_group_pause", "pause").keys() == {pause.value for pause in Pause}
        assert words(metrics, "trimtab_restricted", "reason").keys() == {reason.value for reason in Reason}
        assert words(metrics, "trimtab_converge_passes_total", "result").keys() == {
            result.value for result in StepResult
        }
        assert the(metrics, "trimtab_actions_total", group="web", step="destroy", result="failed") == 0
        assert the(metrics, "trimtab_decisions_total", group="web", direction="out", reason="scaled_out") == 0
        assert the(metrics, "trimtab_restrictions_total", group="web", reason="at_max") == 0
        for kind in ("command", "url", "slack"):
            assert the(metrics, "trimtab_notices_total", kind=kind, result="given_up") == 0

    bed.run(scene)


def test_a_word_in_force_is_one_and_all_others_are_zero(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.until(lambda: words(up.engine.reports.metrics, "trimtab_group_condition", "condition")["running"])
        condition = words(up.engine.reports.metrics, "trimtab_group_condition", "condition")
        assert sum(condition.values()) == condition["running"] == 1
        pause = words(up.engine.reports.metrics, "trimtab_group_pause", "pause")
        assert sum(pause.values()) == pause["no"] == 1

        await up.operations.pauses.pause(up.runtime.id, decisions_only=True, by="ann")
        pause = words(up.engine.reports.metrics, "trimtab_group_pause", "pause")
        assert sum(pause.values()) == pause["decisions"] == 1

    bed.run(scene)


def test_calls_are_counted_for_their_group(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        assert the(up.engine.reports.metrics, "trimtab_actions_total", group="web", step="create", result="done") == 2
        assert the(up.engine.reports.metrics, "trimtab_action_duration_seconds_count", step="create") == 2
        assert the(up.engine.reports.metrics, "trimtab_store_write_seconds_count") != 0
        assert the(up.engine.reports.metrics, "trimtab_store_write_failures_total") == 0

    bed.run(scene)


def test_times_of_the_last_decision_and_of_rest_are_exported(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.ticked()
        metrics, runtime = up.engine.reports.metrics, up.runtime
        assert the(metrics, "trimtab_group_interval_seconds", group="web") == 0.05
        assert the(metrics, "trimtab_group_decided_timestamp_seconds", group="web") == runtime.decided_at
        assert the(metrics, "trimtab_group_converged_timestamp_seconds", group="web") == runtime.converged_at

    bed.run(scene)


def test_the_time_of_an_edit_of_the_file_is_shown_and_outlives_the_daemon(bed: EngineBed) -> None:
    def edited_at(up: Up) -> float | None:
        return the(up.engine.reports.metrics, "trimtab_group_edited_timestamp_seconds", group="web")

    async def edit(up: Up) -> float | None:
        assert edited_at(up) == 0.0
        bed.declare(MODEL.replace("above: 80", "above: 85"))
        await up.operations.reload()
        return edited_at(up)

    async def later(up: Up) -> float | None:
        return edited_at(up)

    edited = bed.run(edit)
    assert edited
    assert bed.run(later) == edited


def test_a_group_that_is_not_judged_has_no_interval_to_be_late_for(bed: EngineBed) -> None:
    bed.declare(model(mode="off"))

    async def scene(up: Up) -> None:
        assert the(up.engine.reports.metrics, "trimtab_group_interval_seconds", group="web") is None
        assert the(up.engine.reports.metrics, "trimtab_group_min", group="web") == 2

    bed.run(scene)


def test_what_a_condition_compares_is_shown_beside_its_value(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.ticked()
        labels = {"group": "web", "policy": "out", "condition": "high"}
        metrics = up.engine.reports.metrics
        await up.until(
            lambda: (
                the(metrics, "trimtab_condition_info", **labels, counter="load", unit="sessions", compare="above") == 1
            )
        )
        assert the(metrics, "trimtab_condition_threshold", **labels) == 80
        assert the(metrics, "trimtab_policy_held_seconds", group="web", policy="out") is not None
        assert the(metrics, "trimtab_policy_duration_seconds", group="web", policy="out") == 0

    bed.run(scene)


def test_a_refused_file_shows_until_a_file_is_taken(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        def successful() -> float | None:
            return the(up.engine.reports.metrics, "trimtab_config_last_reload_successful")

        assert successful() == 1
        bed.declare("nonsense: 1\n")
        await up.operations.reload()
        assert successful() == 0
        bed.declare(MODEL)
        await up.operations.reload()
        assert successful() == 1

    bed.run(scene)


def test_a_write_that_fails_is_counted_and_still_raised() -> None:
    metrics = Metrics({}, lambda: Instant(0.0))

    with pytest.raises(StoreError), metrics.storing():
        raise StoreError("the disk is full")

    assert the(metrics, "trimtab_store_write_failures_total") == 1
    assert the(metrics, "trimtab_store_write_seconds_count") == 1


def test_the_process_itself_is_exported_and_no_second_series_of_a_counter() -> None:
    text = Metrics({}, lambda: Instant(0.0)).text().decode()

    assert "\nprocess_resident_memory_bytes " in text
    assert "_created" not in text


def test_a_group_that_is_forgotten_leaves_no_series(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        runtime = up.runtime
        bed.declare(MODEL.replace("  web:\n    profile", "  other:\n    profile"))
        await up.operations.reload()
        await up.operations.delete(runtime.id, members=False, by="ann")
        assert 'group="web"' not in up.engine.reports.metrics.text().decode()

    bed.run(scene)


def test_every_endpoint_has_a_position_and_counts_what_was_not_sent() -> None:
    nova = EndpointStatus(endpoint="http://nova:8774", position=Position.OPEN, because="left alone", unsent=3)
    metrics = Metrics({}, lambda: Instant(0.0), Scraped(endpoints=lambda: (nova,)))

    positions = {
        each.value: the(metrics, "trimtab_endpoint_circuit", endpoint="http://nova:8774", position=each.value)
        for each in Position
    }

    assert positions == {"closed": 0, "half_open": 0, "open": 1}
    assert the(metrics, "trimtab_endpoint_unsent_calls_total", endpoint="http://nova:8774") == 3


def test_secrets_of_a_vault_are_counted_by_section_and_state_and_none_is_shown() -> None:
    counts = {("clouds", SecretState.STALE): 2, ("profiles", SecretState.FRESH): 1}
    away = VaultStatus(url="https://vault", counts=counts, failing=90.0, because="it is sealed")
    metrics = Metrics({}, lambda: Instant(0.0), Scraped(vault=lambda: away))

    assert the(metrics, "trimtab_vault_secrets", section="clouds", state="stale") == 2
    assert the(metrics, "trimtab_vault_secrets", section="clouds", state="fresh") == 0
    assert the(metrics, "trimtab_vault_secrets", section="profiles", state="fresh") == 1
    assert the(metrics, "trimtab_vault_failing_seconds") == 90.0


def test_a_bus_is_connected_or_not_and_its_messages_are_counted_by_what_became_of_them() -> None:
    stack, prod = CloudId("stack"), CloudId("prod")
    metrics = Metrics({}, lambda: Instant(0.0), Scraped(buses=lambda: {stack: False, prod: True}))

    metrics.bus_message(stack, BusResult.FOREIGN)

    assert the(metrics, "trimtab_event_bus_connected", cloud="stack") == 0
    assert the(metrics, "trimtab_event_bus_connected", cloud="prod") == 1
    assert the(metrics, "trimtab_event_bus_messages_total", cloud="stack", result="foreign") == 1


@pytest.mark.parametrize("taken", [4096, None])
def test_the_store_takes_what_its_files_do_and_a_server_s_has_no_sample(taken: int | None) -> None:
    metrics = Metrics({}, lambda: Instant(0.0), Scraped(store=lambda: taken))

    families = {each.name: each for each in text_string_to_metric_families(metrics.text().decode())}

    assert [sample.value for sample in families["trimtab_store_bytes"].samples] == [each for each in [taken] if each]


def a_registry() -> CollectorRegistry:
    Metrics({}, lambda: Instant(0.0))  # leaves out the second series of a counter, as the daemon does
    return CollectorRegistry()


def test_it_writes_what_prometheus_client_would_write() -> None:
    registry = a_registry()
    Gauge("size", 'How "many"\nthere \\ are.', ["group"], registry=registry).labels("web").set(3)
    Counter("calls", "Calls.", ["group", "result"], registry=registry).labels("web", "done").inc(2.5)
    Histogram("took_seconds", "How long.", buckets=(0.1, 1), registry=registry).observe(0.5)
    Gauge("alone", "Without labels.", registry=registry).set(1e20)
    Gauge("empty", "Without samples.", ["group"], registry=registry)

    assert exposition(registry.collect()) == generate_latest(registry)


@given(value=st.text(), number=st.floats(allow_nan=False))
def test_any_label_and_any_number_are_read_back_as_they_were(value: str, number: float) -> None:
    label = value.encode(errors="replace").decode()
    registry = a_registry()
    Gauge("size", "Size.", ["unit"], registry=registry).labels(label).set(number)

    (family,) = text_string_to_metric_families(exposition(registry.collect()).decode())

    assert [(sample.labels, sample.value) for sample in family.samples] == [({"unit": label}, number)]


def test_not_a_number_is_written_as_prometheus_spells_it() -> None:
    registry = a_registry()
    Gauge("size", "Size.", registry=registry).set(math.nan)

    assert b"\nsize NaN\n" in exposition(registry.collect())


def test_an_observed_counter_is_exported_and_moves_no_size(bed: EngineBed) -> None:
    text = model(observe="[scur]", policies="[]", member_values=1)
    bed.declare(text.replace("counters: {load:", "counters: {scur: {haproxy: scur}, load:"))

    async def scene(up: Up) -> None:
        metrics = up.engine.reports.metrics
        await up.grown(2)
        bed.readings.value = 90.0
        await up.until(lambda: the(metrics, "trimtab_observed_value", group="web", counter="scur", across="max") == 90)
        for across in ("avg", "min"):
            assert the(metrics, "trimtab_observed_value", group="web", counter="scur", across=across) is not None
        assert the(metrics, "trimtab_observed_expected_members", group="web", counter="scur") == 2
        first, second = sorted(up.runtime.addresses)
        assert the(metrics, "trimtab_member_value", group="web", counter="scur", member=first) == 90
        assert the(metrics, "trimtab_member_value", group="web", counter="scur", member=second) is None
        bed.readings.value = None
        await up.until(lambda: the(metrics, "trimtab_observed_heard_members", group="web", counter="scur") == 0)
        assert the(metrics, "trimtab_observed_value", group="web", counter="scur", across="avg") is None
        assert up.status.desired == 2
        bed.declare(text.replace("    observe: [scur]\n", ""))
        await up.operations.reload(by="ada")
        await up.ticked(2)
        assert the(metrics, "trimtab_observed_heard_members", group="web", counter="scur") is None

    bed.run(scene)
