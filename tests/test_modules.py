"""What no tool of `make check` finds in a module."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

_PACKAGES = ("aggregator", "benchmarks", "collector", "config", "grafana", "handler", "trigger")
_HERE = Path(__file__).parent.parent


def constants(source: str) -> list[str]:
    """The names in capitals that a module binds, each time that it binds them."""
    statements = ast.parse(source).body
    targets = [target for each in statements if isinstance(each, ast.Assign) for target in each.targets]
    targets += [each.target for each in statements if isinstance(each, ast.AnnAssign)]
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [name for name in names if name.isupper()]


@pytest.mark.parametrize("package", _PACKAGES)
def test_a_constant_has_one_value_in_its_module(package: str) -> None:
    found = [
        (str(path.relative_to(_HERE)), name)
        for path in (_HERE / package).rglob("*.py")
        for name, times in Counter(constants(path.read_text())).items()
        if times > 1
    ]

    assert found == []


def test_a_constant_that_is_bound_twice_is_seen() -> None:
    assert constants("_LOOKS = 20\nA, B = 1, 2\n_LOOKS: int = 3600\nlooks = 1\n") == ["_LOOKS", "A", "B", "_LOOKS"]
