"""A plan member by member: which steps are calls, which balancers they change, and what each begins with."""

from __future__ import annotations

import pytest

from config.units import BalancerId
from handler.planning.member_plans import changed, head, parted
from handler.planning.steps import Destroy, Enable, EnterService, Join, Leave, MarkLeaving, Step
from handler.planning.world import Leaving
from tests.support.worlds import EDGE, name_of

ONE, TWO, BACK = name_of(1), name_of(2), BalancerId("back")
LEFT, GONE = Leave(member=ONE, balancer=EDGE), Destroy(member=ONE)
IN = [Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)]


def line(*steps: Step) -> list[tuple[str, Step]]:
    return [(ONE, step) for step in steps]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([*IN, Join(member=ONE, balancer=BACK)], IN, id="up to another balancer"),
        pytest.param([LEFT, GONE], [LEFT], id="up to the cloud"),
        pytest.param([GONE], [], id="nothing"),
        pytest.param([Leave(member=ONE, balancer=BACK), LEFT], [], id="not first"),
    ],
)
def test_a_line_begins_at_one_balancer(steps: list[Step], expected: list[Step]) -> None:
    assert head(line(*steps), EDGE) == line(*expected)


def test_balancers_are_named_once_and_in_one_order() -> None:
    assert changed([line(LEFT, GONE), line(Leave(member=TWO, balancer=BACK), LEFT)]) == [BACK, EDGE]


def test_members_without_calls_are_separated_from_those_with_calls() -> None:
    mark = MarkLeaving(member=ONE, why=Leaving.SURPLUS)
    served = EnterService(member=TWO)
    assert parted([line(mark), line(LEFT, served)]) == ([(ONE, mark)], [line(LEFT, served)])
