"""Answers as HAProxy 2.6.12 gave them; long rows are shortened to the columns that are read, and a few others."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest

from handler.balancers.haproxy.parsing import (
    HaproxyProcess,
    HaproxyServer,
    ServerLoad,
    UnreadableAnswer,
    health_of,
    read_algorithm,
    read_loads,
    read_process,
    read_servers,
)
from handler.planning.world import Health, RegistrationState

HEAD = (
    "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight "
    "srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state "
    "bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr "
    "srv_agent_addr srv_agent_port\n"
)
STATISTICS = "# pxname,svname,qcur,qmax,scur,smax,status,check_status,algo,\n"
INFO = "Name: HAProxy\nVersion: {version}\nPid: 6724\nUptime: 0d 0h00m01s\n{started}node: vm\n\n"


def a_row(*, name: str = "web-k3f9ab-1", address: str = "127.0.0.1", admin: int = 0, check: int = 0) -> str:
    return f"3 web 2 {name} {address} 2 {admin} 1 1 0 1 0 0 {check} 0 0 0 - 9001 - 0 0 - - 0\n"


def read_one(row: str) -> HaproxyServer:
    [server] = read_servers(HEAD + row + "\n").values()
    return server


@pytest.mark.parametrize(
    ("admin", "state"),
    [
        pytest.param(0, RegistrationState.SERVING, id="ready"),
        pytest.param(1, RegistrationState.PARKED, id="maintenance-by-command"),
        pytest.param(5, RegistrationState.PARKED, id="disabled-in-the-file"),
        pytest.param(32, RegistrationState.PARKED, id="name-not-resolved"),
        pytest.param(8, RegistrationState.DRAINING, id="drain-by-command"),
        pytest.param(16, RegistrationState.DRAINING, id="drain-inherited"),
        pytest.param(9, RegistrationState.PARKED, id="maintenance-wins-over-drain"),
        pytest.param(64, RegistrationState.SERVING, id="address-set-by-command"),
    ],
)
def test_the_administrative_state_is_that_of_the_registration(admin: int, state: RegistrationState) -> None:
    assert read_one(a_row(admin=admin)).state is state


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("127.0.0.1", IPv4Address("127.0.0.1"), id="v4"),
        pytest.param("::1", IPv6Address("::1"), id="v6"),
        pytest.param("-", None, id="a-name"),
    ],
)
def test_an_address_may_be_missing(text: str, address: object) -> None:
    assert read_one(a_row(address=text)).address == address


@pytest.mark.parametrize(("check", "checked"), [(0, False), (8, False), (2, True), (6, True)])
def test_a_server_is_checked_if_a_check_is_configured(check: int, checked: bool) -> None:
    assert read_one(a_row(check=check)).checked is checked


def test_an_empty_backend_has_no_servers() -> None:
    assert read_servers(HEAD + "\n") == {}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("", id="nothing"),
        pytest.param(HEAD + a_row(), id="cut-between-rows"),
        pytest.param(HEAD + a_row()[:40], id="cut-in-a-row"),
        pytest.param(HEAD + "3 web 2 web-k3f9ab-1\n\n", id="short-row"),
        pytest.param(HEAD + a_row(address="nowhere") + "\n", id="no-address"),
        pytest.param("2" + HEAD[1:] + "\n", id="another-version"),
        pytest.param("Unknown command.\n\n", id="another-answer"),
    ],
)
def test_servers_that_are_not_understood_whole_are_not_read(answer: str) -> None:
    with pytest.raises(UnreadableAnswer):
        read_servers(answer)


def test_sessions_are_read_by_server() -> None:
    answer = STATISTICS + "web,web-k3f9ab-1,0,0,3,9,UP,L7OK,,\nweb,theirs,0,0,0,0,MAINT,,,\n\n"
    assert read_loads(answer) == {
        "web-k3f9ab-1": ServerLoad(sessions=3, health=Health.HEALTHY),
        "theirs": ServerLoad(sessions=0, health=Health.UNKNOWN),
    }


@pytest.mark.parametrize(
    ("status", "health"),
    [
        pytest.param("UP", Health.HEALTHY, id="up"),
        pytest.param("DOWN", Health.FAILING, id="down"),
        pytest.param("DOWN (agent)", Health.FAILING, id="down-says-its-agent"),
        pytest.param("no check", None, id="not-checked"),
        pytest.param("UP 1/3", Health.UNKNOWN, id="on-its-way-down"),
        pytest.param("DOWN 1/2", Health.UNKNOWN, id="on-its-way-up"),
        pytest.param("NOLB", Health.UNKNOWN, id="asks-for-no-new-work"),
        pytest.param("NOLB 1/3", Health.UNKNOWN, id="asks-for-no-new-work-and-failed-lately"),
        pytest.param("DRAIN", Health.UNKNOWN, id="drains"),
        pytest.param("DRAIN 1/3", Health.UNKNOWN, id="drains-and-failed-lately"),
        pytest.param("DRAIN (agent)", Health.UNKNOWN, id="drains-says-its-agent"),
        pytest.param("MAINT", Health.UNKNOWN, id="maintenance"),
        pytest.param("MAINT (via web/other)", Health.UNKNOWN, id="maintenance-of-another"),
        pytest.param("MAINT (resolution)", Health.UNKNOWN, id="name-not-resolved"),
        pytest.param("", Health.UNKNOWN, id="nothing-said"),
        pytest.param("down", Health.UNKNOWN, id="a-word-that-is-not-known"),
    ],
)
def test_only_down_is_failing(status: str, health: Health | None) -> None:
    assert health_of(status, "" if health is None else "L7OK") is health


@pytest.mark.parametrize("status", ["UP", "DOWN"])
def test_a_server_has_no_health_before_its_first_check(status: str) -> None:
    assert health_of(status, "INI") is Health.UNKNOWN


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(STATISTICS + "web,web-k3f9ab-1,0,0,3,9,UP,L7OK,,\n", id="cut"),
        pytest.param(STATISTICS + "web,web-k3f9ab-1,0,0,,9,UP,,,\n\n", id="no-count"),
        pytest.param("# something,else\n\n", id="another-table"),
    ],
)
def test_sessions_that_are_not_understood_are_not_zero(answer: str) -> None:
    with pytest.raises(UnreadableAnswer):
        read_loads(answer)


def test_the_algorithm_is_the_backend_s() -> None:
    assert read_algorithm(STATISTICS + "src,BACKEND,0,0,0,0,UP,,source,\n\n") == "source"


def test_an_algorithm_that_is_hidden_is_not_read() -> None:
    with pytest.raises(UnreadableAnswer):
        read_algorithm(STATISTICS + "src,BACKEND,0,0,0,0,UP,,,\n\n")


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2.6.12-1+deb12u4", (2, 6)), ("3.0-dev5-1a2b3c", (3, 0)), ("2.10.1", (2, 10))],
)
def test_a_version_is_two_numbers(version: str, numbers: tuple[int, int]) -> None:
    assert read_process(INFO.format(version=version, started="")).version == numbers


def test_a_process_is_its_id_and_start() -> None:
    answer = INFO.format(version="2.6.12", started="Start_time_sec: 1795228107\n")
    assert read_process(answer) == HaproxyProcess(pid=6724, version=(2, 6), started="1795228107")


def test_a_process_without_version_is_not_read() -> None:
    with pytest.raises(UnreadableAnswer):
        read_process(INFO.format(version="unknown", started=""))
