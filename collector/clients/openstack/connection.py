"""Calls to one project of OpenStack, each within one deadline, over openstacksdk.

openstacksdk reads ``clouds.yaml``, finds endpoints in Keystone's catalogue and renews tokens; requests and answers are
those of the services' own APIs. A token that the other side refuses is renewed by the session, in flight.

Note [Renewed by another]: of several calls whose token is refused, a session of keystoneauth renews it for the first,
and hands the refusal to those who find the old one thrown away already. They ask once more, with the new one.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import requests

from collector.clients.circuits import Circuits
from collector.clients.http.http_errors import why
from collector.clients.http.pool import Pool, retry_after
from collector.clients.openstack.parsing import ServiceResponse, reason, refusal, shown
from collector.clients.openstack.region import SENSELESS, region_of
from collector.clients.optional_imports import library
from config.causes import READABLE, FailureCause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.openstack import ApplicationCredential, CloudsYaml, OpenstackAccess
from config.units import CloudId

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter
    from keystoneauth1.session import Session
    from openstack.config.cloud_region import CloudRegion

COMPUTE: Final = "compute"
IMAGE: Final = "image"
NETWORK: Final = "network"
LOAD_BALANCER: Final = "load-balancer"
BLOCK_STORAGE: Final = "block-storage"
_MAJOR = {COMPUTE: "2.1", IMAGE: "2", NETWORK: "2", LOAD_BALANCER: "2", BLOCK_STORAGE: "3"}
_NOBODY: Final = frozenset[int]()
_UNAUTHORISED = 401
_NOT_FOUND = 404
_REFUSING = range(400, 600)
_UNKNOWN = "could not find application credential"
_UNKNOWN_HERE = "Keystone knows no application credential of this id: it is another cloud's, or was deleted"
_CREATE = "create one with `openstack application credential create trimtab`, and write its id and secret into the file"
_THERE = "correct the region, or ask whoever runs the cloud for the service"


class NoService(Permanent):
    """The catalogue has no such service, now."""


class OpenstackConnection:
    """Asks services, and says what became of it in the two words of a driver. Nothing is asked before the first call.

    Args:
        id: begins every message.
        access: which project, and how long a call may take.
        read_secret: reads the secret whenever a session begins.
        circuits: those of all endpoints. Keystone's is one of them, and each service's.
    """

    def __init__(
        self,
        id: CloudId,
        access: OpenstackAccess,
        read_secret: Callable[[SecretRef], str],
        circuits: Circuits | None = None,
    ) -> None:
        self.id = id
        self._access = access
        self._read_secret = read_secret
        self._circuits = circuits
        self._lock = threading.Lock()
        self._services: dict[str, Adapter] = {}
        self._session: Session | None = None
        self._region: CloudRegion | None = None

    def ask(
        self,
        service: str,
        method: str,
        path: str,
        *,
        body: object = None,
        version: str | None = None,
        but: Collection[int] = _NOBODY,
    ) -> ServiceResponse:
        """Make one call.

        Args:
            service: its type in the catalogue.
            method: of HTTP.
            path: below the service's endpoint, query included.
            body: sent as JSON.
            version: the microversion.
            but: statuses that are answers, though they are refusals.

        Raises:
            Transient: no answer, or a refusal that passes. The call may have been obeyed.
            Permanent: refused; nothing was done.
        """
        about = f"{self.id}: {method} {path.partition('?')[0]}"
        given = {"json": body, "microversion": version}
        answer = self._in_time(about, lambda: self._tried(service, method, path, about, given))
        if answer.status in _REFUSING and answer.status not in but:
            if answer.status == _UNAUTHORISED:
                self._forget()
            raise refusal(answer, about)
        return answer

    def newest(self, service: str) -> tuple[int, int] | None:
        """The newest microversion that a service speaks; ``None``: it has none.

        Raises:
            DriverError: as `ask`.
        """
        return self._told(service, "max_microversion")

    def offered(self, service: str) -> tuple[int, int] | None:
        """The newest version that a service offers, of those without microversions.

        Raises:
            DriverError: as `ask`.
        """
        return self._told(service, "api_version")

    def _told(self, service: str, what: str) -> tuple[int, int] | None:
        found: list[tuple[int, int] | None] = []
        about = f"{self.id}: versions of {service}"

        def asked() -> ServiceResponse | DriverError:
            return self._guarded(about, lambda: found.append(self._version(service, what)))

        self._in_time(about, asked)
        return found[0]

    # In time

    def _in_time(self, about: str, call: Callable[[], ServiceResponse | DriverError]) -> ServiceResponse:
        """Call, and wait for it no longer than it may take; it goes on in a thread of its own and is forgotten."""
        ended: queue.SimpleQueue[ServiceResponse | DriverError] = queue.SimpleQueue()
        threading.Thread(target=lambda: ended.put(call()), daemon=True, name=f"openstack {self.id}").start()
        try:
            answer = ended.get(timeout=self._access.timeout)
        except queue.Empty:
            raise Transient(f"{about} was not answered in time") from None
        if isinstance(answer, DriverError):
            raise answer
        return answer

    def _tried(
        self, service: str, method: str, path: str, about: str, given: Mapping[str, Any]
    ) -> ServiceResponse | DriverError:
        answers: list[ServiceResponse] = []

        def called() -> None:
            adapter = self._service(service)
            response = adapter.request(path, method, raise_exc=False, **given)
            if response.status_code == _UNAUTHORISED:  # Note [Renewed by another]
                response = adapter.request(path, method, raise_exc=False, **given)
            answers.append(_answer(response))

        failed = self._guarded(about, called)
        return answers[0] if answers else failed

    def _guarded(self, about: str, call: Callable[[], None]) -> ServiceResponse | DriverError:
        """Call, and say in our words what the library raises. Its own words may hold requests: none is passed on."""
        try:
            return self._translated(about, call)
        except DriverError as error:
            return error

    def _translated(self, about: str, call: Callable[[], None]) -> ServiceResponse:
        sdk, keystone = self._library("openstack.exceptions"), self._library("keystoneauth1.exceptions")
        try:
            call()
        except keystone.HttpError as error:
            self._forget()
            raise self._unwelcome(about, error) from None
        except (keystone.EndpointNotFound, keystone.EmptyCatalog) as error:
            self._forget()
            what = "the catalogue of Keystone has no such service in this region, or not for this project"
            raise NoService(
                f"{about}: {what} ({type(error).__name__})", cause=FailureCause.SERVICE, mend=_THERE
            ) from None
        except (keystone.MissingRequiredOptions, keystone.NoMatchingPlugin, sdk.ConfigException) as error:
            where = self._looked_in() if isinstance(error, sdk.ConfigException) else ""
            said = f"{self.id}: the credentials cannot be used: {shown(str(error)).removesuffix('.')}{where}"
            raise Permanent(said, cause=FailureCause.CREDENTIALS) from None
        except (keystone.ClientException, sdk.SDKException, requests.RequestException) as error:
            raise Transient(f"{about} was not answered: {why(error)}") from None
        return ServiceResponse(status=200, body=None)

    def _unwelcome(self, about: str, error: Any) -> DriverError:  # noqa: ANN401 the library is not imported above
        """What Keystone itself refuses: it raises, where services answer."""
        response = getattr(error, "response", None)
        wish = None if response is None else retry_after(response)
        said = None if response is None else _decoded(response)
        status = error.http_status if isinstance(error.http_status, int) else 0
        body = {"message": reason(said) or "Keystone gives no reason"}
        if status == _NOT_FOUND and _UNKNOWN in reason(said).lower():
            return Permanent(f"{self.id}: {_UNKNOWN_HERE}", cause=FailureCause.CREDENTIALS, mend=_CREATE)
        return refusal(ServiceResponse(status=status, body=body, retry_after=wish), about)

    # Sessions

    def _service(self, service: str) -> Adapter:
        with self._lock:
            adapter = self._services.get(service)
            if adapter is None:
                adapter = self._services[service] = self._adapter(service, *self._begun())
        return adapter

    def _adapter(self, service: str, region: CloudRegion, session: Session) -> Adapter:
        adapter: Adapter = self._library("keystoneauth1.adapter").Adapter(
            session=session,
            service_type=region.get_service_type(service),
            service_name=region.get_service_name(service),
            interface=region.get_interface(service),
            region_name=region.get_region_name(service),
            endpoint_override=region.get_endpoint(service),
            min_version=_MAJOR[service],
            max_version=f"{_MAJOR[service][0]}.latest",
        )
        return adapter

    def _version(self, service: str, what: str) -> tuple[int, int] | None:
        told = getattr(self._service(service).get_endpoint_data(), what, None)
        return None if told is None else (int(told[0]), int(told[1]))

    def _begun(self) -> tuple[CloudRegion, Session]:
        if self._region is None or self._session is None:
            self._region = self._declared()
            self._session = self._region.get_session()
        return self._region, self._session

    def _forget(self) -> None:
        """Begin anew next time: secrets and ``clouds.yaml`` may have changed."""
        with self._lock:
            self._services.clear()
            self._session = self._region = None

    def _declared(self) -> CloudRegion:
        """What openstacksdk makes of the credentials.

        Raises:
            Permanent: they cannot be read.
        """
        config = self._library("openstack.config")
        begin = self._library("keystoneauth1.session").Session
        pool = Pool(self._access.timeout, circuits=self._circuits)
        try:
            return region_of(config, self._access, self._secret, begin, session=pool)
        except (OSError, ValueError, *SENSELESS) as error:
            said = f"{self.id}: clouds.yaml cannot be read: {type(error).__name__}"
            raise Permanent(said, cause=FailureCause.CREDENTIALS) from None

    def _looked_in(self) -> str:
        """Where `clouds.yaml` was looked for, since it is found in silence."""
        match self._access.credentials:
            case CloudsYaml(file=None):
                return ", in the clouds.yaml of this directory, of ~/.config/openstack or of /etc/openstack"
            case CloudsYaml(file=file):
                return f", in {file}"
            case ApplicationCredential():
                return ""

    def _secret(self, ref: SecretRef) -> str:
        try:
            return self._read_secret(ref)
        except (TrimtabError, OSError) as error:
            raise Permanent(f"{self.id}: {error}", cause=FailureCause.CREDENTIALS, mend=READABLE) from None

    def _library(self, name: str) -> ModuleType:
        return library(name, of=self.id, extra="openstack", needs="openstacksdk>=4.5")


def _answer(response: requests.Response) -> ServiceResponse:
    return ServiceResponse(
        status=response.status_code,
        body=_decoded(response),
        retry_after=retry_after(response),
        date=response.headers.get("Date"),
    )


def _decoded(response: requests.Response) -> object:
    try:
        decoded: object = response.json()
    except (ValueError, RecursionError):
        return None
    return decoded
