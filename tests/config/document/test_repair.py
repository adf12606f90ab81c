"""The repair settings of a group, as they are written."""

from __future__ import annotations

import pytest

from config.errors import DeclarationError
from config.load import parse
from config.model.repair import HealthRepair, Repair
from config.units import Fraction

_GROUP = """\
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [serve]}}
groups:
  web:
    profile: web
    min: 1
    max: 2
    repair: """


def read(written: str) -> Repair:
    return next(iter(parse(_GROUP + written, "a.yaml").groups.values())).repair


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("{}", Repair(), id="by default"),
        pytest.param("off", Repair(vanished=False, broken=False, unbuilt=False), id="off"),
        pytest.param("{broken: false}", Repair(broken=False), id="one cause off"),
        pytest.param("{unhealthy: false}", Repair(), id="health off"),
        pytest.param("{passing: 1h}", Repair(passing=3600.0), id="between two states for too long"),
        pytest.param("{unhealthy: true}", Repair(unhealthy=HealthRepair()), id="health as usual"),
        pytest.param("{unhealthy: {}}", Repair(unhealthy=HealthRepair()), id="health by default"),
        pytest.param(
            "{unhealthy: {after: 30s, warm_up: 0, at_most: 3}}",
            Repair(unhealthy=HealthRepair(after=30.0, warm_up=0.0, at_most=3, at_most_share=Fraction(0.0))),
            id="members",
        ),
        pytest.param(
            "{unhealthy: {at_most: 50%}}", Repair(unhealthy=HealthRepair(at_most_share=Fraction(0.5))), id="a share"
        ),
    ],
)
def test_each_cause_is_switched_by_itself(written: str, expected: Repair) -> None:
    assert read(written) == expected


def test_by_default_a_group_replaces_lost_members_and_none_for_health() -> None:
    silent = parse(_GROUP.removesuffix("    repair: "), "a.yaml")
    assert [group.repair for group in silent.groups.values()] == [Repair()]
    assert Repair().unhealthy is None


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param("on", "'on' is not a mapping with keys such as vanished, broken, unbuilt, unhealthy", id="a word"),
        pytest.param("{unhealthy: off}", "'off' is not true, false, or how such as {after: 2m}", id="off inside"),
        pytest.param("{unhealthy: {after: 0}}", "0 is not more than 0s", id="at once"),
        pytest.param("{unhealthy: {at_most: 0}}", "0 is not a whole number from 1, or a percentage", id="never"),
        pytest.param("{unhealthy: {grace: 5m}}", "unknown key 'grace'; known are after, at_most, warm_up", id="key"),
        pytest.param("{broken: 1}", "1 is not true or false", id="no switch"),
    ],
)
def test_each_wrong_repair_has_its_message(written: str, message: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        read(written)
    assert message in str(refused.value)
