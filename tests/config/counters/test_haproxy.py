"""The tables of columns, compared with what a real HAProxy fills."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from config.counters.haproxy import BACKEND_COLUMNS, COLUMNS, TOGETHER
from config.model.counters import CounterKind
from tests.support.haproxy import running_haproxy
from tests.support.ports import free_tcp_port
from tests.support.waiting import until

NO_MEASURE = frozenset({"pid", "iid", "sid", "type", "lastchg"})
"""Numbers that name something, or that are only good as an uptime."""
OF_THE_CHECK = frozenset({"check_rise", "check_fall", "check_health", "agent_rise", "agent_fall", "agent_health"})
OF_THE_LINE = frozenset({"act", "bck", "src_ilim", "qlimit"})
"""Of a server line: whether it is active or backup itself, and limits that were configured."""


def filled(answer: str, line: str) -> set[str]:
    """Which columns before the modules' own hold a number, in any line of this type."""
    names, *lines = csv.reader(answer.removeprefix("# ").strip().splitlines())
    own = names[: names.index("-")]
    kind = names.index("type")
    rows = [row for row in lines if row[kind] == line]
    return {name for name, *cells in zip(own, *rows, strict=False) if any(_numeric(cell) for cell in cells)}


def _numeric(cell: str) -> bool:
    return cell.removeprefix("-").isdigit()


@pytest.mark.real("haproxy")
def test_the_tables_match_a_real_haproxy(tmp_path: Path) -> None:
    agent = f"agent-check agent-port {free_tcp_port()} agent-inter 50ms"
    options = f"maxconn 10 check inter 50ms observe layer4 {agent}"
    with running_haproxy(tmp_path, {"web": {"a": free_tcp_port()}}, options=options) as running:
        answers: list[str] = []

        def complete() -> bool:
            answers.append(running.ask("show stat"))
            return {"check_duration", "agent_duration"} <= filled(answers[-1], "2")

        until(complete)

    servers, backend = filled(answers[-1], "2"), filled(answers[-1], "1")
    assert servers - COLUMNS.keys() <= NO_MEASURE | OF_THE_CHECK | OF_THE_LINE
    assert COLUMNS.keys() - servers <= {"throttle"}  # only while a server that was down starts slowly
    assert backend - BACKEND_COLUMNS.keys() <= NO_MEASURE | {
        "agg_server_status",
        "agg_server_check_status",
        "agg_check_status",
    }
    assert BACKEND_COLUMNS.keys() <= backend


def test_whatever_rises_is_added_up_over_backends() -> None:
    rising = {name for name, shape in (COLUMNS | BACKEND_COLUMNS).items() if shape.kind is CounterKind.RISING}

    assert not rising & TOGETHER.keys()
    assert TOGETHER.keys() <= COLUMNS.keys() | BACKEND_COLUMNS.keys()
