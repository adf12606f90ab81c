from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from config.checks.catalogue import check
from config.errors import DeclarationError
from config.model.catalogue import Catalogue
from config.model.counters import Per
from config.units import CounterId
from tests.support.config import catalogues, declared


def findings(*changes: tuple[str, str]) -> list[str]:
    """What a change of the small declaration brings up: the places, as people say them."""
    try:
        declared(*changes)
    except DeclarationError as error:
        return [problem.message.split(": ")[0] for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (("add: 2", "add: 2, duration: 30s"),),
        (("above: 80", "above: 80, window: 90s"),),
        (("add: 2", "steps: [{over: 0, add: 1}, {over: 20, add: 2}]"),),
        (("above: 80", "above: 79.7"), ("add: 2", "steps: [{over: 0, add: 1}, {over: 20.3, add: 2}]")),
        (
            ("above: 80", "across: sum, above: 800"),
            ("add: 2", "steps: [{over: 0, add: 1}, {over: 200, add: 2}]"),
        ),
        (("above: 80", "at_least: 100"),),
        (("above: 80", "across: sum, above: 8000"),),
        (("above: 80", "across: count, above: 800"),),
        (("below: 30", "below: 80"),),
        (("below: 30", "across: max, below: 90"),),
        (("min: 2", "min: 8"),),
        (("max: 8", "max: 8, blind: floor 2"),),
        (("max: 8", "max: 8, interval: 0.1s"), ("above: 80", "above: 80, window: 0.3s")),
        (("[out, in]", "[out]"), ("below: 30", "below: 90")),
        (("counter: cpu, above", "counter: sessions, above"), ("max: 8", "max: 8, balancers: [{use: edge, port: 1}]")),
    ],
    ids=[
        "as-it-is",
        "duration-of-one-interval",
        "window-of-three-intervals",
        "a-step-at-the-end-of-the-range",
        "a-step-a-binary-trifle-beyond-it",
        "steps-of-a-sum-outgrow-the-range",
        "threshold-at-the-end-of-the-range",
        "a-sum-outgrows-the-range",
        "a-count-has-another-range",
        "thresholds-that-touch",
        "other-reductions",
        "min-equals-max",
        "floor-at-min",
        "decimal-intervals",
        "contradictions-in-different-groups",
        "haproxy-counter-behind-haproxy",
    ],
)
def test_a_consistent_declaration_is_accepted(changes: tuple[tuple[str, str], ...]) -> None:
    assert findings(*changes) == []


ALERT = "match: {alertname: Slow}, groups: [web], ttl: 1m"


def with_alerts(*effects: str) -> list[str]:
    """What alerts with these effects bring up, all with one match and one group unless they say otherwise."""
    entries = (
        f"  a{index}: {{{effect if 'match' in effect else f'{ALERT}, {effect}'}}}\n"
        for index, effect in enumerate(effects)
    )
    return findings(("groups:\n", f"alerts:\n{''.join(entries)}groups:\n"))


@pytest.mark.parametrize(
    "effects",
    [
        ["fire: out", "floor: 4"],
        ["fire: out", "shield: true"],
        ["floor: 2", "floor: 8"],
        ["shield: true", "freeze: in"],
        ["freeze: out", "fire: in"],
        ["freeze: both", "value: depth"],
        ["freeze: out", "match: {alertname: Slow, env: prod}, groups: [web], fire: out, ttl: 1m"],
        ["freeze: out", "match: {alertname: Other}, groups: [web], fire: out, ttl: 1m"],
    ],
    ids=" and ".join,
)
def test_alerts_that_may_stand_together(effects: list[str]) -> None:
    assert with_alerts(*effects) == []


@pytest.mark.parametrize(
    "effects",
    [
        ["fire: out", "fire: in"],
        ["fire: out", "freeze: out"],
        ["fire: out", "freeze: both"],
        ["fire: in", "freeze: in"],
        ["fire: in", "shield: true"],
        ["floor: 4", "freeze: out"],
        ["floor: 4", "fire: in"],
    ],
    ids=" and ".join,
)
def test_alerts_that_contradict_each_other_whichever_stands_first(effects: list[str]) -> None:
    for first, second in (effects, effects[::-1]):
        assert with_alerts(first, second) == [f"alerts.a1.{second.split(':')[0]}"]


def test_alerts_of_different_groups_never_contradict_each_other() -> None:
    api = "match: {alertname: Slow}, groups: [api], fire: out, ttl: 1m"
    group = (
        "  web: {profile: web, min",
        "  api: {profile: web, min: 1, max: 2, policies: [out]}\n  web: {profile: web, min",
    )
    entries = f"alerts:\n  a0: {{{ALERT}, freeze: out}}\n  a1: {{{api}}}\n"
    assert findings(("groups:\n", f"{entries}groups:\n"), group) == []


