"""Show what the forecasts of groups know, put loads of before under them, and learn these again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from config.errors import Refused
from config.units import GroupId, Instant, PolicyId
from handler.engine.engine import Engine
from handler.operations.lookup import runtime_of
from handler.runtime.forecasts import ForecastKeeper
from trigger.explain.forecast_words import say_foreseen, say_knowledge, say_learned
from trigger.forecast.cohorts import Lane
from trigger.forecast.horizons import STEP
from trigger.forecast.leads import LearnedTime, MemberTimes
from trigger.policies.forecast_knowledge import ForecastKnowledge, known_by
from trigger.policies.forecasting import Forecasting, step_of
from trigger.verdicts import Foreseen


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownForecast:
    """What a forecast knows, and what it says now."""

    policy: PolicyId
    advises: bool
    """It asks for nothing."""
    learning: bool
    """It is learned from its loads now, and goes by what it knew meanwhile."""
    each: float | None
    """What a member carries, as it is declared; ``None``: that is learned."""
    boots: LearnedTime | None
    """How long members took; ``None``: none is known. A `boot` of the file comes first."""
    drains: LearnedTime | None
    known: ForecastKnowledge | None
    """``None``: no load was measured yet."""
    foreseen: Foreseen | None
    """At the last tick; ``None``: nothing."""
    words: tuple[str, ...]


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

    def shown(self, group: GroupId) -> tuple[ShownForecast, ...]:
        """Return what the forecasts of a group know; none: it has no forecast.

        Raises:
            NoSuch: there is no such group.
        """
        keeper, times = self._keeper(group), runtime_of(self._engine, group).times
        return tuple(
            _shown(lane, forecasting, times, learning=keeper.is_learned(lane))
            for lane, forecasting in keeper.known(group).items()
        )

    def _keeper(self, group: GroupId) -> ForecastKeeper:
        runtime_of(self._engine, group)
        return self._engine.parts.forecasts or ForecastKeeper()


def _shown(lane: Lane, forecasting: Forecasting, times: MemberTimes, *, learning: bool) -> ShownForecast:
    action = forecasting.action(lane)
    cohort = next((each for each in forecasting.cohorts if lane in each.lanes), None)
    known = None if cohort is None else known_by(cohort, lane)
    foreseen = forecasting.foresight.get(lane.group, {}).get(lane.policy)
    return ShownForecast(
        policy=lane.policy,
        advises=action.advises,
        learning=learning,
        each=action.capacity.each,
        boots=times.boot,
        drains=times.drain,
        known=known,
        foreseen=foreseen,
        words=(*say_foreseen(foreseen), *_times_in_words(times), *(() if known is None else say_knowledge(known))),
    )


def _times_in_words(times: MemberTimes) -> Iterator[str]:
    for verb, learned in (("boot", times.boot), ("drain", times.drain)):
        if learned is not None:
            yield f"members {verb}: {say_learned(learned)}"
