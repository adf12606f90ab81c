"""The pool of connections under a session of Keystone."""

from __future__ import annotations

import io
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from collector.clients.circuits import Circuits, endpoint_of, nobody, sending
from collector.clients.unanswered import why
from config.units import Seconds

_AT_MOST = 64 * 2**20
_PIECE = 65536
_CONNECTIONS = 16
_LONGEST_WAIT: Seconds = 3600.0
_AGAIN = urllib3.Retry(
    total=1, connect=0, read=1, redirect=0, status=0, other=0, allowed_methods={"GET"}, respect_retry_after_header=False
)
"""A connection that was kept may be closed by the other side just when it is used again: who only asks, asks again."""


class Pool(requests.Session):
    """Answers are read whole and are no larger than a bound. Nothing is taken from the environment.

    Args:
        within: how long to wait for a connection, and between two bytes. A whole call has its own deadline, which is
            kept by who makes it.
        at_most: bytes of one answer.
        circuits: those of all endpoints.
    """

    def __init__(self, within: Seconds, at_most: int = _AT_MOST, *, circuits: Circuits | None = None) -> None:
        super().__init__()
        self.trust_env = False
        self._within, self._at_most, self._circuits = within, at_most, circuits
        for scheme in ("http://", "https://"):
            self.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS, max_retries=_AGAIN))

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 as it is above
        """Send one request.

        Raises:
            requests.RequestException: no whole answer.
            Unsent: the endpoint answers nobody.
        """
        with sending(self._circuits, endpoint_of(request.url or ""), self._within) as one:
            try:
                response = self._read(request, options)
            except requests.RequestException as error:
                one.failed(why(error))
                raise
            one.heard(nobody(response.status_code, response.content, retry_after(response)))
            return response

    def _read(self, request: requests.PreparedRequest, options: dict[str, Any]) -> requests.Response:
        options |= {"stream": True, "allow_redirects": False, "timeout": self._within}
        try:
            return self._whole(super().send(request, **options))
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            if isinstance(error, requests.RequestException):
                raise
            raise requests.ConnectionError(type(error).__name__) from error

    def _whole(self, response: requests.Response) -> requests.Response:
        body = bytearray()
        for piece in response.raw.stream(_PIECE, decode_content=True):
            body += piece
            if len(body) > self._at_most:
                response.close()
                raise requests.ConnectionError(f"an answer of more than {self._at_most} bytes")
        response.raw = io.BytesIO(bytes(body))
        return response


def retry_after(response: requests.Response) -> Seconds | None:
    """How long the other side wishes to be left alone; only as seconds, of the two forms of RFC 9110, 10.2.3."""
    said = response.headers.get("Retry-After", "")
    return min(float(said), _LONGEST_WAIT) if said.isdecimal() and said.isascii() else None
