from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import config.oneflow
import pytest

ROOT = Path(config.oneflow.__file__).parent
SHOWING = sorted(file.relative_to(ROOT.parents[1]) for file in ROOT.rglob("*.py") if ">>> " in file.read_text())


@pytest.mark.parametrize("file", SHOWING, ids=lambda file: file.stem)
def test_what_a_docstring_shows_is_so(file: Path) -> None:
    module = importlib.import_module(".".join(file.with_suffix("").parts))

    result = doctest.testmod(module)

    assert result.attempted > 0
    assert result.failed == 0
