"""`make test` leaves out some of the cells of costly tests, the same ones everywhere, and no others."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.support.costs import COSTLY, function_of, left_out_of_sample

ROOT = Path(__file__).parent.parent


def cells(name: str, how_many: int) -> list[str]:
    return [f"tests/test_a.py::{name}[{cell}]" for cell in range(how_many)]


def test_of_a_costly_function_one_cell_in_ten_is_tried_and_of_a_few_one() -> None:
    grid, few = cells("test_grid", 40), cells("test_few", 3)

    left_out = left_out_of_sample(grid + few, frozenset({"tests/test_a.py::test_grid", "tests/test_a.py::test_few"}))

    assert (len(set(grid) - left_out), len(set(few) - left_out)) == (4, 1)


def test_a_single_costly_test_is_left_out_and_what_is_not_costly_is_not() -> None:
    tests = ["tests/test_a.py::test_search", *cells("test_table", 12)]

    assert left_out_of_sample(tests, frozenset({"tests/test_a.py::test_search"})) == {"tests/test_a.py::test_search"}


def test_the_same_cells_are_left_out_in_whichever_order_they_come() -> None:
    grid, costly = cells("test_grid", 24), frozenset({"tests/test_a.py::test_grid"})

    assert left_out_of_sample(grid, costly) == left_out_of_sample(reversed(grid), costly)


def test_each_costly_test_that_is_listed_is_there() -> None:
    listed = COSTLY.read_text(encoding="utf-8").splitlines()

    assert [name for name in listed if not _is_there(name)] == []
    assert listed == sorted(listed)
    assert listed == [function_of(name) for name in listed]


def _is_there(name: str) -> bool:
    """Whether a file of tests has the function; that of a state machine is hypothesis's."""
    path, _, function = name.replace("::runTest", "").rpartition("::")
    text = _text(ROOT / path)
    return f"def {function}(" in text or f"{function} = " in text


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
