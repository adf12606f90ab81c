r"""Reads OpenMetrics and Prometheus text, as clients of a Pushgateway send it. The metric's name is the value's name.

The labels ``member`` and ``group`` say whose a sample is; all others are ignored, so of two samples that differ in
nothing else it is not clear which is meant, and both are refused. ``_created`` belongs to counters, and is none.

It is written for one pass over hostile text: its time grows with the body's length and no faster.

>>> read(b'orders 12 1767268800000\n', openmetrics=False)
(PushedEntry(name='orders', value=12.0, member=None, group=None, at=1767268800.0),)

Sources: OpenMetrics 1.0 (the time in seconds, ``# EOF``); Prometheus's text format 0.0.4 (the time in milliseconds).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collector.parsing import number
from collector.samples import Reply
from handler.ingest.pushes.pushed_values import MalformedPush, PushedEntry, TooMany, UnreadablePush, quoted, whole

_SAMPLE = re.compile(
    r"""(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*+)
        (?:[ \t]*+\{(?P<labels>(?:[^"{}]|"(?:[^"\\]|\\.)*+")*+)\})?
        (?:(?<=\})[ \t]*+|[ \t]++)(?P<value>[^ \t#{}"]++)
        (?:[ \t]++(?P<at>[^ \t#{}"]++))?
        (?:[ \t]++\#.*+)?""",
    re.VERBOSE | re.ASCII,
)
_LABEL = re.compile(r'[ \t]*+([a-zA-Z_][a-zA-Z0-9_]*+)[ \t]*+=[ \t]*+"((?:[^"\\]|\\.)*+)"[ \t]*+(?:,|$)', re.ASCII)
_ESCAPES = {r"\\": "\\", r"\n": "\n", r"\"": '"'}
_ESCAPE = re.compile(r'\\[\\n"]')
_END = "# EOF"
_CREATED = "_created"
_COUNTED = ("_total", "_count", "")
"""What a counter, a histogram or (in Prometheus text) a bare counter is called beside its ``_created``."""


def read(body: bytes, *, openmetrics: bool) -> tuple[PushedEntry, ...] | UnreadablePush:
    """Read a body.

    Total: any bytes give values, or what was not understood.

    Args:
        body: as it came.
        openmetrics: rather than Prometheus's text: times are in seconds, and the end is marked.
    """
    try:
        lines = body.decode().rstrip().split("\n")
    except UnicodeDecodeError:
        return UnreadablePush(message="expected metrics as text in UTF-8")
    if openmetrics and lines[-1] != _END:
        return UnreadablePush(message=f"the text is incomplete: OpenMetrics ends with {_END}")
    samples = [line for line in map(str.strip, lines) if line and not line.startswith("#")]
    try:
        entries = whole(_sample(line, 1.0 if openmetrics else 1000.0) for line in samples)
    except MalformedPush as error:
        return UnreadablePush(message=str(error))
    except TooMany as error:
        return UnreadablePush(message=str(error), too_large=True)
    return tuple(_without_births(entries))


def _sample(line: str, second: float) -> PushedEntry:
    match = _SAMPLE.fullmatch(line)
    if match is None:
        raise MalformedPush(f"expected a sample such as orders_pending 12, found {quoted(line)}")
    written = list(_labels(match["labels"] or "", line))
    labels = dict(written)
    if len(labels) < len(written):
        raise MalformedPush(f"a label is there twice in {quoted(line)}")
    return PushedEntry(
        name=match["name"],
        value=_number(match["name"], match["value"]),
        member=labels.get("member"),
        group=labels.get("group"),
        at=None if match["at"] is None else _number(match["name"], match["at"]) / second,
    )


def _labels(text: str, line: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        match = _LABEL.match(text, place)
        if match is None:
            raise MalformedPush(f"the labels cannot be read in {quoted(line)}")
        yield match[1], _ESCAPE.sub(lambda escape: _ESCAPES[escape[0]], match[2])
        place = match.end()


def _number(name: str, text: str) -> float:
    value = number(text)
    if isinstance(value, Reply):
        raise MalformedPush(f"expected a number for {quoted(name)}, found {quoted(text)}")
    return value


def _without_births(entries: Sequence[PushedEntry]) -> Iterator[PushedEntry]:
    """Leave out the start times of counters, which clients send with each of them."""
    names = {one.name for one in entries}
    for one in entries:
        base = one.name.removesuffix(_CREATED)
        if base == one.name or not any(f"{base}{ending}" in names for ending in _COUNTED):
            yield one
