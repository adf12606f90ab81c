"""Signed URLs, as Heat makes them for alarms: version 2 of EC2's signatures over method, host, path and parameters.

Such a URL carries its own proof, needs no header, and never expires; its secret is where the webhook's reference says.

Source: Heat's ``alarm_url``; Amazon's "Signature version 2", as keystoneclient's ``Ec2Signer`` 6.0.0 computes it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

PATH = "/hooks/signal"
KEY_ID = "AWSAccessKeyId"
_SIGNATURE = "Signature"
_METHOD = "SignatureMethod", "HmacSHA256"
_VERSION = "SignatureVersion", "2"
_NAMES = frozenset({KEY_ID, _SIGNATURE, _METHOD[0], _VERSION[0], "Timestamp"})


def signed_url(secret: str, *, host: str, name: str, key_id: str, stamp: str) -> str:
    """Return path and query of a URL that a POST to ``host`` may use.

    Args:
        secret: the webhook's secret.
        host: with its port, as the Host header of the request has it when it reaches Trimtab.
        name: the webhook's name.
        key_id: the webhook's id, which is no secret.
        stamp: when it is made, as text.
    """
    path = f"{PATH}/{name}"
    given = {KEY_ID: key_id, _METHOD[0]: _METHOD[1], _VERSION[0]: _VERSION[1], "Timestamp": stamp}
    return f"{path}?{urlencode({**given, _SIGNATURE: _signature(secret, host, path, given)})}"


def key_id_of(query: str) -> str:
    """Return the id of the webhook that a query is signed for; empty: it names none, or more than one."""
    found = [value for name, value in parse_qsl(query, keep_blank_values=True) if name == KEY_ID]
    return found[0] if len(found) == 1 else ""


def is_genuine(secret: str, *, host: str, path: str, query: str) -> bool:
    """Tell whether the query's signature is that of this method, host, path and all other parameters."""
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    offered = given.pop(_SIGNATURE, "")
    expected = _signature(secret, host, path, given)
    fits = hmac.compare_digest(expected.encode(), offered.encode("utf-8", "surrogatepass"))
    return fits and len(pairs) == len(given) + 1 and (given.get(_METHOD[0]), given.get(_VERSION[0])) == (
        _METHOD[1], _VERSION[1],
    )  # fmt: skip


def without_signature(query: str) -> str:
    """Return a query without the parameters of its signature."""
    return urlencode([pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] not in _NAMES])


def _signature(secret: str, host: str, path: str, given: Mapping[str, str]) -> str:
    pairs = (f"{quote(name, safe='-_~')}={quote(value, safe='-_~')}" for name, value in sorted(given.items()))
    signed = f"POST\n{host}\n{path}\n{'&'.join(pairs)}".encode("utf-8", "surrogatepass")
    return base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()
