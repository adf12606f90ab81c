from __future__ import annotations

import contextlib
import socketserver
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.errors import Permanent, Transient
from config.units import MemberName
from handler.balancers.haproxy.driver import HaproxyDriver
from handler.balancers.haproxy.runtime import Runtime
from handler.planning.world import Health
from tests.support.balancers import HaproxyStage, a_name, connections_of, get, haproxy_stage
from tests.support.ports import free_tcp_port
from tests.support.waiting import until

NAME = MemberName("web-k3f9ab-1")
INFO = "Version: {version}\nPid: 7\nStart_time_sec: 1795228107\n\n"
NO_STATISTICS = "# pxname,svname,scur,status,check_status,\n\n"
NO_SERVERS = (
    "1\n# be_id be_name srv_id srv_name srv_addr srv_admin_state srv_uweight srv_iweight srv_check_state "
    "srv_agent_state srv_port\n\n"
)
ONE_SERVER = NO_SERVERS[:-1] + "3 web 2 web-k3f9ab-1 127.0.0.1 {admin} 1 1 {check} 0 9001\n\n"


def a_driver(socket: Path | str, *, backend: str = "web") -> HaproxyDriver:
    return HaproxyDriver(Runtime(str(socket), backend))


class _Conversation(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        command = self.rfile.readline().decode().strip()
        server = self.server
        assert isinstance(server, ScriptedHaproxy)
        server.heard.append(command)
        self.wfile.write(
            next((text for start, text in server.script.items() if command.startswith(start)), "?").encode()
        )


class ScriptedHaproxy(socketserver.ThreadingUnixStreamServer):
    """Answers by the beginning of the command: for what a healthy 2.6 does not say."""

    daemon_threads = True

    def __init__(self, path: Path, script: Mapping[str, str]) -> None:
        super().__init__(str(path), _Conversation)
        self.script, self.heard = script, list[str]()


@contextlib.contextmanager
def scripted(tmp_path: Path, script: Mapping[str, str]) -> Iterator[tuple[HaproxyDriver, list[str]]]:
    healthy = {"show info": INFO.format(version="2.6.12"), "show servers": NO_SERVERS}
    with ScriptedHaproxy(tmp_path / "h.sock", {**healthy, **script}) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield a_driver(tmp_path / "h.sock"), server.heard
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HaproxyStage]:
    with haproxy_stage(tmp_path_factory.mktemp("h")) as running:
        yield running


def test_an_older_haproxy_is_refused_by_version(tmp_path: Path) -> None:
    with scripted(tmp_path, {"show info": INFO.format(version="2.5.9")}) as (driver, heard):
        with pytest.raises(Permanent, match=r"is 2\.5: servers can be added from 2\.6 on"):
            driver.join(NAME, "127.0.0.1", 9001)
        assert not [command for command in heard if command.startswith("add")]


@pytest.mark.parametrize(
    ("command", "script"),
    [
        pytest.param("join", {"add server": "Too many servers.\n"}, id="join"),
        pytest.param("drain", {"set server": "Too many servers.\n"}, id="drain"),
        pytest.param("leave", {"set server": "Too many servers.\n"}, id="leave"),
        pytest.param(
            "enable",
            {"show servers": ONE_SERVER.format(admin=1, check=0), "set server": "Too many servers.\n"},
            id="enable",
        ),
    ],
)
def test_an_unknown_answer_is_tried_again_and_shown(tmp_path: Path, command: str, script: Mapping[str, str]) -> None:
    arguments = (NAME, "127.0.0.1", 9001) if command == "join" else (NAME,)
    with scripted(tmp_path, script) as (driver, _), pytest.raises(Transient, match=r"Too many servers\."):
        getattr(driver, command)(*arguments)


def test_a_server_with_connections_left_is_deleted_later(tmp_path: Path) -> None:
    attached = "Server still has connections attached to it, cannot remove it.\n"
    script = {"set server": "\n", "shutdown": "\n", "del server": attached}
    with scripted(tmp_path, script) as (driver, _), pytest.raises(Transient, match="still has connections") as raised:
        driver.leave(NAME)
    assert raised.value.retry_after == 1.0


