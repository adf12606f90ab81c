"""Read a recorded series from CSV or Parquet, a piece at a time. Import it late: Arrow takes 50 MB."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from collector.samples import Reply
from config.model.catalogue import Catalogue
from config.units import GroupId
from handler.recording.arrow_arrays import flags, nulls, numbers
from handler.replay.samples import Column, GrowingColumn, Index, Samples, Unreplayable, Words, joined, nothing, taken
from handler.replay.tables import LATEST, checked, instant_of, is_number

REQUIRED = ("timestamp", "group", "member", "counter", "value")
_FURTHER = ("reply", "counted", "steady", "replied_at", "uptime", "resolution")
_WORDS = pa.dictionary(pa.int32(), pa.string())
_TYPES = {
    "group": _WORDS, "member": _WORDS, "counter": _WORDS, "reply": _WORDS, "value": pa.float64(),
    "counted": pa.bool_(), "steady": pa.float64(), "replied_at": pa.float64(), "uptime": pa.float64(),
    "resolution": pa.float64(),
}  # fmt: skip
_REPLIES = {reply.word: int(reply) for reply in Reply}
_MISSED, _NONE_ASKED = "missed", "nobody"
"""Replies of `trimtab export series` for a tick whose samples were lost, or that had no member to ask."""
_BLOCK, _ROWS = 8 << 20, 1 << 16
"""Bytes of CSV, and rows of Parquet, that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySpan:
    """The part of a series that is replayed: ``since <= timestamp < until``."""

    since: float = -math.inf
    until: float = math.inf


@dataclass(slots=True, kw_only=True)
class Gathered:
    """The rows that were read, and the names that were skipped."""

    columns: dict[str, GrowingColumn] = field(default_factory=lambda: defaultdict(GrowingColumn))
    """Of `Samples`; the rows of a piece come sorted by group."""
    rows: int = 0
    pieces: list[Index] = field(default_factory=list)
    """Where the rows of each group begin in each piece, which end where those of the next begin: (group + 1,)."""
    groups: dict[str, int] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    foreign: dict[str, set[str]] = field(default_factory=lambda: {"group": set(), "counter": set()})
    missed: int = 0
    thinned: int = 0


def read_series(
    path: Path, catalogue: Catalogue, groups: Collection[GroupId], span: ReplaySpan
) -> tuple[Samples, tuple[str, ...]]:
    """Read the rows of these groups and of declared counters; return them with caveats on other rows.

    Columns ``timestamp`` (epoch seconds or ISO 8601; without a zone it is UTC), ``group``, ``member``, ``counter`` and
    ``value``, in any order, among others; all columns of `trimtab export series` are used. ``.parquet`` names Parquet.

    Raises:
        Unreplayable: ``FILE:LINE: message``.
    """
    gathered = Gathered()
    try:
        batches = _parquet(path) if path.suffix in {".parquet", ".pq"} else _csv(path)
        for batch in batches:
            _take_in(batch, _Wanted(groups=groups, catalogue=catalogue, span=span), gathered)
    except (pa.ArrowException, csv.Error, ValueError) as error:
        if path.suffix not in {".parquet", ".pq"}:
            _point_at_fault(path)
        raise Unreplayable(f"{path}: {' '.join(str(error).split())[:200]}") from error
    except OSError as error:
        raise Unreplayable(f"{path} cannot be read: {error.strerror or error}") from error
    if not gathered.columns:
        raise Unreplayable(f"{path}: no row has a declared group and counter within --since and --until")
    pa.default_memory_pool().release_unused()  # what it read with, before the rows are copied
    return _samples(gathered), tuple(_caveats(path, gathered))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    groups: Collection[GroupId]
    catalogue: Catalogue
    span: ReplaySpan


class _Doubt(ValueError):
    """A piece has an invalid value; in CSV, the line is then searched."""


def _csv(path: Path) -> Iterator[Any]:
    header, first = _beginning(path)
    types = {name: kind for name, kind in _TYPES.items() if name in header}
    types["timestamp"] = pa.float64() if first is None or is_number(first) else _WORDS
    reader = arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=[name for name in (*REQUIRED, *_FURTHER) if name in header],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    with reader:
        yield from reader


