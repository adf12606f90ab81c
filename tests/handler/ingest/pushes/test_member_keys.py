from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import Refused
from config.units import MemberName
from handler.ingest.pushes.member_keys import MemberKeys, bearer_of, token_of
from tests.support.pushes import ONE, TWO


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "member-keys"


def loaded(path: Path) -> MemberKeys:
    keys = MemberKeys(path)
    keys.load()
    return keys


def test_the_key_is_made_once_and_is_its_owners_alone(path: Path) -> None:
    token = loaded(path).token(ONE)
    assert path.stat().st_mode & 0o777 == 0o600
    assert loaded(path).token(ONE) == token
    assert loaded(path).bearer(token) == ONE


def test_every_installation_has_a_key_of_its_own(path: Path) -> None:
    assert loaded(path.with_name("another")).bearer(loaded(path).token(ONE)) is None


def test_a_rotation_survives_a_restart_and_two_keys_live_until_it_is_finished(path: Path) -> None:
    keys = loaded(path)
    first = keys.token(ONE)
    asyncio.run(keys.rotate())
    second = keys.token(ONE)
    assert [loaded(path).bearer(token) for token in (first, second)] == [ONE, ONE]
    asyncio.run(keys.rotate())
    assert [keys.bearer(token) for token in (first, second)] == [None, ONE]
    asyncio.run(keys.finish())
    assert [loaded(path).bearer(token) for token in (first, second, keys.token(ONE))] == [None, None, ONE]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"\n\n", b"short\n", b"k" * 43 + b"\nshort\n", b"\xff" * 43])
def test_a_damaged_file_is_refused_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Refused, match="restore it, or remove it and replace members"):
        loaded(path)
    assert path.read_bytes() == content


def test_a_key_that_cannot_be_written_down_does_not_count(path: Path) -> None:
    keys = loaded(path)
    token = keys.token(ONE)
    path.with_suffix(".new").mkdir()
    with pytest.raises(Refused, match="cannot be written"):
        asyncio.run(keys.rotate())
    assert keys.token(ONE) == token


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
def test_what_is_not_exactly_a_token_by_the_key_is_foreign(token: str) -> None:
    assert bearer_of([KEY], token) is None


def test_without_a_key_no_token_is_valid() -> None:
    assert bearer_of([], TOKEN) is None


@given(st.text(max_size=200))
def test_every_name_has_a_token_of_its_own(name: str) -> None:
    token = token_of(KEY, MemberName(name))
    assert bearer_of([KEY], token) == name
    assert (token == TOKEN) is (name == ONE)
