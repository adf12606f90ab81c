"""A replay at another size needs to know what counters would have shown there."""

from __future__ import annotations

import pytest

from config.errors import Refused
from config.units import GroupId
from handler.tuning.known import limit_of, require_known
from tests.support.replay import WEB, declared

SHARED = ("range: [0, 100]}", "range: [0, 100], shared: true}")
BUSY = "busy: {counter: cpu, above: 80}"

UNKNOWN = {
    "not shared": ((), "it is not known what cpu would have been at another size: if members share"),
    "of the whole group": (
        (SHARED, (BUSY, "busy: {counter: backlog, above: 80}")),
        "policy out, condition busy: it is not known what backlog would have been at another size: it is one value",
    ),
    "in an expression": (
        (SHARED, (BUSY, 'busy: {expression: "cpu > 80 || backlog > 9"}')),
        "what backlog would have been",
    ),
    "forecast of each member": (
        (
            SHARED,
            ("{when: [busy], duration: 60s, add: 1, quiet_time: 5m}", "{forecast: {load: {counter: cpu, each: 70}}}"),
        ),
        "policy out: a forecast by a counter of each member cannot be replayed at another size",
    ),
}


@pytest.mark.parametrize(("changes", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_counter_that_is_not_known_at_another_size_is_refused(
    changes: tuple[tuple[str, str], ...], message: str
) -> None:
    with pytest.raises(Refused) as refusal:
        require_known(declared(*changes), WEB)

    assert message in str(refusal.value)


def policy(text: str) -> tuple[str, str]:
    return "out: {when: [busy], duration: 60s, add: 1, quiet_time: 5m}", f"out: {text}"


KNOWN = {
    "threshold": ((SHARED,), "cpu (avg) above 80"),
    "share of a total": (
        (SHARED, (BUSY, "busy: {counter: backlog, above: 8, per_member: true}")),
        "backlog above 8 a member",
    ),
    "target": ((SHARED, policy("{target: {counter: cpu, value: 60, only: out}}")), "cpu (avg) above 60"),
    "target of a total": (
        (SHARED, policy("{target: {counter: backlog, each: 30, only: out}}")),
        "backlog above 30 a member",
    ),
    "forecast": (
        (SHARED, policy("{forecast: {load: {counter: backlog, each: 70}}}")),
        "backlog above 70 a member",
    ),
}


@pytest.mark.parametrize(("changes", "words"), KNOWN.values(), ids=KNOWN)
def test_load_is_judged_by_what_the_group_grows_by(changes: tuple[tuple[str, str], ...], words: str) -> None:
    catalogue = declared(*changes)

    require_known(catalogue, WEB)

    assert limit_of(catalogue, WEB, None).words == words


def test_a_person_may_set_another_limit() -> None:
    assert limit_of(declared(SHARED), WEB, 70.0).words == "cpu (avg) above 70"


def test_a_group_that_never_grows_by_a_level_has_no_limit() -> None:
    catalogue = declared(SHARED, (BUSY, 'busy: {expression: "cpu > 80"}'))

    with pytest.raises(Refused, match="no policy grows it above a threshold or after a target"):
        limit_of(catalogue, GroupId("web"), None)
