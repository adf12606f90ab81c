"""The digest of what a file says, by which workers compare their copies."""

from __future__ import annotations

import hashlib
import json

from config.document.places import ParsedText
from config.document.statement import values_of

_OWN = frozenset({"listen", "store"})
"""Sections that may differ from machine to machine."""


def declaration_digest(file: ParsedText) -> str:
    """Return a digest of what a file says, whatever its layout; sections about one machine do not count."""
    values = sorted((where, text) for where, text in values_of(file.data).items() if where[0] not in _OWN)
    return hashlib.sha256(json.dumps(values).encode("utf-8", "surrogatepass")).hexdigest()[:32]
