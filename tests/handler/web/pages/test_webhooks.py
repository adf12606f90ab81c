from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from config.errors import Refused
from config.model.effects import EffectKind
from handler.operations.daemon_operations import MakeHook, RevokeHook, RotateHook
from handler.ports.alerts import StoredHook
from handler.web.pages.webhooks import IssuedToken, WebhookFacts, wanted_of, webhooks_page
from tests.support.filled import filled
from tests.support.store import at
from trigger.verdicts import Direction

PAGER: StoredHook = replace(
    filled(StoredHook), name="pager", policy=None, observes=False, pushes=False, old_token=None, revoked_at=None
)


def shown(*hooks: StoredHook, **facts: Any) -> str:
    given = {"may_change": lambda _: True, "csrf": "token", **facts}
    return str(webhooks_page(WebhookFacts(hooks=hooks, **given)))


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (
            {"use": "alerts", "groups": "web, db,", "effect.fire": "on", "effect.floor": "on", "direction.out": "on"},
            MakeHook(
                name="pager",
                groups=("web", "db"),
                effects=(EffectKind.FIRE, EffectKind.FLOOR),
                directions=(Direction.OUT,),
            ),
        ),
        (
            {"use": "execute", "groups": "web", "policy": "out", "effect.fire": "on"},
            MakeHook(name="pager", groups=("web",), policy="out"),
        ),
        ({"use": "observe", "groups": "web"}, MakeHook(name="pager", groups=("web",), observe=True)),
        ({"use": "values", "groups": "web,web"}, MakeHook(name="pager", groups=("web",), push=True)),
    ],
    ids=["alerts", "a policy", "events", "values"],
)
def test_a_new_webhook_takes_what_its_form_says_and_nothing_else(texts: dict[str, str], wanted: MakeHook) -> None:
    assert wanted_of({"act": "make", "name": " pager ", **texts}, ()) == wanted


def test_known_webhooks_are_rotated_and_revoked() -> None:
    assert wanted_of({"act": "rotate", "name": "pager"}, [PAGER]) == RotateHook(name="pager")
    assert wanted_of({"act": "finish", "name": "pager"}, [PAGER]) == RotateHook(name="pager", finish=True)
    assert wanted_of({"act": "revoke", "name": "pager"}, [PAGER]) == RevokeHook(name="pager")


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"act": "make"}, "choose what"),
        ({"act": "make", "use": "execute"}, "name the policy"),
        ({"act": "make", "use": "alerts", "groups": "w" * 9000}, "longer than"),
        ({"act": "make", "use": "alerts", "name": ""}, "needs a name"),
        ({"act": "revoke", "name": "p" * 65}, "needs a name"),
        ({"act": "burn"}, "press one of its buttons"),
        ({}, "press one of its buttons"),
    ],
)
def test_a_form_that_asks_for_nothing_possible_is_refused_with_the_reason(texts: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=why):
        wanted_of({"name": "pager", **texts}, ())


def test_a_page_that_is_sent_once_more_does_not_end_the_token_that_it_has_just_shown() -> None:
    rotated = replace(PAGER, old_token=PAGER.token)
    with pytest.raises(Refused, match="two tokens already"):
        wanted_of({"act": "rotate", "name": "pager"}, [rotated])
    assert 'value="rotate"' in shown(PAGER)
    assert 'value="rotate"' not in shown(rotated)
    assert 'value="finish"' in shown(rotated)


def test_every_button_says_beforehand_what_it_does() -> None:
    page = shown(PAGER)
    assert "The old one is accepted, too, until you end it here." in page
    assert "It accepts nothing any more, for good" in page
    assert "A token is made, and shown once." in page


@pytest.mark.parametrize(
    ("hook", "facts"),
    [(PAGER, {"may_change": lambda _: False}), (PAGER, {"csrf": ""}), (replace(PAGER, revoked_at=at(0)), {})],
    ids=["of another role", "not logged in", "revoked"],
)
def test_a_webhook_that_the_visitor_cannot_change_has_no_buttons(hook: StoredHook, facts: dict[str, Any]) -> None:
    assert 'value="revoke"' not in shown(hook, **facts)


def test_a_token_is_on_the_page_only_while_it_is_new_and_never_in_what_is_printed_of_it() -> None:
    made = IssuedToken(name="pager", token="s3cret", path="/hooks/alerts/s3cret")
    assert "s3cret" in shown(PAGER, made=made)
    assert "s3cret" not in shown(PAGER) + repr(made)


def test_a_form_that_was_refused_comes_back_as_it_was_sent() -> None:
    page = shown(message="there is no group wep", texts={"name": "pager", "groups": "wep", "use": "observe"})
    assert '<p role="alert" class="messages">there is no group wep</p>' in page
    assert 'value="wep"' in page
    assert 'value="observe" checked' in page
    assert 'value="alerts" checked' not in page
    assert "<details open>" in page
