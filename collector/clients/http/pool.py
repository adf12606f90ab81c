"""HTTP to a cloud or a balancer, over requests: answers are read completely and are bounded in size."""

from __future__ import annotations

import io
import queue
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection

from collector.clients.circuits import Circuits, endpoint_of, gateway_error, sending
from collector.clients.http.http_errors import why
from config.errors import Transient, Unsent
from config.model.access import Trust
from config.units import Seconds

_AT_MOST = 64 * 2**20
_PIECE = 65536
_CONNECTIONS = 16
_LONGEST_WAIT: Seconds = 3600.0
_AGAIN = urllib3.Retry(
    total=1, connect=0, read=1, redirect=0, status=0, other=0, allowed_methods={"GET"}, respect_retry_after_header=False
)
"""The server may close a kept connection just as it is used again: requests that only read are sent again."""
urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # `insecure` is declared, and `check` warns of it


class _Checked(HTTPConnection):
    """A connection that asks once more whether it may send, when it is there and nothing has been sent yet.

    Between the beginning of a call and its first byte are threads, name lookups and handshakes: time enough for a
    worker that was stopped there to lose its lease.
    """

    check: ClassVar[Callable[[str], None]]

    def send(self, data: Any) -> None:  # noqa: ANN401 as it is above
        if self.sock is None:
            self.connect()
        type(self).check(f"{self.host}:{self.port}")
        super().send(data)


class _CheckedTls(_Checked, HTTPSConnection):
    pass


class _Adapter(HTTPAdapter):
    """Makes connections that ask ``circuits`` before they send."""

    def __init__(self, circuits: Circuits | None, retries: urllib3.Retry | int) -> None:
        self._circuits = circuits
        super().__init__(pool_maxsize=_CONNECTIONS, max_retries=retries)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 as it is above
        super().init_poolmanager(*args, **options)
        if self._circuits is not None:
            asking = {"check": staticmethod(self._circuits.check)}
            plain, tls = (type(each.__name__, (each,), asking) for each in (_Checked, _CheckedTls))
            self.poolmanager.pool_classes_by_scheme = {
                "http": type("CheckedPool", (urllib3.HTTPConnectionPool,), {"ConnectionCls": plain}),
                "https": type("CheckedTlsPool", (urllib3.HTTPSConnectionPool,), {"ConnectionCls": tls}),
            }


class Pool(requests.Session):
    """Connections for callers that enforce a call's deadline themselves, such as a Keystone session.

    Nothing is taken from the environment, and no redirect is followed: it would carry the signature elsewhere.

    Args:
        within: how long to wait for a connection, and between two bytes.
        at_most: largest answer, in bytes.
        circuits: those of all endpoints; ``None``: everything is sent.
    """

    retries: ClassVar[urllib3.Retry | int] = _AGAIN

    def __init__(self, within: Seconds, at_most: int = _AT_MOST, *, circuits: Circuits | None = None) -> None:
        super().__init__()
        self.trust_env = False
        self._within, self._at_most, self._circuits = within, at_most, circuits
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(circuits, self.retries))

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 as it is above
        """Send one request.

        Raises:
            requests.RequestException: no complete answer.
            Unsent: the circuit holds calls to the endpoint back.
        """
        options |= {"stream": True, "allow_redirects": False, "timeout": self._within}
        with sending(self._circuits, endpoint_of(request.url or ""), self._within) as one:
            try:
                response = self._fetched(request, options)
            except Unsent:
                one.answered()  # the endpoint is not to blame
                raise
            except requests.RequestException as error:
                one.failed(why(error))
                raise
            one.answered(gateway_error(response.status_code, response.content, retry_after(response)))
            return response

    def _fetched(self, request: requests.PreparedRequest, options: dict[str, Any]) -> requests.Response:
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


class BoundedPool(Pool):
    """Connections whose answers complete within a deadline, connecting included, however slowly bytes arrive.

    ``requests`` only bounds the time between two bytes. A call that exceeds its deadline goes on in a thread of its
    own; its answer is dropped.
    """

    retries: ClassVar[urllib3.Retry | int] = 0

    def _fetched(self, request: requests.PreparedRequest, options: dict[str, Any]) -> requests.Response:
        answers: queue.SimpleQueue[requests.Response | requests.RequestException | Unsent] = queue.SimpleQueue()

        def fetch() -> None:
            try:
                answers.put(super(BoundedPool, self)._fetched(request, options))
            except (requests.RequestException, Unsent) as error:
                answers.put(error)

        threading.Thread(target=fetch, daemon=True, name="cloud").start()
        try:
            answer = answers.get(timeout=self._within)
        except queue.Empty:
            raise requests.Timeout("no answer in time") from None
        if isinstance(answer, requests.RequestException | Unsent):
            raise answer
        return answer


def retry_after(response: requests.Response | None) -> Seconds | None:
    """Return how long the server asks us to wait; only as seconds, of the two forms of RFC 9110, 10.2.3."""
    seconds = "" if response is None else response.headers.get("Retry-After", "")
    return min(float(seconds), _LONGEST_WAIT) if seconds.isdecimal() and seconds.isascii() else None


def date_at(about: str, endpoint: str, trust: Trust, within: Seconds) -> str | None:
    """Return the field Date of an answer to a GET without credentials; ``None``: it has none. Any status will do.

    Args:
        about: the subject of the error.
        endpoint: an address; a redirection from there is not followed.
        trust: what its certificate is checked against.
        within: for all of it.

    Raises:
        Transient: there was no answer.
    """
    try:
        with BoundedPool(within) as session:
            return session.get(endpoint, verify=trust.ca or not trust.insecure).headers.get("Date")
    except (requests.RequestException, OSError) as error:
        raise Transient(f"{about}: {endpoint} was not answered: {why(error)}") from None
