"""Progress that is carried over many ticks at once is what `progress` carries tick by tick, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from config.model.catalogue import Holds, InARow
from config.units import Monotonic, PolicyId
from tests.support.trigger import a_policy
from trigger.conditions.columns import TRUTHS
from trigger.conditions.held_columns import HeldTicks
from trigger.conditions.timers import Kept, progress
from trigger.verdicts import Truth

INTERVAL = 30.0
POLICIES = (
    a_policy("at_once", duration=0.0),
    a_policy("slow", duration=90.0),
    a_policy("average", duration=90.0, holds=Holds.AVERAGE),
    replace(a_policy("counts"), in_a_row=InARow(times=3, every=30.0)),
    replace(a_policy("counts_rarely"), in_a_row=InARow(times=2, every=80.0)),
)
"""All ways to be ready."""

Tick = tuple[float, Sequence[Truth]]
GAPS = st.sampled_from([30.0, 30.0, 30.0, 28.7, 31.0, 45.0, 45.1, 60.0, 0.0])
"""Seconds since the tick before: about the interval, at the limit of a gap, and beyond."""
TICKS = st.lists(st.tuples(GAPS, st.tuples(*[st.sampled_from(TRUTHS) for _ in POLICIES])), min_size=1, max_size=30)


def one_by_one(
    ticks: Sequence[Tick], kept: Mapping[PolicyId, Kept]
) -> tuple[list[list[bool]], list[Mapping[PolicyId, Kept]]]:
    ready: list[list[bool]] = []
    after = [kept]
    for at, truths in ticks:
        comes = [
            progress(policy, after[-1].get(policy.id), truth, Monotonic(at), INTERVAL)
            for policy, truth in zip(POLICIES, truths, strict=True)
        ]
        ready.append([come.ready and truth is Truth.TRUE for come, truth in zip(comes, truths, strict=True)])
        after.append(
            {policy.id: come.kept for policy, come in zip(POLICIES, comes, strict=True) if come.kept is not None}
        )
    return ready, after


@given(gaps=TICKS, before=st.integers(0, 29))
def test_ticks_at_once_are_ready_and_hold_as_ticks_one_by_one(gaps: list[Tick], before: int) -> None:
    at = np.cumsum([1000.0, *(gap for gap, _ in gaps)])[1:].tolist()
    ticks = [(now, truths) for now, (_, truths) in zip(at, gaps, strict=True)]
    first = min(before, len(ticks) - 1)
    ready, after = one_by_one(ticks, {})
    codes = np.array([[TRUTHS.index(truth) for truth in truths] for _, truths in ticks[first:]], dtype=np.int8)

    found = HeldTicks(POLICIES, INTERVAL, after[first], codes, np.array(at[first:]))

    assert found.ready.tolist() == ready[first:]
    assert [found.kept(tick) for tick in range(len(codes) + 1)] == after[first:]


def test_progress_under_another_rule_does_not_count() -> None:
    """After a reload a policy may count evaluations that held for a time before."""
    slow, counts = POLICIES[1], POLICIES[3]
    held = HeldTicks([slow], INTERVAL, {}, np.array([[1]], dtype=np.int8), np.array([0.0])).kept(1)
    counted: dict[PolicyId, Kept] = {counts.id: held[slow.id]}
    true = np.array([[1], [1]], dtype=np.int8)
    assert not HeldTicks([counts], INTERVAL, counted, true, np.array([30.0, 60.0])).ready.any()
