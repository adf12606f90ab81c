"""Since when a member is in its state."""

from __future__ import annotations

import pytest

from config.units import Instant
from handler.planning.status import MemberState, StateSince
from handler.planning.world import Phase
from handler.runtime.state_begins import state_begins
from tests.support.worlds import NOW, a_member, name_of

HOUR_AGO = Instant(NOW - 3600)
LONG_AGO = Instant(NOW - 7200)
JUST_NOW = Instant(NOW - 1)
SERVING, UNKNOWN, LEAVING = MemberState.IN_SERVICE, MemberState.UNKNOWN, MemberState.LEAVING


@pytest.mark.parametrize(
    ("before", "phase", "state", "at"),
    [
        (StateSince(state=SERVING, at=JUST_NOW), Phase.IN_SERVICE, SERVING, JUST_NOW),
        (None, Phase.IN_SERVICE, SERVING, HOUR_AGO),
        (StateSince(state=MemberState.JOINING, at=LONG_AGO), Phase.IN_SERVICE, SERVING, HOUR_AGO),
        (StateSince(state=SERVING, at=HOUR_AGO), Phase.IN_SERVICE, UNKNOWN, NOW),
        (StateSince(state=UNKNOWN, at=JUST_NOW), Phase.IN_SERVICE, SERVING, NOW),
        (StateSince(state=SERVING, at=LONG_AGO), Phase.LEAVING, LEAVING, HOUR_AGO),
        (None, Phase.INTENDED, MemberState.BUILDING, HOUR_AGO),
        (None, Phase.IN_SERVICE, MemberState.BROKEN, NOW),
    ],
    ids=[
        "it goes on", "nothing was known, and the record says", "the record says when it came into service",
        "it vanished",
        "it came back, and has served before", "it was chosen to leave", "it is intended", "nothing says when it broke",
    ],
)  # fmt: skip
def test_a_state_begins_when_it_is_seen_or_when_the_record_says(
    before: StateSince | None, phase: Phase, state: MemberState, at: Instant
) -> None:
    known = {} if before is None else {name_of(1): before}
    found = state_begins(known, [a_member(1, phase)], {name_of(1): state}, NOW)
    assert found == {name_of(1): StateSince(state=state, at=at)}


def test_a_record_of_the_future_is_not_believed() -> None:
    found = state_begins({}, [a_member(1, in_service_at=Instant(NOW + 60))], {name_of(1): SERVING}, NOW)
    assert found == {name_of(1): StateSince(state=SERVING, at=NOW)}


def test_what_is_gone_is_forgotten() -> None:
    assert state_begins({name_of(1): StateSince(state=SERVING, at=HOUR_AGO)}, [], {}, NOW) == {}
