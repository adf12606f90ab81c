from __future__ import annotations

import pytest

from config.checks.lint import lint
from config.load import parse
from tests.support.config import declared
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized

_SOUND = (
    ("  sessions: {haproxy: scur}\n", ""),
    ("  edge: {haproxy: {socket: /run/haproxy.sock, backend: web}}\n", ""),
    ("balancers:\n", "balancers: {}\n"),
)
"""What makes the small declaration one without warnings: all of it is used."""


_OTHER = "groups:\n  other: {profile: web, min: 2, max: 8, policies: [out]}\n"


def warned(*changes: tuple[str, str]) -> list[str]:
    """The warnings about a change of the small declaration, in which every entry is used."""
    return [problem.message for problem in lint(declared(*_SOUND, *changes), resized, certain)]


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (("below: 30", "below: 52"),),
        (("below: 30", "at_most: 53"),),
        (("below: 30", "across: max, below: 53"),),
        (("below: 30", "below: 70"), ("min: 2", "min: 7")),
        (("below: 30", "below: 70"), ("[out, in]}", "[out, in], projection: off}")),
        (("below: 30", "below: 70"), ("above: 80", "across: max, above: 80")),
        (("below: 30", "below: 70"), ("snmp: UCD-SNMP-MIB::ssCpuUser.0", "push: jobs, unit: jobs")),
        (("below: 30", "below: 70"), ("busy: {", "full: {counter: cpu, across: max, above: 99}\n  busy: {"),
         ("[busy]", "[busy, full]")),
        (("below: 30", "below: 70"), ("idle: {", "none: {counter: cpu, at_most: 20}\n  idle: {"),
         ("[idle]", "[idle, none]")),
        (("below: 30", "below: 70"), ("[out, in]", "[in]"), ("groups:\n", _OTHER)),
    ],
    ids=[
        "as-it-is", "from-3-to-2", "up-to-it", "the-average-never-exceeds-the-maximum", "only-from-8-to-7",
        "a-percentage-that-is-no-load", "growth-by-maximum", "no-percentage", "growth-that-waits-for-more",
        "another-condition-keeps-apart", "policies-of-two-groups",
    ],
)  # fmt: skip
def test_thresholds_with_a_gap_between_them_are_accepted(changes: tuple[tuple[str, str], ...]) -> None:
    assert warned(*changes) == []


@pytest.mark.parametrize(
    ("changes", "step", "works"),
    [
        ((("below: 30", "below: 60"),), "from 3 to 2: 60 then becomes 90", "53"),
        ((("below: 30", "across: max, below: 60"),), "from 3 to 2", "53"),
        ((("below: 30", "below: 60"), ("min: 2", "min: 1")), "from 2 to 1: 60 then becomes 120", "39"),
        ((("below: 30", "below: 60"), ("min: 2", "min: 0")), "from 2 to 1", "39"),
        ((("above: 80", "above: 70"), ("below: 30", "below: 60"), ("10%", "50%")), "from 4 to 2", "34"),
        ((("above: 80", "at_least: 60"), ("below: 30", "at_most: 40")), "from 3 to 2: 40 then becomes 60", "39"),
        ((("below: 30", "below: 70"), ("remove: 10%", "steps: [{over: 0, remove: 1}, {over: 30, remove: 3}]")),
         "from 5 to 2", "31"),
        ((("below: 30", "below: 0.9"), ("above: 80", "above: 1")), "from 3 to 2", "0.66"),
    ],
    ids=[
        "average", "maximum", "to-one", "never-to-none", "half", "both-edges", "the-largest-of-steps", "small-numbers",
    ],
)  # fmt: skip
def test_thresholds_that_overlap_after_the_step_get_one_that_works(
    changes: tuple[tuple[str, str], ...], step: str, works: str
) -> None:
    (message,) = warned(*changes)
    (compare, written) = message.split(": ")[0].rpartition(".")[2], next(b for a, b in changes if a == "below: 30")
    threshold = written.split(f"{compare}: ")[1]
    assert step in message
    assert message.endswith(f"; {works} works")
    assert warned(*((a, b.replace(f"{compare}: {threshold}", f"{compare}: {works}")) for a, b in changes)) == []


def overlaps(
    threshold: str = "60",
    *,
    busy: str = "counter: cpu, above: 80",
    idle: str = "counter: cpu, below: 60",
    out: str = "[busy, many], match: any",
    in_: str = "[idle, few]",
    does: str = "remove: 10%",
) -> list[str]:
    """The warnings of overlap beside conditions of another counter; ``threshold`` stands for the 60 of `idle`."""
    return [
        message
        for message in warned(
            ("counters:\n", "counters:\n  jobs: {push: jobs}\n"),
            ("  idle: {", "  many: {counter: jobs, above: 9}\n  few: {counter: jobs, below: 5}\n  idle: {"),
            ("counter: cpu, above: 80", busy),
            ("counter: cpu, below: 30", idle.replace("60", threshold)),
            ("[busy]", out),
            ("[idle]", in_),
            ("remove: 10%", does),
        )
        if "overlaps with" in message
    ]


