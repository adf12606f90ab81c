"""How roles of OneFlow services are written in YAML."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import PlainValidator

from config.document.declared import key, must
from config.document.opennebula import OpennebulaMachines
from config.document.scalars import BaseUrl, Text
from config.document.worded import worded

_ROLE = r"[A-Za-z0-9_]{1,128}"


def read_role(value: object) -> str:
    """Read the name of a role.

    Raises:
        ValueError: says what was expected.
    """
    if not isinstance(value, str) or not re.fullmatch(_ROLE, value):
        raise ValueError("the name of a role of OneFlow: letters, digits, underscores")
    return value


RoleName = Annotated[str, PlainValidator(read_role), worded("name of a role", type="string", pattern=f"^{_ROLE}$")]


class OneflowDocument(OpennebulaMachines):
    """Members are nodes of roles of OneFlow services that exist, of one user."""

    hidden: ClassVar[frozenset[str]] = frozenset({"endpoint", "rpc", "password"})

    endpoint: BaseUrl = must("The address of OneFlow's server.", "http://one.example.org:2474")
    rpc: BaseUrl = must("The address of OpenNebula's XML-RPC API.", "http://one.example.org:2633/RPC2")
    vm_name: Text = key(
        "How OneFlow's server names machines: vm_name_template of oneflow-server.conf.",
        "$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)",
        default="$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)",
    )
