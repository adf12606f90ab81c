"""The policy with a forecast, for all traces side by side; each change of size goes through `trigger.decide.decide`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.capacity.setting import CapacityPolicy, Setting, Sizes
from benchmarks.capacity.traces import STEP, Trace
from collector.samples import Floats
from config.model.adjustments import Adjustment, AdjustmentVerb
from config.model.catalogue import Group
from config.units import GroupId, Instant, Moment, Monotonic, PolicyId, ProfileId
from handler.replay.members import ReplayMembers, always
from handler.replay.paths import Ints
from trigger.decide import decide
from trigger.forecast.horizons import Horizons
from trigger.forecast.memory import LoadMemory
from trigger.forecast.outlook import Outlook, new_state, step
from trigger.forecast.shadows import AFTER_GROWTH, Preference, wanted
from trigger.requests import GroupState, Request, RequestCause

_PLENTY = 10**9
_POLICY = PolicyId("ahead")


def forecast(preference: Preference) -> CapacityPolicy:
    """Return the policy that weighs cost, missed load and restlessness so."""

    def decided(setting: Setting, traces: Mapping[str, Trace], shown: Mapping[str, Floats]) -> Sizes:
        names = sorted(traces, key=lambda name: (-len(shown[name]), name))
        lanes = [_Lane(name, setting, shown[name]) for name in names]
        horizons = Horizons(boot=setting.timing.boot, drain=setting.timing.drain)
        memory, state = LoadMemory(len(lanes), horizons), new_state(len(lanes), horizons)
        for number in range(len(shown[names[0]])):
            load = np.array([lane.shown[number] if number < len(lane.shown) else np.nan for lane in lanes])
            state = step(state, memory, load, preference)
            assert state.outlook is not None
            _follow(state.outlook, lanes, number)
        return {name: lane.sizes for name, lane in zip(names, lanes, strict=True)}

    return decided


class _Lane:
    """One real group: its state, and its members."""

    def __init__(self, name: str, setting: Setting, shown: Floats) -> None:
        self.shown: list[float] = shown.tolist()
        self.group = Group(
            id=GroupId(name),
            profile=ProfileId("web"),
            minimum=1,
            maximum=setting.most,
            interval=STEP,
            keep_growth=AFTER_GROWTH * STEP,
        )
        self.members = ReplayMembers(self.group, always(setting.boot), 1, 0.0)
        self.state = GroupState(desired=1)
        self.grown = self.shrunk = -np.inf
        self.sizes: Ints = np.ones(len(shown), dtype=np.int64)

    def ask(self, size: int, number: int) -> None:
        """Let the live code decide about another size, and carry the decision out."""
        at = Instant(number * STEP)
        request = Request(
            id=f"{_POLICY}@{number}",
            group=self.group.id,
            cause=RequestCause.POLICY,
            by=_POLICY,
            adjustment=Adjustment(verb=AdjustmentVerb.SET, amount=size),
            policy=_POLICY,
            quiet_time=0.0,
        )
        now, fleet = Moment(wall=at, steady=Monotonic(at)), self.members.seen(at, _PLENTY)
        before = self.state.desired or 0
        self.state = decide(self.group, (request,), fleet, self.state, now, evaluation=None).state
        after = self.state.desired or 0
        self.members.follow(after, at)
        self.grown = number if after > before else self.grown
        self.shrunk = number if after < before else self.shrunk


def _follow(outlook: Outlook, lanes: list[_Lane], number: int) -> None:
    """Ask for the sizes of one step, where they differ from the sizes that there are."""
    size = np.array([float(lane.state.desired or 0) for lane in lanes])
    grown, shrunk = np.array([lane.grown for lane in lanes]), np.array([lane.shrunk for lane in lanes])
    want = wanted(size, outlook.needed, outlook.may_shrink_to, number, grown, shrunk)
    want = np.where(outlook.heard, want, np.maximum(size, outlook.needed))
    for place in np.flatnonzero(want != size).tolist():
        if number < len(lanes[place].shown):
            lanes[place].ask(int(want[place]), number)
    for lane in lanes:
        if number < len(lane.shown):
            lane.sizes[number] = lane.state.desired or 0
