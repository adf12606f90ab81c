from __future__ import annotations

import asyncio
from pathlib import Path

from handler.demo.ending import Outliving
from tests.support.waiting import until


def test_it_is_started_once_and_ended_by_the_next_demo(tmp_path: Path) -> None:
    first, second = Outliving(tmp_path / "out.log"), Outliving(tmp_path / "out.log")
    first.start(["sleep", "60"])
    pid = (tmp_path / "out.pid").read_text()

    second.start(["sleep", "60"])
    assert (tmp_path / "out.pid").read_text() == pid

    asyncio.run(second.stop())
    assert not first.under_way
    asyncio.run(first.stop())


def test_it_prints_into_a_file_that_begins_anew(tmp_path: Path) -> None:
    program = Outliving(tmp_path / "out.log")
    for word in ("once", "again"):
        program.start(["echo", word])
        until(lambda: not program.under_way)
    asyncio.run(program.stop())

    assert (tmp_path / "out.log").read_text() == "again\n"


def test_what_does_not_run_can_be_stopped(tmp_path: Path) -> None:
    program = Outliving(tmp_path / "out.log")

    asyncio.run(program.stop())

    assert not program.under_way
