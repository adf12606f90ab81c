"""Every rule of Otter's planner, by its number, as worlds by hand and what is planned in them.

Where ours differs, the case says so. `tests/handler/planning/test_plan.py` has the rules that Otter did not have.
"""

from __future__ import annotations

from typing import Any

import pytest

from handler.operations.plan_text import plan_lines
from handler.orchestrators.openstack.parsing import STATES
from handler.web.render import planned
from tests.support.snapshots import read

GONE = object()
SERVED, MADE = "in_service", "made"
LEAVER = {"phase": "leaving", "leaving_at": "20s ago"}
OLD_BUILD = {"phase": MADE, "made_at": "15m ago"}


def lines_of(
    size: int,
    members: dict[str, tuple[Any, Any]],
    registrations: dict[str, Any] | None = None,
    ready: dict[str, bool] | None = None,
    **more: Any,
) -> list[str]:
    """What is planned for members (record, server), in words. A server that is ``GONE`` is so by definite answer."""
    listed = [
        {"name": name, "record": record, "ready": (ready or {}).get(name)}
        | ({"disproved": True} if server is GONE else {"server": server})
        for name, (record, server) in members.items()
    ]
    edge = {"seats": registrations} if registrations is not None else {"seats": dict.fromkeys(members, "serving")}
    world = {"members": listed, "seatings": {"edge": edge}}
    return [*plan_lines(planned(read({"desired": size, "world": world, **more}).plan()))]


def of_state(state: str, record: Any = SERVED) -> dict[str, tuple[Any, Any]]:
    return {"m-1": (record, state)}


PROBED = {"definition": {"ready": "5m"}}
_NOT_SERVING = "mark leaving m-{} surplus (not in service; the oldest)"
MIXED = {
    "m-1": (SERVED, "running"),
    "m-2": (SERVED, "parked"),
    "m-3": (SERVED, "passing"),
    "m-4": (MADE, "building"),
    "m-5": (MADE, "building"),
    "m-6": (SERVED, "running"),
}


