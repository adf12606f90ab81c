from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.ingest.pushes import lines
from handler.ingest.pushes.pushed_values import VALUES_AT_MOST, PushedEntry, UnreadablePush


def read_entries(body: bytes) -> list[tuple[str, float | None]]:
    read = lines.read(body)
    assert isinstance(read, tuple), read
    return [(one.name, one.value) for one in read]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"CPU=42", [("CPU", 42.0)], id="one"),
        pytest.param(b"CPU=42\nJOBS=7\n", [("CPU", 42.0), ("JOBS", 7.0)], id="lines"),
        pytest.param(b"CPU=42\r\n\r\nJOBS=7", [("CPU", 42.0), ("JOBS", 7.0)], id="lines-of-another-system"),
        pytest.param(rb"CPU=42\nJOBS=7", [("CPU", 42.0), ("JOBS", 7.0)], id="as-the-help-of-onegate-shows"),
        pytest.param(b"A=1&B=2", [("A", 1.0), ("B", 2.0)], id="two-d-of-curl"),
        pytest.param(b"A=1%0AB%3D2", [("A", 1.0), ("B", 2.0)], id="data-urlencode-of-curl"),
        pytest.param(b" ATT = 77 ", [("ATT", 77.0)], id="blanks"),
        pytest.param(b'ATT="77"', [("ATT", 77.0)], id="quotes"),
        pytest.param(b"A=1e+3\nB=-0.5", [("A", 1000.0), ("B", -0.5)], id="signs"),
        pytest.param(b"data=CPU%3D42%0AJOBS%3D7+&type=1", [("CPU", 42.0), ("JOBS", 7.0)], id="vm-update"),
        pytest.param(rb"data=CPU%3D42%5CnJOBS%3D7&type=1", [("CPU", 42.0), ("JOBS", 7.0)], id="vm-update-escaped"),
        pytest.param(b"data=CPU&type=2", [("CPU", None)], id="vm-update-erase"),
        pytest.param(b"data=5", [("data", 5.0)], id="a-value-called-data"),
        pytest.param(b"READY=YES", [], id="ready"),
        pytest.param(b"READY = yes\nCPU=42", [("CPU", 42.0)], id="ready-and-a-value"),
        pytest.param(b"READY=1", [("READY", 1.0)], id="a-value-called-ready"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_what_clients_of_onegate_send_is_understood(body: bytes, expected: list[tuple[str, float | None]]) -> None:
    assert read_entries(body) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"CPU", 'expected KEY=VALUE, found "CPU"'),
        (b"=42", 'expected KEY=VALUE, found "=42"'),
        (b"CPU=", 'expected a number for "CPU", found ""'),
        (b"CPU=42 %", 'expected a number for "CPU", found "42 %"'),
        (b"CPU=nan", 'expected a number for "CPU", found "nan"'),
        (b"CPU=-inf", 'expected a number for "CPU", found "-inf"'),
        (b"CPU=1e999", 'expected a number for "CPU", found "1e999"'),
        (b"CPU=1_000", 'expected a number for "CPU", found "1_000"'),
        (b"A=1\nA=2", '"A" is there twice: it is not clear which is meant'),
        (b"A=\xff", "expected lines KEY=VALUE in UTF-8"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_a_reason(body: bytes, message: str) -> None:
    assert lines.read(body) == UnreadablePush(message=message)


def test_more_values_than_one_request_may_bring_are_too_large() -> None:
    body = "\n".join(f"A{number}=1" for number in range(VALUES_AT_MOST + 1)).encode()
    read = lines.read(body)
    assert isinstance(read, UnreadablePush)
    assert read.too_large
    assert isinstance(lines.read(body.rpartition(b"\n")[0]), tuple)


@given(st.one_of(st.binary(), st.text().map(str.encode), st.text('AB=&%\n\\"0.1e+').map(str.encode)))
def test_any_bytes_are_read_or_refused_and_every_value_is_finite(body: bytes) -> None:
    read = lines.read(body)
    if isinstance(read, tuple):
        assert all(
            isinstance(one, PushedEntry) and (one.value is None or abs(one.value) < float("inf")) for one in read
        )
