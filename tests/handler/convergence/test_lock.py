"""One daemon for each installation on a machine, by an abstract unix socket."""

from __future__ import annotations

import secrets
import socket

import pytest

from handler.convergence.lock import InstallationLock
from handler.planning.launches import Claim
from tests.support.waiting import PATIENT

LOW, HIGH = Claim(counter=3, nonce="aaaaaaaa"), Claim(counter=4, nonce="bbbbbbbb")


@pytest.fixture
def installation() -> str:
    return secrets.token_hex(3)


def test_the_first_daemon_holds_the_socket_and_the_second_reads_its_claim(installation: str) -> None:
    first, second = InstallationLock(installation), InstallationLock(installation)
    assert first.take(LOW) is None
    assert first.take(LOW) is None
    assert second.take(HIGH) == LOW
    assert InstallationLock(secrets.token_hex(3)).take(HIGH) is None
    first.release()
    assert second.take(HIGH) is None
    second.release()


def test_a_higher_claim_makes_the_holder_let_go_and_a_lower_one_does_not(installation: str) -> None:
    yielded: list[Claim] = []
    first, second = InstallationLock(installation, yielded.append), InstallationLock(installation)
    assert first.take(HIGH) is None
    assert not second.demand(LOW)
    assert yielded == []
    higher = Claim(counter=5, nonce="cccccccc")
    assert second.demand(higher)
    assert yielded == [higher]
    assert first.take(HIGH) == higher
    second.release()


def test_what_makes_no_sense_is_answered_with_the_claim_and_changes_nothing(installation: str) -> None:
    first = InstallationLock(installation)
    assert first.take(LOW) is None
    for nonsense in (b"", b"adopt", b"adopt 99", b"\xff\xfe", b"adopt 99-UPPER123"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(PATIENT)
            asking.connect(f"\0trimtab-{installation}")
            asking.sendall(nonsense)
            asking.shutdown(socket.SHUT_WR)
            asking.recv(64)
    assert InstallationLock(installation).take(HIGH) == LOW
    first.release()