@pytest.mark.parametrize(
    ("lines_now", "lines"),
    [
        # Roles: what a state means for a group of one.
        pytest.param(lines_of(1, of_state("running")), ["converged: nothing to do"], id="roles: available"),
        pytest.param(lines_of(1, of_state("building", MADE), {}), ["waiting: 1 building"], id="roles: building"),
        pytest.param(
            lines_of(1, of_state("passing")), ["waiting: 1 passing"], id="roles: passing is counted, waited for"
        ),
        pytest.param(
            lines_of(1, of_state("parked")), ["converged: nothing to do"], id="roles: parked is counted, for good"
        ),
        pytest.param(
            lines_of(1, of_state("error")), ["mark leaving m-1 broken", "create"], id="roles: broken by error"
        ),
        pytest.param(
            lines_of(1, of_state("stopped")), ["mark leaving m-1 broken", "create"], id="roles: broken by shutoff"
        ),
        pytest.param(
            lines_of(1, {"m-1": (SERVED, None), "m-2": (SERVED, "running")}),
            ["note absence m-1", "waiting: 1 unconfirmed, a listing without doubt"],
            id="roles: gone; ours wants a witness first, and counts it until then",
        ),
        pytest.param(lines_of(1, of_state("unknown")), ["waiting: 1 unconfirmed"], id="roles: ignored; ours counts it"),
        pytest.param(
            lines_of(0, {"m-1": (LEAVER, "parked")}),
            ["leave m-1 edge", "destroy m-1", "waiting: 1 deleting"],
            id="roles: a drain mark, set aside: nothing to drain",
        ),
        pytest.param(
            lines_of(0, {"m-1": (LEAVER, "error")}),
            ["leave m-1 edge", "destroy m-1", "waiting: 1 deleting"],
            id="roles: ERROR trumps a drain mark",
        ),
        # 1 to 4: counting, and which members are surplus.
        pytest.param(
            lines_of(5, MIXED),
            [_NOT_SERVING.format(4), "waiting: 1 building, 1 passing"],
            id="1, 4: building",
        ),
        pytest.param(
            lines_of(3, MIXED),
            [_NOT_SERVING.format(n) for n in (3, 4, 5)],
            id="4: then passing",
        ),
        pytest.param(
            lines_of(2, MIXED),
            [_NOT_SERVING.format(n) for n in (2, 3, 4, 5)],
            id="4: then parked",
        ),
        pytest.param(
            lines_of(1, MIXED),
            ["mark leaving m-1 surplus (the oldest)", *(_NOT_SERVING.format(n) for n in (2, 3, 4, 5))],
            id="4: then available, oldest first",
        ),
        pytest.param(
            lines_of(1, {"m-1": (OLD_BUILD, "building")}, {}),
            ["mark leaving m-1 build_timeout", "create"],
            id="2: a build past its timeout is replaced",
        ),
        pytest.param(
            lines_of(0, {"m-1": ({**OLD_BUILD, "phase": "leaving", "in_service_at": None}, "building")}),
            ["leave m-1 edge", "destroy m-1", "waiting: 1 deleting"],
            id="2: and never drained",
        ),
        pytest.param(
            lines_of(
                6, MIXED | {"m-7": (LEAVER, "running"), "m-8": (SERVED, "error")}, {"m-1": "serving", "m-6": "serving"}
            ),
            ["destroy m-7", "mark leaving m-8 broken", "waiting: 2 building, 1 passing, 1 deleting"],
            id="3: draining and broken do not count, all others do",
        ),
        # 5: out of the balancer, then gone.
        pytest.param(
            lines_of(0, {"m-1": (LEAVER, "running")}),
            ["drain m-1 edge", "waiting: 1 draining"],
            id="5: enabled, so drained",
        ),
        pytest.param(
            lines_of(0, {"m-1": ({**LEAVER, "drained_at": "10s ago"}, "running")}, {"m-1": "draining"}),
            ["waiting: 1 draining"],
            id="5: an unknown number of connections is not zero",
        ),
        pytest.param(
            lines_of(0, {"m-1": ({**LEAVER, "drained_at": "1m ago"}, "running")}, {"m-1": "draining"}),
            ["leave m-1 edge", "destroy m-1", "waiting: 1 deleting"],
            id="5: had its time: removed, and deleted in the same pass",
        ),
        pytest.param(
            lines_of(0, {"m-1": (LEAVER, "running")}, {"m-1": "parked"}),
            ["leave m-1 edge", "destroy m-1", "waiting: 1 deleting"],
            id="5: disabled: removed at once",
        ),
        # 6 to 9: repair.
        pytest.param(
            lines_of(1, {"m-1": ({**LEAVER, "leaving": "broken"}, "error")}),
            ["leave m-1 edge", "destroy m-1", "create", "waiting: 1 deleting"],
            id="6: broken: removed without draining; ours marks it durably a pass before",
        ),
        pytest.param(
            lines_of(1, {"m-1": (LEAVER, GONE), "m-2": (SERVED, GONE), "m-3": (SERVED, "running")}),
            ["leave m-1 edge", "forget m-1", "leave m-2 edge", "forget m-2"],
            id="7: registrations that are left over are removed; ours only of a member that is proved gone",
        ),
        pytest.param(
            lines_of(1, of_state("running"), {}),
            ["join m-1 edge", "enable m-1 edge"],
            id="8: a missing membership is added",
        ),
        pytest.param(
            lines_of(1, {"m-1": (SERVED, {"state": "running", "address": None})}, {}),
            ["waiting: 1 not ready"],
            id="8: only if it has an address",
        ),
        pytest.param(
            lines_of(1, of_state("running"), {"m-1": "draining"}), ["enable m-1 edge"], id="8: a wrong one is put right"
        ),
        pytest.param(
            lines_of(1, of_state("running", MADE), {}, **PROBED),
            ["waiting: 1 not ready"],
            id="9: not online: no work yet",
        ),
        pytest.param(
            lines_of(1, of_state("running", MADE), {"m-1": "parked"}, {"m-1": True}, **PROBED),
            ["enable m-1 edge"],
            id="9: online: enabled; ours asks the member itself",
        ),
        pytest.param(
            lines_of(1, {"m-1": (OLD_BUILD, "running")}, {}, {"m-1": False}, **PROBED),
            ["mark leaving m-1 not_ready", "create"],
            id="9: offline for too long: ours replaces it",
        ),
        # 10 to 12: what is not known, what is waited for, how much at once.
        pytest.param(
            lines_of(0, {"m-1": (LEAVER, "running")}, {"m-1": "draining"}),
            ["drain m-1 edge", "waiting: 1 draining"],
            id="10: drains since an unknown time; ours begins the drain anew",
        ),
        pytest.param(
            lines_of(1, of_state("parked"), {}), ["converged: nothing to do"], id="11: no step waits for the parked"
        ),
        pytest.param(lines_of(12, {}), ["create"] * 10 + ["waiting: 2 budget"], id="12: ten creates a pass"),
    ],
)
def test_a_rule_of_otters_planner(lines_now: list[str], lines: list[str]) -> None:
    assert lines_now == lines


def test_a_person_moves_the_parked_by_having_it_replaced() -> None:
    parked: dict[str, tuple[Any, Any]] = {"m-1": ({"phase": SERVED, "leaving": "replaced"}, "parked")}
    assert lines_of(1, parked, {}) == ["create", "waiting: 1 not ready"], (
        "the lost registration of one that is set aside stays lost"
    )
    assert lines_of(1, parked | {"m-2": (SERVED, "running")}) == ["mark leaving m-1 replaced"]


@pytest.mark.parametrize("word", STATES)
def test_whatever_nova_says_a_member_that_has_served_is_neither_doubled_nor_lost(word: str) -> None:
    state = STATES[word].value
    lines = lines_of(1, of_state(state))
    assert ("create" in lines) == (state in {"error", "stopped"})
    assert not [line for line in lines if line.startswith(("destroy", "leave "))]
