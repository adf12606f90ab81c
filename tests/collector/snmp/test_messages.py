from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from collector.samples import Reply
from collector.snmp import messages
from collector.snmp.values import decode, described

ANSWER = bytes.fromhex("302902010004067075626c6963a21c02044a5d9ff9020102020101300e300c06082b060102010163000500")
"""Of snmpd 5.9: v1, noSuchName."""
DISCOVERED = bytes.fromhex(
    "3071020103301102042d23391a020300ffe30401000201030421301f041180001f8880cc3e254d813c016b00000000020101020100"
    "0400040004003036041180001f8880cc3e254d813c016b000000000400a81f0204415534e50201000201003011300f060a2b060106"
    "030f01010400410101"
)
"""Of snmpd 5.9: v3, usmStatsUnknownEngineIDs, the report with which it says who it is."""


def test_a_report_says_what_it_is_about() -> None:
    message = messages.read(DISCOVERED)

    assert message is not None
    assert (message.status, message.report, message.signature) == (None, 4, None)


def test_an_answer_says_its_error_status() -> None:
    message = messages.read(ANSWER)

    assert message is not None
    assert (message.status, message.report, message.signature) == (2, None, None)


@given(st.binary(max_size=200))
def test_no_bytes_are_too_odd_to_be_read(datagram: bytes) -> None:
    assert messages.read(datagram) is None or datagram.startswith(b"\x30")
    assert isinstance(described(datagram), str)
    for raw in (datagram, b"\x9f" + datagram):
        assert isinstance(decode(raw), int | float | Reply)


@given(
    good=st.sampled_from([ANSWER, DISCOVERED]),
    changes=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 120),
)
def test_no_change_of_a_message_makes_it_unreadable_by_surprise(
    good: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    spoilt = bytearray(good)
    for place, byte in changes:
        with contextlib.suppress(IndexError):
            spoilt[place] = byte
    for datagram in (bytes(spoilt[:cut]), bytes(spoilt)):
        assert isinstance(messages.read(datagram), messages.Message | None)
