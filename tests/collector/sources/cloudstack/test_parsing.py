from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.cloudstack.parsing import CloudstackRefused, ListingPage, opened, page_of
from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from collector.sources.cloudstack.parsing import CloudstackUsage, look_up, machine_of, reports_traffic


def read(field: str, **measured: object) -> float | Reply:
    found = look_up(CloudstackUsage(name="", display="", runs=True, measured=measured), field)
    return found.reply if isinstance(found, HttpFailure) else found


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("31.5%", 31.5),
        ("31,5%", 31.5),
        ("0%", 0.0),
        ("12", 12.0),
        (12, 12.0),
        (0.5, 0.5),
        ("%", Reply.MALFORMED),
        ("12%%", Reply.MALFORMED),
        ("1,234.5%", Reply.MALFORMED),
        ("NaN%", Reply.MALFORMED),
        ("NaN", Reply.MALFORMED),
        ("12 apples", Reply.MALFORMED),
        ("٣%", Reply.MALFORMED),
        ("", Reply.MALFORMED),
        (None, Reply.MALFORMED),
        (True, Reply.MALFORMED),
        ([12], Reply.MALFORMED),
        (float("inf"), Reply.MALFORMED),
        (-1, Reply.NO_SUCH_COUNTER),
    ],
)
def test_a_share_is_read_and_nonsense_is_no_zero(written: object, expected: float | Reply) -> None:
    assert read("cpuused", cpuused=written) == expected


def test_a_field_that_is_not_there_is_no_zero() -> None:
    assert read("cpuused") is Reply.NO_SUCH_COUNTER


@pytest.mark.parametrize(
    ("free", "whole", "expected"),
    [
        pytest.param(400, 1000, 400.0, id="seen"),
        pytest.param(0, 1000, 0.0, id="full"),
        pytest.param(1000, 1000, Reply.NO_SUCH_COUNTER, id="all of it"),
        pytest.param(-1, 1000, Reply.NO_SUCH_COUNTER, id="corrected"),
        pytest.param(400, None, Reply.NO_SUCH_COUNTER, id="of an unknown amount"),
    ],
)
def test_free_memory_counts_only_where_the_hypervisor_sees_the_guest(
    free: int, whole: int | None, expected: float | Reply
) -> None:
    assert read("memoryintfreekbs", memoryintfreekbs=free, memorykbs=whole) == expected


@pytest.mark.parametrize("version", [None, 4, "", "4", "four.17", "4.x"])
def test_a_version_that_cannot_be_read_is_not_guessed(version: object) -> None:
    assert isinstance(reports_traffic({"capability": {"cloudstackversion": version}}), HttpFailure)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["virtualmachine", "count", "tags", "key", "details", "name", "errorcode"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(trees, st.sampled_from([200, 401, 431, 530]))
def test_every_answer_is_read_or_refused(body: object, status: int) -> None:
    answer = opened(json.dumps({"response": body}).encode(), status)
    page = (
        ListingPage(entries=(), count=None)
        if isinstance(answer, CloudstackRefused)
        else page_of(answer, "virtualmachine")
    )
    for entry in page.entries if page is not None else ():
        if isinstance(entry, dict):
            look_up(machine_of(entry), "cpuused")


@given(st.binary(max_size=64))
def test_whatever_comes_is_opened_or_refused(body: bytes) -> None:
    assert isinstance(opened(body, 200), dict | CloudstackRefused)
