from __future__ import annotations

import json

import pytest

from config.errors import DeclarationError
from config.importers.oneflow.json_text import read_json
from config.importers.oneflow.reading import read_template
from tests.support.oneflow import Object, a_role, a_service, elastic, template_of


def refusals(service: Object | str) -> list[str]:
    with pytest.raises(DeclarationError) as raised:
        template_of(service)
    return [problem.message for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("more", "template"),
    [
        pytest.param({"template_id": 4}, "4", id="7.x"),
        pytest.param({"template_id": "4"}, "'4'", id="7.x, the number as text"),
        pytest.param({"template_id": None, "vm_template": 3}, "3", id="6.x"),
    ],
)
def test_both_forms_name_the_vm_template(more: Object, template: str) -> None:
    role = a_role(**more)
    (read,) = template_of(a_service({key: value for key, value in role.items() if value is not None})).roles

    assert read.template == template


def test_the_output_of_the_command_line_of_oneflow_is_taken_as_it_is() -> None:
    printed = {"DOCUMENT": {"ID": "7", "TYPE": "101", "NAME": "shop", "TEMPLATE": {"BODY": a_service(a_role())}}}

    template = template_of(printed)

    assert [role.name for role in template.roles] == ["web"]
    assert template.where == ("DOCUMENT", "TEMPLATE", "BODY")


def test_whole_numbers_may_be_written_as_text() -> None:
    role = a_role(
        elastic(adjust="-2", period="10", period_number="3", cooldown=" 60 "),
        cardinality="3", min_vms="2", max_vms="9", cooldown=20.0,
    )  # fmt: skip
    (read,) = template_of(a_service(role)).roles

    (policy,) = read.elasticity
    assert (read.cardinality, read.min_vms, read.max_vms, read.cooldown) == (3, 2, 9, 20.0)
    assert (policy.adjust.amount, policy.period, policy.period_number, policy.cooldown) == (-2, 10.0, 3, 60.0)


def test_an_empty_value_is_as_good_as_none() -> None:
    (read,) = template_of(a_service(a_role(cooldown=None, elasticity_policies=None, scheduled_policies=[]))).roles

    assert (read.cooldown, read.elasticity, read.scheduled) == (None, (), ())


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        pytest.param(a_role(name=""), "roles[1].name: '' is not a role's name", id="no name"),
        pytest.param(a_role(name="a b"), "roles[1].name: 'a b' is not a role's name", id="a blank in a name"),
        pytest.param(a_role(name=5), "roles[1].name: 5 is not text", id="a number for a name"),
        pytest.param(a_role(type="lxc"), "roles[1].type: 'lxc' is not one of vm, vr", id="another type"),
        pytest.param(a_role(cardinality="two"), "roles[1].cardinality: 'two' is not a whole number", id="a word"),
        pytest.param(a_role(cardinality=2.5), "roles[1].cardinality: 2.5 is not a whole number", id="a half"),
        pytest.param(a_role(cardinality=True), "roles[1].cardinality: true is not a whole number", id="a truth"),
        pytest.param(a_role(cardinality=-1), "roles[1].cardinality: -1 is not a whole number from 0", id="below 0"),
        pytest.param(a_role(max_vms=10**7), "roles[1].max_vms: 10000000 is not a whole number", id="too many"),
        pytest.param(a_role(min_vms=200), "roles[1].min_vms: 200 is more than max_vms, 100", id="bounds"),
        pytest.param(a_role(cooldown=-5), "roles[1].cooldown: -5 is not a whole number from 0", id="a time before"),
        pytest.param(a_role(elastic(), max_vms=None), "roles[1]: max_vms is missing: a role with", id="no bound"),
        pytest.param(a_role(elasticity_policies={}), "roles[1].elasticity_policies: {} is not a list", id="no list"),
        pytest.param(a_role(elasticity_policies=[3]), "roles[1].elasticity_policies[1]: 3 is not an", id="no object"),
        pytest.param(
            a_role(elastic("ATT >> 50")),
            "roles[1].elasticity_policies[1].expression: the expression, column 6: expected a number or a name",
            id="no expression",
        ),
        pytest.param(
            a_role(elastic(type="change")),
            "roles[1].elasticity_policies[1].type: 'change' is not one of CHANGE, CARDINALITY, PERCENTAGE_CHANGE; "
            "the nearest is CHANGE",
            id="small letters",
        ),
        pytest.param(
            a_role(elastic(adjust=None)), "roles[1].elasticity_policies[1]: adjust is missing", id="no adjust"
        ),
        pytest.param(
            a_role(elastic(period_number=5000)),
            "roles[1].elasticity_policies[1].period_number: 5000 is not a whole number from 0 to 1000",
            id="too often in a row",
        ),
        pytest.param(
            a_role(scheduled_policies=[{"type": "CHANGE", "adjust": 1}]),
            "roles[1].scheduled_policies[1]: a scheduled policy has a recurrence or a start_time",
            id="never",
        ),
        pytest.param(
            a_role(scheduled_policies=[{"type": "CHANGE", "adjust": 1, "start_time": 1_700_000_000}]),
            "roles[1].scheduled_policies[1].start_time: 1700000000 is not text",
            id="a moment as a number, which OneFlow refuses",
        ),
    ],
)
def test_a_role_that_oneflow_would_refuse_is_refused_once(role: Object, expected: str) -> None:
    (message,) = refusals(a_service(role))

    assert message.startswith(expected)


def test_all_problems_are_reported_at_once_and_each_with_its_line() -> None:
    text = '{"roles": [\n{"name": "a", "cardinality": "x"},\n{"name": "a",\n"cooldown": []}]}'

    with pytest.raises(DeclarationError) as raised:
        read_template(read_json(text.encode(), "shop.json"))

    assert [str(problem) for problem in raised.value.problems] == [
        "shop.json:2: roles[1].cardinality: 'x' is not a whole number from 0 to 1000000",
        "shop.json:3: roles[2].name: the role 'a' stands twice",
        "shop.json:4: roles[2].cooldown: [] is not a whole number from 0 to 31622400",
    ]


@pytest.mark.parametrize("service", [{}, {"roles": []}, {"DOCUMENT": {"TEMPLATE": {}}}, {"name": "shop"}])
def test_a_service_without_roles_is_refused(service: Object) -> None:
    (message,) = refusals(service)

    assert message.endswith("roles is missing: a service has one role at least")


def test_a_flood_of_problems_is_cut() -> None:
    assert len(refusals(json.dumps({"roles": [1] * 50_000}))) == 100


def test_keys_that_are_not_carried_over_are_reported_by_name_and_meaningless_ones_are_not() -> None:
    role = a_role(
        elastic(expresion="x", true_evals=2, last_eval=5),
        parents=["db"], template_contents={}, nodes=[1], state=2, colour="red",
    )  # fmt: skip
    template = template_of(
        a_service(role, deployment="straight", networks={}, state=2, ready_status_gate=True, wait_timeout=5)
    )

    left = {leftover.where: leftover.why for leftover in template.leftovers}
    assert [*left] == [
        ("deployment",),
        ("ready_status_gate",),
        ("wait_timeout",),
        ("roles", "0", "parents"),
        ("roles", "0", "colour"),
        ("roles", "0", "elasticity_policies", "0", "expresion"),
    ]
    assert {left["roles", "0", "colour"], left["wait_timeout",]} == {"not a key that OneFlow knows"}
