"""``/hooks/execute``, ``/hooks/signal`` and ``/hooks/observe`` as plain ASGI: capability URLs and their answers.

The token is the last part of the path or, better where the sender can, a bearer token; a signed URL has none. No answer
names a token. An execution is 202 with its clamps, or 403 with the reason; an answer of 503 asks the sender to return.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol, assert_never

from handler.ingest.addresses import EXECUTE, OBSERVE, SIGNAL
from handler.ingest.alerts.replies import RETRY_AFTER, AlertResult
from handler.ingest.capabilities.looks import LooksBegun
from handler.ingest.capabilities.orders import NoAlarm
from handler.operations.capability_admin import CapabilityOutcome, CapabilityRefusal, CapabilityRequest
from handler.operations.outcomes import RequestReply
from handler.ports.alerts import HookUse
from handler.web.answers import execution_json
from handler.web.gate import Receive, Scope, Send
from handler.web.render import Json

_STATUSES: Mapping[AlertResult, HTTPStatus] = {
    AlertResult.UNREADABLE: HTTPStatus.BAD_REQUEST,
    AlertResult.FORGED: HTTPStatus.UNAUTHORIZED,
    AlertResult.UNKNOWN_TOKEN: HTTPStatus.NOT_FOUND,
    AlertResult.OVERLOADED: HTTPStatus.SERVICE_UNAVAILABLE,
    AlertResult.NOT_RECORDED: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""Of refusals; all others are 403."""


class CapabilityIntake(Protocol):
    """Takes the requests: `handler.operations.capability_admin.CapabilityAdmin`."""

    async def take(self, request: CapabilityRequest) -> CapabilityOutcome:
        """Do what a request asks for."""
        ...


class CapabilityReceiver:
    """The ASGI application. The body has been read, and bounded, by the gate."""

    def __init__(self, intake: CapabilityIntake) -> None:
        self._intake = intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":
            await _answer(send, HTTPStatus.METHOD_NOT_ALLOWED, {"error": "only POST"}, (b"allow", b"POST"))
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        content = (await receive()).get("body", b"")
        outcome = await self._intake.take(_request(scope, headers, content))
        status, body = _status_and_body(outcome)
        retry = ((b"retry-after", str(RETRY_AFTER).encode()),) if status is HTTPStatus.SERVICE_UNAVAILABLE else ()
        await _answer(send, status, body, *retry)


def _request(scope: Scope, headers: Mapping[str, str], body: bytes) -> CapabilityRequest:
    path = scope["path"]
    use = HookUse.OBSERVE if path.startswith(OBSERVE) else HookUse.EXECUTE
    signed = path.startswith(SIGNAL)
    return CapabilityRequest(
        use=use,
        path=path,
        query=scope.get("query_string", b"").decode("latin-1"),
        token="" if signed else _token(path.removeprefix(OBSERVE if use is HookUse.OBSERVE else EXECUTE), headers),
        headers=headers,
        body=body,
    )


def _token(rest: str, headers: Mapping[str, str]) -> str:
    """Return the token of the path if it has one, else of the header; one that fits no webhook if there is none."""
    if in_path := rest.strip("/"):
        return in_path
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return (given.strip() if scheme.lower() == "bearer" else "") or "-"


def _status_and_body(outcome: CapabilityOutcome) -> tuple[HTTPStatus, Json]:
    match outcome:
        case RequestReply():
            return HTTPStatus.ACCEPTED if outcome.accepted else HTTPStatus.FORBIDDEN, execution_json(outcome)
        case NoAlarm(state=state):
            return HTTPStatus.OK, {"executed": False, "state": state}
        case LooksBegun():
            return HTTPStatus.ACCEPTED, {"now": list(outcome.now), "soon": list(outcome.soon)}
        case CapabilityRefusal(result=result, message=message):
            return _STATUSES.get(result, HTTPStatus.FORBIDDEN), {"error": message}
        case _:
            assert_never(outcome)


async def _answer(send: Send, status: int, body: Json, *more: tuple[bytes, bytes]) -> None:
    content = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode()), *more]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": content})
