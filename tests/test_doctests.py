"""What docstrings show is so, wherever one shows something."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("config", "collector", "aggregator", "trigger", "handler")
SHOWING = sorted(
    file.relative_to(ROOT)
    for package in PACKAGES
    for file in (ROOT / package).rglob("*.py")
    if ">>> " in file.read_text()
)


@pytest.mark.parametrize("file", SHOWING, ids=str)
def test_what_a_docstring_shows_is_so(file: Path) -> None:
    result = doctest.testmod(importlib.import_module(".".join(file.with_suffix("").parts)))

    assert result.attempted > 0
    assert result.failed == 0
