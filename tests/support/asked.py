"""Requests to the application as one actor, without sockets or a gate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from handler.identity.actors import Actor
from handler.web.gate import ACTOR, BEARER, Message
from tests.support.waiting import PATIENT


@dataclass(frozen=True)
class Reply:
    """What was answered; of a stream, its beginning."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


async def asked(  # the parts of a request
    app: FastAPI,
    method: str,
    path: str,
    actor: Actor,
    body: object = None,
    query: str = "",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request; a stream is left after its first event."""
    given = {**({} if body is None else {"Content-Type": "application/json"}), **(headers or {})}
    sent, begun, is_read = list[Message](), asyncio.Event(), False

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            await asyncio.Event().wait()  # the client stays
        is_read = True
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode(), "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            begun.set()

    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        BEARER: True,
        ACTOR: actor,
    }
    task = asyncio.create_task(app(scope, receive, send))  # type: ignore[arg-type]  # starlette's types are wider
    async with asyncio.timeout(PATIENT):
        await asyncio.wait((task, waiting := asyncio.create_task(begun.wait())), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        shown = {key.decode(): value.decode() for key, value in sent[0]["headers"]} if sent else {}
        if shown.get("content-type", "").startswith("text/event-stream"):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        else:
            await task
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return Reply(sent[0]["status"], shown, text)
