"""Evidence from the answers to counters."""

from __future__ import annotations

import pytest

from config.units import Instant, MemberName
from handler.planning.evidence import Hearing, MissedMember, Saying, Testimony

ONE, TWO, THREE = (MemberName(name) for name in ("one", "two", "three"))
NOW = Instant(1000.0)


def hearing(at: float = 990.0, **missed: MissedMember) -> Hearing:
    return Hearing(
        source="snmp", at=Instant(at), asked={ONE, TWO}, missed={MemberName(n): m for n, m in missed.items()}
    )


def says(testimony: Testimony | None) -> tuple[Saying, bool] | None:
    return None if testimony is None else (testimony.says, testimony.answers)


SILENT = MissedMember(heard_at=Instant(900.0), silent_since=Instant(930.0))
ODD = MissedMember(heard_at=Instant(900.0), silent_since=None)


@pytest.mark.parametrize(
    ("heard", "expected"),
    [
        pytest.param(hearing(), (Saying.HEARD, True), id="it answered"),
        pytest.param(hearing(one=SILENT), (Saying.SILENT, True), id="it was silent beside another that answered"),
        pytest.param(hearing(one=ODD), (Saying.UNCLEAR, True), id="what it answered was no value"),
        pytest.param(hearing(one=SILENT, two=SILENT), (Saying.SILENT, False), id="all were silent"),
        pytest.param(hearing(at=939.9), (Saying.UNCLEAR, False), id="the last poll was too long ago"),
    ],
)
def test_a_source_says_what_its_last_poll_came_to(heard: Hearing, expected: tuple[Saying, bool]) -> None:
    assert says(heard.of(ONE, NOW, 30.0)) == expected


def test_a_source_says_nothing_of_a_member_that_it_did_not_ask() -> None:
    assert hearing().of(THREE, NOW, 30.0) is None


def test_a_silent_member_was_heard_when_it_was_heard_last() -> None:
    testimony = hearing(one=SILENT).of(ONE, NOW, 30.0)
    assert testimony is not None
    assert (testimony.heard_at, testimony.silent_since) == (900.0, 930.0)
    again = hearing().of(ONE, NOW, 30.0)
    assert again is not None
    assert (again.heard_at, again.silent_since) == (990.0, None)
