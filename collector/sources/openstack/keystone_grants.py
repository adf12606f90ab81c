"""Tokens of Keystone, and where the services are that take them.

openstacksdk reads ``clouds.yaml`` and knows every way to say who asks. It blocks: it is for a thread.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import requests

from collector.clients.http.failures import HttpFailure, refused
from collector.clients.openstack.region import SENSELESS, region_of
from collector.samples import Reply
from config.errors import TrimtabError
from config.model.access import SecretRef, Trust
from config.model.openstack import OpenstackAccess

if TYPE_CHECKING:
    from openstack.config.cloud_region import CloudRegion

COMPUTE: Final = "compute"
METRIC: Final = "metric"
_VERSIONS: Final[Mapping[str, tuple[str, str]]] = {COMPUTE: ("2.1", "2.latest")}
"""Services whose address depends on the version."""
_REFUSING = frozenset({401, 403, 404})
ReadSecret = Callable[[SecretRef], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A token, and what it is good for."""

    token: str = field(repr=False)
    until: float
    """Seconds since the epoch, by Keystone's clock."""
    trust: Trust
    services: Mapping[str, str]
    """Type → address, without a slash at its end; of those that the catalogue has."""


def begun(access: OpenstackAccess, read_secret: ReadSecret) -> Grant | HttpFailure:
    """Get a token, and look up where the services are.

    The library's own words may hold requests: none of them is passed on.
    """
    try:
        library = _Library(
            config=importlib.import_module("openstack.config"),
            wrong=importlib.import_module("openstack.exceptions").ConfigException,
            session=importlib.import_module("keystoneauth1.session").Session,
            errors=importlib.import_module("keystoneauth1.exceptions"),
        )
    except ImportError:
        mend = "install the extra openstack of trimtab (pip install 'openstacksdk>=4.5')"
        return HttpFailure(reply=Reply.UNREACHABLE, said=f"the library openstacksdk is missing: {mend}")
    known = (library.errors.ClientException, library.wrong, requests.RequestException, OSError, ValueError)
    try:
        region = region_of(library.config, access, read_secret, library.session)
    except TrimtabError as error:
        return HttpFailure(reply=Reply.AUTH, said=str(error))
    except (*known, *SENSELESS) as error:
        return _failure(error, library)
    try:
        return _granted(region, library.errors)
    except known as error:
        return _failure(error, library)
    except SENSELESS:
        return HttpFailure(reply=Reply.MALFORMED, said="what answers there is no Keystone")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Library:
    """What is used of openstacksdk, and of keystoneauth below it."""

    config: ModuleType
    wrong: type[Exception]
    session: Callable[..., Any]
    errors: ModuleType


def _failure(error: Exception, library: _Library) -> HttpFailure:
    errors, kind = library.errors, type(error).__name__
    if isinstance(error, errors.HttpError):
        status = error.http_status if isinstance(error.http_status, int) else 0
        reply = Reply.AUTH if status in _REFUSING else refused(status).reply
        return HttpFailure(reply=reply, said=f"Keystone answers with HTTP {status}")
    if isinstance(error, (errors.MissingRequiredOptions, errors.NoMatchingPlugin, library.wrong)):
        return HttpFailure(reply=Reply.AUTH, said=f"the credentials cannot be used ({kind})")
    if isinstance(error, (errors.ClientException, requests.RequestException)):
        return HttpFailure(reply=Reply.UNREACHABLE, said=f"Keystone does not answer ({kind})")
    return HttpFailure(reply=Reply.AUTH, said=f"the credentials cannot be read ({kind})")


def _granted(region: CloudRegion, errors: ModuleType) -> Grant:
    session = region.get_session()
    auth: Any = session.auth
    held = auth.get_access(session)
    services = {service: _place(region, service, errors) for service in (COMPUTE, METRIC)}
    verify, _ = region.get_requests_verify_args()
    return Grant(
        token=held.auth_token,
        until=held.expires.timestamp(),
        trust=Trust(ca=verify if isinstance(verify, str) else None, insecure=verify is False),
        services={service: place for service, place in services.items() if place is not None},
    )


def _place(region: CloudRegion, service: str, errors: ModuleType) -> str | None:
    """Where a service is, without a slash at the end; ``None``: nowhere."""
    asked: dict[str, Any] = dict(zip(("min_version", "max_version"), _VERSIONS.get(service, ()), strict=False))
    try:
        place = region.get_endpoint(service) or region.get_session().get_endpoint(
            service_type=region.get_service_type(service),
            service_name=region.get_service_name(service),
            interface=region.get_interface(service),
            region_name=region.get_region_name(service),
            **asked,
        )
    except (errors.EndpointNotFound, errors.EmptyCatalog):
        return None
    return None if place is None else place.rstrip("/")
