"""Call OpenStack's services with Keystone's tokens, each kept for its lifetime.

keystoneauth gets the token and finds the services, in a thread, since it blocks; requests with the token use the client
that all sources share (ADR 0033).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType

from collector.clients.circuits import Circuits
from collector.clients.http.client import HttpClient, HttpFailure, HttpRequest, HttpResponse, refused
from collector.clients.http.failures import of_server
from collector.clients.http.pool import BoundedPool
from collector.clients.openstack.session import COMPUTE, METRIC, Grant, KeystoneSession, Limited, ReadSecret, Senseless
from collector.samples import Reply
from collector.targets import Round
from config.errors import DriverError, Permanent
from config.model.access import HttpAccess
from config.model.clouds import OpenstackCloud
from config.model.openstack import OpenstackAccess

_AT_ONCE = 4
_UNAUTHORISED = 401
_LARGEST = 64 * 1024 * 1024
_REPLIES: Mapping[type[DriverError], Reply] = MappingProxyType(
    {Permanent: Reply.AUTH, Limited: Reply.RATE_LIMITED, Senseless: Reply.MALFORMED}
)


def granted(access: OpenstackAccess, read_secret: ReadSecret, circuits: Circuits | None = None) -> Grant | HttpFailure:
    """Get a token and the services' addresses; secrets and ``clouds.yaml`` are read again."""
    session = KeystoneSession("Keystone: ", access, read_secret, lambda: BoundedPool(access.timeout, circuits=circuits))
    try:
        return session.grant((COMPUTE, METRIC))
    except DriverError as error:
        reply = next((reply for kind, reply in _REPLIES.items() if isinstance(error, kind)), Reply.UNREACHABLE)
        return HttpFailure(reply=reply, detail=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    """One request to a service."""

    service: str
    """`COMPUTE` or `METRIC`."""
    path: str
    """Below the service's address, query included."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Headers beside the token."""
    body: bytes | None = None
    """JSON, for a POST that changes nothing; ``None``: a GET."""
    accept: frozenset[int] = frozenset()
    """Error statuses that the caller takes as answers."""


class Keystone:
    """Keeps tokens, and calls services with them; for one event loop.

    Args:
        http: sends the requests to services; its owner closes it.
        begin: gets a token, in a thread.
    """

    def __init__(
        self, http: HttpClient, begin: Callable[[OpenstackAccess, ReadSecret], Grant | HttpFailure] = granted
    ) -> None:
        self._http = http
        self._begin = begin
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="keystone")
        self._grants: dict[OpenstackAccess, asyncio.Future[Grant | HttpFailure]] = {}

    async def ask(self, poll: Round, cloud: OpenstackCloud, call: ServiceCall) -> HttpResponse | HttpFailure:
        """Call a service of a cloud; once more with a new token if the kept one is refused."""
        for _ in range(2):
            grant = await self._grant(poll, cloud.access)
            if isinstance(grant, HttpFailure):
                return grant
            if call.service not in grant.services:
                detail = f"Keystone's catalogue has no {call.service} service in this region, or not for this project"
                return HttpFailure(reply=Reply.UNREACHABLE, detail=detail)
            answer = await self._http.ask(_question(grant, cloud.access, call))
            if isinstance(answer, HttpFailure):
                return of_server(answer)
            if answer.status != _UNAUTHORISED:
                return answer
            self._forget(cloud.access, grant)
        return refused(_UNAUTHORISED)

    async def close(self) -> None:
        """Release the threads; a session that is beginning ends by itself. Closing again does nothing."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _grant(self, poll: Round, access: OpenstackAccess) -> Grant | HttpFailure:
        """Return the valid token, or a new one. Concurrent callers share one request for it."""
        coming = self._grants.get(access)
        if coming is None or (coming.done() and not _holds(coming.result())):
            loop = asyncio.get_running_loop()
            coming = loop.run_in_executor(self._threads, self._begin, access, poll.read_secret)
            self._grants[access] = coming
        try:
            async with asyncio.timeout(access.timeout):
                return await asyncio.shield(coming)
        except TimeoutError:
            return HttpFailure(reply=Reply.UNREACHABLE, detail=f"no token from Keystone within {access.timeout:g} s")

    def _forget(self, access: OpenstackAccess, grant: Grant) -> None:
        """Forget a token, unless another task has renewed it already."""
        coming = self._grants.get(access)
        if coming is not None and coming.done() and coming.result() is grant:
            del self._grants[access]


def _holds(grant: Grant | HttpFailure) -> bool:
    return isinstance(grant, Grant) and not grant.ends_soon()


def _question(grant: Grant, access: OpenstackAccess, call: ServiceCall) -> HttpRequest:
    kind = {} if call.body is None else {"Content-Type": "application/json"}
    return HttpRequest(
        url=grant.services[call.service] + call.path,
        access=HttpAccess(trust=grant.trust),
        timeout=access.timeout,
        method="GET" if call.body is None else "POST",
        headers={"X-Auth-Token": grant.token, "Accept": "application/json", **kind, **call.headers},
        body=call.body,
        accept=call.accept | {_UNAUTHORISED},
        only_reads=True,
        largest=_LARGEST,
    )
