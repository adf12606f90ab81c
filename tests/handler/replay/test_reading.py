from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.samples import Reply
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.samples import Samples, Unreplayable
from handler.replay.scrapes import ticks_by_group
from tests.support.replay import HEADER, START, WEB, Row, decided, declared, flat, run_of, written

ROW = "1767225600,web,a,cpu,5"


def read(path: Path, span: ReplaySpan = ReplaySpan()) -> tuple[Samples, tuple[str, ...]]:  # noqa: B008  # frozen
    return read_series(path, declared(), (WEB,), span)


def saved(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "s.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


FAULTS = {
    "no header": ((), r"s\.csv:1: column timestamp, group, member, counter, value is missing"),
    "a column is missing": (("timestamp,group,member,value", ROW), r"s\.csv:1: column counter is missing"),
    "no instant": (
        (HEADER, ROW, "noon,web,a,cpu,5"),
        r"s\.csv:3: timestamp 'noon'; expected epoch seconds or ISO 8601",
    ),
    "an instant without end": ((HEADER, "inf,web,a,cpu,5"), r"s\.csv:2: timestamp 'inf'; expected"),
    "milliseconds": (
        (HEADER, ROW, "1767225600000,web,a,cpu,5"),
        r"s\.csv:3: timestamp 1767225600000; expected epoch seconds: is 1767225600 meant\?",
    ),
    "milliseconds among others": (
        (HEADER, "2026-01-01T00:00:00Z,web,a,cpu,5", "1767225600000,web,a,cpu,5"),
        r"s\.csv:3: timestamp 1767225600000; expected epoch seconds: is 1767225600 meant\?",
    ),
    "nanoseconds": (
        (HEADER, "1767225600000000000,web,a,cpu,5"),
        r":2: timestamp 1767225600000000000; .*: is 1767225600",
    ),
    "an instant beyond all": (
        (HEADER, ROW, "1e30,web,a,cpu,5"),
        r"s\.csv:3: timestamp 1e30; expected epoch seconds, up to",
    ),
    "a year beyond all": (
        (HEADER, "3000-01-01,web,a,cpu,5"),
        r"s\.csv:2: timestamp '3000-01-01'; expected epoch seconds, up",
    ),
    "an instant that is none": ((HEADER, ROW, "nan,web,a,cpu,5"), r"s\.csv:3: timestamp 'nan'; expected"),
    "an endless instant": ((HEADER, ROW, "-inf,web,a,cpu,5"), r"s\.csv:3: timestamp '-inf'; expected"),
    "no number": ((HEADER, ROW, "1767225630,web,a,cpu,5%"), r"s\.csv:3: value '5%'; expected a number, or nothing"),
    "too few columns": ((HEADER, ROW, ROW, "1,web"), r"s\.csv:4: 2 columns; expected 5, as in line 1"),
    "no group": ((HEADER, "1,,a,cpu,5"), r"s\.csv:2: no group; expected its name"),
    "no reply of ours": ((HEADER + ",reply", ROW + ",fine"), r"s\.csv:2: reply 'fine'; expected one of timeout, ok"),
    "nothing that is declared": ((HEADER, "1,shop,a,cpu,5"), r"s\.csv: no row has a declared group and counter"),
}


@pytest.mark.parametrize(("lines", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_what_cannot_be_read_is_pointed_at(lines: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(Unreplayable, match=message):
        read(saved(tmp_path, *lines))


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00garbage\x00", b"PAR1PAR1"])
def test_garbage_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(Unreplayable):
        read(path)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (1767225600000.0, "timestamp 1767225600000; expected epoch seconds: is 1767225600 meant"),
        (float("nan"), "timestamp nan; expected epoch seconds, up to 7258118400"),
    ],
)
def test_an_instant_of_parquet_is_refused_likewise(tmp_path: Path, at: float, message: str) -> None:
    table = pa.csv.read_csv(saved(tmp_path, HEADER, ROW))
    pq.write_table(table.set_column(0, "timestamp", pa.array([at])), tmp_path / "s.parquet")

    with pytest.raises(Unreplayable, match=rf"s\.parquet: {message}"):
        read(tmp_path / "s.parquet")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unreplayable, match="cannot be read: No such file"):
        read(tmp_path / "none.csv")


@pytest.mark.parametrize(
    "stamp", ["1767225600", "1767225600.0", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00", "2026-01-01T01:00:00+01:00"]
)
def test_an_instant_is_epoch_seconds_or_iso(stamp: str, tmp_path: Path) -> None:
    samples, _ = read(saved(tmp_path, HEADER, f"{stamp},web,a,cpu,5"))

    assert samples.at.tolist() == [START]


@pytest.mark.parametrize(
    ("value", "reply"),
    [("5", Reply.OK), ("0", Reply.OK), ("", Reply.TIMEOUT), ("nan", Reply.MALFORMED), ("inf", Reply.MALFORMED)],
)
def test_only_a_finite_number_is_an_answer(value: str, reply: Reply, tmp_path: Path) -> None:
    samples, _ = read(saved(tmp_path, HEADER, f"1,web,a,cpu,{value}"))

    assert samples.reply.tolist() == [reply]


def test_columns_may_stand_in_any_order_beside_others(tmp_path: Path) -> None:
    samples, _ = read(saved(tmp_path, "value,note,counter,member,group,timestamp", "5,hello,cpu,a,web,1"))

    assert (samples.at.tolist(), samples.value.tolist()) == ([1.0], [5.0])


def test_what_is_not_declared_is_named_once(tmp_path: Path) -> None:
    lines = ["1,shop,a,cpu,5", "2,shop,a,cpu,5", "1,web,a,disk,5", "2,web,a,disk,5"]

    samples, caveats = read(saved(tmp_path, HEADER, ROW, *lines))

    assert len(samples) == 1
    assert [caveat.partition(": ")[2] for caveat in caveats] == [
        "group shop is not declared: its rows are skipped",
        "counter disk is not declared: its rows are skipped",
    ]


def test_a_part_of_the_time_may_be_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", flat(5, 10, members=1))

    samples, _ = read(path, ReplaySpan(since=START + 60, until=START + 120))

    assert (samples.at - START).tolist() == [60, 90]


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    rows = [*flat(90, 5), (150, "m0", None), (150, "m1", 90), *flat(90, 4, since=6)]
    path = written(tmp_path / "s.csv", rows)
    table = pyarrow.csv.read_csv(path)
    stamps = pa.array((table["timestamp"].to_numpy() * 1_000_000).astype("datetime64[us]"))
    pq.write_table(table.set_column(0, "timestamp", stamps), tmp_path / "s.parquet")

    assert decided(run_of(tmp_path / "s.parquet")) == decided(run_of(path)) != []


def test_what_an_export_adds_is_used(tmp_path: Path) -> None:
    header = HEADER + ",reply,counted,steady,replied_at,uptime"
    samples, caveats = read(
        saved(
            tmp_path,
            header,
            "10,web,a,cpu,5,ok,true,1000,1000.25,77",
            "10,web,b,cpu,,refused,false,1000,,",
            "40,web,,,,nobody,true,1030,,",
            "70,web,,,,missed,true,1060,,",
        )
    )

    assert samples.reply.tolist()[:2] == [Reply.OK, Reply.REFUSED]
    assert samples.counted.tolist() == [True, False, True]
    assert samples.steady.tolist() == [1000, 1000, 1030]
    np.testing.assert_array_equal(samples.replied_at, [1000.25, np.nan, np.nan])
    np.testing.assert_array_equal(samples.uptime, [77, np.nan, np.nan])
    assert samples.counter.codes.tolist()[2] == -1
    assert len(caveats) == 1
    assert "1 rows stand for ticks whose samples were lost" in caveats[0]


values = st.none() | st.integers(0, 100)
rows = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from("abc"), values), min_size=1, max_size=60, unique_by=lambda r: r[:2]
)


@given(rows=rows, data=st.data())
def test_the_order_of_rows_never_matters(rows: list[Row], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    with tempfile.TemporaryDirectory() as folder:
        one = run_of(written(Path(folder, "a.csv"), rows))
        other = run_of(written(Path(folder, "b.csv"), shuffled))

    assert one == other


def test_columns_that_a_file_does_not_have_take_no_memory(tmp_path: Path) -> None:
    samples, _ = read_series(written(tmp_path / "s.csv", flat(50, 20)), declared(), (WEB,), ReplaySpan())

    ticks = ticks_by_group(declared(), samples)[WEB].samples
    for column in (samples.steady, ticks.steady, ticks.replied_at, ticks.uptime):
        assert (len(column), column.strides) == (40, (0,))
        assert np.isnan(column).all()


def test_a_text_without_end_is_pointed_at(tmp_path: Path) -> None:
    path = saved(tmp_path, HEADER, ROW.replace("web", '"web'), "x" * 100_000)
    before = csv.field_size_limit(1000)
    try:
        with pytest.raises(Unreplayable, match=r"s\.csv: "):
            read(path)
    finally:
        csv.field_size_limit(before)
