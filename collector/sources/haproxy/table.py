"""HAProxy's statistics as a table of servers and backends, from a runtime socket's answer or a page's CSV.

Source: HAProxy management guide, section 9.1, "CSV format"; answers are those of HAProxy 2.6.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collector.clients.http.failures import HttpFailure
from collector.parsing import number
from collector.samples import Reply
from config.units import Seconds

_BACKEND, _SERVER = "1", "2"
"""Values of the column ``type``. Frontends and listeners may share names with backends and servers."""
_HEAD = "# pxname,svname,"

Key = tuple[str, str | None]
"""Backend and server; ``None``: the backend's own line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatTable:
    """One answer."""

    uptime: Seconds
    """How long it has counted, at least; NaN: unknown."""
    columns: Mapping[str, int]
    """Name → place in a row."""
    rows: Mapping[Key, Sequence[str]]
    twice: frozenset[Key]
    """Lines that occur more than once."""
    places: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Backend and ``address:port`` → server, if the answer has addresses."""


def decode_answer(text: str) -> StatTable | HttpFailure:
    r"""Decode a runtime socket's answer to ``show info;show stat``. Its uptime has whole seconds.

    >>> text = "Name: HAProxy\nPid: 8784\nUptime_sec: 61\n\n# pxname,svname,scur,status,type,\nweb,a,3,UP,2,\n\n"
    >>> table = decode_answer(text)
    >>> table.uptime, table.columns["scur"], table.rows["web", "a"]
    (61.0, 2, ['web', 'a', '3', 'UP', '2', ''])
    >>> decode_answer("Permission denied\n").detail
    "the answer begins with 'Permission denied', which is not HAProxy's statistics"
    """
    head, mark, stat = text.partition("\n# ")
    facts = dict(line.split(": ", 1) for line in head.split("\n") if ": " in line)
    uptime = number(facts.get("Uptime_sec", ""))
    if not mark or isinstance(uptime, Reply):
        return _foreign(text)
    if not stat.endswith("\n\n"):  # HAProxy ends each answer with an empty line
        return _CUT
    return _table("# " + stat, uptime)


def decode_page(text: str) -> StatTable | HttpFailure:
    r"""Decode the CSV form of the statistics page, which has no uptime.

    It does report how long ago each backend last went up or down: at the earliest, when the process began. The greatest
    of these is a lower bound of the uptime, and it falls when the process is replaced. Servers are left out: their
    times outlive a reload if HAProxy keeps their state in a file.

    >>> text = "# pxname,svname,scur,lastchg,type,\nweb,a,3,900,2,\nweb,BACKEND,3,42,1,\napi,BACKEND,0,61,1,\n"
    >>> table = decode_page(text)
    >>> table.uptime, table.rows["web", None]
    (61.0, ['web', 'BACKEND', '3', '42', '1', ''])
    >>> decode_page("<html><body>Please log in").detail
    'a page of HTML, not CSV: it may be a login page, or another page than the statistics'
    """
    if not text.startswith(_HEAD):
        return _no_page(text)
    if not text.endswith("\n"):
        return _CUT
    table = _table(text, math.nan)
    if isinstance(table, HttpFailure) or (place := table.columns.get("lastchg")) is None:
        return table
    changes = [number(row[place]) for (_, server), row in table.rows.items() if server is None]
    ages = [age for age in changes if not isinstance(age, Reply) and age >= 0]
    return StatTable(uptime=max(ages, default=math.nan), columns=table.columns, rows=table.rows, twice=table.twice)


def cell(table: StatTable, key: Key, field: str) -> float | HttpFailure:
    """Return one number of one line.

    Returns:
        REFUSED: there is no such line. AMBIGUOUS: there are several. NO_SUCH_COUNTER: no such column, or nothing in
        it, HAProxy's word for "does not apply here"; ``lastsess`` is -1 until there was a session. MALFORMED: text.
    """
    backend, server = key
    line = f"backend {backend}" if server is None else f"server {backend}/{server}"
    row, place = table.rows.get(key), table.columns.get(field)
    if row is None:
        return HttpFailure(reply=Reply.REFUSED, detail=f"no {line}")
    if key in table.twice:
        return HttpFailure(reply=Reply.AMBIGUOUS, detail=f"more than one {line}")
    if place is None:
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"there is no column {field}")
    if not row[place] or (field == "lastsess" and row[place] == "-1"):
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"{field} of {line} is empty")
    value = number(row[place])
    if isinstance(value, Reply):
        return HttpFailure(reply=value, detail=f"{field} of {line} is not a number")
    return value


_CUT = HttpFailure(reply=Reply.MALFORMED, detail="the answer was cut short")


def _table(text: str, uptime: Seconds) -> StatTable | HttpFailure:
    try:
        names, *lines = csv.reader(text.removeprefix("# ").rstrip("\n").split("\n"))
    except csv.Error as error:
        return HttpFailure(reply=Reply.MALFORMED, detail=f"the answer is not CSV: {error}")
    columns = {name: place for place, name in enumerate(names) if name}
    if names[:2] != ["pxname", "svname"] or "type" not in columns:
        return _foreign(text)
    if len(columns) < sum(map(bool, names)):
        return HttpFailure(reply=Reply.MALFORMED, detail="a column occurs twice")
    if any(len(line) != len(names) for line in lines):
        return HttpFailure(reply=Reply.MALFORMED, detail="a line has not as many columns as the header")
    rows: dict[Key, Sequence[str]] = {}
    twice: set[Key] = set()
    for line in lines:
        if line[columns["type"]] not in {_BACKEND, _SERVER}:
            continue
        key = (line[0], line[1] if line[columns["type"]] == _SERVER else None)
        if key in rows:
            twice.add(key)
        rows[key] = line
    at = columns.get("addr")
    places = {} if at is None else {(key[0], row[at]): key[1] for key, row in rows.items() if key[1] is not None}
    return StatTable(uptime=uptime, columns=columns, rows=rows, twice=frozenset(twice), places=places)


def _foreign(text: str) -> HttpFailure:
    begin = text.strip()[:40].split("\n")[0]
    detail = f"the answer begins with {begin!r}, which is not HAProxy's statistics" if begin else "an empty answer"
    return HttpFailure(reply=Reply.MALFORMED, detail=detail)


def _no_page(text: str) -> HttpFailure:
    """Describe a foreign page without repeating its text: it may hold the password that we sent."""
    match text.strip()[:1]:
        case "":
            detail = "an empty answer"
        case "<":
            detail = "a page of HTML, not CSV: it may be a login page, or another page than the statistics"
        case _:
            detail = "not HAProxy's statistics in CSV"
    return HttpFailure(reply=Reply.MALFORMED, detail=detail)
