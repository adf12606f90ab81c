"""Explain why an HTTP call was not answered, in words for people. Pure.

Libraries wrap the system's error several times, in messages that may hold signed requests: only the innermost error is
used, and of its text only that of TLS errors is passed on.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

from config.errors import Transient, Unanswered

_DEEP = 20
_LATE = "no answer in time"
_PLAIN: tuple[tuple[type[OSError], str], ...] = (
    (ConnectionRefusedError, "connection refused"),
    (ConnectionResetError, "the connection was cut"),
    (BrokenPipeError, "the connection was cut"),
    (socket.gaierror, "its host name cannot be resolved"),
    (TimeoutError, _LATE),
)
_NOT_REACHED = ConnectionRefusedError, socket.gaierror, ssl.SSLError
_NOT_CONNECTED = {"ConnectTimeout", "ConnectTimeoutError", "NewConnectionError", "NameResolutionError", "ProxyError"}
"""Names of errors of requests, urllib3 and keystoneauth before a request is sent."""


def not_answered(message: str, error: BaseException) -> Transient:
    """Return what a driver raises for a call without an answer: `Unanswered` if the call may have arrived.

    >>> type(not_answered("prod: POST /servers", ConnectionResetError())).__name__
    'Unanswered'
    >>> str(not_answered("prod: POST /servers was not answered", ConnectionRefusedError()))
    'prod: POST /servers was not answered: connection refused'
    """
    never_sent = any(isinstance(one, _NOT_REACHED) or type(one).__name__ in _NOT_CONNECTED for one in _below(error))
    return (Transient if never_sent else Unanswered)(f"{message}: {why(error)}")


def why(error: BaseException) -> str:
    """Return the innermost cause of an error of requests, urllib3 or keystoneauth.

    >>> why(ConnectionRefusedError(111, "Connection refused"))
    'connection refused'
    >>> why(ValueError("https://user:secret@cloud"))
    'ValueError'
    """
    inner = list(_below(error))
    for each in reversed(inner):
        words = _words(each)
        if words:
            return words
    kind = type(error).__name__
    return _LATE if "Timeout" in kind else kind


def _below(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those behind it: causes, contexts, and errors among its arguments."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting and len(seen) < _DEEP:
        each = waiting.pop(0)
        if any(each is other for other in seen):
            continue
        seen.append(each)
        yield each
        found = (each.__cause__, each.__context__, getattr(each, "reason", None), *each.args)
        waiting += [other for other in found if isinstance(other, BaseException)]


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason})" if error.reason else "TLS failed"
    if isinstance(error, OSError) and "TLS CA certificate bundle" in str(error):  # as requests has it
        return "the file of certificates (ca) cannot be read"
    return next((words for kind, words in _PLAIN if isinstance(error, kind)), "")
