from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.effects import EffectKind
from config.units import Instant
from handler.ingest.alerts.tokens import finished, hashed, holder, is_name, mint, mint_id, rotated
from handler.ports.alerts import StoredHook
from tests.support.trigger import NOON
from trigger.verdicts import Direction

NOW = Instant(NOON)


def a_hook(name: str = "prometheus", token: str = "first") -> StoredHook:  # noqa: S107  # no secret
    return StoredHook(
        id=mint_id(),
        name=name,
        token=hashed(token),
        groups=(),
        effects=tuple(EffectKind),
        directions=tuple(Direction),
        created_at=NOW,
    )


def test_a_token_opens_its_own_webhook() -> None:
    one, other = a_hook("one", "1"), a_hook("other", "2")
    assert holder([one, other], "1", NOW) is one
    assert holder([one, other], "2", NOW) is other


@pytest.mark.parametrize("token", ["", "First", "first ", "firs", "firstt", "\ud800", "é", "x" * 100_000, "\x00"])
def test_nothing_else_opens_it(token: str) -> None:
    assert holder([a_hook()], token, NOW) is None


def test_without_webhooks_nothing_opens() -> None:
    assert holder([], "first", NOW) is None


def test_while_rotating_two_tokens_live_and_a_further_rotation_ends_the_oldest() -> None:
    hook = rotated(a_hook(), hashed("second"))
    assert holder([hook], "first", NOW) is holder([hook], "second", NOW) is hook
    again = rotated(hook, hashed("third"))
    assert holder([again], "first", NOW) is None
    assert holder([again], "second", NOW) is holder([again], "third", NOW) is again


def test_a_finished_rotation_leaves_the_new_token() -> None:
    hook = finished(rotated(a_hook(), hashed("second")))
    assert holder([hook], "first", NOW) is None
    assert holder([hook], "second", NOW) is hook


def test_an_old_token_ends_at_its_time() -> None:
    hook = replace(rotated(a_hook(), hashed("second")), old_until=Instant(NOW + 10.0))
    assert holder([hook], "first", Instant(NOW + 9.0)) is hook
    assert holder([hook], "first", Instant(NOW + 10.0)) is None


def test_a_revoked_webhook_takes_neither_token() -> None:
    hook = replace(rotated(a_hook(), hashed("second")), revoked_at=NOW)
    assert holder([hook], "first", NOW) is holder([hook], "second", NOW) is None


def test_tokens_are_long_and_never_the_same_nor_kept() -> None:
    tokens = {mint() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 43 for token in tokens)
    token = mint()
    assert hashed(token) != hashed(token)
    assert token not in repr(a_hook(token=token))
    assert hashed(token).digest not in repr(hashed(token))


@pytest.mark.parametrize(
    ("name", "good"),
    [("prometheus", True), ("a", True), ("team-web_2", True), ("", False), ("-a", False), ("a-", False), ("A", False),
     ("a b", False), ("a/b", False), ("a" * 64, True), ("a" * 65, False), ("a\n", False), ("ä", False)],
)  # fmt: skip
def test_names_are_plain_words(name: str, good: bool) -> None:
    assert is_name(name) is good