def test_each_group_that_an_alert_does_not_fit_is_reported() -> None:
    small = ("  web: {profile: web, min", "  api: {profile: web, min: 1, max: 2}\n  web: {profile: web, min")
    entries = "alerts:\n  a: {match: {alertname: Slow}, groups: [web, api], floor: 9, ttl: 1m}\n"
    assert findings(("groups:\n", f"{entries}groups:\n"), small) == ["alerts.a.floor"] * 2


def test_one_condition_that_keeps_policies_apart_is_enough() -> None:
    apart = (
        "  idle: {counter: cpu, below: 30}",
        "  idle: {counter: cpu, below: 90}\n  few: {counter: cpu, aggregate: max, below: 5}",
    )
    many = (
        "  busy: {counter: cpu, above: 80}",
        "  busy: {counter: cpu, above: 80}\n  many: {counter: cpu, aggregate: max, above: 9}",
    )
    both = (("[busy]", "[busy, many]"), ("[idle]", "[idle, few]"))
    assert findings(apart, many) == ["conditions.idle.below"]
    assert findings(apart, many, *both) == []


def test_policies_that_share_a_contradiction_are_reported_once() -> None:
    more = ("  in: {when", "  more: {when: [busy], add: 1}\n  in: {when")
    assert findings(("below: 30", "below: 90"), more, ("[out, in]", "[out, more, in]")) == ["conditions.idle.below"] * 2


def test_a_window_is_measured_against_each_interval_that_uses_it() -> None:
    slow = (
        "  web: {profile: web, min",
        "  slow: {profile: web, min: 1, max: 2, interval: 40s, policies: [out]}\n  web: {profile: web, min",
    )
    assert findings(("above: 80", "above: 80, window: 60s"), slow) == ["conditions.busy.window"]
    assert findings(("above: 80", "above: 80, window: 50s"), slow) == ["conditions.busy.window"] * 2


def test_a_policy_that_is_too_short_for_many_groups_is_reported_once_with_the_slowest() -> None:
    slow = (
        "  web: {profile: web, min",
        "  slow: {profile: web, min: 1, max: 2, interval: 5m, policies: [out]}\n  web: {profile: web, min",
    )
    with pytest.raises(DeclarationError, match="interval of the group slow, 5m") as caught:
        declared(("add: 2", "add: 2, duration: 10s"), slow)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("beside", ["duration: 5m", "duration: 5m, holds: average", "holds: average"])
def test_a_policy_counts_or_measures_and_never_both(beside: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(("add: 2", f"add: 2, in_a_row: {{times: 3}}, {beside}"))
    assert {problem.message.partition(":")[0] for problem in caught.value.problems} == {"policies.out.in_a_row"}


def test_a_quorum_needs_members() -> None:
    catalogue = declared(("above: 80", "above: 80, quorum: 90%"))
    cpu = dataclasses.replace(catalogue.counters[CounterId("cpu")], per=Per.GROUP)
    changed = dataclasses.replace(catalogue, counters={**catalogue.counters, CounterId("cpu"): cpu})
    (problem,) = check(changed)
    assert problem.message.startswith("conditions.busy.quorum: the counter cpu has one value for the whole group")


def test_a_problem_with_a_default_points_at_a_written_place() -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(
            ("command: [serve]", "command: [serve], ready: {http: /, port: 80, within: 2m}"),
            ("max: 8", "max: 8, build_timeout: 1m"),
        )
    assert "groups.web.build_timeout" in str(caught.value)


def test_an_entry_that_depends_on_a_refused_one_has_no_problem() -> None:
    catalogue = declared()
    orphaned = dataclasses.replace(catalogue, counters={}, profiles={})
    assert {problem.message.split(": ")[0] for problem in check(orphaned)} == {
        "conditions.busy.counter",
        "conditions.idle.counter",
        "groups.web.profile",
    }
    assert check(orphaned, {("counters", "cpu"), ("profiles",)}) == ()


@given(catalogues())
def test_any_catalogue_can_be_checked_and_the_answer_is_sorted(catalogue: Catalogue) -> None:
    problems = check(catalogue)
    assert problems == tuple(sorted(set(problems)))
    assert check(catalogue, {(section,) for section in _SECTIONS}) == ()


_SECTIONS = ("counters", "conditions", "policies", "clouds", "balancers", "profiles", "groups", "alerts")
