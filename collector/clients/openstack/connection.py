"""Calls to one project of OpenStack, each within one deadline, over a session of keystoneauth.

Requests and answers are those of the services' own APIs. The session renews a refused token.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from collector.clients.circuits import Circuits
from collector.clients.http.pool import Pool
from collector.clients.openstack.parsing import ServiceResponse, refusal
from collector.clients.openstack.session import KeystoneSession, ReadSecret
from config.errors import DriverError, Unanswered
from config.model.openstack import OpenstackAccess
from config.units import CloudId

T = TypeVar("T")

_NONE: Final = frozenset[int]()
_UNAUTHORISED = 401
_REFUSING = range(400, 600)


class OpenstackConnection:
    """Calls services; failures are `Transient` or `Permanent`. Sends nothing before the first call.

    Args:
        id: begins every message.
        access: the project, and how long a call may take.
        read_secret: reads the secret when a session begins.
        circuits: those of all endpoints, Keystone's and each service's included.
    """

    def __init__(
        self,
        id: CloudId,
        access: OpenstackAccess,
        read_secret: ReadSecret,
        circuits: Circuits | None = None,
    ) -> None:
        self.id = id
        self._within = access.timeout
        self._keystone = KeystoneSession(
            f"{id}: ", access, read_secret, lambda: Pool(access.timeout, circuits=circuits)
        )

    def ask(
        self,
        service: str,
        method: str,
        path: str,
        *,
        body: object = None,
        version: str | None = None,
        but: Collection[int] = _NONE,
    ) -> ServiceResponse:
        """Make one call.

        Args:
            service: its type in the catalogue.
            method: the HTTP method.
            path: below the service's endpoint, query included.
            body: sent as JSON.
            version: the microversion.
            but: error statuses that the caller takes as answers.

        Raises:
            Transient: no answer, or a temporary refusal. The call may have been carried out.
            Permanent: refused; nothing was done.
        """
        about = f"{self.id}: {method} {path.partition('?')[0]}"
        given = {"json": body, "microversion": version}
        answer = self._in_time(about, lambda: self._keystone.call(about, service, method, path, given))
        if answer.status in _REFUSING and answer.status not in but:
            if answer.status == _UNAUTHORISED:
                self._keystone.forget()
            raise refusal(answer, about)
        return answer

    def newest(self, service: str) -> tuple[int, int] | None:
        """Return the newest microversion of a service; ``None``: it has none.

        Raises:
            DriverError: as `ask`.
        """
        return self._version_of(service, "max_microversion")

    def offered(self, service: str) -> tuple[int, int] | None:
        """Return the newest version of a service without microversions.

        Raises:
            DriverError: as `ask`.
        """
        return self._version_of(service, "api_version")

    def _version_of(self, service: str, what: str) -> tuple[int, int] | None:
        about = f"{self.id}: versions of {service}"
        return self._in_time(about, lambda: self._keystone.version(about, service, what))

    def _in_time(self, about: str, call: Callable[[], T]) -> T:
        """Call within the deadline; a late call goes on in a thread of its own, and its answer is dropped."""
        ended: queue.SimpleQueue[T | DriverError] = queue.SimpleQueue()

        def called() -> None:
            try:
                ended.put(call())
            except DriverError as error:
                ended.put(error)

        threading.Thread(target=called, daemon=True, name=f"openstack {self.id}").start()
        try:
            answer = ended.get(timeout=self._within)
        except queue.Empty:
            raise Unanswered(f"{about} was not answered in time") from None
        if isinstance(answer, DriverError):
            raise answer
        return answer
