from __future__ import annotations

import pytest

from config.load import parse
from config.model.catalogue import Catalogue
from handler.planning.exclusive import to_be_read

MODEL = """
clouds: {{here: {{process: {{}}}}}}
balancers:
  edge: {{haproxy: {{socket: /run/edge.sock, backend: web}}}}
  side: {{haproxy: {{socket: /run/side.sock, backend: web}}}}
profiles: {{web: {{cloud: here, command: [sh]}}}}
groups:
  api: {{profile: web, min: 0, max: 1, exclusive: true, balancers: [{{use: side, port: 9}}]}}
  {web}
"""


def declared(web: str = "") -> Catalogue:
    return parse(MODEL.format(web=f"web: {{profile: web, min: 0, max: 1{web}}}" if web else ""), "model.yaml")


NONE, BOTH = ", balancers: []", ", balancers: [{use: edge, port: 8}, {use: side, port: 8}]"
ONE, ALONE = ", balancers: [{use: edge, port: 8}]", ", exclusive: true"


@pytest.mark.parametrize(
    ("before", "after", "read"),
    [
        pytest.param("", BOTH + ALONE, ["edge", "side"], id="a new group"),
        pytest.param("", BOTH, [], id="a new group that tolerates others"),
        pytest.param(ONE, ONE + ALONE, ["edge"], id="it becomes exclusive"),
        pytest.param(ONE + ALONE, BOTH + ALONE, ["side"], id="it gains a balancer"),
        pytest.param(BOTH + ALONE, ONE + ALONE, [], id="it loses one"),
        pytest.param(ONE + ALONE, ONE + ALONE + ", interval: 5m", [], id="something else changes"),
        pytest.param(ONE + ALONE, BOTH, [], id="it tolerates others from now on"),
        pytest.param(NONE + ALONE, ONE + ALONE, ["edge"], id="its first balancer"),
    ],
)
def test_only_balancers_that_an_exclusive_group_gains_are_read(before: str, after: str, read: list[str]) -> None:
    new = declared(after)
    found = list(to_be_read(declared(before), new, new.groups))
    assert [(group.id, balancer.id) for group, balancer in found] == [("web", each) for each in read]


def test_groups_that_are_not_looked_at_are_left_out() -> None:
    assert list(to_be_read(declared(), declared(ONE + ALONE), ())) == []
