"""Decoding HAProxy's statistics: what is read, and what is not believed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from collector.sources.haproxy.table import StatTable, cell, decode_answer, decode_page
from tests.support.haproxy import running_haproxy

PAGE = """# pxname,svname,scur,lastsess,lastchg,type,
front,FRONTEND,1,,,0,
web,FRONTEND,1,,,0,
web,a,9,,1,3,
web,a,3,-1,900,2,
web,b,4,2,900,2,
web,BACKEND,7,2,42,1,
api,BACKEND,0,-1,61,1,
"""
ANSWER = "Name: HAProxy\nUptime_sec: 61\n\n" + PAGE + "\n"


def a_page(text: str = PAGE) -> StatTable:
    table = decode_page(text)
    assert isinstance(table, StatTable)
    return table


def what(value: float | HttpFailure) -> float | Reply:
    return value.reply if isinstance(value, HttpFailure) else value


@pytest.mark.parametrize(
    ("server", "field", "expected"),
    [
        ("a", "scur", 3.0),
        (None, "scur", 7.0),
        ("b", "lastsess", 2.0),
        ("a", "lastsess", Reply.NO_SUCH_COUNTER),
        ("a", "qcur", Reply.NO_SUCH_COUNTER),
        ("c", "scur", Reply.REFUSED),
        ("FRONTEND", "scur", Reply.REFUSED),
        ("BACKEND", "scur", Reply.REFUSED),
        ("a", "svname", Reply.MALFORMED),
    ],
    ids=[
        *("a server beside a listener of its name", "the backend", "another column", "no session yet", "no column"),
        *("no server", "a frontend", "a backend is no server", "text"),
    ],
)
def test_a_cell_is_that_of_its_own_line(server: str | None, field: str, expected: float | Reply) -> None:
    assert what(cell(a_page(), ("web", server), field)) == expected


def test_a_page_is_as_old_as_the_backend_that_changed_longest_ago() -> None:
    assert a_page().uptime == 61.0


def test_a_page_without_backends_cannot_tell_its_age() -> None:
    servers = "".join(line for line in PAGE.splitlines(keepends=True) if "BACKEND" not in line)

    assert math.isnan(a_page(servers).uptime)


def test_a_line_that_comes_twice_is_ambiguous() -> None:
    twice = a_page(PAGE + "web,b,4,2,900,2,\n")

    assert what(cell(twice, ("web", "b"), "scur")) is Reply.AMBIGUOUS
    assert what(cell(twice, ("web", "a"), "scur")) == 3.0


@pytest.mark.parametrize("lost", range(1, 60))
def test_an_answer_that_was_cut_short_is_never_read(lost: int) -> None:
    assert isinstance(decode_answer(ANSWER[:-lost]), HttpFailure)


@pytest.mark.parametrize("lost", range(1, 20))
def test_a_page_that_was_cut_within_a_line_is_never_read(lost: int) -> None:
    assert isinstance(decode_page(PAGE[:-lost]), HttpFailure)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "an empty answer"),
        ("\n\n", "an empty answer"),
        ("<!DOCTYPE html>\n<title>Log in</title>", "a page of HTML"),
        ('[[{"objType":"Server"}]]', "not HAProxy's statistics in CSV"),
        ("F.2.0.0.pxname.1:KNSV:str:web\n", "not HAProxy's statistics in CSV"),
        ("# pxname,svname,scur,\nweb,a,3,\n", "begins with '# pxname,svname,scur,'"),
        ("# pxname,svname,scur,type,\nweb,a,2,\n", "as many columns"),
        ('# pxname,svname,scur,type,\nweb,"a,3,2,\n', "as many columns"),
    ],
    ids=["nothing", "empty lines", "HTML", "JSON", "typed", "no types", "a shorter line", "an open quote"],
)
def test_what_is_no_csv_of_haproxy_is_malformed_and_says_what_it_is(text: str, detail: str) -> None:
    failure = decode_page(text)

    assert isinstance(failure, HttpFailure)
    assert failure.reply is Reply.MALFORMED
    assert detail in failure.detail


@given(
    st.one_of(st.text(), st.text().map(lambda text: PAGE + text), st.binary().map(lambda raw: raw.decode("latin-1")))
)
def test_garbage_is_a_table_or_a_failure_and_never_an_error(text: str) -> None:
    for decode in (decode_page, decode_answer):
        table = decode(text)
        if isinstance(table, StatTable):
            assert all(len(row) >= len(table.columns) for row in table.rows.values())


@pytest.mark.real("haproxy")
def test_what_a_real_haproxy_says_is_read_whole(tmp_path: Path) -> None:
    with running_haproxy(tmp_path, {"web": {"a": 9, "b": 9}}) as running:
        table = decode_answer(running.ask("show info;show stat -1 6 -1"))

    assert isinstance(table, StatTable)
    assert set(table.rows) == {("web", "a"), ("web", "b"), ("web", None)}
    assert {"scur", "stot", "bin", "bout", "hrsp_5xx", "qcur", "rtime"} <= table.columns.keys()
