from __future__ import annotations

import functools
import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.grafana import ROOM, RULES_FILE, promtool, rules

_TESTS_FILE = RULES_FILE.with_name("trimtab.tests.yaml")
_RULES = [pytest.param(rule, id=rule["alert"]) for rule in rules()]
_every_rule = pytest.mark.parametrize("rule", _RULES)


@functools.cache
def _tested() -> list[dict[str, Any]]:
    """What promtool is to find out of the rules."""
    groups: list[dict[str, Any]] = YAML(typ="safe").load(_TESTS_FILE)["tests"]
    return groups


@pytest.mark.real("promtool")
def test_prometheus_understands_its_configuration_and_the_rules() -> None:
    assert f"{len(_RULES)} rules found" in promtool("check", "config", "prometheus.yaml")


@pytest.mark.real("promtool")
def test_every_alert_fires_when_it_must_and_only_then() -> None:
    assert "SUCCESS" in promtool("test", "rules", str(_TESTS_FILE))


@_every_rule
def test_an_alert_is_seen_to_fire_and_to_stay_silent(rule: dict[str, Any]) -> None:
    mine = [
        bool(check["exp_samples"])
        for test in _tested()
        for check in test["promql_expr_test"]
        if f'"{rule["alert"]}"' in check["expr"]
    ]

    assert set(mine) == {True, False}


@_every_rule
def test_an_alert_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook", "runbook_url"}
    assert not rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["description"].endswith(".")
    assert rule["annotations"]["runbook"].endswith(".")


@_every_rule
def test_an_alert_leads_to_its_section_of_the_runbook(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")

    headings = re.findall(r"^## (.+)$", (ROOM.parent / page).read_text(), flags=re.MULTILINE)

    assert [heading for heading in headings if heading.lower() == anchor] == [rule["alert"]]


def test_every_section_of_the_runbook_is_of_an_alert_and_says_four_things() -> None:
    _, *sections = (ROOM.parent / "docs" / "runbook.md").read_text().split("\n## ")
    headings = {
        section.partition("\n")[0]: re.findall(r"^\* \*\*(.+):\*\*", section, re.MULTILINE) for section in sections
    }

    assert headings.keys() == {rule["alert"] for rule in rules()}
    assert all(parts == ["Meaning", "Trimtab meanwhile", "Look at", "Do"] for parts in headings.values())
