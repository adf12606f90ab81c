"""The collector of cycles waits while a large group is planned, and goes on afterwards, whatever happened."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from config.gc_pause import WORTH_IT, uncollected


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


@pytest.mark.parametrize(("members", "collects"), [(WORTH_IT - 1, True), (WORTH_IT, False)])
def test_collection_pauses_only_for_many_members(members: int, collects: bool) -> None:
    with uncollected(members):
        assert gc.isenabled() is collects
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), uncollected(WORTH_IT):
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_pause_within_another_ends_with_the_outer_one() -> None:
    with uncollected(WORTH_IT):
        with uncollected(WORTH_IT):
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_where_nothing_was_collected_before_nothing_is_afterwards() -> None:
    gc.disable()
    with uncollected(WORTH_IT):
        pass
    assert not gc.isenabled()
