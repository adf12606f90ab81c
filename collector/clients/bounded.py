"""HTTP to a cloud, within one deadline and one size."""

from __future__ import annotations

import io
import queue
import threading
from collections.abc import Mapping
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from collector.clients.circuits import Circuits, endpoint_of, nobody, sending
from collector.clients.unanswered import why
from config.units import Seconds

_AT_MOST = 64 * 2**20
_CONNECTIONS = 16
_LONGEST_WAIT: Seconds = 3600.0
urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # `insecure` is declared, and `check` warns of it


class Bounded(requests.Session):
    """A pool whose answers are whole within a deadline, however slowly they drip, and no larger than a bound.

    ``requests`` bounds the time between two bytes only. A call that outlives its deadline goes on in a thread of its
    own and is forgotten. Nothing is taken from the environment, and no redirection is followed: it would carry the
    signature elsewhere.

    Args:
        within: the deadline of one request, connecting included.
        at_most: bytes of one answer.
        circuits: those of the endpoints; ``None``: everything is sent.
    """

    def __init__(self, within: Seconds, at_most: int = _AT_MOST, *, circuits: Circuits | None = None) -> None:
        super().__init__()
        self.trust_env = False
        self._circuits = circuits
        self._within, self._at_most = within, at_most
        for scheme in ("http://", "https://"):
            self.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 as it is above
        """Send one request.

        Raises:
            requests.RequestException: no whole answer in time.
            Unsent: the endpoint answers nobody.
        """
        with sending(self._circuits, endpoint_of(request.url or ""), self._within) as one:
            try:
                response = self._in_time(request, options)
            except requests.RequestException as error:
                one.failed(why(error))
                raise
            one.heard(nobody(response.status_code, response.content, retry_after(response)))
            return response

    def _in_time(self, request: requests.PreparedRequest, options: dict[str, Any]) -> requests.Response:
        options |= {"stream": True, "allow_redirects": False, "timeout": self._within}
        answers: queue.SimpleQueue[requests.Response | requests.RequestException] = queue.SimpleQueue()
        threading.Thread(target=self._fetch, args=(request, options, answers), daemon=True, name="cloud").start()
        try:
            answer = answers.get(timeout=self._within)
        except queue.Empty:
            raise requests.Timeout("no answer in time") from None
        if isinstance(answer, requests.RequestException):
            raise answer
        return answer

    def _fetch(
        self,
        request: requests.PreparedRequest,
        options: Mapping[str, Any],
        answers: queue.SimpleQueue[requests.Response | requests.RequestException],
    ) -> None:
        try:
            answers.put(self._whole(super().send(request, **options)))
        except requests.RequestException as error:
            answers.put(error)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            wrapped = requests.ConnectionError(type(error).__name__)
            wrapped.__cause__ = error
            answers.put(wrapped)

    def _whole(self, response: requests.Response) -> requests.Response:
        body = bytearray()
        for piece in response.raw.stream(65536, decode_content=True):
            body += piece
            if len(body) > self._at_most:
                response.close()
                raise requests.ConnectionError(f"an answer of more than {self._at_most} bytes")
        response.raw = io.BytesIO(bytes(body))
        return response


def retry_after(response: requests.Response | None) -> Seconds | None:
    """How long the other side wishes to be left alone; only as seconds, of the two forms of RFC 9110, 10.2.3."""
    said = "" if response is None else response.headers.get("Retry-After", "")
    return min(float(said), _LONGEST_WAIT) if said.isdecimal() and said.isascii() else None