def test_a_truncated_table_is_not_an_empty_one(tmp_path: Path) -> None:
    cut = ONE_SERVER.format(admin=0, check=0)[:-30]
    script = {"show stat": NO_STATISTICS, "show servers": cut}
    with scripted(tmp_path, script) as (driver, _), pytest.raises(Transient, match="without its end"):
        driver.registrations()


def test_a_server_that_the_statistics_do_not_show_has_unknown_connections(tmp_path: Path) -> None:
    script = {
        "show stat": NO_STATISTICS,
        "show servers": ONE_SERVER.format(admin=0, check=0),
    }
    with scripted(tmp_path, script) as (driver, _):
        assert driver.registrations()[NAME].connections is None


def test_a_member_at_a_new_address_is_added_again(tmp_path: Path) -> None:
    script = {
        "show servers": ONE_SERVER.format(admin=0, check=0),
        "set server": "\n",
        "shutdown": "\n",
        "del server": "Server deleted.\n",
        "add server": "New server registered.\n\n",
    }
    with scripted(tmp_path, script) as (driver, heard):
        driver.join(NAME, "127.0.0.2", 9001)
    assert heard[-2:] == [f"del server web/{NAME}", f"add server web/{NAME} 127.0.0.2:9001"]


def test_a_checked_server_s_check_starts_before_it_is_given_work(tmp_path: Path) -> None:
    script = {"show servers": ONE_SERVER.format(admin=1, check=2), "enable health": "\n", "set server": "\n"}
    with scripted(tmp_path, script) as (driver, heard):
        driver.enable(NAME)
    assert heard[1:] == [f"enable health web/{NAME}", f"set server web/{NAME} state ready"]


def test_a_socket_without_a_listener_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="does not answer"):
        a_driver(tmp_path / "missing.sock").registrations()


def test_a_port_that_is_not_open_is_tried_again() -> None:
    with pytest.raises(Transient, match=r"does not answer at 127\.0\.0\.1:1"):
        a_driver("127.0.0.1:1").registrations()


@pytest.mark.parametrize("backend", ["web;del", "web web", "web\nx", ""])
def test_a_backend_s_name_cannot_carry_a_command(tmp_path: Path, backend: str) -> None:
    with pytest.raises(Permanent, match="not a name"):
        a_driver(tmp_path / "missing.sock", backend=backend).registrations()


def test_a_host_name_is_not_an_address(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="IP addresses only"):
        a_driver(tmp_path / "missing.sock").join(NAME, "member.example; del server web/x", 80)


@pytest.mark.real("haproxy")
@pytest.mark.parametrize("call", ["registrations", "join", "enable", "drain", "leave"])
def test_a_backend_that_is_not_there_is_named(stage: HaproxyStage, call: str) -> None:
    driver = a_driver(stage.haproxy.socket, backend="nowhere")
    arguments = {"registrations": (), "join": (NAME, "127.0.0.1", 9)}.get(call, (NAME,))
    with pytest.raises(Permanent, match="has no backend nowhere"):
        getattr(driver, call)(*arguments)


@pytest.mark.real("haproxy")
def test_a_socket_of_too_low_a_level_says_which_it_needs(stage: HaproxyStage, tmp_path: Path) -> None:
    low = tmp_path / "low.sock"
    with reconfigured(stage, f"    stats socket {low} mode 600 level operator\n", after="global\n"):
        driver = a_driver(low)
        assert driver.registrations() == {}
        with pytest.raises(Permanent, match="level admin"):
            driver.join(NAME, "127.0.0.1", 9)


@pytest.mark.real("haproxy")
def test_a_backend_that_takes_no_servers_names_its_algorithm(stage: HaproxyStage) -> None:
    driver = a_driver(stage.haproxy.socket, backend="sticky")
    sticky = "backend sticky\n    balance source\n"
    with reconfigured(stage, sticky), pytest.raises(Permanent, match="balance source"):
        driver.join(NAME, "127.0.0.1", 9)


TWINS = """frontend twin
    bind 127.0.0.1:{port}
    default_backend twin
backend twin
    balance {algorithm}
"""


@pytest.mark.real("haproxy")
def test_a_frontend_of_the_same_name_hides_no_statistics(stage: HaproxyStage) -> None:
    driver = a_driver(stage.haproxy.socket, backend="twin")
    with reconfigured(stage, TWINS.format(port=free_tcp_port(), algorithm="roundrobin")):
        driver.join(NAME, "127.0.0.1", 9)
        assert driver.registrations()[NAME].connections == 0


