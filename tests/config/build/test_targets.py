from __future__ import annotations

import pytest

from config.load import parse
from config.model.adjustments import Adjustment, AdjustmentVerb, TargetLoad, Tracking
from config.model.catalogue import Catalogue, Compare, Condition
from config.model.reductions import Reduce
from config.units import ConditionId, GroupId, PolicyId

TEXT = """
sources: {{prom: {{prometheus: {{url: "http://127.0.0.1:9090"}}}}}}
counters:
  cpu: {{snmp: UCD-SNMP-MIB::ssCpuUser.0, unit: percent}}
  backlog: {{prometheus: "sum(jobs)", server: prom, per: group}}
conditions: {{idle: {{counter: cpu, below: 30}}}}
policies:
  keep: {policy}
  in: {{when: [idle], remove: 1}}
clouds: {{local: {{process: {{}}}}}}
profiles: {{web: {{cloud: local, command: [serve]}}}}
groups: {{web: {{profile: web, min: 2, max: 8, policies: [keep, in]}}}}
"""


def declared(policy: str) -> Catalogue:
    return parse(TEXT.format(policy=policy), "web.yaml")


def condition(catalogue: Catalogue, name: str) -> Condition:
    found = catalogue.conditions[ConditionId(name)]
    assert isinstance(found, Condition)
    return found


def test_a_target_becomes_a_policy_for_each_direction_in_the_place_of_its_name() -> None:
    catalogue = declared("{target: {counter: cpu, value: 60, tolerance: 20%, in: {at_most: 10%, quiet_time: 7m}}}")
    assert catalogue.groups[GroupId("web")].policies == ("keep.out", "keep.in", "in")
    out, away = condition(catalogue, "keep.out"), condition(catalogue, "keep.in")
    assert (out.compare, out.threshold) == (Compare.ABOVE, 72)
    assert (away.compare, away.threshold) == (Compare.BELOW, 48)
    policy = catalogue.policies[PolicyId("keep.in")]
    assert (policy.when, policy.duration, policy.quiet_time) == (("keep.in",), 300.0, 420.0)
    tenth = Adjustment(verb=AdjustmentVerb.REMOVE, amount=10, percent=True)
    assert policy.adjustment == Tracking(
        by=ConditionId("keep.in"), verb=AdjustmentVerb.REMOVE, level=60, load=TargetLoad.EACH, at_most=tenth
    )


def test_only_out_never_shrinks() -> None:
    catalogue = declared("{target: {counter: cpu, value: 60, only: out}}")
    assert catalogue.groups[GroupId("web")].policies == ("keep.out", "in")
    assert PolicyId("keep.in") not in catalogue.policies


@pytest.mark.parametrize(
    ("policy", "load", "across", "level"),
    [
        pytest.param("{target: {counter: cpu, value: 60}}", TargetLoad.EACH, Reduce.AVG, 60, id="members"),
        pytest.param("{target: {counter: backlog, value: 60}}", TargetLoad.WHOLE, Reduce.AVG, 60, id="group"),
        pytest.param("{target: {counter: backlog, each: 30}}", TargetLoad.TOTAL, Reduce.AVG, 30, id="total-of-group"),
        pytest.param("{target: {counter: cpu, each: 30}}", TargetLoad.TOTAL, Reduce.SUM, 30, id="total-of-members"),
        pytest.param("{pass_through: {counter: backlog}}", TargetLoad.TOTAL, Reduce.AVG, 1, id="pass-through"),
    ],
)
def test_what_a_target_is_held_against(policy: str, load: TargetLoad, across: Reduce, level: float) -> None:
    catalogue = declared(policy)
    action = catalogue.policies[PolicyId("keep.out")].adjustment
    assert isinstance(action, Tracking)
    assert (action.load, action.level) == (load, level)
    out = condition(catalogue, "keep.out")
    assert (out.across, out.per_member) == (across, load is TargetLoad.TOTAL)
