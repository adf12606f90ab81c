"""``/client/api``: CloudStack's query API, as plain ASGI. The body has been read, and bounded, by the gate."""

from __future__ import annotations

import logging
from urllib.parse import parse_qsl

from handler import logs
from handler.cloudstack_api.faults import CloudstackFault, FaultCode
from handler.cloudstack_api.rendering import RenderedAnswer, fault_answer
from handler.cloudstack_api.service import CloudstackCommands
from handler.web.gate import App, Receive, Scope, Send

_LOG = logging.getLogger("trimtab")
_COMMAND_SHOWN = 64
"""Characters of a command's name that the log repeats."""
_FIELDS_AT_MOST = 500
_METHODS = frozenset({"GET", "POST"})


class CloudstackReceiver:
    """The ASGI application; where the file declares no such API, the path is like any that is not served."""

    def __init__(self, commands: CloudstackCommands, otherwise: App) -> None:
        self._commands, self._otherwise = commands, otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        api = self._commands.api
        if api is None:
            await self._otherwise(scope, receive, send)
            return
        if scope["method"] not in _METHODS:
            fault = CloudstackFault(FaultCode.METHOD_NOT_ALLOWED, "Only GET and POST are supported")
            await _send(send, fault_answer("errorresponse", fault, "json"))
            return
        body = (await receive()).get("body", b"") if scope["method"] == "POST" else b""
        client = scope.get("client")
        try:
            parameters = _parameters(scope.get("query_string", b""), body)
        except ValueError:
            fault = CloudstackFault(FaultCode.MALFORMED_PARAMETER, "The parameters cannot be decoded")
            await _send(send, fault_answer("errorresponse", fault, "json"))
            return
        try:
            found = await self._commands.answer(api, parameters, "" if client is None else str(client[0]))
        except Exception as error:  # noqa: BLE001  # a defect has an answer of CloudStack's form, too
            command = parameters.get("command", "")[:_COMMAND_SHOWN]
            logs.warn("cloudstack_api_failed", command=command, error=f"{type(error).__name__}: {error}")
            _LOG.debug("%s", logs.logfmt("traceback", what="cloudstack_api"), exc_info=True)
            fault = CloudstackFault(FaultCode.INTERNAL, f"the daemon failed ({type(error).__name__}): see its log")
            found = fault_answer("errorresponse", fault, parameters.get("response", ""))
        await _send(send, found)


def _parameters(query: bytes, body: bytes) -> dict[str, str]:
    """Return the parameters of a query and a form; of a name that is sent twice, the first value.

    Raises:
        ValueError: there are too many, or they are no UTF-8.
    """
    found: dict[str, str] = {}
    for text in (query.decode(), body.decode()):
        for name, value in parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS_AT_MOST):
            found.setdefault(name, value)
    return found


async def _send(send: Send, answer: RenderedAnswer) -> None:
    headers = [(b"content-type", answer.kind.encode()), (b"content-length", str(len(answer.body)).encode())]
    if answer.description:
        headers.append((b"x-description", answer.description.encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
