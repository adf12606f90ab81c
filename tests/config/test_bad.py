"""Each fault of a declaration has one message, at its line and column.

`tests/config/bad` has one file for each theme (`steps.txt`, `alerts.txt`, …) with many cases. A case is a title, a
change to a good declaration, and the problem that the change causes::

    === steps-missing-beside-by
    policies:
      out: {when: [busy], by: busy, add: 1}
    ! 8:27: policies.out: by names the condition of the steps, and there are no steps: write steps, or remove by

* The change is laid over the declaration key by key. A key that stands there is replaced in its place; a new key goes
  below the last key of its parent; a line that begins with ``-`` removes its key (``-     vip:``).
* The declaration is `tests.support.config.DECLARATION`, or the part ``=== the good declaration`` of the file.
* Where the YAML itself is wrong, the title ends with ``(whole text)``: what follows is the whole file. After
  ``(bytes)`` it is the whole file with escapes, such as ``\\xe9``.
* ``! LINE:COLUMN: message`` is the expected problem. Lines count from 1 in the text that results.

To add a case, write the title, the change and ``! ``, run this module, and check that the message that it reports is
the right one.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from config.errors import DeclarationError, Problem
from config.load import load, parse
from tests.support.bad_declarations import Case, case_named, cases, good_declaration, laid_over, themes

CASES = cases()


def problems_of(case: Case, folder: Path) -> tuple[Problem, ...]:
    file = folder / "web.yaml"
    file.write_bytes(case.content)
    with pytest.raises(DeclarationError) as caught:
        load(file)
    return caught.value.problems


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.theme}-{case.name}")
def test_each_fault_has_its_one_message(case: Case, tmp_path: Path) -> None:
    found = [f"{problem.line}:{problem.column}: {problem.message}" for problem in problems_of(case, tmp_path)]

    assert found == list(case.problems)
    assert len(found) == 1 or case.name == "many"


def test_problems_stand_in_the_order_of_lines(tmp_path: Path) -> None:
    found = problems_of(case_named("many"), tmp_path)

    assert len(found) > 20
    assert list(found) == sorted(found)


@pytest.mark.parametrize("theme", themes(), ids=lambda path: path.stem)
def test_the_declaration_that_the_cases_of_a_theme_change_is_good(theme: Path) -> None:
    assert parse(good_declaration(theme), "web.yaml").groups


def test_each_case_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
    assert len(CASES) >= 316


def test_a_change_replaces_adds_and_removes_keys_below_the_same_parents() -> None:
    good = "groups:\n  web:\n    min: 1\n    max: 2\n  api: {min: 1}\nclouds:\n  lab: {}\n"

    assert laid_over(good, "groups:\n  web:\n    min: 3\n-   max:\n  new: {}\n- api:\n-clouds:\nx: 1\n") == (
        "groups:\n  web:\n    min: 3\n  new: {}\nx: 1\n"
    )
