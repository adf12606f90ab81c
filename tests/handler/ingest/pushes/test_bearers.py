from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import MemberName
from handler.ingest.pushes.bearers import bearer_of, token_of
from tests.support.pushes import ONE, TWO

KEY, OLD = b"k" * 43, b"o" * 43
TOKEN = token_of(KEY, ONE)


def test_a_token_says_whose_it_is_by_any_of_the_keys() -> None:
    assert [bearer_of([KEY, OLD], token_of(key, ONE)) for key in (KEY, OLD)] == [ONE, ONE]


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        ONE,
        f"{ONE}.",
        TOKEN[:-1],
        f"{TOKEN}=",
        f" {TOKEN}",
        TOKEN.replace(ONE, TWO),
        token_of(OLD, ONE),
        f"{ONE}.{'A' * 43}",
        TOKEN + "x" * 100_000,
        "\udc80.x",
        "ä.ö",
    ],
    ids=lambda token: ascii(token[:60]),
)
def test_what_is_not_exactly_a_token_by_the_key_is_nobodys(token: str) -> None:
    assert bearer_of([KEY], token) is None


def test_without_a_key_nobody_is_known() -> None:
    assert bearer_of([], TOKEN) is None


@given(st.text(max_size=200))
def test_every_name_has_a_token_of_its_own(name: str) -> None:
    token = token_of(KEY, MemberName(name))
    assert bearer_of([KEY], token) == name
    assert (token == TOKEN) is (name == ONE)
