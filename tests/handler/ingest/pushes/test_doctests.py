from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from handler.ingest.pushes import bearers, bulk, exposition, lines, said


@pytest.mark.parametrize("module", [bearers, bulk, exposition, lines, said], ids=lambda module: module.__name__)
def test_what_a_docstring_shows_is_so(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
