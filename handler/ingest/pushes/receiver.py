"""``/push`` and OneGate's ``/vm``: where values come in. Plain ASGI, since they come often.

The path and the content type determine the format. `onegate` asks for ``/vm`` of a host whatever path its endpoint
has, while ``curl "$ONEGATE_ENDPOINT/vm"`` keeps the path: both are served.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Protocol

from handler.ingest.alerts.receiver import Receive, Scope, Send
from handler.ingest.pushes import bulk, exposition, lines
from handler.ingest.pushes.judging import PushResult
from handler.ingest.pushes.pushed_values import PushedEntry, PushShape, UnreadablePush, quoted
from handler.ingest.pushes.replies import PushReply, encoded

PATH = "/push"
ONEGATE = "/onegate"
_BELOW = tuple(f"{place}/" for place in (PATH, ONEGATE, "/vm", "/vms"))
_GATEWAY = f"{PATH}/metrics/"
_KINDS: Mapping[str, PushShape] = {
    "application/json": PushShape.JSON,
    "application/openmetrics-text": PushShape.OPENMETRICS,
    "text/plain": PushShape.TEXT,
    "application/x-www-form-urlencoded": PushShape.LINES,
}
KINDS = frozenset(_KINDS) | {""}
"""Content types of pushes; OneGate's client for Windows names none."""
_BASE64 = "@base64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """One request, as it came."""

    token: str = field(repr=False)
    shape: PushShape
    member: str | None
    """The member or group of all values, from the address or a header; ``None``: the body has it."""
    group: str | None
    """Likewise."""
    body: bytes = field(repr=False)


class PushIntake(Protocol):
    """The handler of values."""

    def take(self, push: Push) -> PushReply:
        """Accept all of its values, or none."""
        ...


def is_push(path: str) -> bool:
    """Whether values come in there."""
    return f"{path}/".startswith(_BELOW)


def read(push: Push) -> tuple[PushedEntry, ...] | UnreadablePush:
    """Return the values of a push in any format; what its address names applies to all of its values."""
    entries = _body(push)
    if isinstance(entries, UnreadablePush) or (push.member is None and push.group is None):
        return entries
    for one in entries:
        if one.member not in {None, push.member} or one.group not in {None, push.group}:
            return UnreadablePush(message=f"{quoted(one.name)} names a member or group other than the request does")
    return tuple(replace(one, member=push.member, group=push.group) for one in entries)


def _body(push: Push) -> tuple[PushedEntry, ...] | UnreadablePush:
    match push.shape:
        case PushShape.LINES:
            return lines.read(push.body)
        case PushShape.JSON:
            return bulk.read(push.body)
        case PushShape.TEXT | PushShape.OPENMETRICS:
            return exposition.read(push.body, openmetrics=push.shape is PushShape.OPENMETRICS)


class PushReceiver:
    """The ASGI application. The body has been read, and bounded, by the gate."""

    def __init__(self, intake: PushIntake) -> None:
        self._intake = intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path, plain = scope["path"], not scope["path"].startswith(PATH)
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        methods = ("PUT",) if plain else ("POST", "PUT")
        if scope["method"] not in methods:
            allow = (b"allow", ", ".join(methods).encode())
            message = f"only {' or '.join(methods)}: this path only accepts values"
            await _decline(send, HTTPStatus.METHOD_NOT_ALLOWED, message, plain, allow)
        elif headers.get("content-encoding", "identity") != "identity":
            await _decline(send, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body is compressed: send it as it is", plain)
        elif (push := _push(path, headers, (await receive()).get("body", b""))) is None:
            await _decline(send, HTTPStatus.NOT_FOUND, f"there is nothing at {path[:100]}", plain)
        else:
            reply = self._intake.take(push)
            await _answer(send, reply.status, encoded(reply, plain=plain))


def _push(path: str, headers: Mapping[str, str], body: bytes) -> Push | None:
    if path.startswith(_GATEWAY):
        return _gateway(path.removeprefix(_GATEWAY), headers, body)
    if path == PATH:
        return Push(token=_token(headers), shape=_shape(headers), member=None, group=None, body=body)
    place = path.removeprefix(ONEGATE)
    member = headers.get("x-onegate-vmid") or None
    if place.startswith("/vms/"):
        member = place.removeprefix("/vms/")
    elif place != "/vm":
        return None
    token = headers.get("x-onegate-token") or _token(headers)
    return Push(token=token, shape=PushShape.LINES, member=member, group=None, body=body)


def _gateway(path: str, headers: Mapping[str, str], body: bytes) -> Push | None:
    """The path of a Pushgateway: ``metrics/job/JOB/LABEL/VALUE…``, where a label may be followed by ``@base64``."""
    parts = path.strip("/").split("/")
    if len(parts) % 2:
        return None
    labels = {}
    for label, value in zip(parts[::2], parts[1::2], strict=True):
        name = label.removesuffix(_BASE64)
        labels[name] = value if name == label else _from_base64(value)
    if "job" not in labels:
        return None
    shape = _shape(headers)
    if shape not in {PushShape.TEXT, PushShape.OPENMETRICS}:
        shape = PushShape.TEXT
    return Push(token=_token(headers), shape=shape, member=labels.get("member"), group=labels.get("group"), body=body)


def _shape(headers: Mapping[str, str]) -> PushShape:
    return _KINDS.get(headers.get("content-type", "").partition(";")[0].strip().lower(), PushShape.LINES)


def _token(headers: Mapping[str, str]) -> str:
    """Return a bearer token, or the password of a basic authorization with any user; empty: none."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    match scheme.lower():
        case "bearer":
            return given.strip()
        case "basic":
            return _from_base64(given).partition(":")[2]
        case _:
            return ""


def _from_base64(text: str) -> str:
    padded = text.strip().rstrip("=")
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), altchars=b"-_", validate=True).decode(
            "utf-8", "replace"
        )
    except (binascii.Error, ValueError):
        return ""


async def _decline(send: Send, status: HTTPStatus, message: str, plain: bool, *more: tuple[bytes, bytes]) -> None:
    """Not a push at all, so it is not counted."""
    headers, body = encoded(PushReply(result=PushResult.UNREADABLE, error=message), plain=plain)
    await _answer(send, status, ([*headers, *more], body))


async def _answer(send: Send, status: int, answer: tuple[list[tuple[bytes, bytes]], bytes]) -> None:
    headers, body = answer
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
