from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.importers.oneflow.template import NoteKind
from tests.support.oneflow import Object, a_role, a_service, catalogue_of, elastic, imported_from, notes


def test_a_role_becomes_a_group_with_its_bounds_and_oneflows_reading_of_vanishing() -> None:
    made = imported_from(a_service(a_role(name="db_slave", cooldown=90)))

    assert dict(made.document["groups"]["db-slave"]) == {
        "profile": "db-slave", "min": 1, "max": 100, "quiet_time": "1m30s", "on_vanish": "shrink",
    }  # fmt: skip
    assert notes(made, NoteKind.MAPPED) == ["the role db_slave → groups.db-slave"]


@pytest.mark.parametrize(
    ("role", "bounds"),
    [
        ({"cardinality": 3}, (3, 3)),
        ({"cardinality": 3, "min_vms": 1}, (1, 3)),
        ({"cardinality": 3, "max_vms": 9}, (3, 9)),
        ({"cardinality": 3, "max_vms": 2}, (2, 2)),
        ({"cardinality": 3, "max_vms": 0}, (0, 0)),
        ({"cardinality": 0, "min_vms": 2}, (2, 2)),
        ({}, (0, 0)),
    ],
)
def test_a_role_without_bounds_is_held_where_it_is(role: Object, bounds: tuple[int, int]) -> None:
    made = imported_from(a_service({"name": "web", **role}))

    group = made.document["groups"]["web"]
    assert (group["min"], group["max"]) == bounds
    assert len(made.of(NoteKind.DIFFERS)) == 1


@pytest.mark.parametrize(
    ("policy", "entry"),
    [
        pytest.param(elastic(), {}, id="at once"),
        pytest.param(elastic(period_number=1), {}, id="once in a row"),
        pytest.param(elastic(period_number=0, period=0), {}, id="noughts"),
        pytest.param(elastic(period_number=3, period=10), {"in_a_row": {"times": 3, "every": "10s"}}, id="in a row"),
        pytest.param(elastic(period_number=3), {"in_a_row": {"times": 3}}, id="at every tick"),
        pytest.param(elastic(period=90), {"in_a_row": {"times": 1, "every": "1m30s"}}, id="seldom"),
        pytest.param(elastic(cooldown=20), {"quiet_time": "20s"}, id="a cooldown"),
        pytest.param(elastic(cooldown=0), {"quiet_time": "0s"}, id="no cooldown"),
    ],
)
def test_counts_and_cooldowns_are_carried_over(policy: Object, entry: Object) -> None:
    made = imported_from(a_service(a_role(policy)))

    assert dict(made.document["policies"]["web-out"]) == {"when": ["web-out"], "add": 1, **entry}


def test_a_policy_without_a_cooldown_takes_its_roles() -> None:
    made = imported_from(a_service(a_role(elastic(), elastic(cooldown=5), cooldown=60)))

    assert [entry["quiet_time"] for entry in made.document["policies"].values()] == ["1m", "5s"]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        pytest.param(elastic(adjust=0), "adjust is 0, which changes nothing", id="no change"),
        pytest.param(elastic(type="PERCENTAGE_CHANGE", adjust=0), "OneFlow takes a VM away for 0 %", id="0 %"),
        pytest.param(elastic(type="PERCENTAGE_CHANGE", adjust=2000), "more than 1000 %", id="2,000 %"),
        pytest.param(elastic(type="CARDINALITY", adjust=-1), "no role has -1 VMs", id="a negative size"),
        pytest.param(elastic('"ATT" > 50'), 'OneFlow looks "ATT" up with its quotes', id="quotes"),
        pytest.param(elastic("1 < 2"), "the expression names nothing", id="no name"),
        pytest.param(elastic("A" * 81 + " > 2"), "a name of more than 80 letters", id="a long name"),
    ],
)
def test_a_policy_that_cannot_be_expressed_is_left_out_and_reported(policy: Object, why: str) -> None:
    made = imported_from(a_service(a_role(elastic(adjust=3), policy)))

    assert [*made.document["policies"]] == ["web-out"]
    (note,) = [note for note in made.of(NoteKind.UNMAPPED) if note.where[-1] == "1"]
    assert note.text.startswith(why)


def test_several_policies_of_one_kind_are_numbered() -> None:
    role = a_role(elastic(), elastic("B > 1", adjust=-1), elastic(adjust=2), elastic(type="CARDINALITY", adjust=4))

    made = imported_from(a_service(role))

    assert made.document["groups"]["web"]["policies"] == ["web-out", "web-in", "web-out-2", "web-set"]


def test_attributes_become_pushed_counters_once_and_those_that_are_declared_do_not() -> None:
    service = a_service(
        a_role(elastic("ATT > 1 && cpu < 3"), name="a"), a_role(elastic("att > 2 | ORDERS > 1"), name="b")
    )

    assert dict(imported_from(service).document["counters"]) == {
        "att": {"push": "ATT"}, "cpu": {"push": "CPU"}, "orders": {"push": "ORDERS"},
    }  # fmt: skip
    assert [*imported_from(service, counters=["Cpu", "orders"]).document["counters"]] == ["att"]


