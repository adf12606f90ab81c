"""Whatever makes a member come or go: it joins its balancer after it was made, and leaves it before it is deleted.

The causes are those of Senlin's load-balancing policy (its scenarios S1 to S8, replacement and recovery).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from config.errors import DriverError, Permanent, Transient
from config.units import MemberName
from handler.planning.world import Leaving, Phase, ServerState
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import LOST
from tests.support.worlds import WEB, name_of

FIRST = name_of(1)
FAILURES = {
    "done": None,
    "the answer is lost": LOST,
    "refused for now": Transient("busy"),
    "refused for good": Permanent("not allowed"),
}


@dataclass(frozen=True)
class Cause:
    begin: Callable[[Bed], None]
    before: int = 3
    after: int = 3


def sized(size: int) -> Callable[[Bed], None]:
    return lambda bed: bed.desire(size)


def named(bed: Bed) -> None:
    """A person names the member, and the size is lowered by it."""
    record, cloud = bed.store.records[FIRST]
    leaving = replace(record, phase=Phase.LEAVING, leaving=Leaving.CHOSEN, leaving_at=bed.clock())
    bed.store.records[FIRST] = (leaving, cloud)
    bed.desire(2)


def replaced(bed: Bed) -> None:
    bed.replace(FIRST)


def broken(bed: Bed) -> None:
    bed.cloud.say(FIRST, ServerState.ERROR)


def vanished(bed: Bed) -> None:
    bed.cloud.die(FIRST)


def deleted(bed: Bed) -> None:
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)


COMING = {
    "scale out (S4)": Cause(sized(4), after=4),
    "add several (S5)": Cause(sized(6), after=6),
    "resize that grows (S6)": Cause(sized(5), before=1, after=5),
    "the first member (S7)": Cause(sized(1), before=0, after=1),
    "replace": Cause(replaced),
    "repair of a broken one": Cause(broken),
    "repair of a vanished one": Cause(vanished),
}
GOING = {
    "scale in (S1)": Cause(sized(2), after=2),
    "delete by name (S2)": Cause(named, after=2),
    "resize that shrinks (S3)": Cause(sized(1), after=1),
    "the last member (S8)": Cause(sized(0), before=1, after=0),
    "delete the group": Cause(deleted, after=0),
    "replace": Cause(replaced),
    "repair of a broken one": Cause(broken),
}
WAYS_OUT = [(name, "leave") for name in GOING] + [(name, "drain") for name in GOING if GOING[name].begin is not broken]
"""A broken member has nothing to finish: it is not drained."""


def steps_of(bed: Bed, *names: str) -> dict[str, list[str]]:
    """What was done to each member, in order, of these steps."""
    steps: dict[str, list[str]] = {}
    for event in bed.store.events.values():
        if event.name in names:
            steps.setdefault(event.by, []).append(event.name)
    return steps


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("call", ["join", "enable"])
@pytest.mark.parametrize("name", COMING)
def test_a_member_joins_after_it_was_made_and_serves_only_then(name: str, call: str, failure: str) -> None:
    cause, error = COMING[name], FAILURES[failure]
    bed = grown(cause.before)
    old, made_before = bed.machines, set(bed.cloud.created)
    bed.store.events.clear()
    cause.begin(bed)
    fails = _fails(bed, call, error)
    _some_passes(bed)
    new = bed.machines - old
    if fails:
        assert new, "machines are made whatever the balancer says"
        assert not new & bed.known(Phase.IN_SERVICE), "no member serves that the balancer does not"
        bed.edge.faults.clear()
    bed.settle()
    bed.expect(cause.after)
    for member in set(bed.cloud.created) - made_before:
        done = steps_of(bed, "create", "join", "enable", "enter_service")[member]
        assert list(dict.fromkeys(done)) == ["create", "join", "enable", "enter_service"]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(("name", "call"), WAYS_OUT)
def test_a_member_leaves_before_it_is_deleted_and_is_not_if_it_cannot_leave(name: str, call: str, failure: str) -> None:
    cause, error = GOING[name], FAILURES[failure]
    bed = grown(cause.before)
    bed.cloud.before_destroy = lambda member: _must_have_left(bed, member)
    bed.store.events.clear()
    cause.begin(bed)
    fails = _fails(bed, call, error)
    _some_passes(bed)
    if fails:
        assert bed.cloud.destroyed == [], "no member is deleted that could not leave"
        assert len(bed.machines) >= cause.before
        bed.edge.faults.clear()
    bed.settle()
    if cause.begin is deleted:
        assert bed.machines == set(bed.edge.states) == set()
    else:
        bed.expect(cause.after)
    assert bed.cloud.destroyed
    for member in bed.cloud.destroyed:
        assert list(dict.fromkeys(steps_of(bed, "leave", "destroy")[member])) == ["leave", "destroy"]


def _fails(bed: Bed, call: str, error: DriverError | None) -> bool:
    """Have a call fail until further notice, or lose one answer; whether it fails."""
    if error is LOST:
        bed.edge.faults.script(call, LOST)
        return False
    if error is not None:
        bed.edge.faults.always[call] = error
    return error is not None


def _some_passes(bed: Bed) -> None:
    for _ in range(12):
        done = bed.run()
        bed.clock.advance(5.0 if done.next_in is None else done.next_in)


def _must_have_left(bed: Bed, member: MemberName) -> None:
    assert member not in bed.edge.states, f"{member} has not left its balancer"
