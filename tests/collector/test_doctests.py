from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import collector

ROOT = Path(collector.__file__).parent
SHOWING = sorted(file.relative_to(ROOT.parent) for file in ROOT.rglob("*.py") if ">>> " in file.read_text())


@pytest.mark.parametrize("file", SHOWING, ids=lambda file: file.stem)
def test_the_recorded_values_of_a_docstring_are_decoded_as_it_says(file: Path) -> None:
    module = importlib.import_module(".".join(file.with_suffix("").parts))

    result = doctest.testmod(module)

    assert result.attempted > 0
    assert result.failed == 0
