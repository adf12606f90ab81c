from __future__ import annotations

import os
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.errors import Permanent, Transient
from config.units import MemberName
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.planning.world import RegistrationState
from tests.support.balancers import (
    ListenerStage,
    a_listener,
    a_name,
    connections_of,
    get,
    listener_stage,
    settled,
    state_of,
)
from tests.support.waiting import until


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ListenerStage]:
    with listener_stage(tmp_path) as running:
        yield running


def serve(stage: ListenerStage, name: MemberName) -> None:
    stage.balancer.join(name, *stage.member(name))
    stage.balancer.enable(name)


def holders_started(stage: ListenerStage) -> int:
    return stage.balancer.control.with_suffix(".log").read_text().count("started holder=")


def is_running(pid: int) -> bool:
    """Whether it runs; who has ended may still wait to be noticed by init."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def request_until(done: threading.Event, port: int) -> list[str]:
    """Requests one after the other, and who answered; any that fails raises."""
    answers = []
    while not done.is_set():
        answers.append(get(port))
    return answers


def replace(stage: ListenerStage, leaver: MemberName) -> MemberName:
    """Another member in its place; it is killed as soon as it is said to be idle."""
    newcomer = a_name()
    serve(stage, newcomer)
    until(lambda: stage.accepts(newcomer))
    stage.balancer.drain(leaver)
    until(lambda: connections_of(stage.balancer, leaver) == 0)
    stage.balancer.leave(leaver)
    stage.kill(leaver)
    return newcomer


def test_no_request_fails_while_members_come_and_go(stage: ListenerStage) -> None:
    members, done = [a_name() for _ in range(3)], threading.Event()
    for name in members:
        serve(stage, name)
    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(request_until, done, stage.port) for _ in range(4)]
        try:
            for _ in range(4):
                members = [*members[1:], replace(stage, members[0])]
        finally:
            done.set()
        assert sum(len(client.result()) for client in clients) >= 500


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_holder_that_ends_costs_no_request_and_gets_its_port_and_registrations_back(
    stage: ListenerStage, ending: signal.Signals
) -> None:
    serving, draining, parked = a_name(), a_name(), a_name()
    serve(stage, draining)
    assert get(stage.port) == draining
    stage.balancer.join(parked, *stage.member(parked))
    stage.balancer.drain(draining)
    until(lambda: connections_of(stage.balancer, draining) == 0)
    serve(stage, serving)
    assert get(stage.port) == serving
    before, done = stage.balancer.incarnation(), threading.Event()

    with ThreadPoolExecutor(1) as pool:
        client = pool.submit(request_until, done, stage.port)
        try:
            os.kill(stage.holder(), ending)
            until(lambda: settled(stage.balancer) != before)
        finally:
            done.set()
        assert set(client.result()) == {serving}
    assert (state_of(stage.balancer, serving), state_of(stage.balancer, draining)) == (
        RegistrationState.SERVING,
        RegistrationState.DRAINING,
    )
    assert state_of(stage.balancer, parked) is None


def test_many_that_start_at_once_start_one_holder(stage: ListenerStage) -> None:
    def incarnation(_: int) -> str:
        return settled(stage.balancer)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(incarnation, range(4)))) == 1
    assert holders_started(stage) == 1


def test_another_driver_takes_a_running_holder_up(stage: ListenerStage, tmp_path: Path) -> None:
    name = a_name()
    stage.balancer.join(name, "127.0.0.1", stage.port)
    another = SharedListenerBalancer(a_listener(port=stage.port), tmp_path)
    assert another.incarnation() == stage.balancer.incarnation()
    assert state_of(another, name) is RegistrationState.PARKED


def test_a_member_may_come_after_it_has_been_enabled(stage: ListenerStage) -> None:
    name = a_name()
    stage.balancer.join(name, "127.0.0.1", stage.port)
    stage.balancer.enable(name)
    stage.member(name)
    assert get(stage.port) == name


def test_a_member_that_dies_keeps_its_registration_with_nothing_in_hand(stage: ListenerStage) -> None:
    name = a_name()
    serve(stage, name)
    with ThreadPoolExecutor(1) as pool:
        in_hand = pool.submit(get, stage.port, "/hold")
        until(lambda: connections_of(stage.balancer, name) == 1)
        stage.kill(name)
        until(lambda: connections_of(stage.balancer, name) == 0)
        assert in_hand.exception() is not None
    assert state_of(stage.balancer, name) is RegistrationState.SERVING


def test_a_port_that_another_program_has_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        balancer = SharedListenerBalancer(a_listener(port=port), tmp_path)
        try:
            with pytest.raises(Permanent, match=f"127.0.0.1:{port} is in use by another program"):
                balancer.join(a_name(), "127.0.0.1", port)
            other.close()
            until(lambda: settles(balancer))
        finally:
            balancer.stop()


def settles(balancer: SharedListenerBalancer) -> bool:
    try:
        return balancer.registrations() == {}
    except Permanent:
        return False


def test_an_address_that_is_not_ours_is_named(tmp_path: Path) -> None:
    balancer = SharedListenerBalancer(a_listener(address="192.0.2.1", port=80), tmp_path)
    try:
        with pytest.raises(Permanent, match=r"192\.0\.2\.1:80 cannot be opened"):
            balancer.registrations()
    finally:
        balancer.stop()


def test_a_listener_that_is_declared_elsewhere_does_not_move(stage: ListenerStage, tmp_path: Path) -> None:
    stage.balancer.registrations()
    with pytest.raises(Permanent, match="declare it as a balancer with another name"):
        SharedListenerBalancer(a_listener(), tmp_path).registrations()


def test_stopping_ends_the_holder_and_frees_the_port(stage: ListenerStage) -> None:
    name = a_name()
    serve(stage, name)
    holder = stage.holder()
    stage.balancer.stop()
    until(lambda: not is_running(holder))
    until(lambda: _can_be_opened(stage.port))
    stage.balancer.stop()
    assert not stage.balancer.control.exists()


def _can_be_opened(port: int) -> bool:
    with socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind(("127.0.0.1", port))
            opened.listen()
        except OSError:
            return False
    return True


@pytest.mark.parametrize("ignored", [signal.SIGINT, signal.SIGHUP])
def test_what_ends_a_terminal_s_programs_does_not_end_the_holder(stage: ListenerStage, ignored: signal.Signals) -> None:
    holder = stage.holder()
    os.kill(holder, ignored)
    assert stage.holder() == holder
    assert os.getsid(holder) != os.getsid(0)


def test_only_its_user_may_talk_to_the_holder(stage: ListenerStage) -> None:
    stage.balancer.registrations()
    for path in (stage.balancer.control, *stage.balancer.control.parent.glob("edge.l*")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_the_holder_is_given_no_secrets(stage: ListenerStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_KEY", "hush")
    assert b"hush" not in Path(f"/proc/{stage.holder()}/environ").read_bytes()


def test_a_path_too_long_for_a_socket_is_refused_with_advice(tmp_path: Path) -> None:
    balancer = SharedListenerBalancer(a_listener(), tmp_path / ("d" * 107))
    with pytest.raises(Permanent, match="use a shorter state directory"):
        balancer.registrations()


def test_a_holder_that_hangs_is_tried_again(stage: ListenerStage) -> None:
    holder = stage.holder()
    os.kill(holder, signal.SIGSTOP)
    try:
        with pytest.raises(Transient, match="too slow"):
            stage.balancer.registrations()
    finally:
        os.kill(holder, signal.SIGCONT)


def test_a_peer_that_answers_otherwise_is_tried_again(stage: ListenerStage, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))
        other.listen()
        balancer = SharedListenerBalancer(a_listener(id="other"), tmp_path)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(balancer.registrations)
            conversation, _ = other.accept()
            with conversation:
                conversation.recv(4096)
                conversation.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            with pytest.raises(Transient, match="does not follow the protocol"):
                asked.result()


def test_a_directory_that_cannot_be_made_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Transient):
        SharedListenerBalancer(a_listener(), tmp_path / "file").registrations()
