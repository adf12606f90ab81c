"""No test that needs a real cloud is left out of `make test-real`."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import real_clouds

TESTS = Path(__file__).parent
BEDS = {f"tests.support.{cloud}_bed" for cloud in real_clouds.NAMES}
HARMLESS = {"BEDS", "NEBULA_BEDS", "FLOW_BEDS", "misfits", "no_secrets", "wall"}
"""What is in those modules and calls no cloud. The lists' cases are marked by `tests.support.real_clouds.stages`."""


def reaching(source: str) -> Iterator[tuple[str, bool]]:
    """Yield each test and fixture of a module that uses what calls a real cloud, and whether it is marked."""
    module = ast.parse(source)
    borrowed = {
        alias.asname or alias.name
        for each in ast.walk(module)
        if isinstance(each, ast.ImportFrom) and each.module in BEDS
        for alias in each.names
        if alias.name not in HARMLESS
    }
    whole = any(isinstance(each, ast.Assign) and "pytest.mark.bed(" in ast.unparse(each) for each in module.body)
    for each in module.body:
        if isinstance(each, ast.FunctionDef):
            body = (name.id for line in each.body for name in ast.walk(line) if isinstance(name, ast.Name))
            if borrowed & set(body):
                yield each.name, whole or any("mark.bed(" in ast.unparse(mark) for mark in each.decorator_list)


def test_every_test_that_reaches_a_real_cloud_is_marked_as_such() -> None:
    found = {
        ("/".join(path.parts[-3:]), name): marked
        for path in TESTS.rglob("test_*.py")
        for name, marked in reaching(path.read_text())
        if path.name != Path(__file__).name
    }
    assert [of for of, marked in found.items() if not marked] == []
    assert ("balancers/octavia/test_provisioning.py", "test_a_real_octavia_makes_and_deletes_it") in found


def test_one_that_is_not_marked_would_be_found() -> None:
    source = (TESTS / "handler/balancers/octavia/test_provisioning.py").read_text()
    assert dict(reaching(source.replace('@pytest.mark.bed("openstack")', ""))) == {
        "test_a_real_octavia_makes_and_deletes_it": False
    }


def test_nothing_but_the_mark_decides_which_tests_a_real_cloud_runs() -> None:
    names = [path.name for path in TESTS.rglob("test_*.py") if "TRIMTAB_REAL_" in path.read_text()]
    assert names == [Path(__file__).name]
    result = subprocess.run(
        ["make", "-n", "test-real", "PYTEST="], cwd=TESTS.parent, capture_output=True, text=True, check=True
    )
    (line,) = (line for line in result.stdout.splitlines() if "pytest" in line)
    assert re.search(r"pytest tests -m bed\s*$", line)


@pytest.mark.parametrize("cloud", real_clouds.NAMES)
def test_a_case_of_a_contract_is_marked_where_the_cloud_is_there(
    cloud: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = tmp_path / "bed.json"
    facts.write_text('{"oneflow": "http://127.0.0.1:2474"}')
    monkeypatch.setattr(real_clouds, "OPENSTACK", "demo")
    monkeypatch.setattr(real_clouds, "OPENNEBULA", str(facts))
    monkeypatch.setattr(real_clouds, "VAULT", "http://127.0.0.1:8200")
    monkeypatch.setattr(real_clouds, "VAULT_TOKEN", "root")
    monkeypatch.setattr(real_clouds, "CMK", "/usr/bin/cmk")
    monkeypatch.setattr(real_clouds, "OSLO", "/usr/bin/python3")
    (case,) = real_clouds.stages(cloud, object())
    assert (case.id, [(mark.name, mark.args) for mark in case.marks]) == (f"{cloud}-bed", [("bed", (cloud,))])


def test_without_a_real_cloud_there_is_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_clouds, "OPENSTACK", "")
    monkeypatch.setattr(real_clouds, "OPENNEBULA", "")
    monkeypatch.setattr(real_clouds, "VAULT", "")
    monkeypatch.setattr(real_clouds, "CMK", "")
    monkeypatch.setattr(real_clouds, "OSLO", "")
    assert [real_clouds.stages(cloud, object()) for cloud in real_clouds.NAMES] == [[] for _ in real_clouds.NAMES]
