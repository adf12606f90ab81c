from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from collector.samples import Reply
from config.model.observability import Recording
from config.units import GroupId
from handler.recording.events import RecordingSelection
from handler.recording.exporting import Csv, Exported, export_series
from handler.recording.parquet import Sheets
from tests.support.recording import NINE, WEB, Recorded, a_layout, a_scrape, at

LAYOUT = a_layout(("web", "cpu", "m-1"), ("web", "cpu", "m-2"), ("web", "queue", None), counted=[True, False, True])
IDLE = GroupId("idle")

GOLDEN = """\
timestamp,group,member,counter,value,reply,counted,steady,replied_at,uptime,resolution,asked,count,minimum,maximum
1772355600.125,idle,,,,nobody,true,1000.125,,,0,,,,
1772355600.125,web,m-1,cpu,12.5,ok,true,1000.125,1000.375,86400.01,0,,,,
1772355600.125,web,m-2,cpu,,timeout,false,1000.125,,,0,,,,
1772355600.125,web,,queue,0.1,ok,true,1000.125,1000.375,86400.01,0,,,,
1772355630.1231234,idle,,,,nobody,true,1030.123123456,,,0,,,,
1772355630.1231234,web,m-1,cpu,,no_such_counter,true,1030.123123456,,,0,,,,
1772355630.1231234,web,m-2,cpu,1e+300,ok,false,1030.123123456,1030.373123456,,0,,,,
1772355630.1231234,web,,queue,-0,ok,true,1030.123123456,1030.373123456,,0,,,,
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    recorded = Recorded(tmp_path / "recording")
    recorded.write(
        ((IDLE, WEB), a_scrape(at(0.125), LAYOUT, [12.5, None, 0.1], uptime=86400.01)),
        ((IDLE, WEB), a_scrape(at(30.123123456), LAYOUT, [None, 1e300, -0.0], silence=Reply.NO_SUCH_COUNTER)),
    )
    return recorded


def exported(recorded: Recorded, wanted: RecordingSelection | None = None) -> tuple[str, Exported]:
    file = io.BytesIO()
    done = export_series(recorded.folder, wanted or RecordingSelection(), Csv(file), lambda done, of: None)
    return file.getvalue().decode(), done


def test_csv_is_as_documented(recorded: Recorded) -> None:
    text, done = exported(recorded)

    assert text == GOLDEN
    assert (done.rows, done.thinned, done.missed, done.left_out) == (8, 0, 0, ())
    assert (done.first_at, done.last_at) == (at(0.125).wall, at(30.123123456).wall)


def test_every_number_can_be_read_back_exactly(recorded: Recorded) -> None:
    awkward = [0.1 + 0.2, 5e-324, 1.7976931348623157e308]
    recorded.write(((WEB,), a_scrape(at(60.0000001), LAYOUT, awkward)))

    rows = list(csv.DictReader(io.StringIO(exported(recorded)[0])))[-3:]

    assert [float(row["value"]) for row in rows] == awkward
    assert {float(row["timestamp"]) for row in rows} == {at(60.0000001).wall}
    assert {float(row["steady"]) for row in rows} == {at(60.0000001).steady}


def test_words_that_csv_would_stumble_over_are_quoted(recorded: Recorded) -> None:
    odd = a_layout(("web", 'c,"pu"', "m\n1"))
    recorded.write(((WEB,), a_scrape(at(60), odd)))

    row = list(csv.DictReader(io.StringIO(exported(recorded)[0])))[-1]

    assert (row["counter"], row["member"], row["value"]) == ('c,"pu"', "m\n1", "50")


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (RecordingSelection(groups=frozenset({WEB})), 6),
        (RecordingSelection(groups=frozenset({IDLE})), 2),
        (RecordingSelection(groups=frozenset({GroupId("other")})), 0),
        (RecordingSelection(since=NINE + 1), 4),
        (RecordingSelection(until=NINE + 1), 4),
        (RecordingSelection(since=at(0.125).wall, until=at(30.123123456).wall), 4),
        (RecordingSelection(since=NINE + 7200), 0),
    ],
    ids=str,
)
def test_only_what_is_wanted_is_handed_out(recorded: Recorded, wanted: RecordingSelection, count: int) -> None:
    assert exported(recorded, wanted)[1].rows == count


def test_parquet_has_the_same_rows(recorded: Recorded, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    with path.open("wb") as file:
        sheets = Sheets(file, None)
        export_series(recorded.folder, RecordingSelection(), sheets, lambda done, of: None)
        sheets.close()

    found = pq.read_table(path).to_pylist()
    expected = list(csv.DictReader(io.StringIO(GOLDEN)))
    assert [_as_text(row) for row in found] == [{**row, "timestamp": float(row["timestamp"])} for row in expected]


def _as_text(row: dict[str, object]) -> dict[str, object]:
    shown: dict[str, object] = {}
    for name, value in row.items():
        match value:
            case None:
                shown[name] = ""
            case bool():
                shown[name] = str(value).lower()
            case float() if name != "timestamp":
                shown[name] = repr(value).removesuffix(".0")
            case _:
                shown[name] = value
    return shown


def test_recorded_files_are_ordinary_parquet(recorded: Recorded) -> None:
    (name,) = recorded.files

    table = pq.read_table(recorded.folder / name)

    assert table.num_rows == 8
    assert table.column("group").combine_chunks().dictionary.to_pylist() in (["web", "idle"], ["idle", "web"])
    assert b'"resolution": 0.0' in table.schema.metadata[b"trimtab"]


def test_what_is_thinned_says_so(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Recording(whole=60.0), clock=lambda: at(7200))
    layout = a_layout(("web", "cpu", "m-1"))
    recorded.write(*(((WEB,), a_scrape(at(15.0 * n), layout, [float(n) if n != 1 else None])) for n in range(25)))

    text, done = exported(recorded)

    assert done.thinned == done.rows == 2
    assert text.splitlines()[1:] == [
        "1772355600,web,m-1,cpu,9.947368421052632,,true,,,,300,20,19,0,19",
        "1772355900,web,m-1,cpu,22,,true,,,,300,5,5,20,24",
    ]
    (name,) = recorded.files
    assert b'"resolution": 300.0' in pq.read_schema(recorded.folder / name).metadata[b"trimtab"]


def test_a_stretch_is_wanted_if_any_part_of_it_is(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Recording(whole=60.0), clock=lambda: at(7200))
    recorded.write(*(((WEB,), a_scrape(at(15.0 * n), a_layout(("web", "cpu", "m-1")))) for n in range(60)))

    assert exported(recorded, RecordingSelection(since=NINE + 299, until=NINE + 301))[1].rows == 2


def test_what_cannot_be_read_is_reported(recorded: Recorded) -> None:
    (name,) = recorded.files
    path = recorded.folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])

    text, done = exported(recorded)

    assert text.count("\n") == 1
    assert len(done.left_out) == 1


def test_progress_is_reported_by_the_hour(recorded: Recorded) -> None:
    recorded.write(((WEB,), a_scrape(at(3600), LAYOUT)))
    reports: list[tuple[int, int]] = []

    export_series(recorded.folder, RecordingSelection(), Csv(io.BytesIO()), lambda done, of: reports.append((done, of)))

    assert reports == [(1, 2), (2, 2)]