@pytest.mark.parametrize(
    ("declared_as", "works"),
    [
        pytest.param({}, "53", id="any-that-grows"),
        pytest.param({"in_": "[few, idle], match: any"}, "53", id="any-that-shrinks"),
        pytest.param({"busy": "expression: 'cpu > 80 || jobs > 3'"}, "53", id="an-expression-that-grows"),
        pytest.param({"idle": "expression: 'cpu < 60 && jobs < 3'"}, "53", id="an-expression-that-shrinks"),
        pytest.param({"does": "steps: [{over: 0, remove: 1}, {over: 30, remove: 50%}]"}, "39", id="steps"),
    ],
)
def test_thresholds_overlap_in_any_of_the_ways_that_suffice(declared_as: dict[str, str], works: str) -> None:
    (message,) = overlaps(**declared_as)
    assert message.endswith(f"; {works} works")
    assert overlaps(works, **declared_as) == []


def test_growth_by_an_expression_is_not_held_back_and_so_goes_to_and_fro() -> None:
    (message,) = overlaps(busy="expression: 'cpu > 80'")
    assert "out would scale out again; " in message


@pytest.mark.parametrize("growing", ["cpu > 80 && jobs > 3 || jobs > 7", "cpu > 80 && jobs * 2 > 3", "cpu + jobs > 80"])
def test_growth_that_waits_for_something_else_in_every_way_overlaps_with_nothing(growing: str) -> None:
    assert overlaps(busy=f"expression: '{growing}'", out="[busy]") == []


def test_a_quiet_time_that_ends_before_new_members_carry_their_share() -> None:
    ready = ("command: [serve]", "command: [serve], ready: {http: /, port: 80, within: 3m}")
    (message,) = warned(ready, ("add: 2", "add: 2, quiet_time: 3m59s"))
    assert message.startswith("policies.out.quiet_time: quiet time 3m59s is shorter than")
    assert message.endswith(
        "may take 3m to be ready and 1m to warm up, and until then the same load can add more members; 4m works"
    )
    assert warned(ready, ("add: 2", "add: 2, quiet_time: 4m")) == []


@pytest.mark.parametrize(
    ("quiet", "expected"), [("59s", ["1m works"]), ("1m", [])], ids=["before-the-warm-up", "after-it"]
)
def test_without_a_probe_only_the_warm_up_counts(quiet: str, expected: list[str]) -> None:
    assert [message.split("; ")[1] for message in warned(("add: 2", f"add: 2, quiet_time: {quiet}"))] == expected


def test_scale_ins_wait_for_no_member_to_be_ready() -> None:
    assert warned(("remove: 10%", "remove: 10%, quiet_time: 1s")) == []


def test_bounds_that_leave_policies_nothing_to_do() -> None:
    (message,) = warned(("min: 2", "min: 8"))
    assert message == (
        "groups.web.max: 8 is min, too, so no policy ever changes the size: write at least 9, or leave policies out"
    )
    assert warned(("min: 2", "min: 8"), ("max: 8", "max: 9"), ("below: 30", "below: 20")) == []


def test_zones_are_balanced_only_where_there_are_zones() -> None:
    assert warned(("max: 8", "max: 8, victims: zone_balance")) == [
        "groups.web.victims: members on the cloud local are in no zone, so the oldest leave: write oldest"
    ]
    assert warned(("max: 8", "max: 8, victims: oldest")) == []


_HAPROXY = "haproxy: {socket: /run/haproxy.sock, backend: web}"


@pytest.mark.parametrize(
    ("kind", "warning"),
    [
        pytest.param(_HAPROXY, None, id="it may check"),
        pytest.param("shared_listener: {listen: '127.0.0.1:8080'}", "(edge), so no failure is ever", id="it does not"),
        pytest.param(None, "the group has no balancer, so no failure is ever detected", id="there is none"),
    ],
)
def test_health_is_waited_for_only_where_a_balancer_checks_it(kind: str | None, warning: str | None) -> None:
    behind = "" if kind is None else "balancers: [{use: edge, port: 8080}], "
    balancers = "balancers: {}\n" if kind is None else f"balancers:\n  edge: {{{kind}}}\n"
    changes = (
        _SOUND[0],
        (_SOUND[1][0], ""),
        ("balancers:\n", balancers),
        ("max: 8", f"max: 8, {behind}repair: {{unhealthy: true}}"),
    )
    messages = [problem.message for problem in lint(declared(*changes), resized, certain)]
    assert len(messages) == (warning is not None)
    assert warning is None or (warning in messages[0] and messages[0].startswith("groups.web.repair.unhealthy: "))


@pytest.mark.parametrize("behind", [True, False], ids=["behind a balancer", "behind none"])
def test_only_a_group_with_a_balancer_has_use_for_being_exclusive(behind: bool) -> None:
    used = "balancers: [{use: edge, port: 8080}], " if behind else ""
    balancers = f"balancers:\n  edge: {{{_HAPROXY}}}\n" if behind else "balancers: {}\n"
    changes = (_SOUND[0], (_SOUND[1][0], ""), ("balancers:\n", balancers), ("max: 8", f"max: 8, {used}exclusive: true"))
    assert [problem.message for problem in lint(declared(*changes), resized, certain)] == ([] if behind else [
        "groups.web.exclusive: the group has no balancer, so it has no effect: put its members behind one, or remove it"
    ])  # fmt: skip


