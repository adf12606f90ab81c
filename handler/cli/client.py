"""Send requests to the running daemon over its unix socket. Quick to import, since every command uses it."""

from __future__ import annotations

import http.client
import json
import os
import pwd
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

from handler.operations.address import BASE, OperationRequest, header_of

PATIENCE = 120.0
"""Seconds: a pass that gathers from a slow cloud may take this long."""


class NotReachable(Exception):
    """No daemon answers on the socket."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, within: float) -> None:
        super().__init__("trimtab", timeout=within)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(socket_path: Path, call: OperationRequest, *, within: float = PATIENCE) -> tuple[int, Any]:
    """Send one request; return the response's status and JSON.

    A response that is not JSON (the daemon failed) becomes an ``error``.

    Raises:
        NotReachable: no daemon listens there, or it ended before it answered.
    """
    connection = _UnixConnection(socket_path, within)
    kind = {} if call.body is None else {"Content-Type": "application/json"}
    try:
        connection.request(call.method, call.path, call.body, {**_caller(), **kind, **call.headers})
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise NotReachable(
            f"no daemon answers on {socket_path}: {error}; is `trimtab run` running, and --state right?"
        ) from error
    finally:
        connection.close()
    return answer.status, _read(answer.status, text)


def _read(status: int, text: bytes) -> Any:  # noqa: ANN401  # JSON from the daemon
    try:
        return json.loads(text) if text else None
    except ValueError:
        return {"error": f"the daemon answered {status} without JSON: see its log"}


def question(*parts: str, query: str = "") -> OperationRequest:
    """Return the request that reads from an API path, each part of which is quoted.

    >>> question("groups", "web", "why").path
    '/api/v1/groups/web/why'
    """
    return OperationRequest("GET", "/".join((BASE, *(quote(part, safe="") for part in parts))) + query)


def _caller() -> dict[str, str]:
    """Return the name of the person who asks, and the reason if there is one, for the history and the audit trail."""
    name = os.environ.get("SUDO_USER") or os.environ.get("USER") or _account()
    reason = os.environ.get("TRIMTAB_REASON")
    headers = {"X-Trimtab-User": _fit(name)[:64]}
    return headers if not reason else headers | {"X-Trimtab-Reason": header_of(reason)}


def _fit(text: str) -> str:
    """Return text as a header can carry it."""
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text)


def _account() -> str:
    """Return the name of this process's account, since a cron job has no USER; its number where it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
