"""Whatever a daemon sends is read, or refused as what it is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.libvirt.messages import (
    Header,
    domain_ref,
    error_of,
    frame,
    header_of,
    interface_of,
    pool_ref,
    volume_ref,
)
from collector.clients.libvirt.xdr import Garbled, Unpacker, hyper, maybe, number, text


@given(st.text(), st.text() | st.none(), st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**64 - 1))
def test_what_is_written_is_read_back(word: str, option: str | None, small: int, large: int) -> None:
    reader = Unpacker(text(word) + maybe(option) + number(small) + hyper(large))

    assert (reader.text(), reader.maybe(reader.text), reader.number(), reader.hyper()) == (word, option, small, large)


READERS: dict[str, Callable[[bytes], object]] = {
    "domain": lambda data: domain_ref(Unpacker(data)),
    "pool": lambda data: pool_ref(Unpacker(data)),
    "volume": lambda data: volume_ref(Unpacker(data)),
    "interface": lambda data: interface_of(Unpacker(data)),
    "texts": lambda data: (reader := Unpacker(data)).every(reader.text),
    "header": header_of,
    "error": error_of,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@given(data=st.binary(max_size=120))
def test_other_bytes_are_garbled_and_nothing_else(read: Callable[[bytes], object], data: bytes) -> None:
    try:
        read(data)
    except Garbled:
        return


def test_an_array_that_claims_more_than_there_is_costs_nothing() -> None:
    reader = Unpacker(number(2**31 - 1) + b"abc")

    with pytest.raises(Garbled, match="an array of 2147483647"):
        reader.every(reader.number)


def test_a_message_of_another_program_is_none_of_ours() -> None:
    with pytest.raises(Garbled, match="another program"):
        header_of(frame(Header(procedure=1, serial=1, program=0x20008087), b"")[4:])
