from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import Permanent
from config.units import GroupId
from handler.orchestrators.process.marks import ProcessMark, choose_address
from handler.planning.launches import LaunchId


def a_launch(sequence: int = 1, installation: str = "k3f9ab") -> LaunchId:
    return LaunchId(installation=installation, group=GroupId("web"), sequence=sequence)


@given(st.integers(1, 10**9), st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=6, max_size=6))
def test_every_address_is_a_plain_loopback_address(sequence: int, installation: str) -> None:
    address = IPv4Address(choose_address(a_launch(sequence, installation), ()))

    assert address in IPv4Network("127.64.0.0/10")
    assert address.packed[3] not in (0, 255)


@given(st.lists(st.integers(1, 200_000), max_size=30))
def test_no_two_members_share_an_address(sequences: list[int]) -> None:
    taken: set[str] = set()
    for sequence in sequences:
        taken.add(choose_address(a_launch(sequence), taken))

    assert len(taken) == len(sequences)


def test_an_address_does_not_change_from_run_to_run() -> None:
    assert choose_address(a_launch(300), ()) == "127.124.1.46"


def test_a_full_installation_says_so() -> None:
    everything = {choose_address(a_launch(sequence), ()) for sequence in range(1, 256 * 254 + 1)}

    with pytest.raises(Permanent, match="no loopback address"):
        choose_address(a_launch(), everything)


def test_a_mark_is_read_back() -> None:
    mark = ProcessMark(id=a_launch(), address="127.1.2.3")

    assert ProcessMark.read(mark.environment(Path("/state"))) == mark


@pytest.mark.parametrize(
    "change",
    [{"TRIMTAB_MEMBER": "postgres"}, {"TRIMTAB_INSTALLATION": "zzzzzz"}, {"TRIMTAB_GROUP": "api"}],
    ids=lambda change: next(iter(change)),
)
def test_a_mark_that_contradicts_itself_is_none(change: dict[str, str]) -> None:
    mark = ProcessMark(id=a_launch(), address="127.1.2.3").environment(Path("/state"))

    assert ProcessMark.read({**mark, **change}) is None
