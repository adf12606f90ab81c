"""One project's session of keystoneauth: tokens, and the catalogue of services.

keystoneauth gets and renews tokens, and finds services; openstacksdk reads ``clouds.yaml`` for it. Its HTTP goes over a
`Pool`: bounded answers, circuits, nothing from the environment. It blocks and reads files: call it in a thread.
Redirects are not followed: they carry tokens elsewhere.

Note [Renewed by another]: if several calls find their token refused, a session of keystoneauth renews it for the first,
and returns the refusal to those that find the old token discarded already. They ask once more, with the new token.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import requests

from collector.clients.http.http_errors import not_answered
from collector.clients.http.pool import Pool, retry_after
from collector.clients.openstack.parsing import ServiceResponse, reason, refusal, shown
from collector.clients.optional_imports import library
from config.causes import READABLE, FailureCause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef, Trust
from config.model.openstack import ApplicationCredential, CloudsYaml, OpenstackAccess
from config.units import Seconds

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter
    from keystoneauth1.session import Session
    from openstack.config.cloud_region import CloudRegion

T = TypeVar("T")
ReadSecret = Callable[[SecretRef], str]

COMPUTE: Final = "compute"
IMAGE: Final = "image"
NETWORK: Final = "network"
LOAD_BALANCER: Final = "load-balancer"
BLOCK_STORAGE: Final = "block-storage"
METRIC: Final = "metric"
_MAJOR = {COMPUTE: "2.1", IMAGE: "2", NETWORK: "2", LOAD_BALANCER: "2", BLOCK_STORAGE: "3"}
"""Services whose address depends on the version."""
_BEFORE_ITS_END: Seconds = 60.0
_UNAUTHORISED, _NOT_FOUND, _TOO_MANY = 401, 404, 429
_UNKNOWN = "could not find application credential"
_UNKNOWN_HERE = "Keystone has no application credential with this id: it belongs to another cloud, or was deleted"
_CREATE = "create one with `openstack application credential create trimtab`, and write its id and secret into the file"
_THERE = "correct the region, or ask the cloud's operator for the service"
_SENSELESS: Final = (TypeError, AttributeError, LookupError, ValueError)
"""Exceptions of the libraries if a file or an answer has an unexpected shape."""


class NoService(Permanent):
    """Keystone's catalogue has no such service at present."""


class Limited(Transient):
    """Keystone asks for fewer calls."""


class Senseless(Transient):
    """The endpoint is not a Keystone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A token and the services that it opens."""

    token: str = field(repr=False)
    ends_soon: Callable[[], bool] = field(repr=False)
    """Whether less than a minute of its life is left, by keystoneauth."""
    trust: Trust
    services: Mapping[str, str]
    """Type → address without a final slash, for services in the catalogue."""


