"""Decode Nova's answers for counters: which server is which member, and the diagnostics of one of them.

Source: Compute API reference, `List Servers Detailed` and `Show Server Diagnostics`, microversion 2.48; the shapes are
those of Nova 26.2 (Zed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from collector.clients.http.failures import HttpFailure
from collector.clients.openstack.parsing import MEMBER, mapping, page_of, text
from collector.parsing import loads
from collector.samples import Reply
from collector.sources.reducing import RowNumber

_NAMES = {"cpu_details": "id", "nic_details": "mac_address"}
"""The key that identifies an entry of a part; disks have none."""

_MOST = 1e300
"""Larger numbers are not measurements; JSON has integers of any length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Some of a project's servers."""

    ids: Mapping[str, Sequence[str]]
    """Member, of any installation → its servers."""
    marker: str
    """The next page's marker; empty: this is the last page."""


def decode_servers(body: bytes) -> Servers | HttpFailure:
    """Decode one page of a listing.

    >>> import json
    >>> server = {"id": "b06a53f2", "name": "web-k3f9ab-1", "metadata": {"trimtab.member": "web-k3f9ab-1"}}
    >>> decode_servers(json.dumps({"servers": [server]}).encode())
    Servers(ids={'web-k3f9ab-1': ['b06a53f2']}, marker='')
    """
    page = page_of(_object(body), "servers")
    if page is None:
        return HttpFailure(reply=Reply.MALFORMED, detail="the answer is not a listing of servers")
    ids: dict[str, list[str]] = {}
    for server in page.entries:
        own_id, member = text(server, "id"), text(mapping(server, "metadata"), MEMBER)
        if own_id and member:
            ids.setdefault(member, []).append(own_id)
    return Servers(ids=ids, marker=page.marker)


Diagnostics = Mapping[str, object]
"""Part → its value."""


def decode_diagnostics(body: bytes) -> Diagnostics | HttpFailure:
    """Decode the diagnostics of one server.

    >>> import json
    >>> nic = {"mac_address": "01:23:45:67:89:ab", "rx_octets": 2070139, "tx_octets": None}
    >>> document = {"state": "running", "memory_details": {"maximum": 524288, "used": 0}, "nic_details": [nic]}
    >>> diagnostics = decode_diagnostics(json.dumps(document).encode())
    >>> look_up(diagnostics, "nic_details.rx_octets")
    [RowNumber(value=2070139.0, name='01:23:45:67:89:ab')]
    >>> look_up(diagnostics, "memory_details.maximum")
    [RowNumber(value=524288.0, name=None)]
    >>> look_up(diagnostics, "nic_details.tx_octets").detail
    'its hypervisor does not report nic_details.tx_octets'
    """
    document = _object(body)
    if not isinstance(document.get("state"), str):
        return HttpFailure(reply=Reply.MALFORMED, detail="the answer is not a server's diagnostics")
    if document["state"] != "running":
        return HttpFailure(reply=Reply.REFUSED, detail="its server does not run")
    return document


def look_up(diagnostics: Diagnostics, field: str) -> list[RowNumber] | HttpFailure:
    """Return the values of a field: one, or one for each entry if the server has several of the part.

    Args:
        diagnostics: of a running server.
        field: a key of `config.counters.cloud_measures.NOVA_FIELDS`.
    """
    part, _, name = field.partition(".")
    found = diagnostics.get(part)
    given = found if isinstance(found, list) else [found]
    entries = [entry for entry in given if isinstance(entry, dict)]
    if not entries or len(entries) < len(given):
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"the server has no {part}")
    reported = [entry.get(name) for entry in entries]
    if None in reported:
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"its hypervisor does not report {field}")
    values = [float(value) for value in reported if _is_number(value)]
    if len(values) < len(reported):
        return HttpFailure(reply=Reply.MALFORMED, detail=f"{field} is not a number")
    if not isinstance(found, list):
        return [RowNumber(values[0], None)]
    return [RowNumber(value, _row(part, entries, place)) for place, value in enumerate(values)]


def _row(part: str, entries: Sequence[Mapping[str, object]], place: int) -> str:
    """Return the identity of an entry. A position identifies it only while the number of entries stays the same."""
    name = entries[place].get(_NAMES.get(part, ""))
    return f"{place + 1} of {len(entries)}" if name is None else str(name)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST


def _object(body: bytes) -> Mapping[str, object]:
    try:
        document = loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
