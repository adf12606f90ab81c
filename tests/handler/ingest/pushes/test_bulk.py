from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.ingest.pushes import bulk
from handler.ingest.pushes.pushed_values import VALUES_AT_MOST, PushedEntry, UnreadablePush
from tests.support.pushes import sent


def read(document: object) -> tuple[PushedEntry, ...] | UnreadablePush:
    return bulk.read(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"values": {"CPU": 42, "JOBS": 0.5}}, (sent("CPU", 42.0), sent("JOBS", 0.5)), id="any-sender"),
        pytest.param({"values": {}}, (), id="nothing"),
        pytest.param({"values": {"CPU": None}}, (sent("CPU", None),), id="taken-back"),
        pytest.param({"member": "m", "values": {"CPU": 1}}, (sent("CPU", 1.0, member="m"),), id="a-member"),
        pytest.param({"group": "g", "values": {"ORDERS": 1}}, (sent("ORDERS", 1.0, group="g"),), id="a-group"),
        pytest.param(
            [{"member": "a", "values": {"CPU": 1}}, {"member": "b", "group": "g", "values": {"CPU": 2}}],
            (sent("CPU", 1.0, member="a"), sent("CPU", 2.0, member="b", group="g")),
            id="many",
        ),
        pytest.param([], (), id="of-no-member"),
        pytest.param({"values": {"büro = 1": -7}}, (sent("büro = 1", -7.0),), id="any-name"),
    ],
)
def test_objects_and_lists_of_values_are_understood(document: object, expected: tuple[PushedEntry, ...]) -> None:
    assert read(document) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"values": {"CPU": "12"}}', 'expected a number at values."CPU", found "12"'),
        ('{"values": {"CPU": true}}', 'expected a number at values."CPU", found true'),
        ('{"values": {"CPU": NaN}}', 'expected a number at values."CPU", found NaN'),
        ('{"values": {"CPU": -Infinity}}', 'expected a number at values."CPU", found -Infinity'),
        ('{"values": {"CPU": 1e999}}', 'expected a number at values."CPU", found Infinity'),
        ('[{"values": {"CPU": []}}]', 'expected a number at [0].values."CPU", found []'),
        ('{"values": [1]}', "expected an object at values, found [1]"),
        ('[{"values": {}}, {"member": "a"}]', "expected an object at [1].values, found null"),
        ('{"values": {}, "member": 7}', "expected a name at member, found 7"),
        ('{"CPU": 12}', 'expected only values, member, group, found "CPU"'),
        ('["CPU"]', 'expected an object with "values" at [0], found "CPU"'),
        ("12", 'expected an object with "values", found 12'),
        ('{"values": {"A": 1, "A": 2}}', 'the key "A" is there twice in one object'),
        ('[{"values": {"A": 1}}, {"values": {"A": 2}}]', '"A" is there twice: it is not clear which is meant'),
        ("CPU=12", "expected JSON, found 6 bytes that are none"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_its_place(body: str, message: str) -> None:
    assert bulk.read(body.encode()) == UnreadablePush(message=message)


def test_a_number_too_long_for_a_float_is_none() -> None:
    assert isinstance(bulk.read(b'{"values": {"A": 1' + b"0" * 400 + b"}}"), UnreadablePush)
    assert isinstance(bulk.read(b'{"values": {"A": 1' + b"0" * 9000 + b"}}"), UnreadablePush)


def test_more_values_than_one_request_may_bring_are_too_large() -> None:
    result = read({"values": {f"A{number}": 1 for number in range(VALUES_AT_MOST + 1)}})
    assert isinstance(result, UnreadablePush)
    assert result.too_large


def test_json_that_is_nested_without_end_is_refused() -> None:
    assert isinstance(bulk.read(b"[" * 100_000), UnreadablePush)


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["values", "member", "group"]) | st.text(), inner),
)


@given(st.binary() | _JSON.map(lambda document: json.dumps(document).encode()))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    assert isinstance(bulk.read(body), tuple | UnreadablePush)


def test_a_body_of_any_depth_is_read_or_refused() -> None:
    for depth in range(800, 1_000):
        assert isinstance(bulk.read(b"[" * depth + b"]" * depth), UnreadablePush)
