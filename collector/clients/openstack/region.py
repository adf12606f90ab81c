"""What openstacksdk makes of the credentials of a project: for all who ask OpenStack anything.

Nothing is asked here, but files are read: it is for a thread. Redirections are not followed: they carry tokens
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from config.model.access import SecretRef
from config.model.openstack import ApplicationCredential, CloudsYaml, OpenstackAccess

if TYPE_CHECKING:
    from keystoneauth1.session import Session
    from openstack.config.cloud_region import CloudRegion

SENSELESS: Final = (TypeError, AttributeError, LookupError)
"""What the library raises where a file, or an answer, has another shape than it expects."""


def region_of(
    config: ModuleType,
    access: OpenstackAccess,
    read_secret: Callable[[SecretRef], str],
    begin: Callable[..., Session],
    **begun_with: object,
) -> CloudRegion:
    """Read ``clouds.yaml``, or take the application credential that is declared.

    Args:
        config: the module ``openstack.config``.
        access: which project.
        read_secret: reads the secret of an application credential; what it raises is passed on.
        begin: makes a session of the library's options for one.
        begun_with: more of these options.

    Raises:
        OSError, ValueError: a file cannot be read.
        Exception: what the library makes of wrong credentials, and `SENSELESS`.
    """

    def session(**options: Any) -> Session:  # noqa: ANN401 as it is in the library
        return begin(**{**options, **begun_with, "redirect": False, "timeout": access.timeout})

    kept: dict[str, Any] = {"session_constructor": session, "app_name": "trimtab", "load_envvars": False}
    named = {} if access.region is None else {"region_name": access.region}
    if isinstance(access.credentials, CloudsYaml):
        files = None if access.credentials.file is None else [access.credentials.file]
        held = config.OpenStackConfig(config_files=files, **kept)
        region: CloudRegion = held.get_one(cloud=access.credentials.cloud, **named)
    else:
        held = config.OpenStackConfig(load_yaml_config=False, **kept)
        region = held.get_one(**_credential(access.credentials, read_secret), **named)
    return region


def _credential(given: ApplicationCredential, read_secret: Callable[[SecretRef], str]) -> dict[str, Any]:
    return {
        "auth_type": "v3applicationcredential",
        "auth": {
            "auth_url": given.auth_url,
            "application_credential_id": given.id,
            "application_credential_secret": read_secret(given.secret),
        },
        "interface": given.interface.value,
        "verify": not given.trust.insecure,
        "cacert": given.trust.ca,
    }
