"""A group with a forecast, fed tick by tick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from aggregator.aggregate import Aggregator
from aggregator.frames import Frame
from collector.samples import Sheet
from collector.targets import Roster, layout_for
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Moment, Monotonic, PolicyId
from trigger.policies.forecasting import Forecasting
from trigger.verdicts import Foreseen

WEB, AHEAD = GroupId("web"), PolicyId("ahead")
MONDAY = 1_767_571_200.0
"""An instant at midnight in UTC."""


def a_forecast(keys: str = "", *, group: str = "", more: str = "", policies: str = "ahead", counter: str = "") -> str:
    """Return a file with the group ``web`` and the policy ``ahead``."""
    return f"""\
sources:
  prom: {{prometheus: {{url: "http://127.0.0.1:9090"}}}}
counters:
  requests: {{prometheus: requests, server: prom, {counter or "per: group"}}}
policies:
  ahead: {{forecast: {{load: {{counter: requests, each: 10}}{keys}}}}}
{more}
clouds: {{box: {{process: {{}}, budget: {{per_hour: 1000000, outstanding: 1000000}}}}}}
profiles: {{web: {{cloud: box, command: [serve]}}}}
groups:
  web: {{profile: web, min: 1, max: 80, policies: [{policies}]{group}}}
"""


class Fed:
    """The forecasts of one group."""

    def __init__(self, catalogue: Catalogue, since: float = MONDAY) -> None:
        self.catalogue = catalogue
        self.forecasting = Forecasting(catalogue, [WEB])
        self.aggregator = Aggregator(catalogue, [WEB])
        self.layout = layout_for(catalogue, [Roster(group=WEB, members=())])
        self.now = since

    def tick(self, load: float) -> Mapping[PolicyId, Foreseen]:
        """Show a load, in members; NaN: no answer."""
        at = Instant(self.now)
        return self.forecasting.take(self.frames(load), at).get(WEB, {})

    def frames(self, load: float) -> Mapping[GroupId, Frame]:
        """Return the frames of a tick."""
        at = Moment(wall=Instant(self.now), steady=Monotonic(self.now))
        sheet = Sheet(self.layout)
        if not math.isnan(load):
            sheet.put(0, 10.0 * load, at=at.steady)
        frames = self.aggregator.take(sheet.close(at))
        self.now += self.catalogue.groups[WEB].interval
        return frames

    def ticks(self, loads: Iterable[float]) -> list[Foreseen | None]:
        return [self.tick(float(load)).get(AHEAD) for load in loads]


def fed(keys: str = "", *, since: float = MONDAY, group: str = "") -> Fed:
    return Fed(parse(a_forecast(keys, group=group), "model.yaml"), since)
