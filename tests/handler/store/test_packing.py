"""Spans in blocks: what is asked of history has the same answer before and after they are packed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from config.errors import StoreError
from config.units import GroupId
from handler.store.block_schema import span_blocks
from handler.store.packing import LEAST
from handler.store.past_spans import SpanRow
from handler.store.row_blocks import pack, unpack
from handler.store.schema import spans
from tests.support.store import WEB, a_definition, a_tick, an_explanation, at, opened
from trigger.reasons import Reason

FIXTURE = Path(__file__).with_name("fixtures") / "0025.sqlite"
PLENTY = 1 << 30
DAY = 86400.0
REASONS = (Reason.STEADY, Reason.HOLDING, Reason.QUIET)
WORKER = GroupId("worker")

TEXTS = st.text(max_size=30) | st.from_regex(r"\A\{(\"[a-z0-9#\\]*\":-?[0-9]{1,3}(\.[0-9]+)?(e-?[0-9])?,?){0,5}\}\Z")
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(st.builds(SpanRow, FINITE, FINITE, st.integers(0, 10**6), TEXTS, TEXTS, TEXTS), max_size=12)


def tell(store, times: Sequence[float], group: GroupId = WEB) -> None:
    """One span that begins at each of these seconds."""
    explanations = [
        an_explanation(at(seconds), group=group, reason=REASONS[number % 3], values=(seconds / 7, None))
        for number, seconds in enumerate(times)
    ]
    store.record([a_tick(each) for each in explanations])


def prune(store, before: float = -100 * DAY, bytes_at_most: int = PLENTY) -> int:
    return store.prune(before=at(before), bytes_at_most=bytes_at_most)


def count(store, table) -> int:
    return store._writer.do(lambda connection: connection.execute(select(func.count()).select_from(table)).scalar_one())


def answers(store, moments: Sequence[float]) -> list[object]:
    """All that can be asked of the spans of `web` at these moments, and between any two of them."""
    whole = [store.span_at(WEB, at(moment)) for moment in moments]
    pairs = [(begin, end) for begin in moments for end in moments if begin < end]
    begun = [store.spans_begun(WEB, at(begin), at(end), limit) for begin, end in pairs for limit in (1, 5, 99)]
    return [*whole, *begun]


@given(ROWS, ROWS)
def test_a_block_gives_back_every_character(some: list[SpanRow], more: list[SpanRow]) -> None:
    assert unpack(pack(more, onto=pack(some))) == (*some, *more)


@pytest.mark.parametrize("body", [b"", b"noise", pack([])[:-3], pack([SpanRow(1.0, 2.0, 1, "{}", "[]", "[]")])[:9]])
def test_a_damaged_block_is_an_error(body: bytes) -> None:
    with pytest.raises(StoreError, match="a stored block of history cannot be read"):
        unpack(body)


def test_few_spans_stay_rows(store):
    tell(store, range(LEAST))
    prune(store)
    assert (count(store, spans), count(store, span_blocks)) == (LEAST, 0)


def test_the_last_span_stays_a_row_since_ticks_extend_it(store):
    tell(store, range(LEAST + 1))
    prune(store)
    assert (count(store, spans), count(store, span_blocks)) == (1, 1)
    store.record((a_tick(an_explanation(at(99), reason=REASONS[LEAST % 3], values=(99.0, None))),))
    assert (store.span_at(WEB, at(99)).first_at, store.span_at(WEB, at(99)).last_at) == (at(LEAST), at(99))


def test_every_question_has_the_same_answer_once_spans_are_packed(file_store):
    tell(file_store, [30.0 * number for number in range(40)])
    tell(file_store, [30.0 * number for number in range(40)], WORKER)
    moments = [-1.0, 0.0, 15.0, 30.0, 601.0, 1140.0, 1169.0, 1170.0, 5000.0]
    before = answers(file_store, moments)
    prune(file_store)
    assert count(file_store, spans) == 2
    assert answers(file_store, moments) == before


def test_spans_that_begin_before_those_of_an_earlier_block_are_found(file_store):
    """The clock was set back in between."""
    tell(file_store, [100.0 + number for number in range(20)])
    prune(file_store)
    tell(file_store, [90.0 + number / 2 for number in range(40)])
    moments = [89.0, 90.0, 99.9, 100.0, 105.2, 109.5, 109.7, 118.9, 119.0, 130.0]
    before = answers(file_store, moments)
    prune(file_store)
    assert (count(file_store, spans), count(file_store, span_blocks)) == (1, 2)
    assert answers(file_store, moments) == before


def test_a_block_goes_on_for_a_day_at_most(store):
    tell(store, [DAY / 20 * number for number in range(30)])
    prune(store)
    tell(store, [DAY / 20 * number for number in range(30, 62)])
    prune(store)
    assert store._writer.do(lambda connection: connection.execute(select(func.max(span_blocks.c.rows))).scalar()) == 21
    assert (count(store, spans), count(store, span_blocks)) == (1, 3)


def test_a_block_goes_once_all_its_spans_are_older_than_asked(store):
    tell(store, range(20))
    prune(store)
    prune(store, before=17.5)
    assert store.span_at(WEB, at(5)).first_at == at(5)
    prune(store, before=18.5)
    assert store.span_at(WEB, at(5)) is None
    assert store.span_at(WEB, at(30)).first_at == at(19)


def test_the_oldest_blocks_go_if_the_disk_budget_is_used_up(file_store, file):
    tell(file_store, [DAY / 10 * number for number in range(400)])
    for number in range(40):
        file_store.note(WEB, "observe", "ada", "", at(DAY * number))
    prune(file_store)
    blocks = count(file_store, span_blocks)
    assert prune(file_store, bytes_at_most=file.stat().st_size - 4096) > 20
    assert count(file_store, span_blocks) == blocks - 20
    assert len(file_store.history(WEB, before=None, limit=1000)) > 10


def test_a_group_that_is_deleted_keeps_its_packed_history(store):
    tell(store, range(20), WORKER)
    store.declare((a_definition("web"),), at(30))
    prune(store)
    store.drop_group(WORKER)
    assert store.span_at(WORKER, at(7)).first_at == at(7)


def test_spans_of_an_older_release_are_packed_and_read_as_they_were(tmp_path):
    path = Path(shutil.copy(FIXTURE, tmp_path / "trimtab.sqlite"))
    store = opened(path)
    moments = [0.0, 31.0, 100.0, 3000.0, 3131.25, 11000.0, 99999.0]
    before = answers(store, moments)
    with closing(sqlite3.connect(path)) as connection:
        written = connection.execute("SELECT first_at, last_at, ticks, first, least, greatest FROM spans").fetchall()
    prune(store)
    assert count(store, spans) == 2
    assert answers(store, moments) == before
    with closing(sqlite3.connect(path)) as connection:
        bodies = connection.execute("SELECT body FROM span_blocks")
        packed = [row for (body,) in bodies for row in unpack(body)]
        left = connection.execute("SELECT first_at, last_at, ticks, first, least, greatest FROM spans").fetchall()
    assert sorted([*packed, *left]) == sorted(written)
    store.close()


def test_a_block_that_cannot_be_read_is_named_and_left(store):
    tell(store, range(20))
    prune(store)
    store._writer.do(lambda connection: connection.execute(update(span_blocks).values(body=b"noise")).rowcount)
    with pytest.raises(StoreError, match="a stored block of history cannot be read"):
        store.span_at(WEB, at(5))


def test_a_damaged_block_keeps_no_other_history_from_being_packed_and_deleted(store):
    tell(store, range(20))
    prune(store)
    store._writer.do(lambda connection: connection.execute(update(span_blocks).values(body=b"noise")))
    tell(store, range(100, 120))
    tell(store, range(20), WORKER)
    prune(store)
    assert (count(store, spans), count(store, span_blocks)) == (2, 3)
    assert store.spans_begun(WEB, at(105), at(107), 9)[0].first_at == at(106)
    assert prune(store, before=50.0) > 0
    assert count(store, span_blocks) == 1
