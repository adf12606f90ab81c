"""Which real clouds there are to test on. Only this module decides that; tests say ``@pytest.mark.bed("openstack")``.

``TRIMTAB_REAL_OPENSTACK`` names a cloud of ``clouds.yaml``, ``TRIMTAB_REAL_OPENNEBULA`` the ``bed.json`` of an
OpenNebula, which says whether there is a OneFlow beside it, ``TRIMTAB_REAL_VAULT`` and ``TRIMTAB_REAL_VAULT_TOKEN`` the
address and the root token of a Vault or OpenBao for tests (``bao server -dev``). ``TRIMTAB_REAL_CMK`` is the path of
cloudmonkey, CloudStack's client for the command line, ``TRIMTAB_REAL_OSLO`` that of a Python that has oslo.messaging.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

OPENSTACK = os.environ.get("TRIMTAB_REAL_OPENSTACK", "")
OPENNEBULA = os.environ.get("TRIMTAB_REAL_OPENNEBULA", "")
VAULT = os.environ.get("TRIMTAB_REAL_VAULT", "")
VAULT_TOKEN = os.environ.get("TRIMTAB_REAL_VAULT_TOKEN", "")
OSLO = os.environ.get("TRIMTAB_REAL_OSLO", "")
CMK = os.environ.get("TRIMTAB_REAL_CMK", "")
NAMES = {
    "openstack": "OpenStack", "opennebula": "OpenNebula", "oneflow": "OneFlow", "vault": "Vault", "cmk": "cloudmonkey",
    "oslo": "oslo.messaging",
}  # fmt: skip


def is_here(cloud: str) -> bool:
    """Whether there is such a cloud to test on."""
    if cloud == "openstack":
        return bool(OPENSTACK)
    if cloud == "oslo":
        return bool(OSLO)
    if cloud == "cmk":
        return bool(CMK)
    if cloud == "vault":
        return bool(VAULT and VAULT_TOKEN)
    if cloud == "opennebula" or not OPENNEBULA:
        return bool(OPENNEBULA)
    return cloud in json.loads(Path(OPENNEBULA).read_text())


def stages(cloud: str, stage: object) -> list[ParameterSet]:
    """Return the case of a real cloud for the contracts' tables, if there is one."""
    if not is_here(cloud):
        return []
    return [pytest.param(stage, id=f"{cloud}-bed", marks=pytest.mark.bed(cloud))]