@pytest.mark.real("haproxy")
def test_a_frontend_of_the_same_name_hides_no_algorithm(stage: HaproxyStage) -> None:
    driver = a_driver(stage.haproxy.socket, backend="twin")
    twins = TWINS.format(port=free_tcp_port(), algorithm="source")
    with reconfigured(stage, twins), pytest.raises(Permanent, match="balance source"):
        driver.join(NAME, "127.0.0.1", 9)


@pytest.mark.real("haproxy")
def test_a_member_is_checked_where_its_neighbours_are(stage: HaproxyStage) -> None:
    with reconfigured(stage, "backend watched\n    balance roundrobin\n    server theirs 127.0.0.1:9 check\n"):
        driver = a_driver(stage.haproxy.socket, backend="watched")
        driver.join(NAME, "::1", 9)
        driver.enable(NAME)
        assert "INI" in next(row for row in stage.haproxy.ask("show stat watched 4 -1").splitlines() if NAME in row)


CHECKED = """backend watched
    balance roundrobin
    default-server inter 50ms rise 1 fall 1
    server web-k3f9ab-1 127.0.0.1:{open} check
    server web-k3f9ab-2 127.0.0.1:{shut} check
    server web-k3f9ab-3 127.0.0.1:{shut}
    server web-k3f9ab-4 127.0.0.1:{shut} check disabled
    server web-k3f9ab-5 127.0.0.1:{open} check
"""


JUDGED = {MemberName("web-k3f9ab-1"): Health.HEALTHY, MemberName("web-k3f9ab-2"): Health.FAILING}


@pytest.mark.real("haproxy")
def test_the_result_of_checks_is_reported_of_each_registration(stage: HaproxyStage) -> None:
    driver = a_driver(stage.haproxy.socket, backend="watched")
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as answering:
        shut = free_tcp_port()
        with reconfigured(stage, CHECKED.format(open=answering.server_address[1], shut=shut)):
            stage.haproxy.ask("set server watched/web-k3f9ab-5 state drain")
            until(lambda: all(driver.registrations()[name].health is health for name, health in JUDGED.items()))
            results = {
                name.rpartition("-")[2]: registration.health for name, registration in driver.registrations().items()
            }
    assert results == {"1": Health.HEALTHY, "2": Health.FAILING, "3": None, "4": Health.UNKNOWN, "5": Health.UNKNOWN}


@pytest.mark.real("haproxy")
def test_a_reload_shows_as_another_incarnation(stage: HaproxyStage) -> None:
    driver = stage.balancer
    name, before = a_name(), driver.incarnation()
    driver.join(name, "127.0.0.1", 9)
    stage.haproxy.reload()
    assert driver.incarnation() != before
    assert name not in driver.registrations()


@pytest.mark.real("haproxy")
def test_leaving_ends_the_sessions_that_draining_left(stage: HaproxyStage) -> None:
    name = a_name()
    stage.balancer.join(name, *stage.member(name))
    stage.balancer.enable(name)
    try:
        with ThreadPoolExecutor(1) as pool:
            in_hand = pool.submit(get, stage.port, "/hold")
            until(lambda: connections_of(stage.balancer, name) == 1)
            stage.balancer.drain(name)
            until(lambda: _left(stage, name))  # HAProxy's own timeout is 10 s
            assert isinstance(in_hand.exception(), ConnectionError)
        assert name not in stage.balancer.registrations()
    finally:
        stage.clear()


def _left(stage: HaproxyStage, name: MemberName) -> bool:
    with contextlib.suppress(Transient):
        stage.balancer.leave(name)
        return True
    return False


@contextlib.contextmanager
def reconfigured(stage: HaproxyStage, addition: str, *, after: str | None = None) -> Iterator[None]:
    """The same HAProxy with more in its configuration, until the block ends."""
    text = stage.haproxy.config.read_text()
    stage.haproxy.config.write_text(text.replace(after, after + addition) if after else f"{text}\n{addition}")
    stage.haproxy.restart()
    try:
        yield
    finally:
        stage.haproxy.config.write_text(text)
        stage.haproxy.restart()
