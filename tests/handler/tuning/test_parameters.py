"""What can be tuned, and what a person asks to be tried."""

from __future__ import annotations

import math

import pytest

from config.document.places import read_places
from config.errors import Refused
from config.load import parse
from config.units import GroupId
from handler.tuning.goals import goal_of, grid, swept
from handler.tuning.outcomes import Goal
from handler.tuning.parameters import Parameter, parameters_of, today_of

WEB = GroupId("web")
TEXT = """\
counters:
  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0, unit: percent, range: [0, 100], shared: true}
  ttfb: {prometheus: ttfb, label: instance, unit: ms}
sources: {prom: {prometheus: {url: "http://127.0.0.1:9090"}}}
conditions:
  busy: {counter: cpu, window: 60s, above: 80}
  idle: {counter: cpu, below: 20}
  slow: {counter: ttfb, above: 250 ms}
  odd: {expression: "cpu > 80"}
  unused: {counter: cpu, above: 5}
policies:
  out: {when: [busy, slow], match: any, duration: 60s, add: 2, quiet_time: 5m}
  in: {when: [idle], remove: 10%}
  worded: {when: [odd], add: 1}
  keep: {target: {counter: cpu, value: 60, out: {quiet_time: 2m}, in: {at_most: 10%}}}
  days: {schedule: "0 9 * * *", add: 3}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
  web: {profile: web, min: 2, max: 6, interval: 30s, policies: [out, in, worded, keep, days]}
"""


def parameters() -> dict[str, Parameter]:
    found = parameters_of(read_places(TEXT, "web.yaml").data, parse(TEXT, "web.yaml"), WEB)
    return {each.name: each for each in found}


def test_whatever_the_file_writes_down_can_be_tuned_and_nothing_else() -> None:
    assert {name: each.text(each.today) for name, each in parameters().items()} == {
        "policies.out.duration": "1m",
        "policies.out.quiet_time": "5m",
        "policies.out.add": "2",
        "conditions.busy.window": "1m",
        "conditions.busy.above": "80",
        "conditions.slow.above": "250 ms",
        "policies.in.remove": "10%",
        "conditions.idle.below": "20",
        "policies.worded.add": "1",
        "policies.keep.target.value": "60",
        "policies.keep.target.out.quiet_time": "2m",
        "policies.keep.target.in.at_most": "10%",
    }


def test_choices_are_round_and_possible() -> None:
    found = parameters()

    assert found["conditions.busy.above"].choices[-1] == 95.0, "100 % can never be passed"
    assert set(found["conditions.busy.window"].choices) == {30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 360.0}
    assert found["conditions.slow.above"].text(found["conditions.slow.above"].choices[0]) == "140 ms"
    for each in found.values():
        assert each.today in each.choices
        assert list(each.choices) == sorted(set(each.choices))


def of_busy() -> tuple[Parameter, ...]:
    return tuple(each for name, each in parameters().items() if name.startswith("conditions.busy."))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["50..90"], [50, 55, 60, 65, 70, 75, 80, 85, 90]),
        (["60..90:15"], [60, 75, 80, 90]),
        (["above=79.5..80.5:0.5"], [79.5, 80, 80.5]),
        (["window=30s..2m:30s"], [30, 60, 90, 120]),
    ],
    ids=["threshold", "step", "fractions", "another key"],
)
def test_a_sweep_tries_its_values_and_todays(texts: list[str], expected: list[float]) -> None:
    assert [value for (value,) in grid(swept(of_busy(), texts))] == expected


def test_two_sweeps_try_every_combination() -> None:
    both = swept(of_busy(), ["70..80:10", "window=30s..60s:30s"])

    assert grid(both) == ((70.0, 30.0), (70.0, 60.0), (80.0, 30.0), (80.0, 60.0))
    assert today_of(both) == (80.0, 60.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("50-90", "expected LOW..HIGH"),
        ("90..50", "expected the lower end first"),
        ("a..b", "'a'; expected a value such as 80"),
        ("below=1..2", "expected one of window, above"),
        ("50..90:0", "expected a step above 0"),
        ("0..900:1", "901 settings are more than 500"),
        ("0..1e9:0.001", "1000000000001 settings are more than 500"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refused, match=message.replace(".", r"\.")):
        swept(of_busy(), [text])


def test_a_value_that_is_swept_twice_is_refused() -> None:
    with pytest.raises(Refused, match=r"conditions\.busy\.above is swept already"):
        swept(of_busy(), ["70..80:10", "above=60..90:10"])


def test_thresholds_of_sums_are_tried_beyond_the_range_of_one_member() -> None:
    text = TEXT.replace("{counter: cpu, window: 60s, above: 80}", "{counter: cpu, across: sum, above: 400}")
    found = parameters_of(read_places(text, "web.yaml").data, parse(text, "web.yaml"), WEB)

    (above,) = [each for each in found if each.name == "conditions.busy.above"]
    assert above.choices[-1] > 400


def test_goals_are_read() -> None:
    assert goal_of([]) is None
    assert goal_of(["changes 6/day"]) == Goal(over=math.inf, changes=6.0)
    with pytest.raises(Refused, match="expected over SPAN/day"):
        goal_of(["over 5/day"])
    for text in ("changes nan/day", "changes inf/day", "changes -1/day"):
        with pytest.raises(Refused, match="expected over SPAN/day"):
            goal_of([text])
