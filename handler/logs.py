"""Logs: one line per transition, logfmt, ids as fields. Shells call `say`; nothing below the handler logs."""

from __future__ import annotations

import contextlib
import json as json_module
import logging
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import TextIO

_LOG = logging.getLogger("trimtab")
_ABOUT: ContextVar[Mapping[str, object]] = ContextVar("about", default=MappingProxyType({}))
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@+%,")


def _quote(value: object) -> str:
    text = str(value)
    if text and set(text) <= _PLAIN:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


def printable(text: str) -> str:
    r"""Text from elsewhere on one line: what would steer a terminal or begin a line is spelt out.

    >>> printable("ok \x1b[2J")
    'ok \\x1b[2J'
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def json_text(value: object) -> str:
    r"""Write JSON on one line that is safe to show: letters of every script as they are, and escapes for what is none.

    Controls (C1 too), separators of lines, and what turns the direction of text are spelt as JSON spells them.

    >>> json_text({"name": "Zoë\u009b2J\u202e\u2028"})
    '{"name": "Zoë\\u009b2J\\u202e\\u2028"}'
    """
    return escaped(json_module.dumps(value, default=str, ensure_ascii=False))


def escaped(text: str) -> str:
    """Spell out what is not to be shown as it is, in JSON that is written already; its own line breaks stay."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else json_module.dumps(each)[1:-1] for each in text)


def logfmt(event: str, **fields: object) -> str:
    r"""Put an event and its fields on one line; no value can begin a second one.

    >>> logfmt("decision", group="web", reason="scaled_out", note='over "80"')
    'event=decision group=web reason=scaled_out note="over \\"80\\""'
    """
    return " ".join(f"{key}={_quote(value)}" for key, value in {"event": event, **fields}.items() if value is not None)


def say(event: str, **fields: object) -> None:
    """Log one transition. Fields that are ``None`` are left out."""
    _log(logging.INFO, event, fields)


def warn(event: str, **fields: object) -> None:
    """Log one transition for the worse."""
    _log(logging.WARNING, event, fields)


@contextlib.contextmanager
def about(**fields: object) -> Iterator[None]:
    """Have every line bear these fields that is logged in this context while the block runs."""
    token = _ABOUT.set(MappingProxyType({**_ABOUT.get(), **fields}))
    try:
        yield
    finally:
        _ABOUT.reset(token)


def _log(level: int, event: str, fields: Mapping[str, object]) -> None:
    if _LOG.isEnabledFor(level):
        fields = {**_ABOUT.get(), **fields}
        kept = {key: value for key, value in {"event": event, **fields}.items() if value is not None}
        _LOG.log(level, "%s", logfmt(event, **fields), extra={"fields": kept})


class _Json(logging.Formatter):
    """One JSON object a line, with the same fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = getattr(record, "fields", {"event": record.getMessage()})
        line = {"time": f"{at}.{record.msecs:03.0f}Z", "level": record.levelname, **fields}
        return json_text(line)


class _Foreign(logging.Handler):
    """Writes the records of libraries as lines like ours."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log it; of an exception its last place, not its whole trace. Records of our own are logged already."""
        if record.name == _LOG.name:
            return
        error = record.exc_info[1] if record.exc_info else None
        frame = traceback.extract_tb(error.__traceback__)[-1:] if error is not None else ()
        fields = {
            "logger": record.name,
            "message": record.getMessage(),
            "error": f"{type(error).__name__}: {error}" if error is not None else None,
            "at": f"{frame[0].filename}:{frame[0].lineno}" if frame else None,
        }
        _log(record.levelno, "library", fields)


def configure(*, level: int = logging.INFO, stream: TextIO | None = None, json: bool = False) -> None:
    """Send the log to ``stream`` (standard error by default), logfmt or JSON, with an instant on each line."""
    own = logging.StreamHandler(stream or sys.stderr)
    formatter = logging.Formatter("time=%(asctime)s.%(msecs)03dZ level=%(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    own.setFormatter(_Json() if json else formatter)
    _LOG.handlers[:] = [own]
    _LOG.setLevel(level)
    _LOG.propagate = False
    others = logging.getLogger()
    for handler in [handler for handler in others.handlers if isinstance(handler, _Foreign)]:
        others.removeHandler(handler)
    others.addHandler(_Foreign(level=logging.WARNING))
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # below that, clients could fill the log
