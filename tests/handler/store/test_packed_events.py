"""Decisions and their inputs in blocks: history gives the same answers before and after they are packed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from config.units import GroupId
from handler.ports.stored import StoredTick
from handler.store.block_schema import decision_blocks, given_blocks
from handler.store.packing import LEAST
from handler.store.schema import decisions, givens
from handler.store.timeline import read_timeline
from tests.support.filled import filled
from tests.support.store import WEB, a_tick, an_answer, an_explanation, at
from trigger.explain.recorded_inputs import FORM, RecordedInputs
from trigger.reasons import Reason
from trigger.requests import Clamp

FRESH = itertools.count()
DAY = 86400.0
PLENTY = 1 << 30
WORKER = GroupId("worker")
CLAMP = Clamp(guard=Reason.AT_MAX, before=12, after=10)


def a_decision(seconds: float, number: int, group: GroupId = WEB) -> StoredTick:
    """Each third one changes the size; the others refuse a policy, for another reason each time."""
    if number % 3 == 0:
        explanation = an_explanation(at(seconds), group=group, reason=Reason.SCALED_OUT, sizes=(number, number + 1))
    else:
        reason = Reason.QUIET if number % 3 == 1 else Reason.AT_MAX
        refused = replace(an_answer(reason), clamps=(CLAMP,) * (number % 2))
        explanation = an_explanation(at(seconds), group=group, reason=reason, answers=(refused,))
    given = replace(filled(RecordedInputs), form=FORM, number=number, at=at(seconds))
    return replace(a_tick(explanation), given=given)


def tell(store, times: Sequence[float], group: GroupId = WEB) -> None:
    """One decision with its inputs at each of these seconds."""
    store.record([a_decision(seconds, number, group) for number, seconds in enumerate(times)])


def prune(store, before: float = -100 * DAY, bytes_at_most: int = PLENTY) -> int:
    return store.prune(before=at(before), bytes_at_most=bytes_at_most)


def counts(store) -> list[int]:
    tables = (decisions, givens, decision_blocks, given_blocks)
    return store._writer.do(
        lambda connection: [connection.execute(select(func.count()).select_from(each)).scalar_one() for each in tables]
    )


def answers(store, moments: Sequence[float]) -> list[object]:
    """All that can be asked of the decisions of `web` at these moments, and of all groups since then."""
    return [
        ask
        for moment in moments
        for limit in (1, 7, 999)
        for ask in (store.history(WEB, before=at(moment), limit=limit), store.size_changes(at(moment), limit))
    ]


def test_older_decisions_and_inputs_are_packed_and_the_newest_stays_a_row(store):
    tell(store, range(LEAST + 1))
    tell(store, range(LEAST), WORKER)
    prune(store)
    assert counts(store) == [1 + LEAST, 1 + LEAST, 1, 1]


def test_every_question_has_the_same_answer_once_decisions_are_packed(store):
    tell(store, [30.0 * number for number in range(400)])
    tell(store, [30.0 * number for number in range(20)], WORKER)
    moments = [0.0, 15.0, 30.0, 601.0, 6000.0, 8640.0, 11970.0, 99999.0]
    before = answers(store, moments)
    prune(store)
    assert counts(store)[2:] == [3, 3]
    assert answers(store, moments) == before


def test_changes_of_size_in_other_groups_hide_none_of_a_groups_own(store):
    tell(store, [30.0 * number for number in range(LEAST)])
    tell(store, [3000.0 + 30.0 * number for number in range(2 * LEAST)], WORKER)
    before = [event.at for event in store.size_changes(at(0), 3, (WEB,))]
    assert (len(before), max(before) < at(3000)) == (3, True)
    assert {event.group for event in store.size_changes(at(0), 3)} == {WORKER}
    assert store.size_changes(at(0), 3, ()) == ()
    prune(store)
    assert [event.at for event in store.size_changes(at(0), 3, (WEB,))] == before


def test_decisions_before_those_of_an_earlier_block_are_found(store):
    """The clock was set back in between."""
    tell(store, [100.0 + number for number in range(20)])
    prune(store)
    tell(store, [90.0 + number / 2 for number in range(40)])
    moments = [89.0, 90.0, 99.9, 100.0, 105.2, 109.5, 118.9, 119.0, 130.0]
    before = answers(store, moments)
    prune(store)
    assert counts(store) == [1, 1, 2, 2]
    assert answers(store, moments) == before


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    moments=st.lists(st.integers(0, 9), min_size=LEAST + 1, max_size=2 * LEAST),
    more=st.lists(st.integers(0, 9), max_size=2 * LEAST),
    limit=st.integers(1, 5),
)
def test_pages_of_packed_decisions_miss_nothing_and_repeat_nothing(file_store, moments, more, limit):
    name = GroupId(f"g{next(FRESH)}")
    tell(file_store, moments, name)
    prune(file_store)
    tell(file_store, more, name)
    seen, before = [], None
    while page := file_store.history(name, before=before, limit=limit):
        seen, before = [*seen, *page], page[-1].at
    assert sorted(event.at for event in seen) == sorted(map(at, [*moments, *more]))
    assert seen == list(file_store.history(name, before=None, limit=999))


def test_the_exported_history_has_the_same_lines_in_the_same_order(file_store, file: Path):
    tell(file_store, [30.0 * number for number in range(300)])
    tell(file_store, [30.0 * number for number in range(20, 30)], WORKER)
    for number in range(12):
        file_store.note(WEB, "observe", "ada", str(number), at(600.0 * number))
    file_store.flush()
    before = list(read_timeline(file))
    prune(file_store)
    assert counts(file_store)[2:] == [3, 3]
    assert list(read_timeline(file)) == before


@pytest.mark.parametrize(("since", "blocks"), [(17.5, 1), (18.5, 0)], ids=["one is newer", "all are older"])
def test_a_block_goes_once_all_its_rows_are_older_than_asked(store, since, blocks):
    tell(store, range(20))
    prune(store)
    prune(store, before=since)
    assert counts(store) == [1, 1, blocks, blocks]


def test_the_oldest_blocks_go_if_the_disk_budget_is_used_up(file_store, file):
    tell(file_store, [DAY / 10 * number for number in range(400)])
    prune(file_store)
    blocks = counts(file_store)[2]
    prune(file_store, bytes_at_most=file.stat().st_size - 4096)
    assert counts(file_store)[2:] == [blocks - 20] * 2
    assert file_store.history(WEB, before=None, limit=1)[0].at == at(DAY / 10 * 399)
