"""Read an event of a cloud: which machines it is about. It says where to look, and is never evidence by itself.

OpenNebula's hooks give the machine's document, in base64, on the standard input of the hook's command. Any other sender
names machines in JSON: ``{"member": NAME}``, ``{"machine": ID}`` or ``{"group": NAME}``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from handler.ingest.alerts import json_shapes
from handler.ingest.alerts.json_shapes import WrongShape, outline
from handler.ingest.alerts.notifications import UnreadablePayload

EXPECTED = 'OpenNebula\'s document of a VM, or {"member": NAME}, {"machine": ID} or {"group": NAME}'
_KEYS = ("group", "member", "machine")
_DOCUMENT = "VM"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudNews:
    """What an event is about; all ``None``: it names nothing, so any group of its webhook may be concerned."""

    group: str | None = None
    member: str | None = None
    """A machine's name."""
    machine: str | None = None
    """A machine's id in its cloud."""


def read(body: bytes) -> CloudNews | UnreadablePayload:
    """Read an event. Total."""
    sent = body.strip()
    if not sent:
        return CloudNews()
    try:
        return _from_json(json_shapes.parsed(sent)) if sent[:1] in {b"{", b"["} else _from_document(_decoded(sent))
    except WrongShape as error:
        return UnreadablePayload(message=f"{error}; expected {EXPECTED}")


def _from_json(document: object) -> CloudNews:
    if not isinstance(document, dict) or not document.keys() & set(_KEYS):
        raise WrongShape(f"understood {outline(document)}")
    given = {key: json_shapes.text(document[key], key) for key in _KEYS if document.get(key) is not None}
    return CloudNews(**given)


def _decoded(sent: bytes) -> bytes:
    if sent.startswith(b"<"):
        return sent
    try:
        return base64.b64decode(b"".join(sent.split()), validate=True)
    except binascii.Error:
        raise WrongShape(f"understood {len(sent)} bytes that are neither JSON nor XML nor base64") from None


def _from_document(sent: bytes) -> CloudNews:
    """Read the machine's name and id. A document type is refused: its entities could grow without bound.

    So is what has two bytes for a character, in which none could be found.
    """
    if b"<!" in sent.replace(b"<![CDATA[", b"") or b"\0" in sent:
        raise WrongShape("understood XML with a declaration")
    try:
        root = ElementTree.fromstring(sent)  # noqa: S314  # without a document type there are no entities to expand
    except (ElementTree.ParseError, LookupError, ValueError):  # the latter two of an encoding that it names
        raise WrongShape(f"understood {len(sent)} bytes that are no XML") from None
    machine = next(_machines(root), None)
    if machine is None:
        raise WrongShape("understood XML without a VM")
    return CloudNews(member=machine.findtext("NAME") or None, machine=machine.findtext("ID") or None)


def _machines(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return root.iter(_DOCUMENT)
