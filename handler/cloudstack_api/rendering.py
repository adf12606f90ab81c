"""Write answers as JSON or XML. Pure.

Every answer has one key on top. Fields without a value are left out, and so is an empty list's every key: CloudStack
does that, and clients count the keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias
from xml.sax.saxutils import escape

from handler.cloudstack_api.faults import CloudstackFault

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"
Shown: TypeAlias = Mapping[str, Value]
"""The fields of an object in an answer; ``None`` is left out."""

JSON: Final = "application/json; charset=UTF-8"
XML: Final = "text/xml; charset=UTF-8"


@dataclass(frozen=True, slots=True)
class RenderedAnswer:
    """An answer, ready to send."""

    status: int
    kind: str
    """Its content type."""
    body: bytes
    description: str = ""
    """The text of an error; CloudStack's console shows it from the header ``X-Description``."""


class RenderedFields(dict[str, Value]):
    """Fields whose JSON is written once: in a long list, most objects are as they were at the last request."""

    @cached_property
    def text(self) -> str:
        """Their JSON."""
        return _json(self)


def answer(envelope: str, content: Shown, form: str, status: int = 200) -> RenderedAnswer:
    """Write an answer.

    Args:
        envelope: the one key on top.
        content: below it.
        form: as the parameter ``response`` says: ``json``, or else XML.
        status: the HTTP status.
    """
    if form.lower() == "json":
        fields = (f"{json.dumps(name)}:{_text(value)}" for name, value in content.items() if value is not None)
        return RenderedAnswer(status, JSON, f"{{{json.dumps(envelope)}:{{{','.join(fields)}}}}}".encode())
    inner = "".join(_element(name, value) for name, value in without_nothing(content).items())
    text = f'<?xml version="1.0" encoding="UTF-8"?><{envelope} cloud-stack-version="trimtab">{inner}</{envelope}>'
    return RenderedAnswer(status, XML, text.encode("utf-8", "replace"))


def fault_answer(envelope: str, fault: CloudstackFault, form: str) -> RenderedAnswer:
    """Write an error, with its text in one line for the header."""
    found = answer(envelope, {"uuidList": (), **shown_fault(fault)}, form, int(fault.code))
    line = "".join(letter if letter.isprintable() and letter.isascii() else "?" for letter in fault.text)
    return RenderedAnswer(found.status, found.kind, found.body, line)


def shown_fault(fault: CloudstackFault) -> Shown:
    """Return the fields of an error."""
    return {"errorcode": int(fault.code), "cserrorcode": fault.internal, "errortext": fault.text}


def shown_failure(fault: CloudstackFault) -> Shown:
    """Return the result of a job that failed: the fields of its error but the internal code."""
    return {"uuidList": (), "errorcode": int(fault.code), "errortext": fault.text}


def listed(kind: str, objects: Sequence[Shown], total: int) -> Shown:
    """Return the content of a list: nothing at all if it is empty; ``total`` counts all pages."""
    return {"count": total, kind: objects} if objects else {}


def without_nothing(content: Shown) -> dict[str, Value]:
    """Return an object without fields that have no value, at every depth."""
    return {name: _kept(value) for name, value in content.items() if value is not None}


def _text(value: Value) -> str:
    """Write a field of the topmost object as JSON; of a list, each object by itself."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{','.join(each.text if isinstance(each, RenderedFields) else _json(each) for each in value)}]"
    return _json(value)


def _json(value: Value) -> str:
    return json.dumps(_kept(value), ensure_ascii=True, separators=(",", ":"))


def _kept(value: Value) -> Value:
    if value is None or isinstance(value, str | int | float):
        return value  # the most frequent first
    return without_nothing(value) if isinstance(value, Mapping) else [_kept(each) for each in value]


def _element(name: str, value: Value) -> str:
    """Write a field; a list is one element for each of its items."""
    if isinstance(value, Mapping):
        return f"<{name}>{''.join(_element(inner, each) for inner, each in value.items())}</{name}>"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "".join(_element(name, each) for each in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"<{name}>{escape(_printable(text))}</{name}>"


def _printable(text: str) -> str:
    """Replace characters that XML 1.0 cannot have."""
    return "".join(letter if letter >= " " or letter in "\t\n\r" else "?" for letter in text)
