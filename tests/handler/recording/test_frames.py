from __future__ import annotations

import io
import math
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import GroupId
from handler.recording.frames import (
    MAGIC,
    Frame,
    LogReader,
    MissedTick,
    Named,
    RecordedScrape,
    name_layout,
    note_missed,
    take_down,
)
from tests.support.recording import WEB, a_layout, a_scrape, at

LAYOUT = a_layout(("web", "cpu", "m-1"), ("web", "cpu", "m-2"), ("web", "queue", None), counted=[True, False, True])
PARTS = (
    MAGIC,
    name_layout(0, LAYOUT, [GroupId("idle")]),
    take_down(0, a_scrape(at(0), LAYOUT, [1.5, None, -0.0], uptime=7.25)),
    note_missed(at(15), [WEB]),
    take_down(0, a_scrape(at(30), LAYOUT, [math.pi, 5e-324, 1.7e308])),
)
LOG = b"".join(PARTS)


def frames(data: bytes) -> tuple[list[Frame], LogReader]:
    reader = LogReader(io.BytesIO(data), len(data))
    return list(reader), reader


def test_what_is_written_is_what_is_read() -> None:
    (named, first, missed, second), reader = frames(LOG)

    assert isinstance(named, Named)
    assert named.runs == (("web", "cpu", ("m-1", "m-2")), ("web", "queue", (None,)))
    assert named.counted.tolist() == [True, False, True]
    assert named.idle == ("idle",)
    assert isinstance(first, RecordedScrape)
    assert (first.at, first.value.tolist(), first.uptime[0]) == (at(0), [1.5, 0.0, -0.0], 7.25)
    assert math.copysign(1, first.value[2]) == -1
    assert first.reply.tolist() == [1, 0, 1]
    assert missed == MissedTick(at=at(15), groups=(WEB,))
    assert isinstance(second, RecordedScrape)
    assert second.value.tolist() == [math.pi, 5e-324, 1.7e308]
    assert (reader.torn, reader.damaged) == (0, 0)


@pytest.mark.parametrize("length", range(len(LOG)))
def test_a_log_that_is_cut_anywhere_holds_what_was_whole(length: int) -> None:
    whole = max(count for count in range(len(PARTS) + 1) if sum(map(len, PARTS[:count])) <= length)

    found, reader = frames(LOG[:length])

    assert len(found) == max(whole - 1, 0)
    assert reader.torn == length - (sum(map(len, PARTS[:whole])) if whole else 0)
    assert reader.damaged == 0


@given(st.integers(len(MAGIC), len(LOG) - 1), st.integers(1, 255))
def test_a_damaged_byte_costs_no_more_than_what_it_stands_in(place: int, bits: int) -> None:
    data = bytearray(LOG)
    data[place] ^= bits

    found, reader = frames(bytes(data))

    assert len(found) < 4
    assert reader.torn or reader.damaged


@given(st.binary(max_size=200))
def test_garbage_after_the_mark_is_not_believed(garbage: bytes) -> None:
    found, _ = frames(MAGIC + garbage)

    assert found == []


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("payload", [b"", b"{", b"\x00" * 40, b"[1]"])
def test_a_frame_of_another_make_with_a_right_sum_is_left_out(kind: int, payload: bytes) -> None:
    frame = struct.pack("<IIB", len(payload), zlib.crc32(payload, kind), kind) + payload
    found, reader = frames(MAGIC + frame + PARTS[3])

    assert reader.torn == 0
    assert [type(each) for each in found][-1] is MissedTick


def test_zeroes_that_a_power_cut_leaves_are_torn() -> None:
    found, reader = frames(LOG + bytes(4096))

    assert len(found) == 4
    assert reader.torn == 4096


def test_many_members_of_one_counter_keep_their_order() -> None:
    many = a_layout(*(("web", "cpu", f"m-{number:05}") for number in range(4500)))

    (named,), _ = frames(MAGIC + name_layout(3, many, []))

    assert isinstance(named, Named)
    assert [member for *_, members in named.runs for member in members] == [each.member for each in many.series]
    assert np.all(named.counted)
