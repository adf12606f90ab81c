from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.orchestrators.process import procfs


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


def test_no_process_has_an_impossible_pid() -> None:
    assert procfs.look(2**22 + 1) is None
    assert procfs.environment(2**22 + 1) == {}


@pytest.mark.parametrize(("older", "hit"), [(0, True), (1, False)], ids=["the same process", "one before it"])
def test_only_the_process_that_was_seen_is_signalled(older: int, hit: bool) -> None:
    me = procfs.look(os.getpid())
    assert me is not None
    received: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))
    try:
        procfs.send(replace(me, started=me.started - older), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert received == [signal.SIGUSR1] * hit


def test_a_session_is_over_once_its_number_is_another_process() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        leader = procfs.look(child.pid)
        assert leader is not None

        assert [process.pid for process in procfs.session(leader, procfs.census())] == [child.pid]
        assert procfs.session(replace(leader, started=leader.started - 1), procfs.census()) == ()

        child.kill()