_PROD = "openstack: {cloud: prod}"


@pytest.mark.parametrize(
    ("cloud", "made", "at"),
    [
        pytest.param(_PROD, "vip: {subnet: public}", "vip", id="chosen by the cloud"),
        pytest.param(_PROD, "vip: {subnet: public, address: 192.0.2.10}", None, id="written"),
        pytest.param(_PROD, "loadbalancer: front", None, id="of a load balancer that exists"),
        pytest.param("simulated: {}", "vip: {subnet: public}", None, id="only played"),
    ],
)
def test_a_balancer_that_is_made_should_have_its_address_written(cloud: str, made: str, at: str | None) -> None:
    changes = (
        _SOUND[0],
        (_SOUND[1][0], f"  edge: {{managed: {{cloud: prod, {made}}}}}\n"),
        ("clouds:\n", f"clouds:\n  prod: {{{cloud}}}\n"),
    )
    messages = [problem.message for problem in lint(declared(*changes), resized, certain)]
    found = [
        message.partition(": no address is written")[0] for message in messages if "no address is written" in message
    ]
    assert found == ([] if at is None else [f"balancers.edge.managed.{at}"])


@pytest.mark.parametrize(
    ("size", "comes_to"), [("1", "2"), ("9", "8"), ("2", None), ("8", None), ("300%", None)]
)  # fmt: skip
def test_a_size_that_bounds_always_change(size: str, comes_to: str | None) -> None:
    messages = warned(("add: 2", f"set: {size}"))
    assert [message.partition(": write")[0].rpartition(" ")[2] for message in messages] == (
        [comes_to] if comes_to else []
    )


@pytest.mark.parametrize(
    ("section", "entry"),
    [
        ("counters", "spare: {haproxy: scur}"),
        ("conditions", "spare: {counter: cpu, above: 99}"),
        ("policies", "spare: {when: [busy], add: 1}"),
        ("clouds", "spare: {process: {}}"),
        ("profiles", "spare: {cloud: local, command: [serve]}"),
    ],
    ids=lambda text: text if ":" not in text else "",
)
def test_an_entry_that_no_other_entry_names_has_no_effect(section: str, entry: str) -> None:
    (message,) = warned((f"{section}:\n", f"{section}:\n  {entry}\n"))
    assert message.startswith(f"{section}.spare: no ")
    assert message.endswith(": use it, or remove it")


def test_balancers_and_servers_that_no_entry_names() -> None:
    catalogue = declared(
        ("counters:\n", "sources:\n  prom: {prometheus: {url: 'http://prom:9090'}}\ncounters:\n"),
        ("  sessions: {haproxy: scur}\n", ""),
    )
    assert [problem.message.split(": ")[0] for problem in lint(catalogue, resized, certain)] == [
        "sources.prom",
        "balancers.edge",
    ]


def test_an_alert_with_a_value_that_no_counter_takes() -> None:
    alerts = "alerts:\n  deep: {match: {a: b}, groups: [web], value: depth, ttl: 5m}\ngroups:\n"
    (message,) = warned(("groups:\n", alerts))
    assert message.startswith("alerts.deep.value: no counter takes the value")
    taken = (
        ("counters:\n", "counters:\n  depth: {alert: deep}\n"),
        ("idle: {", "deep: {counter: depth, above: 9}\n  idle: {"),
    )
    assert warned(("groups:\n", alerts), *taken, ("[busy]", "[busy, deep]")) == []


def test_warnings_stand_in_the_order_of_the_file_with_their_lines() -> None:
    messages = lint(declared(("max: 8", "max: 2")), resized, certain)
    assert [(problem.file, problem.line) for problem in messages] == [
        ("web.yaml", 3),
        ("web.yaml", 13),
        ("web.yaml", 17),
    ]


def test_a_very_large_group_is_looked_at_quickly() -> None:
    text = "\n".join(
        ["counters: {cpu: {builtin: Linux User CPU - percentage}}",
         "conditions: {busy: {counter: cpu, above: 80}, idle: {counter: cpu, below: 30}}",
         "policies: {out: {when: [busy], add: 1}, in: {when: [idle], remove: 99%}}",
         "clouds: {local: {process: {}}}", "profiles: {web: {cloud: local, command: [serve]}}",
         "groups: {web: {profile: web, min: 1, max: 100000, policies: [out, in]}}"]
    )  # fmt: skip
    (problem,) = lint(parse(text, "web.yaml"), resized, certain)
    assert "from 100000 to 1000" in problem.message or "from 100 to 1" in problem.message


def test_an_initial_size_outside_the_bounds_is_warned_of() -> None:
    assert warned(("min: 2", "min: 2, initial: 4")) == []
    (message,) = warned(("min: 2", "min: 2, initial: 90"))
    assert message.startswith("groups.web.initial: 90 is outside the bounds, 2 to 8, so a new group begins with 8")
