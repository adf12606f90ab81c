"""The rows and columns of the scoreboard, and the file of their figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.capacity.forecasts import forecast
from benchmarks.capacity.own import CLOUDSTACK, ONEFLOW, STABLE, TARGET, own
from benchmarks.capacity.rivals import hpa, predictive, target_tracking
from benchmarks.capacity.setting import CapacityPolicy, Setting
from handler.replay.scores import CapacityScore
from trigger.forecast.shadows import BALANCED, CALM, LEAN

RESULTS = Path(__file__).parent / "results.json"
FORECAST = "forecast"
POLICIES: Mapping[str, tuple[str, CapacityPolicy]] = {
    "cloudstack": ("Trimtab, CloudStack's rule", own(CLOUDSTACK)),
    "oneflow": ("Trimtab, OneFlow's rule", own(ONEFLOW)),
    "target": ("Trimtab, target 60 with its defaults", own(TARGET)),
    "stable": ("Trimtab, `each: 70` and `stabilisation: 15m`", own(STABLE, group=", stabilisation: 15m")),
    "hpa": ("Kubernetes HPA, 60 %", hpa(0.6)),
    "tracking": ("AWS target tracking, 60 %", target_tracking(0.6)),
    "predictive": ("AWS predictive scaling, 65 %", predictive(0.65)),
    "lean": ("Trimtab, forecast, lean", forecast(LEAN)),
    "calm": ("Trimtab, forecast, calm", forecast(CALM)),
    FORECAST: ("Trimtab, forecast, balanced", forecast(BALANCED)),
}
"""By the name that ``make capacity ARGS=`` takes: its words, and the policy."""
USUAL = "boot120"
SETTINGS: Mapping[str, Setting] = {
    USUAL: Setting(),
    "boot30": Setting(boot=30.0),
    "boot300": Setting(boot=300.0),
    "peak10": Setting(peak=10.0),
    "peak200": Setting(peak=200.0),
}
"""Every policy is scored in the first; the forecast in all of them."""

Results = dict[str, dict[str, dict[str, CapacityScore]]]
"""By setting, policy and trace."""


def results() -> Results:
    """Return the figures that were kept; empty: none."""
    if not RESULTS.is_file():
        return {}
    return {
        setting: {
            policy: {trace: CapacityScore(**figures) for trace, figures in of_traces.items()}
            for policy, of_traces in of_policies.items()
        }
        for setting, of_policies in json.loads(RESULTS.read_text(encoding="utf-8")).items()
    }


def keep(found: Results) -> None:
    """Write the figures, rounded to five digits."""
    plain = {
        setting: {
            policy: {
                trace: {"cost": round(one.cost, 5), "over": round(one.over, 5), "flaps": round(one.flaps, 5)}
                for trace, one in sorted(of_traces.items())
            }
            for policy, of_traces in of_policies.items()
        }
        for setting, of_policies in found.items()
    }
    RESULTS.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
