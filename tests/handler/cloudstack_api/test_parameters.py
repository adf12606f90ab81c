"""Parameters are read, and refused, as CloudStack does it."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.cloudstack_api.commands import COMMANDS, described
from handler.cloudstack_api.faults import CloudstackFault, unknown_id
from handler.cloudstack_api.parameters import Arguments, lowered, page_of, read
from handler.cloudstack_api.rendering import answer, fault_answer, listed

PROFILE = {"zoneid": "z", "serviceofferingid": "s", "templateid": "t"}
_SOUP = st.dictionaries(
    st.one_of(
        st.sampled_from([each.name for command in COMMANDS.values() for each in command.parameters]),
        st.text(max_size=12),
        st.from_regex(r"(otherdeployparams|counterparam|details)\[[0-9x]{0,3}\][.a-z]{0,6}", fullmatch=True),
    ),
    st.one_of(st.text(max_size=12), st.integers().map(str), st.sampled_from(["true", "-1", "", "a=b", "1,2"])),
    max_size=6,
)


def refused(command: str, **parameters: str) -> CloudstackFault:
    with pytest.raises(CloudstackFault) as caught:
        read(COMMANDS[command.lower()], lowered(parameters))
    return caught.value


def test_every_parameter_has_the_type_that_its_command_declares() -> None:
    given = read(
        COMMANDS["createautoscalevmprofile"],
        lowered({
            **PROFILE,
            "expungeVmGracePeriod": "60",
            "forDisplay": "TRUE",
            "otherdeployparams[1].name": "keypairs",
            "otherdeployparams[1].value": "ops",
            "otherdeployparams[0].name": "disksize",
            "otherdeployparams[0].value": "20",
            "unknown": "ignored",
        }),
    )  # fmt: skip

    assert given.text("zoneid") == "z"
    assert given.number("expungevmgraceperiod") == 60
    assert given.flag("fordisplay") is True
    assert given.pairs("otherdeployparams") == {"disksize": "20", "keypairs": "ops"}
    assert given.text("snmpcommunity") is None


@pytest.mark.parametrize("key", ["name", "key"])
def test_an_entry_of_a_map_has_its_name_as_the_servers_clients_or_go_clients_send_it(key: str) -> None:
    sent = {**PROFILE, f"counterparam[0].{key}": "snmpport", "counterparam[0].value": "1161"}

    assert read(COMMANDS["createautoscalevmprofile"], sent).pairs("counterparam") == {"snmpport": "1161"}


def test_a_map_may_be_one_text_as_the_specification_of_2012_has_it() -> None:
    sent = {**PROFILE, "otherdeployparams": "displayname=a%20b&keyboard=de"}

    assert read(COMMANDS["createautoscalevmprofile"], sent).pairs("otherdeployparams") == {
        "displayname": "a b",
        "keyboard": "de",
    }


def test_the_entries_of_resource_details_may_be_fields_themselves() -> None:
    sent = {"resourceid": "r", "resourcetype": "AutoScaleVmProfile", "details[0].tier": "gold"}

    assert read(COMMANDS["addresourcedetail"], sent).pairs("details") == {"tier": "gold"}


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [
        (refused("createAutoScaleVmGroup"), 431, "command autoscalevmgroup due to missing parameter lbruleid"),
        (refused("createCounter", name=" ", source="s", value="v"), 431, "due to missing parameter name"),
        (refused("deleteCounter", id=""), 431, "command deletecounter due to missing parameter id"),
        (
            refused("createCondition", counterid="c", relationaloperator="GT", threshold="1.5"),
            431,
            "command condition due to invalid value 1.5 for parameter threshold",
        ),
        (refused("listCounters", page="x"), 431, "invalid value x for parameter page"),
        (refused("listCounters", page="9" * 15), 431, "for parameter page"),
        (refused("listCounters", listall="yes"), 431, "invalid value yes for parameter listall"),
        (refused("listCounters", name="a\x00"), 431, "illegal ASCII non-printable characters for parameter name"),
        (
            refused("createAutoScaleVmProfile", **{**PROFILE, "counterparam[0]": "x"}),
            430,
            "Unable to decode parameter counterparam",
        ),
        (refused("listCounters", id="a", ID="b"), 430, "The parameter id is given twice, in different case"),
    ],
    ids=range(10),
)
def test_what_cannot_be_read_is_refused_in_cloudstacks_words(fault: CloudstackFault, code: int, text: str) -> None:
    assert (fault.code, text in fault.text) == (code, True)


def test_the_go_client_finds_out_by_the_text_that_an_entity_is_gone() -> None:
    text = unknown_id("listautoscalevmgroups", "id", "7").text

    assert "Invalid parameter id value=7 due to incorrect long value format, or entity does not exist" in text


@given(st.sampled_from(sorted(COMMANDS)), _SOUP)
def test_any_parameters_are_read_or_refused(command: str, soup: dict[str, str]) -> None:
    try:
        read(COMMANDS[command], lowered(soup))
    except CloudstackFault as raised:
        fault = raised
    else:
        return
    for form in ("json", "xml"):
        found = fault_answer("errorresponse", fault, form)
        assert found.status in {430, 431}
        found.description.encode("ascii")
    assert json.loads(fault_answer("e", fault, "json").body)["e"]["errortext"] == fault.text
    ElementTree.fromstring(fault_answer("e", fault, "xml").body)  # noqa: S314  # our own


def test_the_eight_odd_envelopes_are_those_that_cloudstacks_console_reads() -> None:
    odd = {
        command.name: command.key for command in COMMANDS.values() if command.key != f"{command.name.lower()}response"
    }

    assert odd == {
        "createCounter": "counterresponse",
        "listCounters": "counterresponse",
        "createCondition": "conditionresponse",
        "createAutoScalePolicy": "autoscalepolicyresponse",
        "createAutoScaleVmProfile": "autoscalevmprofileresponse",
        "createAutoScaleVmGroup": "autoscalevmgroupresponse",
        "enableAutoScaleVmGroup": "enableautoscalevmGroupresponse",
        "disableAutoScaleVmGroup": "disableautoscalevmGroupresponse",
    }


def test_an_answer_has_one_key_and_no_fields_without_a_value() -> None:
    found = answer("xresponse", {"x": {"a": 1, "b": None, "c": ({"d": None, "e": True},)}}, "JSON")

    assert json.loads(found.body) == {"xresponse": {"x": {"a": 1, "c": [{"e": True}]}}}
    assert found.kind.startswith("application/json")


def test_xml_is_the_form_of_an_answer_unless_json_is_asked_for() -> None:
    found = answer("xresponse", listed("x", ({"a": "<&>\x01", "b": True}, {"a": 2}), 7), "")

    root = ElementTree.fromstring(found.body)  # noqa: S314  # our own
    assert (root.tag, [child.tag for child in root]) == ("xresponse", ["count", "x", "x"])
    assert [each.text for each in root[1]] == ["<&>?", "true"]


def test_an_empty_list_has_neither_count_nor_array() -> None:
    assert answer("xresponse", listed("x", (), 0), "json").body == b'{"xresponse":{}}'


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({}, range(500)),
        ({"pagesize": -1}, range(600)),
        ({"page": 2, "pagesize": 200}, range(200, 400)),
        ({"page": 7, "pagesize": 100}, range(0)),
    ],
)
def test_a_page_is_a_part_of_the_list(given: dict[str, int], part: range) -> None:
    assert list(page_of(range(600), Arguments(COMMANDS["listcounters"], given))) == list(part)


@pytest.mark.parametrize(
    "given",
    [
        {"page": 1},
        {"pagesize": 5},
        {"page": 1, "pagesize": 501},
        {"page": 0, "pagesize": 5},
        {"page": 1, "pagesize": -1},
    ],
)
def test_a_page_that_makes_no_sense_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(CloudstackFault):
        page_of(range(600), Arguments(COMMANDS["listcounters"], given))


def test_every_command_is_described_with_the_types_that_cloudmonkey_expects() -> None:
    fields: list[dict[str, Any]] = json.loads(answer("x", {"api": described(COMMANDS.values())}, "json").body)["x"][
        "api"
    ]

    for api in fields:
        assert (type(api["name"]), type(api["description"]), type(api["isasync"])) == (str, str, bool)
        assert isinstance(api["response"], list)
        for parameter in api["params"]:
            types = [type(parameter[key]) for key in ("name", "description", "type", "required")]
            assert types == [str, str, str, bool]
    assert [api["name"] for api in fields] == sorted(api["name"] for api in fields)
