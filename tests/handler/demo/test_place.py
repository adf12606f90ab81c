from __future__ import annotations

import socket
from pathlib import Path

import pytest

from config.errors import Refused
from handler.demo.place import HOST, DemoPlace, place_of, require_free
from tests.support.demo import listening


def test_two_demos_with_consoles_on_different_ports_share_nothing() -> None:
    one = place_of(console=8460, load=None, state=None)
    other = place_of(console=8461, load=None, state=None)

    assert {one.state, one.console, one.load}.isdisjoint({other.state, other.console, other.load})


def test_a_demo_uses_the_ports_and_the_directory_that_it_is_given() -> None:
    place = place_of(console=9000, load=9500, state=Path("/srv/demo"))

    assert place == DemoPlace(state=Path("/srv/demo"), console=9000, load=9500)


def test_console_and_load_on_one_port_are_refused_with_the_remedy() -> None:
    with pytest.raises(Refused, match=r"--load-port \(make run LOAD_PORT=…\)"):
        place_of(console=9000, load=9000, state=None)


@pytest.mark.parametrize(
    ("what", "remedy"), [("console", r"--port \(make run PORT=…\)"), ("load", r"--load-port \(make run LOAD_PORT=…\)")]
)
def test_a_port_that_is_taken_is_refused_with_the_remedy(what: str, remedy: str) -> None:
    own, (_, port) = listening()
    with own, pytest.raises(Refused, match=rf"{HOST}:{port}: another program listens there.*{remedy}"):
        require_free(port, what)


def test_a_port_on_which_only_old_connections_end_is_free() -> None:
    own, target = listening()
    with socket.create_connection(target) as caller:
        answering, _ = own.accept()
        answering.close()  # the side that closes first keeps the port in TIME_WAIT
        assert caller.recv(1) == b""
    own.close()

    require_free(target[1], "load")
