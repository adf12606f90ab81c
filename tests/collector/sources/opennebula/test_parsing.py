from __future__ import annotations

import xmlrpc.client
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from collector.sources.opennebula.parsing import (
    OpennebulaPage,
    OpennebulaUsage,
    Value,
    decode,
    decode_measured,
    look_up,
    measured,
)
from tests.support.opennebula_documents import Vm, measured_xml, vm_xml


def encoded(*answer: object) -> bytes:
    return xmlrpc.client.dumps((list(answer),), methodresponse=True).encode()


def a_machine(**fields: Any) -> OpennebulaUsage:
    there = {"id": 7, "name": "web-k3f9ab-1", "owner": "fleet", "started": 1, "state": 3, "lcm": 3, "polled": 1000}
    vm = Vm(**{**there, "template": {}, "user_template": {"TRIMTAB": "web-k3f9ab-1"}, **fields})
    page = decode(encoded(True, f"<VM_POOL>{vm_xml(vm)}</VM_POOL>", 0))
    records = decode_measured(encoded(True, measured_xml([vm]), 0))
    assert isinstance(page, OpennebulaPage)
    assert not isinstance(records, HttpFailure)
    return measured(page.machines[0], records["7"])


def test_where_an_attribute_stands_first_it_is_taken() -> None:
    machine = a_machine(
        user_template={"TRIMTAB": "web-k3f9ab-1", "LOAD": "1"},
        monitoring={"LOAD": "2", "SEEN": "2"},
        template={"LOAD": "3", "SEEN": "3", "SIZE": "3"},
    )

    found = [look_up(machine, name) for name in ("LOAD", "SEEN", "SIZE", "UID")]

    assert found == [Value(1.0, None), Value(2.0, 1000.0), Value(3.0, None), Value(2.0, None)]


@pytest.mark.parametrize("name", ["CPU", "MEMORY"])
def test_what_was_reserved_is_never_taken_for_load(name: str) -> None:
    found = look_up(a_machine(template={name: "2"}), name)

    assert isinstance(found, HttpFailure)
    assert found.reply is Reply.NO_SUCH_COUNTER


def test_what_a_guest_sends_goes_before_what_is_measured() -> None:
    machine = a_machine(user_template={"TRIMTAB": "x", "CPU": " 7"}, monitoring={"CPU": "50"})

    assert look_up(machine, "CPU") == Value(7.0, None)


@pytest.mark.parametrize(
    "text", ["YES", "", "50%", "0x10", "NaN", "1,5", {"SIZE": "1"}, ["1", "2"]], ids=lambda text: str(text) or "empty"
)
def test_what_is_no_number_hides_what_stands_behind_it(text: object) -> None:
    machine = a_machine(user_template={"TRIMTAB": "x", "ATT": text}, monitoring={"ATT": "1"})

    found = look_up(machine, "ATT")

    assert isinstance(found, HttpFailure)
    assert found.reply is Reply.MALFORMED


@pytest.mark.parametrize(
    ("fields", "member"),
    [
        pytest.param({}, "web-k3f9ab-1", id="name and mark"),
        pytest.param({"name": "renamed"}, "", id="renamed"),
        pytest.param({"user_template": {}}, "", id="no mark"),
        pytest.param(
            {"name": "db", "user_template": {"TRIMTAB": "web-k3f9ab-2", "TRIMTAB_VM": "7"}}, "web-k3f9ab-2", id="given"
        ),
        pytest.param(
            {"name": "db", "user_template": {"TRIMTAB": "web-k3f9ab-2", "TRIMTAB_VM": "8"}}, "", id="a copy of a given"
        ),
        pytest.param({"user_template": {"TRIMTAB": ["web-k3f9ab-1"] * 2}}, "", id="marked twice"),
    ],
)
def test_a_machine_is_the_member_that_name_and_mark_agree_on(fields: dict[str, Any], member: str) -> None:
    assert a_machine(**fields).member == member


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        pytest.param(encoded(False, "[one.x] User couldn't be authenticated", 0x100), Reply.AUTH, id="authentication"),
        pytest.param(encoded(False, "Not authorized", 0x200), Reply.AUTH, id="authorisation"),
        pytest.param(encoded(False, "database", 0x2000), Reply.UNREACHABLE, id="internal"),
        pytest.param(encoded(False, "odd", "odd"), Reply.MALFORMED, id="an odd code"),
        pytest.param(encoded(True, "<VM_POOL/>"), Reply.MALFORMED, id="too short"),
        pytest.param(encoded(True, 7, 0), Reply.MALFORMED, id="a number"),
        pytest.param(encoded(True, "<VM_POOL>", 0), Reply.MALFORMED, id="cut off"),
        pytest.param(encoded(True, "<HOST_POOL/>", 0), Reply.MALFORMED, id="another pool"),
        pytest.param(
            xmlrpc.client.dumps(xmlrpc.client.Fault(-500, "s3cret"), methodresponse=True).encode(),
            Reply.UNREACHABLE,
            id="a fault",
        ),
        pytest.param(b"", Reply.MALFORMED, id="nothing"),
    ],
)
def test_an_answer_that_is_none_is_called_by_its_name_and_not_repeated(answer: bytes, reply: Reply) -> None:
    found = decode(answer)

    assert isinstance(found, HttpFailure)
    assert found.reply is reply
    assert "s3cret" not in found.detail


@pytest.mark.parametrize("record", [{"CPU": "5"}, {"CPU": "5", "TIMESTAMP": "noon"}], ids=["no time", "no number"])
def test_a_measurement_without_a_time_of_its_own_is_taken_as_new(record: dict[str, str]) -> None:
    assert look_up(measured(a_machine(), record), "CPU") == Value(5.0, None)


def test_what_names_no_machine_is_no_member_s_measurement() -> None:
    nameless = "<MONITORING_DATA><MONITORING><CPU>5</CPU></MONITORING></MONITORING_DATA>"

    assert decode_measured(encoded(True, nameless, 0)) == {}


@given(st.binary(max_size=200) | st.text(max_size=50).map(lambda text: encoded(True, text.replace("\0", ""), 0)))
def test_whatever_comes_is_read_or_refused_and_never_raises(answer: bytes) -> None:
    assert isinstance(decode(answer), OpennebulaPage | HttpFailure)
    assert isinstance(decode_measured(answer), dict | HttpFailure)
