"""Which values could make a scale-in easier or growth harder: a table of cases."""

from __future__ import annotations

import pytest

from config.load import parse
from handler.tuning.easing import eased

MODEL = """\
counters: {cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0, range: [0, 100]}}
conditions:
  busy: {counter: cpu, above: 80}
  calm: {counter: cpu, below: 30}
  warm: {counter: cpu, above: 50}
policies:
  out: {when: [busy], duration: 60s, add: 2, quiet_time: 5m}
  in: {when: [calm], duration: 10m, remove: 1, quiet_time: 5m}
  more: {when: [warm], duration: 60s, add: 1}
  less: {when: [warm], duration: 60s, remove: 1, holds: average}
  four: {when: [busy], duration: 60s, set: 4}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
  web: {profile: web, min: 0, max: 9, policies: [out, in, more]}
  other: {profile: web, min: 0, max: 9, policies: [less]}
"""


@pytest.mark.parametrize(
    ("place", "before", "after", "is_safe"),
    [
        ("policies.out.duration", 60.0, 30.0, True),
        ("policies.out.duration", 60.0, 90.0, False),
        ("policies.out.add", 2.0, 3.0, True),
        ("policies.out.add", 2.0, 1.0, False),
        ("policies.out.quiet_time", 300.0, 600.0, False),
        ("policies.out.quiet_time", 300.0, 60.0, False),
        ("policies.in.duration", 600.0, 900.0, True),
        ("policies.in.duration", 600.0, 300.0, False),
        ("policies.in.remove", 2.0, 1.0, True),
        ("policies.in.remove", 1.0, 2.0, False),
        ("policies.in.quiet_time", 300.0, 600.0, True),
        ("policies.in.quiet_time", 300.0, 60.0, False),
        ("policies.less.duration", 60.0, 90.0, False),
        ("policies.in.target.value", 60.0, 50.0, False),
        ("conditions.calm.below", 30.0, 20.0, True),
        ("conditions.calm.below", 30.0, 40.0, False),
        ("conditions.calm.window", 60.0, 120.0, False),
        ("conditions.warm.above", 50.0, 40.0, False),
        ("conditions.warm.above", 50.0, 60.0, False),
        ("conditions.busy.above", 80.0, 70.0, False),
        ("conditions.busy.above", 80.0, 80.0, True),
    ],
)
def test_only_what_is_known_to_be_safe_is(place: str, before: float, after: float, is_safe: bool) -> None:
    assert eased(parse(MODEL, "model.yaml"), {tuple(place.split(".")): (before, after)}) == (
        () if is_safe else (place,)
    )


def test_a_threshold_of_scale_out_alone_may_fall() -> None:
    alone = parse(MODEL.replace("  four: {when: [busy], duration: 60s, set: 4}\n", ""), "model.yaml")
    place = ("conditions", "busy", "above")

    assert eased(alone, {place: (80.0, 70.0)}) == ()
    assert eased(alone, {place: (80.0, 90.0)}) == ("conditions.busy.above",)
