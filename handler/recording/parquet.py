"""Columns to and from Parquet and CSV: the only module of recordings that uses Arrow. Import it late: it takes 50 MB.

Words are dictionary-encoded. Numbers are split by bytes, which together with the order of the rows and zstd makes a
sample of a few bytes. Null stands for a missing value.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from config.errors import TrimtabError
from config.units import Seconds
from handler.recording.arrow_arrays import flags, numbers
from handler.recording.rows import NO_REPLY, REPLIES, SampleRows, Text, UnreadRows, nothing, same

_WORDS = pa.dictionary(pa.int32(), pa.string())
_REPLY = pa.dictionary(pa.int8(), pa.string())
_TYPES: Mapping[str, Any] = {
    "timestamp": pa.float64(),
    "group": _WORDS,
    "member": _WORDS,
    "counter": _WORDS,
    "value": pa.float64(),
    "reply": _REPLY,
    "counted": pa.bool_(),
    "steady": pa.float64(),
    "replied_at": pa.float64(),
    "uptime": pa.float64(),
    "resolution": pa.float64(),
    "asked": pa.int64(),
    "count": pa.int64(),
    "minimum": pa.float64(),
    "maximum": pa.float64(),
}
COLUMNS = tuple(_TYPES)
"""The columns of an export. Replay needs only the first five."""

_SAMPLE = COLUMNS[:10]
_STRETCH = ("timestamp", "group", "member", "counter", "value", "reply", "counted", *COLUMNS[11:])
_REPEATED = ("timestamp", "group", "member", "counter", "reply", "counted", "steady", "resolution")
_SPREAD = ("value", "replied_at", "uptime", "minimum", "maximum")
_MARK = b"trimtab"
_VERSION = 1
_ORDER = tuple(REPLIES)
_REPLY_WORDS = tuple(REPLIES.values())
_UNQUOTED = frozenset('",\r\n')


class UnreadableRecording(TrimtabError):
    """A file is not a recording of ours, or is damaged."""


class Sheets:
    """A Parquet file that is being written; it is complete only after `close`.

    Args:
        file: where it goes.
        resolution: 0.0: rows are samples. Else rows are spans of this many seconds. ``None``: both, for export.
    """

    def __init__(self, file: Path | BinaryIO, resolution: Seconds | None) -> None:
        self._names = COLUMNS if resolution is None else _STRETCH if resolution else _SAMPLE
        document = {"version": _VERSION} | ({} if resolution is None else {"resolution": resolution})
        schema = pa.schema([(name, _TYPES[name]) for name in self._names], metadata={_MARK: json.dumps(document)})
        self._writer = pq.ParquetWriter(
            file if not isinstance(file, Path) else str(file),
            schema,
            compression="zstd",
            use_dictionary=[name for name in self._names if name in _REPEATED],
            use_byte_stream_split=[name for name in self._names if name in _SPREAD],
        )
        self._schema = schema

    def write(self, rows: SampleRows) -> None:
        """Add rows, as a row group."""
        self._writer.write_table(_table(rows, self._schema), row_group_size=max(len(rows), 1))

    def close(self) -> None:
        """Complete it."""
        self._writer.close()


def pieces_of(file: BinaryIO) -> tuple[UnreadRows, ...]:
    """Return the row groups of a file of ours, to be read when needed; the file stays open.

    Raises:
        UnreadableRecording: it is damaged, or of another release; reading a piece may raise it, too.
    """
    try:
        parquet = pq.ParquetFile(file)
        document = json.loads((parquet.schema_arrow.metadata or {}).get(_MARK, b"{}"))
        firsts = [_first(parquet, group) for group in range(parquet.num_row_groups)]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableRecording(f"is damaged: {_one_line(error)}") from error
    if document.get("version") != _VERSION:
        raise UnreadableRecording("is not a recording that this release can read")
    resolution = float(document.get("resolution", 0.0))
    return tuple(
        UnreadRows(first=first, load=lambda group=group: _read(parquet, group, resolution))  # type: ignore[misc]
        for group, first in enumerate(firsts)
    )


def write_csv(file: BinaryIO, rows: SampleRows) -> None:
    """Write rows as lines, without a header. Numbers have the shortest text that reads back as the same number."""
    schema = pa.schema([(name, _TYPES[name]) for name in COLUMNS])
    plain = not any(_UNQUOTED.intersection(word) for text in _texts(rows) for word in text.words)
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none" if plain else "needed")
    pa.csv.write_csv(_table(rows, schema), file, options)


def settle() -> None:
    """Release memory that Arrow keeps for later."""
    pa.default_memory_pool().release_unused()


def _texts(rows: SampleRows) -> Iterable[Text]:
    return rows.group, rows.member, rows.counter


def _table(rows: SampleRows, schema: Any) -> Any:  # noqa: ANN401  # Arrow has no types
    return pa.Table.from_arrays([_column(rows, field.name, field.type) for field in schema], schema=schema)


def _column(rows: SampleRows, name: str, kind: Any) -> Any:  # noqa: ANN401  # as above
    column = getattr(rows, name)
    if isinstance(column, Text):
        return pa.DictionaryArray.from_arrays(_array(column.codes, column.codes < 0), _strings(column.words))
    if name == "reply":
        places = np.full(256, -1, dtype=np.int8)
        places[list(_ORDER)] = np.arange(len(_ORDER), dtype=np.int8)
        codes = places[column]
        return pa.DictionaryArray.from_arrays(_array(codes, codes < 0), _strings(_REPLY_WORDS))
    if name == "counted":
        return pa.Array.from_buffers(pa.bool_(), len(column), [None, _bits(column)])
    absent = np.isnan(column)
    if pa.types.is_integer(kind):
        return _array(np.where(absent, 0, column).astype(np.int64), absent)
    return _array(column, absent)


def _array(column: npt.NDArray[Any], absent: npt.NDArray[np.bool_]) -> Any:  # noqa: ANN401  # as above
    """Pass numbers to Arrow without a copy: `pyarrow.array` would load pandas, where that is installed."""
    buffers = [_bits(~absent), pa.py_buffer(np.ascontiguousarray(column))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), buffers)


def _bits(column: npt.NDArray[np.bool_]) -> Any:  # noqa: ANN401  # as above
    return pa.py_buffer(np.packbits(column, bitorder="little"))


def _strings(words: Sequence[str]) -> Any:  # noqa: ANN401  # as above
    spelt = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, spelt)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(words), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(spelt))])


def _first(parquet: Any, group: int) -> float:  # noqa: ANN401  # as above
    statistics = parquet.metadata.row_group(group).column(0).statistics
    if statistics is None or not statistics.has_min_max:
        raise ValueError("it has no first timestamp")
    return float(statistics.min)


def _read(parquet: Any, group: int, resolution: Seconds) -> SampleRows:  # noqa: ANN401  # as above
    try:
        table = parquet.read_row_group(group, use_threads=False)
        return _rows(table, resolution)
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError) as error:
        raise UnreadableRecording(f"is damaged: {_one_line(error)}") from error


def _rows(table: Any, resolution: Seconds) -> SampleRows:  # noqa: ANN401  # as above
    count = table.num_rows
    columns: dict[str, Any] = {name: nothing(count) for name in COLUMNS}
    columns["resolution"] = same(resolution, count)
    columns["reply"] = np.full(count, NO_REPLY, dtype=np.uint8)
    known = {field.name for field in dataclasses.fields(SampleRows)}
    for name in known.intersection(table.column_names):
        columns[name] = _numpy(name, table.column(name).combine_chunks())
    return SampleRows(**columns)


def _numpy(name: str, array: Any) -> Any:  # noqa: ANN401  # as above
    if name == "reply":
        codes = {word: code for code, word in REPLIES.items()}
        meant = np.array([*(codes[word] for word in array.dictionary.to_pylist()), NO_REPLY], dtype=np.uint8)
        return meant[numbers(array.indices, -1)]
    if pa.types.is_dictionary(array.type):
        codes = numbers(array.indices, -1).astype(np.int32)
        return Text(codes=codes, words=tuple(array.dictionary.to_pylist()))
    if pa.types.is_boolean(array.type):
        return flags(array, absent=True)
    return numbers(array, np.nan).astype(np.float64, copy=False)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