def test_a_value_that_opennebula_measured_from_outside_is_reported_as_without_a_source() -> None:
    made = imported_from(a_service(a_role(elastic("CPU > 80"), elastic("NETRX > 5"))))

    assert [line.split(":")[0] for line in notes(made, NoteKind.UNMAPPED)] == ["CPU", "NETRX"]


def test_on_opennebula_attributes_are_read_where_oneflow_reads_them_and_with_its_numbers() -> None:
    role = a_role(elastic("CPU > 80 && ORDERS > 1"), elastic("NETTX > 5"), elastic("MEMORY > 1000"))

    made = imported_from(a_service(role), on_opennebula=True, counters=["orders"])

    assert dict(made.document["counters"]) == {
        "cpu": {"opennebula": "CPU"},
        "nettx": {"opennebula": "NETTX", "kind": "gauge"},
        "memory": {"opennebula": "MEMORY", "unit": "KiB"},
    }
    assert notes(made, NoteKind.UNMAPPED) == []
    assert "NETTX → counters.nettx" in notes(made, NoteKind.KEPT)[0]


def test_virtual_routers_are_reported_and_left_out() -> None:
    made = imported_from(a_service(a_role(), a_role(name="router", type="vr")))

    assert [*made.document["groups"]] == ["web"]
    assert notes(made, NoteKind.UNMAPPED) == ["the role router is of virtual routers, which do not scale"]


def test_initial_is_written_for_a_role_that_begins_above_min() -> None:
    made = imported_from(a_service(a_role(cardinality=4)))

    assert notes(made, NoteKind.UNMAPPED) == []
    assert "→ groups.web.initial" in notes(made, NoteKind.MAPPED)


@pytest.mark.parametrize(
    ("name", "service"), [("shop", "shop"), ("Sample Service", "Sample-Service"), ("4", "service-4")]
)
def test_groups_of_one_service_name_it(name: str, service: str) -> None:
    made = imported_from(a_service(a_role(name="web"), a_role(name="db"), name=name))

    assert [group["service"] for group in made.document["groups"].values()] == [service, service]


def test_a_single_group_waits_for_no_other() -> None:
    made = imported_from(a_service(a_role(), a_role(name="router", type="vr")))

    assert "service" not in made.document["groups"]["web"]


def test_only_readings_that_matter_are_reported() -> None:
    quiet = imported_from(a_service(a_role()))
    two_ways = imported_from(a_service(a_role(elastic(adjust=-1), elastic("B < 1", "CARDINALITY", 2))))

    assert notes(quiet, NoteKind.DIFFERS) == []
    assert "web loses members only when all of these are ready, not one: web-in, web-set" in notes(
        two_ways, NoteKind.DIFFERS
    )
    assert not any("rounding" in line for line in notes(two_ways, NoteKind.KEPT))


def test_an_expression_that_the_native_dialect_reads_otherwise_is_reported_at_its_place() -> None:
    made = imported_from(a_service(a_role(elastic("A = 1 && B = 1 || C = 1"))))

    (note,) = [note for note in made.of(NoteKind.KEPT) if note.where]
    assert note.where == ("roles", "0", "elasticity_policies", "0", "expression")
    assert note.text == "it is A = 1 && (B = 1 || C = 1); by usual precedence it would be (A = 1 && B = 1) || C = 1"


roles = st.from_regex(r"[A-Za-z0-9_]{1,80}", fullmatch=True)
policies = st.builds(
    elastic,
    st.sampled_from(["ATT > 50", "!CPU < 5 | ABC = 1", "ON > 1 && null < 2", "yes = 1", "A > -1 && B <> 007.50"]),
    st.sampled_from(["CHANGE", "CARDINALITY", "PERCENTAGE_CHANGE"]),
    st.integers(-300, 300),
    period=st.none() | st.integers(0, 10**6),
    period_number=st.none() | st.integers(0, 1000),
    cooldown=st.none() | st.integers(0, 31_622_400),
    min_adjust_step=st.none() | st.integers(-5, 5),
)
times = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["CHANGE", "CARDINALITY", "PERCENTAGE_CHANGE"]),
        "adjust": st.integers(-300, 300),
    }
).flatmap(
    lambda entry: st.one_of(
        st.builds(
            dict,
            st.just(entry),
            recurrence=st.sampled_from(["@daily", "*/10 * * * mon,FRI", "0 9 31 2 *", "0 9 * * fri-mon"]),
        ),
        st.builds(
            dict, st.just(entry), start_time=st.text(max_size=12) | st.sampled_from(["0", "1st sep 2030 9:00pm"])
        ),
    )
)


@given(
    st.lists(roles, min_size=1, max_size=5, unique=True),
    st.lists(policies, max_size=4),
    st.lists(times, max_size=3),
    st.integers(0, 50),
    st.text(max_size=30),
)
def test_whatever_is_imported_passes_trimtab_check(
    names: list[str], policies: list[Object], times: list[Object], least: int, name: str
) -> None:
    bounds = {"min_vms": least, "max_vms": least + 50, "scheduled_policies": times}
    service = a_service(*(a_role(*policies, name=role, **bounds) for role in names), name=name)

    catalogue = catalogue_of(service)

    assert len(catalogue.groups) == len(names)
