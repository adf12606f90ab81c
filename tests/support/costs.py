"""Tests that cost seconds of processor time: `make test` tries a sample of them, `make test WHOLE=yes` all.

`tests/costly_tests.txt` lists their functions, and `make costs` writes it from what a whole run takes. Of a function
with many cells one in ten is in the sample, and one of a few; a single test that takes so long is not.
"""

from __future__ import annotations

import os
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

COSTLY = Path(__file__).parent.parent / "costly_tests.txt"
SECONDS = 0.25
"""What all cells of a function take together, in processor time, for it to be costly."""
ONE_IN = 10
ALWAYS_WHOLE = (
    "tests/config/document/",
    "tests/config/test_bad.py",
    "tests/golden/",
    "tests/handler/web/test_isolation.py::test_each_role",
    "tests/handler/web/test_rights.py",
    "tests/test_docs.py",
    "tests/test_doctests.py",
)
"""What a new key, page, route or stored value breaks first."""


def function_of(nodeid: str) -> str:
    """``path::name`` of a test, without its cell."""
    return nodeid.partition("[")[0]


def left_out_of_sample(nodeids: Iterable[str], costly: frozenset[str]) -> set[str]:
    """The tests that a sample leaves out; the same ones on every machine."""
    cells: dict[str, list[str]] = defaultdict(list)
    for nodeid in nodeids:
        if (name := function_of(nodeid)) in costly:
            cells[name].append(nodeid)
    return {nodeid for named in cells.values() for nodeid in _left_out(named)}


def _left_out(cells: list[str]) -> list[str]:
    if len(cells) == 1:
        return cells
    return sorted(cells, key=lambda nodeid: zlib.crc32(nodeid.encode()))[max(1, len(cells) // ONE_IN) :]


class Costs:
    """A plugin of pytest that measures what each function takes, and lists the costly ones at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._seconds: Counter[str] = Counter()
        self._of_worker: dict[str, Any] | None = getattr(config, "workeroutput", None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before, began = os.times(), time.monotonic()
        try:
            return (yield)
        finally:
            after, took = os.times(), time.monotonic() - began
            own = after.user + after.system - before.user - before.system
            programs = after.children_user + after.children_system - before.children_user - before.children_system
            # A program that many tests shared ends with the last of them, which did not cause all that it took.
            self._seconds[function_of(item.nodeid)] += own + min(programs, took)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._seconds.update(node.workeroutput["costs"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self._of_worker is not None:
            self._of_worker["costs"] = dict(self._seconds)
            return
        costly = (
            name for name, seconds in self._seconds.items() if seconds >= SECONDS and not name.startswith(ALWAYS_WHOLE)
        )
        COSTLY.write_text("".join(f"{name}\n" for name in sorted(costly)), encoding="utf-8")
