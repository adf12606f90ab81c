from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from config import (
    cloudstack_document,
    made_rule_document,
    opennebula_document,
    openstack_document,
    resource_limit_document,
    simulation_document,
)
from handler.orchestrators import (
    cloudstack_answers,
    cloudstack_names,
    cloudstack_quotas,
    endings,
    fates,
    ledger,
    limits,
    machines,
    opennebula_answers,
    opennebula_quotas,
    opennebula_states,
    opennebula_wire,
    openstack_answers,
    openstack_quotas,
    said,
)


@pytest.mark.parametrize(
    "module",
    [
        cloudstack_answers,
        cloudstack_document,
        cloudstack_names,
        cloudstack_quotas,
        endings,
        fates,
        ledger,
        limits,
        machines,
        made_rule_document,
        opennebula_answers,
        opennebula_document,
        resource_limit_document,
        opennebula_quotas,
        opennebula_states,
        openstack_answers,
        openstack_document,
        openstack_quotas,
        opennebula_wire,
        said,
        simulation_document,
    ],
    ids=lambda module: module.__name__,
)
def test_what_docstrings_show_is_so(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)

    assert tried > 0
    assert failed == 0
