"""Libraries that not every installation has."""

from __future__ import annotations

import sys

import pytest

from collector.clients.optional_imports import library
from config.causes import FailureCause
from config.errors import Permanent


def test_a_library_that_is_there_is_imported() -> None:
    assert library("json", of="prod", extra="cloud", needs="json>=1").dumps([1]) == "[1]"


def test_one_that_is_missing_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clouds", None)
    with pytest.raises(Permanent) as raised:
        library("clouds", of="prod", extra="cloud", needs="clouds>=4")
    message = "prod: the library clouds>=4 is missing: install the extra cloud of trimtab (pip install 'clouds>=4')"
    assert (str(raised.value), raised.value.cause) == (message, FailureCause.LIBRARY)
