from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handler.recording.chunks import Chunker
from handler.recording.frames import Named, RecordedScrape
from handler.recording.rows import SampleRows, UnreadRows, in_order
from tests.support.recording import a_layout, a_scrape, at, rows_of

LAYOUT = a_layout(("web", "cpu", "m-1"), ("api", "cpu", "a-1"))


def a_piece(seconds: list[int], loaded: list[float]) -> UnreadRows:
    runs = tuple((each.group, each.counter, (each.member,)) for each in LAYOUT.series)
    named = Named(number=0, runs=runs, counted=LAYOUT.counted, idle=())
    scrapes = [a_scrape(at(second), LAYOUT) for second in seconds]
    taken = [
        RecordedScrape(layout=0, at=s.at, value=s.value, replied_at=s.replied_at, uptime=s.uptime, reply=s.reply)
        for s in scrapes
    ]
    (rows,) = Chunker().chunks([named, *taken])
    first = float(rows.timestamp.min())

    def load() -> SampleRows:
        loaded.append(first)
        return rows

    return UnreadRows(first=first, load=load)


@given(st.lists(st.lists(st.integers(0, 100), min_size=1, max_size=8), min_size=1, max_size=8))
def test_pieces_that_overlap_come_out_in_the_order_of_time(pieces: list[list[int]]) -> None:
    handed = list(in_order([a_piece(seconds, []) for seconds in pieces]))

    times = [row[0] for row in rows_of(handed)]
    wanted = sorted(at(second).wall for seconds in pieces for second in seconds for _ in LAYOUT.series)
    assert times == wanted


def test_what_does_not_overlap_is_not_held() -> None:
    loaded: list[float] = []
    stream = in_order([a_piece([start, start + 5], loaded) for start in (20, 0, 10)])

    assert len(next(stream)) == 4
    assert loaded == [at(0).wall]


def test_rows_of_one_instant_are_sorted_by_group() -> None:
    (rows,) = in_order([a_piece([0], [])])

    assert [row[1] for row in rows_of([rows])] == ["api", "web"]


def test_nothing_comes_of_nothing() -> None:
    assert list(in_order([])) == []
