from __future__ import annotations

import pytest

from config.errors import DeclarationError, Refused
from config.importers.oneflow.writing import declaration
from config.load import parse
from tests.support.oneflow import BASE, SCALABILITY, a_role, a_service, elastic, imported_from


def test_without_a_base_only_profiles_are_missing_and_check_points_at_each() -> None:
    made = imported_from(a_service(a_role(elastic()), a_role(name="db")))

    with pytest.raises(DeclarationError) as raised:
        parse(declaration(made), "shop.yaml")

    assert [problem.message for problem in raised.value.problems] == [
        "groups.web.profile: 'web' is not among the profiles; none is declared",
        "groups.db.profile: 'db' is not among the profiles; none is declared",
    ]


def test_the_sketch_at_the_end_shows_the_missing_parts() -> None:
    text = declaration(imported_from(SCALABILITY))

    sketch = text[text.index("# clouds:") :]
    whole = text.replace(sketch, "".join(line.removeprefix("# ") for line in sketch.splitlines(keepends=True)))
    assert [*parse(whole, "shop.yaml").groups] == ["frontend"]


def test_a_base_keeps_its_comments_and_takes_the_rest() -> None:
    text = declaration(imported_from(a_service(a_role(elastic("CPU > 80"))), profile="web", counters=["Cpu"]), BASE)

    assert "{snmp: UCD-SNMP-MIB::ssCpuUser.0}   # ours\n" in text
    assert [*parse(text, "shop.yaml").counters] == ["Cpu"]


def test_nothing_that_is_declared_is_written_over() -> None:
    made = imported_from(a_service(a_role(name="web")), profile="web")
    under = declaration(made, BASE)

    with pytest.raises(Refused, match=r"groups\.web is declared already"):
        declaration(made, under)


def test_nothing_in_a_template_gets_out_of_a_comment() -> None:
    made = imported_from(a_service(a_role(template_id="7\ngroups: {}\u2028x"), name="shop\nclouds: {a: b}\x1b"))

    lines = declaration(made).splitlines()
    assert not any(line.startswith(("clouds", "groups: {")) for line in lines)
    assert all(line.isprintable() for line in lines)


def test_an_expression_stands_as_it_stood() -> None:
    made = imported_from(a_service(a_role(elastic("(ATT>50)|(B<1)"))))

    assert '{expression: "(ATT>50)|(B<1)", dialect: oneflow}' in declaration(made)
