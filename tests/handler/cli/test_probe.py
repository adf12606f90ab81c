from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handler.cli.main import app
from tests.support.ports import free_udp_port
from tests.support.snmpd import running_snmpd

LOAD = "1.3.6.1.4.1.8072.9999.9999.7.0"
NAME = "1.3.6.1.4.1.8072.9999.9999.8.0"
LINES = (f"override {LOAD} integer 42", f'override {NAME} octet_str "vm01"')

MODEL = """
counters:
  load: {snmp: "%s", unit: jobs, scale: 0.5}
  free: {snmp: "1.3.6.1.4.1.8072.9999.9999.9.0"}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: ["true"], snmp: {port: %d}}}
groups: {web: {profile: web, min: 0, max: 1}}
"""


def trimtab(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.real("snmpd")
def test_an_address_is_asked_for_snmp_objects_without_daemon_or_file(tmp_path: Path) -> None:
    with running_snmpd(tmp_path, lines=LINES) as agent:
        answer = trimtab("probe", agent.address, LOAD, "--port", agent.port, "--json")

    assert answer.exit_code == 0
    (found,) = json.loads(answer.output)
    assert (found["counter"], found["value"], found["reply"], found["source"]) == (LOAD, 42.0, "ok", "snmp")
    assert 0 < found["took"] < 5


@pytest.mark.real("snmpd")
def test_an_address_is_asked_for_the_counters_of_a_file_in_their_units(tmp_path: Path) -> None:
    with running_snmpd(tmp_path, lines=LINES) as agent:
        file = tmp_path / "model.yaml"
        file.write_text(MODEL % (LOAD, agent.port))
        answer = trimtab("probe", agent.address, "load", "--file", file)

    assert answer.exit_code == 0
    assert "21 jobs" in answer.output


@pytest.mark.real("snmpd")
def test_what_is_no_number_or_not_there_is_reported_with_a_remedy_and_exit_code_1(tmp_path: Path) -> None:
    with running_snmpd(tmp_path, lines=LINES) as agent:
        answer = trimtab("probe", agent.address, LOAD, NAME, "sysUpTime.5", "--port", agent.port)
        missing = trimtab("probe", agent.address, "1.3.6.1.2.1.1.99.0", "--port", agent.port)

    assert answer.exit_code == 1
    assert "sysUpTime.5" in answer.output  # an instance that the object cannot have is refused before anyone is asked
    assert missing.exit_code == 1
    assert "1.3.6.1.2.1.1.99.0: no such counter" in missing.output
    assert "check name and instance" in missing.output


def test_a_closed_port_and_silence_have_different_replies() -> None:
    answer = trimtab("probe", "127.0.0.1", LOAD, "--port", free_udp_port(), "--json")

    assert answer.exit_code == 1
    (found,) = json.loads(answer.output)
    assert (found["reply"], found["value"]) == ("refused", None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("127.0.0.1",), "which SNMP objects?"),
        (("web", "--file", "x.yaml"), "web is a group of the daemon"),
        (("web", "--group", "web"), "web is a group of the daemon"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(words: tuple[str, ...], message: str) -> None:
    answer = trimtab("probe", *words)

    assert answer.exit_code == 2
    assert message in answer.output


def test_a_group_is_asked_of_the_daemon(tmp_path: Path) -> None:
    answer = trimtab("probe", "web", "--state", tmp_path)

    assert answer.exit_code == 3
    assert "no daemon answers" in answer.output


@pytest.mark.real("snmpd")
def test_a_row_that_is_told_apart_by_text_is_named_by_it(tmp_path: Path) -> None:
    name = 'nsExtendOutput1Line."jobs"'
    with running_snmpd(tmp_path, lines=["extend jobs /bin/echo 7"]) as agent:
        answer = trimtab("probe", agent.address, name, "--port", agent.port, "--json")

    (found,) = json.loads(answer.output)
    assert (found["counter"], found["value"], found["reply"]) == (name, 7.0, "ok")
