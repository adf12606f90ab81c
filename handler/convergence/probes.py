"""Asks a member whether it is ready."""

from __future__ import annotations

import http.client

from config.model.catalogue import ReadyProbe
from config.units import Seconds, format_span

_TIMEOUT: Seconds = 2.0
_READY = range(200, 400)
READY = ""
_STATUS = "HTTP "


def probe(address: str, ready: ReadyProbe, *, timeout: Seconds = _TIMEOUT) -> str:
    """Say why a member is not ready; `READY`: ``GET http://address:port/path`` answers 200 to 399.

    No answer in time is a reason, and so is any other answer.
    """
    connection = http.client.HTTPConnection(address, ready.port, timeout=timeout)
    try:
        connection.request("GET", ready.path, headers={"Connection": "close", "User-Agent": "trimtab-ready"})
        status = connection.getresponse().status
    except TimeoutError:
        return f"no answer within {format_span(timeout)}"
    except ConnectionRefusedError:
        return f"nothing listens at port {ready.port}"
    except OSError as error:
        return f"it cannot be reached: {error.strerror or type(error).__name__}"
    except http.client.HTTPException:
        return "what answers speaks no HTTP"
    finally:
        connection.close()
    return READY if status in _READY else f"{_STATUS}{status}"


def is_answer(said: str) -> bool:
    """Whether the member answered, if not that it is ready.

    >>> is_answer("HTTP 503"), is_answer("nothing listens at port 80")
    (True, False)
    """
    return said.startswith(_STATUS)
