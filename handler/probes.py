"""Asks a member whether it is ready."""

from __future__ import annotations

import http.client

from config.model import ReadyProbe
from config.units import Seconds

_TIMEOUT: Seconds = 2.0
_READY = range(200, 400)


def probe(address: str, ready: ReadyProbe, *, timeout: Seconds = _TIMEOUT) -> bool:
    """Whether ``GET http://address:port/path`` answers 200 to 399. No answer in time is no, and so is any other one."""
    connection = http.client.HTTPConnection(address, ready.port, timeout=timeout)
    try:
        connection.request("GET", ready.path, headers={"Connection": "close", "User-Agent": "trimtab-ready"})
        return connection.getresponse().status in _READY
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
