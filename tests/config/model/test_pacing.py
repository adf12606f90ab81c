"""The budget of a cloud, by its declaration and by how large its groups may be."""

from __future__ import annotations

import pytest

from config.load import parse
from config.model.pacing import Budget, Granted
from config.units import CloudId, GroupId

MODEL = """\
clouds: {a: {process: {}}, b: {process: {}}}
profiles: {on-a: {cloud: a, command: [serve]}, on-b: {cloud: b, command: [serve]}}
groups:
  web: {profile: on-a, min: 1, max: 90}
  api: {profile: on-a, min: 1, max: 11}
  db: {profile: on-b, min: 1, max: 3}
"""
A, B = CloudId("a"), CloudId("b")


@pytest.mark.parametrize(
    ("maximum", "granted"),
    [
        pytest.param(0, Granted(outstanding=10, per_hour=60), id="no group"),
        pytest.param(20, Granted(outstanding=10, per_hour=60), id="small groups"),
        pytest.param(21, Granted(outstanding=11, per_hour=60), id="half, rounded up"),
        pytest.param(31, Granted(outstanding=16, per_hour=62), id="twice the sum"),
        pytest.param(10_000, Granted(outstanding=5000, per_hour=20_000), id="large groups"),
    ],
)
def test_a_budget_that_is_not_declared_grows_with_the_groups_of_its_cloud(maximum: int, granted: Granted) -> None:
    assert Budget().granted(maximum) == granted


def test_a_declared_budget_is_as_declared_and_its_other_half_grows() -> None:
    assert Budget(outstanding=3).granted(1000) == Granted(outstanding=3, per_hour=2000)
    assert Budget(per_hour=7).granted(1000) == Granted(outstanding=500, per_hour=7)
    assert Budget(outstanding=3, per_hour=7).granted(1000) == Granted(outstanding=3, per_hour=7)


def test_the_groups_of_a_cloud_count_and_no_others() -> None:
    catalogue = parse(MODEL, "model.yaml")
    assert catalogue.granted(A) == Granted(outstanding=51, per_hour=202)
    assert catalogue.granted(B) == Granted(outstanding=10, per_hour=60)


def test_a_group_has_no_budget_of_its_own_unless_it_declares_one() -> None:
    declared = MODEL.replace("max: 11", "max: 11, budget: {per_hour: 5}")
    groups = parse(declared, "model.yaml").groups
    assert groups[GroupId("web")].budget == Budget()
    assert groups[GroupId("api")].budget == Budget(per_hour=5)