def _beginning(path: Path) -> tuple[Sequence[str], str | None]:
    """Return the names of the columns, and the first timestamp."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        missing = [name for name in REQUIRED if name not in header]
        if missing:
            raise Unreplayable(
                f"{path}:1: column {', '.join(missing)} is missing; expected a header with {','.join(REQUIRED)}"
            )
        row = next((row for row in lines if row), None)
        place = header.index("timestamp")
        return header, row[place] if row is not None and len(row) > place else None


def _parquet(path: Path) -> Iterator[Any]:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        names = file.schema_arrow.names
        missing = [name for name in REQUIRED if name not in names]
        if missing:
            raise Unreplayable(f"{path}: column {', '.join(missing)} is missing; expected {', '.join(REQUIRED)}")
        wanted = [name for name in (*REQUIRED, *_FURTHER) if name in names]
        for batch in file.iter_batches(batch_size=_ROWS, columns=wanted):
            yield pa.RecordBatch.from_arrays([_as_declared(name, batch.column(name)) for name in wanted], wanted)


def _as_declared(name: str, column: Any) -> Any:  # noqa: ANN401  # Arrow has no types
    if name != "timestamp":
        kind = _TYPES[name]
        if kind is _WORDS:
            plain = column.cast(pa.string()) if not pa.types.is_dictionary(column.type) else column
            return plain if pa.types.is_dictionary(plain.type) else plain.dictionary_encode()
        return column.cast(kind)
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
        return pc.divide(micros.cast(pa.float64(), safe=False), 1e6)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column.dictionary_encode()
    return column if pa.types.is_dictionary(column.type) else column.cast(pa.float64())


def _take_in(batch: Any, asked: _Wanted, into: Gathered) -> None:  # noqa: ANN401  # as above
    columns = {name: batch.column(name) for name in batch.schema.names}
    at = _instants(columns["timestamp"])
    if columns["group"].null_count:
        raise _Doubt("a row has no group")
    wanted = (at >= asked.span.since) & (at < asked.span.until)
    group = _codes(columns["group"], into.groups, lambda word: word in asked.groups)
    counter = _codes(columns["counter"], into.counters, lambda word: word in asked.catalogue.counters)
    into.foreign["group"] |= _strange(columns["group"], group, wanted) - asked.catalogue.groups.keys()
    into.foreign["counter"] |= _strange(columns["counter"], counter, wanted & (group >= 0))
    reply, missed = _replies(columns, len(at))
    into.missed += int(np.count_nonzero(missed & wanted & (group >= 0)))
    wanted &= (group >= 0) & (counter >= _ABSENT) & ~missed
    if "resolution" in columns:
        into.thinned += int(np.count_nonzero(_numbers(columns["resolution"])[wanted] > 0))
    rows = np.flatnonzero(wanted)
    if rows.size:
        value = _numbers(columns["value"])
        further = {name: _numbers(columns[name]) if name in columns else nothing(len(at)) for name in _FURTHER[2:5]}
        member = _codes(columns["member"], into.members, lambda word: True)
        _keep(into, rows, (group, member, counter), {"at": at, "value": value, "reply": reply, **further}, columns)


_ABSENT, _FOREIGN = -1, -2


def _codes(column: Any, places: dict[str, int], known: Callable[[str], bool]) -> Index:  # noqa: ANN401  # as above
    words = column.dictionary.to_pylist()
    meant = [places.setdefault(word, len(places)) if known(word) else _FOREIGN for word in words]
    found: Index = np.array([*meant, _ABSENT], dtype=np.intp)[numbers(column.indices, -1)]
    return found


def _strange(column: Any, codes: Index, wanted: Any) -> set[str]:  # noqa: ANN401  # as above
    rows = np.flatnonzero((codes == _FOREIGN) & wanted)
    indices = numbers(column.indices, -1)[rows]
    return {column.dictionary[int(index)].as_py() for index in np.unique(indices)}


def _numbers(column: Any) -> Any:  # noqa: ANN401  # as above
    return numbers(column.cast(pa.float64()), np.nan)


def _instants(column: Any) -> Any:  # noqa: ANN401  # as above
    if column.null_count:
        raise _Doubt("a row has no timestamp")
    try:
        return _written_instants(column) if pa.types.is_dictionary(column.type) else _counted_instants(column)
    except ValueError as error:
        raise _Doubt(f"timestamp {error}") from error


def _written_instants(column: Any) -> Any:  # noqa: ANN401  # as above
    known = np.array([instant_of(word) for word in column.dictionary.to_pylist()] or [0.0])
    return known[numbers(column.indices, -1)]


def _counted_instants(column: Any) -> Any:  # noqa: ANN401  # as above
    at = _numbers(column)
    for strange in at[~(np.abs(at) <= LATEST)][:1].tolist():  # not a number is one of these, too
        checked(strange, f"{strange:.17g}")
    return at


def _replies(columns: dict[str, Any], count: int) -> tuple[Any, Any]:
    """Return the reply of each row, and whether its tick was lost. Without replies, an empty value is silence."""
    value = _numbers(columns["value"])
    silent = np.where(nulls(columns["value"]), int(Reply.TIMEOUT), int(Reply.MALFORMED))
    reply = np.where(np.isfinite(value), int(Reply.OK), silent).astype(np.uint8)
    if "reply" not in columns:
        return reply, np.zeros(count, dtype=np.bool_)
    words = columns["reply"].dictionary.to_pylist()
    if strange := set(words) - {*_REPLIES, _MISSED, _NONE_ASKED}:
        raise _Doubt(f"{min(strange)!r} is not a reply")
    indices = numbers(columns["reply"].indices, -1)
    replies = np.array([*(_REPLIES.get(word, int(Reply.TIMEOUT)) for word in words), 0], dtype=np.uint8)[indices]
    failed = (indices >= 0) & (replies != Reply.OK)
    missed = np.array([*(word == _MISSED for word in words), False])[indices]
    return np.where(failed, replies, reply), missed


def _keep(
    into: Gathered,
    rows: Index,
    codes: tuple[Index, Index, Index],
    read: dict[str, Any],
    columns: Any,  # noqa: ANN401  # as above
) -> None:
    rows = rows[np.argsort(codes[0][rows], kind="stable")]
    counted = np.ones(len(read["at"]), dtype=np.bool_)
    if "counted" in columns:
        counted = flags(columns["counted"], absent=True)
    reply = read["reply"][rows]
    found = {
        **{name: each[rows].astype(np.int32) for name, each in zip(("group", "member", "counter"), codes, strict=True)},
        "at": read["at"][rows],
        "value": np.where(reply == Reply.OK, read["value"][rows], 0.0),
        "reply": reply,
        "counted": counted[rows],
        **{name: taken(read[name], rows) for name in ("steady", "replied_at", "uptime")},
    }
    into.pieces.append(into.rows + np.searchsorted(found["group"], np.arange(len(into.groups) + 1)))
    into.rows += len(rows)
    for name, column in found.items():
        into.columns[name].append(column)


def _samples(gathered: Gathered) -> Samples:
    """Put the rows in the order of groups, a column at a time: a month of some groups has millions of rows."""
    pieces = [
        slice(int(places[group]), int(places[group + 1]))
        for group in range(len(gathered.groups))
        for places in gathered.pieces
        if group + 1 < len(places) and places[group] < places[group + 1]
    ]

    def column(name: str) -> Column:
        rows = gathered.columns.pop(name).taken()
        return joined([rows[piece] for piece in pieces])

    return Samples(
        group=Words(codes=column("group"), words=tuple(gathered.groups)),
        member=Words(codes=column("member"), words=tuple(gathered.members)),
        counter=Words(codes=column("counter"), words=tuple(gathered.counters)),
        at=column("at"),
        value=column("value"),
        reply=column("reply"),
        counted=column("counted"),
        steady=column("steady"),
        replied_at=column("replied_at"),
        uptime=column("uptime"),
    )


def _caveats(path: Path, gathered: Gathered) -> Iterator[str]:
    for kind, names in gathered.foreign.items():
        for name in sorted(names):
            yield f"{path}: {kind} {name} is not declared: its rows are skipped"
    if gathered.missed:
        yield f"{path}: {gathered.missed} rows stand for ticks whose samples were lost: the daemon had more data"
    if gathered.thinned:
        yield f"{path}: {gathered.thinned} rows are thinned: they have averages instead of the samples of the decisions"


def _point_at_fault(path: Path) -> None:
    """Raise for the first line that cannot be read."""
    with path.open(newline="", encoding="utf-8-sig", errors="strict") as file, suppress(UnicodeDecodeError, csv.Error):
        lines = csv.reader(file)
        header = next(lines)
        for row in lines:
            fault = _fault(dict(zip(header, row, strict=False)), len(row), len(header)) if row else None
            if fault is not None:
                raise Unreplayable(f"{path}:{lines.line_num}: {fault}")


def _fault(cells: dict[str, str], found: int, expected: int) -> str | None:
    if found != expected:
        return f"{found} columns; expected {expected}, as in line 1"
    try:
        instant_of(cells["timestamp"])
    except ValueError as error:
        return f"timestamp {error}"
    if not cells["group"]:
        return "no group; expected its name"
    if (reply := cells.get("reply")) and reply not in {*_REPLIES, _MISSED, _NONE_ASKED}:
        return f"reply {reply!r}; expected one of {', '.join([*_REPLIES, _NONE_ASKED, _MISSED])}"
    return _no_number(cells)


def _no_number(cells: dict[str, str]) -> str | None:
    for name in ("value", "steady", "replied_at", "uptime", "resolution"):
        text = cells.get(name)
        with suppress(ValueError):
            float(text or 0.0)
            continue
        return f"{name} {text!r}; expected a number, or nothing where there is none"
    if cells.get("counted", "") not in {"", "true", "false", "0", "1"}:
        return f"counted {cells['counted']!r}; expected true or false"
    return None