class KeystoneSession:
    """A session that begins at its first use, and again after `forget`; for any thread.

    Args:
        about: begins messages that are about the credentials, such as ``prod: ``.
        access: the project.
        read_secret: reads the secret when a session begins.
        pool: makes the HTTP pool.
    """

    def __init__(self, about: str, access: OpenstackAccess, read_secret: ReadSecret, pool: Callable[[], Pool]) -> None:
        self._about, self._access, self._read_secret, self._pool = about, access, read_secret, pool
        self._lock = threading.Lock()
        self._services: dict[str, Adapter] = {}
        self._begun: tuple[CloudRegion, Session] | None = None

    def grant(self, services: Collection[str]) -> Grant:
        """Get a token for a caller that sends its own requests, with these services' addresses.

        Raises:
            DriverError: as `call`.
        """
        return self._translated(f"{self._about}POST /auth/tokens", lambda: self._granted(services))

    def call(self, about: str, service: str, method: str, path: str, given: Mapping[str, Any]) -> ServiceResponse:
        """Make one call to a service, by its type in the catalogue; a refusal of the service is an answer.

        Args:
            about: begins messages.
            service: its type in the catalogue.
            method: the HTTP method.
            path: below the service's endpoint, query included.
            given: further arguments of keystoneauth's adapter.

        Raises:
            Transient: no answer, an invalid one, or a temporary refusal of Keystone.
            Permanent: Keystone refuses, the credentials cannot be used, or the catalogue lacks the service.
        """
        return self._translated(about, lambda: self._called(service, method, path, given))

    def version(self, about: str, service: str, what: str) -> tuple[int, int] | None:
        """Return a version that a service announces as ``what``; ``None``: it announces none. Raises as `call`."""

        def announced() -> tuple[int, int] | None:
            found = getattr(self._service(service).get_endpoint_data(), what, None)
            return None if found is None else (int(found[0]), int(found[1]))

        return self._translated(about, announced)

    def _called(self, service: str, method: str, path: str, given: Mapping[str, Any]) -> ServiceResponse:
        adapter = self._service(service)
        response = adapter.request(path, method, raise_exc=False, **given)
        if response.status_code == _UNAUTHORISED:  # Note [Renewed by another]
            response = adapter.request(path, method, raise_exc=False, **given)
        return ServiceResponse(
            status=response.status_code,
            body=_decoded(response),
            retry_after=retry_after(response),
            date=response.headers.get("Date"),
        )

    def _service(self, service: str) -> Adapter:
        """Return the adapter that calls a service; for `_translated`."""
        with self._lock:
            adapter = self._services.get(service)
            if adapter is None:
                adapter = self._services[service] = self._adapter(service, *self._open())
        return adapter

    def forget(self) -> None:
        """Begin a new session at the next call: secrets and ``clouds.yaml`` may have changed."""
        with self._lock:
            self._services.clear()
            self._begun = None

    def _translated(self, about: str, call: Callable[[], T]) -> T:
        """Call, and translate the libraries' exceptions; their own texts may hold requests and are not passed on."""
        sdk, keystone = self._library("openstack.exceptions"), self._library("keystoneauth1.exceptions")
        try:
            return call()
        except keystone.HttpError as error:
            self.forget()
            raise self._unwelcome(about, error) from None
        except (keystone.EndpointNotFound, keystone.EmptyCatalog) as error:
            self.forget()
            what = "Keystone's catalogue has no such service in this region, or not for this project"
            raise NoService(
                f"{about}: {what} ({type(error).__name__})", cause=FailureCause.SERVICE, remedy=_THERE
            ) from None
        except (keystone.MissingRequiredOptions, keystone.NoMatchingPlugin, sdk.ConfigException) as error:
            where = self._looked_in() if isinstance(error, sdk.ConfigException) else ""
            message = f"{self._about}the credentials cannot be used: {shown(str(error)).removesuffix('.')}{where}"
            raise Permanent(message, cause=FailureCause.CREDENTIALS) from None
        except (keystone.ClientException, sdk.SDKException, requests.RequestException) as error:
            raise not_answered(f"{about} was not answered", error) from None
        except _SENSELESS as error:
            raise Senseless(f"{about}: the answer cannot be read ({type(error).__name__})") from None

    def _unwelcome(self, about: str, error: Any) -> DriverError:  # noqa: ANN401 the library is not imported above
        """Translate a refusal of Keystone, which the library raises; those of services are answers."""
        response = getattr(error, "response", None)
        wait = None if response is None else retry_after(response)
        document = None if response is None else _decoded(response)
        status = error.http_status if isinstance(error.http_status, int) else 0
        body = {"message": reason(document) or "Keystone gives no reason"}
        if status == _NOT_FOUND and _UNKNOWN in reason(document).lower():
            return Permanent(f"{self._about}{_UNKNOWN_HERE}", cause=FailureCause.CREDENTIALS, remedy=_CREATE)
        refused = refusal(ServiceResponse(status=status, body=body, retry_after=wait), about)
        return Limited(str(refused), retry_after=wait) if status == _TOO_MANY else refused

    def _granted(self, services: Collection[str]) -> Grant:
        with self._lock:
            region, session = self._open()
        auth: Any = session.auth
        held = auth.get_access(session)
        places = {service: self._place(service) for service in services}
        verify, _ = region.get_requests_verify_args()
        return Grant(
            token=held.auth_token,
            ends_soon=lambda: bool(held.will_expire_soon(_BEFORE_ITS_END)),
            trust=Trust(ca=verify if isinstance(verify, str) else None, insecure=verify is False),
            services={service: place.rstrip("/") for service, place in places.items() if place is not None},
        )

    def _place(self, service: str) -> str | None:
        """Return a service's address; ``None``: the catalogue lacks it."""
        errors = self._library("keystoneauth1.exceptions")
        try:
            place: str | None = self._service(service).get_endpoint()
        except (errors.EndpointNotFound, errors.EmptyCatalog):
            return None
        return place

    def _adapter(self, service: str, region: CloudRegion, session: Session) -> Adapter:
        major = _MAJOR.get(service)
        adapter: Adapter = self._library("keystoneauth1.adapter").Adapter(
            session=session,
            service_type=region.get_service_type(service),
            service_name=region.get_service_name(service),
            interface=region.get_interface(service),
            region_name=region.get_region_name(service),
            endpoint_override=region.get_endpoint(service),
            min_version=major,
            max_version=None if major is None else f"{major[0]}.latest",
        )
        return adapter

    def _open(self) -> tuple[CloudRegion, Session]:
        if self._begun is None:
            region = self._declared()
            self._begun = region, region.get_session()
        return self._begun

    def _declared(self) -> CloudRegion:
        """Return openstacksdk's view of ``clouds.yaml``, or of the declared application credential.

        Raises:
            Permanent: the credentials cannot be read.
        """
        pool, access = self._pool(), self._access
        begin = self._library("keystoneauth1.session").Session

        def session(**options: Any) -> Session:  # noqa: ANN401 as it is in the library
            begun: Session = begin(**{**options, "session": pool, "redirect": False, "timeout": access.timeout})
            return begun

        kept: dict[str, Any] = {"session_constructor": session, "app_name": "trimtab", "load_envvars": False}
        named = {} if access.region is None else {"region_name": access.region}
        read = self._library("openstack.config").OpenStackConfig
        try:
            if isinstance(access.credentials, CloudsYaml):
                files = None if access.credentials.file is None else [access.credentials.file]
                region: CloudRegion = read(config_files=files, **kept).get_one(cloud=access.credentials.cloud, **named)
            else:
                held = read(load_yaml_config=False, **kept)
                region = held.get_one(**self._credential(access.credentials), **named)
        except (OSError, *_SENSELESS) as error:
            message = f"{self._about}clouds.yaml cannot be read: {type(error).__name__}"
            raise Permanent(message, cause=FailureCause.CREDENTIALS) from None
        return region

    def _credential(self, given: ApplicationCredential) -> dict[str, Any]:
        return {
            "auth_type": "v3applicationcredential",
            "auth": {
                "auth_url": given.auth_url,
                "application_credential_id": given.id,
                "application_credential_secret": self._secret(given.secret),
            },
            "interface": given.interface.value,
            "verify": not given.trust.insecure,
            "cacert": given.trust.ca,
        }

    def _looked_in(self) -> str:
        """Say where openstacksdk looks for `clouds.yaml`: it does not report the file that it uses."""
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
            raise Permanent(f"{self._about}{error}", cause=FailureCause.CREDENTIALS, remedy=READABLE) from None

    def _library(self, name: str) -> ModuleType:
        return library(name, of=self._about.removesuffix(": "), extra="openstack", needs="openstacksdk>=4.5")


def _decoded(response: requests.Response) -> object:
    """Return the answer's JSON; ``None``: it is not JSON."""
    try:
        read: object = response.json()
    except (ValueError, RecursionError):
        return None
    return read
