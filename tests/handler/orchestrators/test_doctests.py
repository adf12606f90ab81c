from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from collector.clients import said
from config.document import cloudstack as cloudstack_document
from config.document import made_rule as made_rule_document
from config.document import opennebula as opennebula_document
from config.document import openstack as openstack_document
from config.document import resource_limits as resource_limit_document
from config.document import simulation as simulation_document
from handler.orchestrators.cloudstack import answers as cloudstack_answers
from handler.orchestrators.cloudstack import names as cloudstack_names
from handler.orchestrators.cloudstack import quotas as cloudstack_quotas
from handler.orchestrators.opennebula import answers as opennebula_answers
from handler.orchestrators.opennebula import quotas as opennebula_quotas
from handler.orchestrators.opennebula import states as opennebula_states
from handler.orchestrators.opennebula import wire as opennebula_wire
from handler.orchestrators.openstack import answers as openstack_answers
from handler.orchestrators.openstack import quotas as openstack_quotas
from handler.orchestrators.process import limits
from handler.orchestrators.simulated import fates, ledger, machines
from handler.ports import endings


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
