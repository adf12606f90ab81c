from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.orchestrators import procfs


@given(st.binary(max_size=15), st.integers(0, 2**63))
def test_any_command_name_can_be_read_past(command: bytes, started: int) -> None:
    stat = b"7 (%s) S 1 7 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0" % (command, started)

    assert procfs.parse_stat(7, stat) == procfs.Process(pid=7, session=9, started=started, state="S")


@pytest.mark.parametrize(("state", "alive"), [("R", True), ("S", True), ("T", True), ("Z", False), ("X", False)])
def test_zombies_are_not_alive(state: str, alive: bool) -> None:
    assert procfs.Process(pid=1, session=1, started=1, state=state).alive is alive


def test_we_are_there() -> None:
    me = procfs.look(os.getpid())

    assert me is not None
    assert me.alive
    assert me.session == os.getsid(0)
    assert os.getpid() in procfs.census()[me.session]


def test_nobody_has_an_impossible_pid() -> None:
    assert procfs.look(2**22 + 1) is None
    assert procfs.environment(2**22 + 1) == {}
