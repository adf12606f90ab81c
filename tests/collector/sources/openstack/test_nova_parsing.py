from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from collector.sources.openstack.nova_parsing import Servers, decode_diagnostics, decode_servers, look_up
from collector.sources.reducing import RowNumber
from config.counters.cloud_measures import NOVA_FIELDS
from tests.support.openstack_measures_wire import FAKE


def read(document: object, field: str) -> list[RowNumber] | Reply:
    diagnostics = decode_diagnostics(json.dumps(document).encode())
    found = diagnostics if isinstance(diagnostics, HttpFailure) else look_up(diagnostics, field)
    return found.reply if isinstance(found, HttpFailure) else found


@pytest.mark.parametrize("field", sorted(NOVA_FIELDS))
def test_the_fake_hypervisor_tells_every_field_there_is(field: str) -> None:
    assert isinstance(read(FAKE, field), list)


@pytest.mark.parametrize("field", sorted(NOVA_FIELDS))
def test_a_part_that_is_not_there_is_no_zero(field: str) -> None:
    assert read({"state": "running"}, field) is Reply.NO_SUCH_COUNTER


@pytest.mark.parametrize("state", ["paused", "shutdown", "crashed", "suspended", "pending"])
def test_a_server_that_does_not_run_says_nothing(state: str) -> None:
    assert read({**FAKE, "state": state}, "memory_details.used") is Reply.REFUSED


def test_one_disk_that_does_not_tell_leaves_no_sum() -> None:
    disks = [{"read_bytes": 1}, {"read_bytes": None}]

    assert read({**FAKE, "disk_details": disks}, "disk_details.read_bytes") is Reply.NO_SUCH_COUNTER


def test_disks_have_other_names_once_there_are_more_or_fewer() -> None:
    one = read({**FAKE, "disk_details": [{"read_bytes": 1}]}, "disk_details.read_bytes")
    two = read({**FAKE, "disk_details": [{"read_bytes": 1}] * 2}, "disk_details.read_bytes")

    assert one == [RowNumber(1.0, "1 of 1")]
    assert two == [RowNumber(1.0, "1 of 2"), RowNumber(1.0, "2 of 2")]


@pytest.mark.parametrize("value", ["12", True, [], {}, float("inf"), float("nan"), 10**400])
def test_what_is_no_number_is_malformed(value: object) -> None:
    assert read({**FAKE, "memory_details": {"used": value}}, "memory_details.used") is Reply.MALFORMED


@pytest.mark.parametrize("href", [None, 7, "http://[", "http://x/?marker=", "http://x/?limit=2"])
def test_what_a_link_names_plays_no_part_since_the_next_page_begins_behind_the_last_server(href: object) -> None:
    links = [{"rel": "next", "href": href}]

    page = decode_servers(json.dumps({"servers": [{"id": "b06a"}], "servers_links": links}).encode())
    empty = decode_servers(json.dumps({"servers": [], "servers_links": links}).encode())

    assert isinstance(page, Servers)
    assert page.marker == "b06a"
    assert isinstance(empty, HttpFailure)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
keys = st.sampled_from(
    ["state", "servers", "servers_links", "metadata", "trimtab.member", "id", "nic_details", "rx_octets"]
)
trees = st.recursive(
    leaves | st.just("running"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=14,
)


@given(trees, st.sampled_from(sorted(NOVA_FIELDS)))
def test_every_answer_has_a_meaning_or_a_reason(document: object, field: str) -> None:
    body = json.dumps(document).encode()

    assert isinstance(decode_servers(body), Servers | HttpFailure)
    assert isinstance(read(document, field), list | Reply)


@given(st.binary(max_size=64))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    assert isinstance(decode_servers(body), Servers | HttpFailure)
    assert isinstance(decode_diagnostics(body), dict | HttpFailure)
