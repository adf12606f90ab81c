"""Sums and flags of few and many groups."""

from __future__ import annotations

import numpy as np
import pytest

from collector.samples import Floats
from trigger.forecast.arrays import added, every, some


def some_terms(*shape: int) -> Floats:
    """Return terms whose sum depends on the order in which they are added."""
    noise = np.random.default_rng(1)
    return noise.standard_normal(shape) * 10.0 ** noise.integers(-8, 8, shape)


def one_by_one(terms: Floats, axis: int) -> Floats:
    first, *others = np.moveaxis(terms, axis, 0)
    total: Floats = first.copy()
    for term in others:
        total = total + term
    return total


@pytest.mark.parametrize("groups", [1, 2, 7, 8, 9, 1000])
@pytest.mark.parametrize(("before", "axis"), [((61,), 0), ((13, 13), 1), ((2, 2, 7), 2)])
def test_a_sum_is_added_up_from_the_first_term_to_the_last(before: tuple[int, ...], axis: int, groups: int) -> None:
    terms = some_terms(*before, groups)

    assert (added(terms, axis) == one_by_one(terms, axis)).all()


@pytest.mark.parametrize("groups", [1, 2, 8, 1000])
def test_rows_of_a_larger_array_are_added_up_in_that_order_too(groups: int) -> None:
    diagonal, one_head = some_terms(169, groups)[::14], some_terms(61, 2, groups)[:, 1]

    for rows in (diagonal, one_head):
        assert (added(rows, 0) == one_by_one(rows, 0)).all()


def test_another_order_gives_another_sum() -> None:
    terms = some_terms(61, 1000)

    assert (added(terms, 0) != added(terms[::-1].copy(), 0)).any()


@pytest.mark.parametrize(("flags", "one", "all_of_them"), [([0, 0], 0, 0), ([0, 1], 1, 0), ([1, 1], 1, 1), ([], 0, 1)])
def test_flags_are_some_or_every(flags: list[int], one: int, all_of_them: int) -> None:
    given = np.array(flags, dtype=np.bool_)

    assert (some(given), every(given)) == (bool(one), bool(all_of_them))
