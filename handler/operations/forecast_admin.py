"""Put loads of before under the forecasts of groups, and learn these again."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from config.errors import Refused
from config.units import GroupId, Instant, PolicyId
from handler.engine.engine import Engine
from handler.operations.lookup import runtime_of
from handler.runtime.forecasts import ForecastKeeper
from trigger.forecast.cohorts import Lane
from trigger.forecast.horizons import STEP
from trigger.policies.forecasting import step_of


class ForecastAdmin:
    """Fills and relearns forecasts. Groups go on by what their forecasts know meanwhile."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def fill(self, group: GroupId, policy: PolicyId, since: Instant, loads: Sequence[float | None]) -> int:
        """Put loads into the steps of which a forecast has none; return how many steps that were.

        Args:
            group: its group.
            policy: the policy with the forecast.
            since: an instant in the step of the first load.
            loads: one for each step of 30 seconds, in the unit of the counter; ``None``: not known.

        Raises:
            NoSuch: there is no such group.
            Refused: there is no such forecast, or it is being learned; a load is of the future; the disk refuses.
        """
        keeper, first, now = self._keeper(group), step_of(since), step_of(self._engine.parts.clock().wall)
        if first + len(loads) > now:
            raise Refused(f"loads after now: {len(loads)} steps of {STEP:g} s since {since:.0f} are not over yet")
        known = np.array([math.nan if load is None else load for load in loads], dtype=np.float32)
        return await keeper.fill(Lane(group, policy), first, known, now)

    async def learn(self, group: GroupId, policy: PolicyId) -> int:
        """Learn a forecast again from all its loads, in the background; return how many steps these are.

        Raises:
            NoSuch: there is no such group.
            Refused: there is no such forecast, or it is being learned, or it has no loads; the disk refuses.
        """
        steps = await self._keeper(group).learn(Lane(group, policy))
        if not steps:
            raise Refused(f"the forecast {policy} of group {group} has no loads to learn from")
        return steps

    def _keeper(self, group: GroupId) -> ForecastKeeper:
        runtime_of(self._engine, group)
        return self._engine.parts.forecasts or ForecastKeeper()
