from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.model.measures import alternatives
from grafana.build.measures import GRAFANAS, unit_from, unit_query
from tests.support.grafana import DASHBOARDS, answered, panels

_DECLARED = {
    "percent": "percent",
    "ms": "ms",
    "bytes": "bytes",
    "bytes/s": "Bps",
    "KiB": "kbytes",
    "orders": "count:orders",
    "sessions/s": "count:sessions/s",
    "percentile": "count:percentile",
}


def _shown() -> list[dict[str, Any]]:
    """The panels that show what conditions measure."""
    shown = [panel for dashboard in DASHBOARDS.values() for panel in panels(dashboard)]
    return [panel for panel in shown if any("condition_value" in target["expr"] for target in panel["targets"])]


def test_a_panel_of_a_condition_has_the_unit_that_its_own_query_finds() -> None:
    (panel,) = _shown()
    *_, last = panel["targets"]

    assert last["expr"].count("trimtab_condition_info") == 1
    assert 'condition=~"$condition"' in last["expr"]
    assert (last["instant"], last["format"]) == (True, "table")
    assert panel["transformations"] == [
        {
            "id": "configFromData",
            "options": {
                "configRefId": last["refId"],
                "mappings": [{"fieldName": "shown_unit", "handlerKey": "unit", "reducerId": "lastNotNull"}],
            },
        }
    ]
    assert unit_from(last["refId"]).options == panel["transformations"][0]["options"]


@pytest.mark.parametrize("measured", ["s", "percent", "bytes/s"])
def test_grafana_scales_every_unit_that_trimtab_converts(measured: str) -> None:
    unscaled = {"kbit", "Mbit", "Gbit"}  # Grafana has them as rates alone

    assert set(alternatives(measured)) - unscaled <= set(GRAFANAS)


@pytest.mark.real("promtool")
def test_prometheus_finds_grafanas_name_of_a_unit(tmp_path: Path) -> None:
    series = [f'trimtab_condition_info{{condition="of {unit}", unit="{unit}"}}' for unit in _DECLARED]
    asked = {unit_query(f'condition="of {unit}"'): f'{{shown_unit="{shown}"}}' for unit, shown in _DECLARED.items()}

    answered(tmp_path, dict.fromkeys(series, "1x5"), asked)


@pytest.mark.real("promtool")
def test_a_counter_without_a_unit_leaves_the_panel_its_own(tmp_path: Path) -> None:
    answered(tmp_path, {'trimtab_condition_info{condition="bare"}': "1x5"}, {unit_query('condition="bare"'): "{}"})
