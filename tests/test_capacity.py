"""The scoreboard of docs/capacity.md: its traces, its figures, and every policy for a few hours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.capacity import page, traces
from benchmarks.capacity.rows import FORECAST, POLICIES, SETTINGS, USUAL, results
from benchmarks.capacity.setting import GATE, Setting, scores, shown_of
from benchmarks.capacity.traces import Trace, measured

NAME = "clarknet"
needs_traces = pytest.mark.skipif(not traces.here(NAME), reason="the traces are not here")


def a_few_hours() -> dict[str, Trace]:
    whole = traces.scaled(NAME, 40.0)
    return {NAME: replace(whole, load=whole.load[:500], since=300)}


@needs_traces
@pytest.mark.parametrize("name", [name for name in (*traces.SCORED, *traces.STRESS) if traces.here(name)])
def test_a_trace_has_history_and_days_that_are_scored(name: str) -> None:
    trace = traces.scaled(name, 40.0)

    assert trace.since >= 4 * traces.DAY
    assert 6.9 <= trace.days <= 14.0
    assert np.quantile(trace.load[trace.since :], 0.999) == pytest.approx(40.0)
    assert (trace.load >= 0).all()


def test_counters_show_the_two_steps_before() -> None:
    load = np.array([10.0, 10.0, 10.0, 40.0, 40.0, 40.0])

    assert measured(load, 1) == pytest.approx([10, 10, 10, 10, 25, 40], rel=0.03)


@needs_traces
@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_sizes_every_step_within_the_bounds(policy: str) -> None:
    loads, setting = a_few_hours(), Setting()

    sizes = POLICIES[policy][1](setting, loads, shown_of(loads, setting))

    assert len(sizes[NAME]) == 500
    assert sizes[NAME].min() >= 1
    assert sizes[NAME].max() <= setting.most
    assert scores(loads, sizes, setting)[NAME].cost > 0


def test_the_page_has_the_figures_that_were_kept() -> None:
    text = page.PAGE.read_text(encoding="utf-8")

    for name, table in page.tables(results()).items():
        assert table in text, f"{name}: run make capacity"


@pytest.mark.parametrize("label", [name for name, setting in SETTINGS.items() if setting.peak == Setting().peak])
def test_the_forecast_kept_the_gate_on_every_trace(label: str) -> None:
    found = results().get(label, {}).get(FORECAST, {})

    assert set(traces.SCORED) <= set(found)
    assert max(found[name].over for name in traces.SCORED) <= GATE


def test_the_forecast_reached_its_goal() -> None:
    mean = page.mean_of(results()[USUAL][FORECAST])

    assert round(mean.cost, 3) <= 1.12
    assert mean.flaps <= 1.5
    assert mean.quality <= 0.165
