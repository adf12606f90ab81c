from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from collector import outages
from collector.sources import haproxy_table, numbers, snmp


@pytest.mark.parametrize("module", [outages, haproxy_table, numbers, snmp], ids=lambda module: module.__name__)
def test_the_recorded_values_of_a_docstring_are_decoded_as_it_says(module: ModuleType) -> None:
    result = doctest.testmod(module)

    assert result.attempted > 0
    assert result.failed == 0
