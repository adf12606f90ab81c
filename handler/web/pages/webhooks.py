"""The page of webhooks: what each takes, and the forms that make, rotate and revoke them. Pure, with values as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from markupsafe import Markup

from config.errors import Refused
from config.model.effects import EffectKind
from config.units import GroupId, PolicyId
from handler.operations.daemon_operations import MakeHook, RevokeHook, RotateHook
from handler.ports.alerts import HookUse, StoredHook
from handler.web.pages.figures import ABSENT, minute
from handler.web.pages.layout import PageTemplate
from trigger.verdicts import Direction

HookOperation = MakeHook | RotateHook | RevokeHook

_TEMPLATE = PageTemplate("webhooks.html")
_USES: Final = {
    HookUse.ALERTS: ("Alerts", "have the effects that the file declares for them, within the limits below."),
    HookUse.EXECUTE: (
        "Requests for a policy",
        "execute it each time, whether or not its conditions hold. All guards apply.",
    ),
    HookUse.OBSERVE: ("Events of a cloud", "have the groups looked at. What is found is judged as ever."),
    HookUse.VALUES: ("Pushed values", "are samples of the groups' counters."),
}
_NAME_AT_MOST: Final = 64
_LIST_AT_MOST: Final = 8000
"""Characters in the field of groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A token that is shown this one time."""

    name: str
    token: str = field(repr=False)
    path: str = field(repr=False)
    """Where the sender sends to; that of most webhooks has the token in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFacts:
    """What the page is made of."""

    hooks: Iterable[StoredHook]
    """Those that the visitor may see, by name."""
    may_change: Callable[[StoredHook], bool]
    csrf: str = ""
    """What a form must show; empty: the visitor may change nothing."""
    made: IssuedToken | None = None
    message: str = ""
    """Why the last try was refused; empty: there was none."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The form of a new webhook as it was sent, if it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hook:
    name: str
    takes: str
    groups: str
    limits: str
    """Effects and directions of alerts, or the policy."""
    used: str
    notes: str
    can_change: bool
    has_two_tokens: bool


@dataclass(frozen=True, slots=True)
class _Choice:
    name: str
    value: str
    label: str
    more: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    csrf: str
    is_open: bool
    name: str
    groups: str
    policy: str
    uses: tuple[_Choice, ...]
    effects: tuple[_Choice, ...]
    directions: tuple[_Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Webhooks:
    hooks: tuple[_Hook, ...]
    made: IssuedToken | None
    message: str
    csrf: str
    form: _Form | None


def webhooks_page(facts: WebhookFacts) -> Markup:
    """Lay out the page's content."""
    shown = _Webhooks(
        hooks=tuple(_hook(each, can_change=bool(facts.csrf) and facts.may_change(each)) for each in facts.hooks),
        made=facts.made,
        message=facts.message,
        csrf=facts.csrf,
        form=_form(facts.csrf, facts.texts) if facts.csrf else None,
    )
    return _TEMPLATE("page", shown)


def wanted_of(texts: Mapping[str, str], hooks: Iterable[StoredHook]) -> HookOperation:
    """Return the operation that a form asks for.

    A page that is sent once more must not end the token that it has just shown: while a webhook has two tokens, a
    form rotates none.

    Args:
        texts: the form's fields.
        hooks: those that the visitor may see.

    Raises:
        Refused: it asks for none, or for what no webhook can be.
    """
    name = texts.get("name", "").strip()
    if not 0 < len(name) <= _NAME_AT_MOST:
        raise Refused(f"a webhook needs a name of at most {_NAME_AT_MOST} characters")
    match texts.get("act"):
        case "make":
            return _new(name, texts)
        case "rotate":
            if any(each.name == name and each.old_token is not None for each in hooks):
                raise Refused(f"webhook {name} has two tokens already: end the old one first")
            return RotateHook(name=name)
        case "finish":
            return RotateHook(name=name, finish=True)
        case "revoke":
            return RevokeHook(name=name)
        case _:
            raise Refused("the form does not say what to do: press one of its buttons")


def _new(name: str, texts: Mapping[str, str]) -> MakeHook:
    groups, use = groups_in(texts.get("groups", "")) or None, texts.get("use")
    match use:
        case HookUse.ALERTS.value:
            return MakeHook(
                name=name,
                groups=groups,
                effects=tuple(each for each in EffectKind if f"effect.{each.value}" in texts),
                directions=tuple(each for each in Direction if f"direction.{each.value}" in texts),
            )
        case HookUse.EXECUTE.value:
            policy = texts.get("policy", "").strip()
            if not policy:
                raise Refused("name the policy that a request executes")
            return MakeHook(name=name, groups=groups, policy=PolicyId(policy))
        case HookUse.OBSERVE.value:
            return MakeHook(name=name, groups=groups, observe=True)
        case HookUse.VALUES.value:
            return MakeHook(name=name, groups=groups, push=True)
        case _:
            raise Refused("choose what the webhook takes")


def groups_in(text: str) -> tuple[GroupId, ...]:
    """Return the groups that a field names, each once, with commas between them. Raises `Refused`: it is too long."""
    if len(text) > _LIST_AT_MOST:
        raise Refused(f"the names of groups are longer than {_LIST_AT_MOST} characters: name fewer")
    names = (name.strip() for name in text.split(","))
    return tuple(dict.fromkeys(GroupId(name) for name in names if name))


def _hook(hook: StoredHook, *, can_change: bool) -> _Hook:
    return _Hook(
        name=hook.name,
        takes=_USES[hook.use][0].lower(),
        groups=", ".join(hook.groups) or "all",
        limits=_limits(hook),
        used=ABSENT if hook.last_used_at is None else minute(hook.last_used_at),
        notes=", ".join(_notes(hook)),
        can_change=can_change and hook.revoked_at is None,
        has_two_tokens=hook.old_token is not None,
    )


def _limits(hook: StoredHook) -> str:
    if hook.policy is not None:
        return hook.policy
    if hook.use is not HookUse.ALERTS:
        return ABSENT
    ways = " and ".join(each.value for each in hook.directions) or "no direction"
    return f"{', '.join(each.value for each in hook.effects)}; {ways}"


def _notes(hook: StoredHook) -> Iterator[str]:
    if hook.revoked_at is not None:
        yield f"revoked {minute(hook.revoked_at)}"
        return
    if hook.hmac_secret is not None:
        yield "signed"
    if hook.old_token is not None:
        yield "the old token is accepted, too"


def _form(csrf: str, texts: Mapping[str, str]) -> _Form:
    """Return the form as it was sent; a new one takes alerts with all effects in both directions."""
    chosen = texts.get("use", HookUse.ALERTS.value)
    return _Form(
        csrf=csrf,
        is_open=bool(texts),
        name=texts.get("name", ""),
        groups=texts.get("groups", ""),
        policy=texts.get("policy", ""),
        uses=tuple(_Choice("use", use.value, label, more, use.value == chosen) for use, (label, more) in _USES.items()),
        effects=tuple(_ticked("effect", each.value, texts) for each in EffectKind),
        directions=tuple(_ticked("direction", each.value, texts) for each in Direction),
    )


def _ticked(kind: str, value: str, texts: Mapping[str, str]) -> _Choice:
    name = f"{kind}.{value}"
    return _Choice(name, "on", value, "", not texts or name in texts)
