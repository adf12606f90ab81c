"""Logs: one line per transition, logfmt, ids as fields. Shells call `say`; nothing below the handler logs."""

from __future__ import annotations

import json as json_module
import logging
import sys
import time
from typing import TextIO

_LOG = logging.getLogger("trimtab")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@+%,")


def _quote(value: object) -> str:
    text = str(value)
    if text and set(text) <= _PLAIN:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    printable = (each if each.isprintable() else each.encode("unicode_escape").decode() for each in escaped)
    return f'"{"".join(printable)}"'


def logfmt(event: str, **fields: object) -> str:
    r"""Put an event and its fields on one line; no value can begin a second one.

    >>> logfmt("decision", group="web", reason="scaled_out", note='over "80"')
    'event=decision group=web reason=scaled_out note="over \\"80\\""'
    """
    return " ".join(f"{key}={_quote(value)}" for key, value in {"event": event, **fields}.items() if value is not None)


def say(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log one transition. Fields that are ``None`` are left out."""
    if _LOG.isEnabledFor(level):
        told = {key: value for key, value in {"event": event, **fields}.items() if value is not None}
        _LOG.log(level, "%s", logfmt(event, **fields), extra={"fields": told})


def warn(event: str, **fields: object) -> None:
    """Log one transition for the worse."""
    say(event, level=logging.WARNING, **fields)


class _Json(logging.Formatter):
    """One JSON object a line, with the same fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = getattr(record, "fields", {"event": record.getMessage()})
        line = {"time": f"{at}.{record.msecs:03.0f}Z", "level": record.levelname, **fields}
        return json_module.dumps(line, default=str, ensure_ascii=False)


def configure(*, level: int = logging.INFO, stream: TextIO | None = None, json: bool = False) -> None:
    """Send the log to ``stream`` (standard error by default), logfmt or JSON, with an instant on each line."""
    handler = logging.StreamHandler(stream or sys.stderr)
    formatter = logging.Formatter("time=%(asctime)s.%(msecs)03dZ level=%(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(_Json() if json else formatter)
    _LOG.handlers[:] = [handler]
    _LOG.setLevel(level)
    _LOG.propagate = False
