from __future__ import annotations

import pytest

from handler.orchestrators.openstack.parsing import GONE, STATES, nova_state
from handler.planning.world import ServerState

_OF_THE_GUIDE = {
    "ACTIVE", "BUILD", "DELETED", "ERROR", "HARD_REBOOT", "MIGRATING", "PASSWORD", "PAUSED", "REBOOT",
    "REBUILD", "RESCUE", "RESIZE", "REVERT_RESIZE", "SHELVED", "SHELVED_OFFLOADED",
    "SHUTOFF", "SOFT_DELETED", "SUSPENDED", "UNKNOWN", "VERIFY_RESIZE",
}  # fmt: skip


def test_every_status_of_the_compute_api_is_known() -> None:
    assert {*STATES, *GONE} == _OF_THE_GUIDE


@pytest.mark.parametrize("status", ["", "active", "A_LATER_ONE"])
def test_a_word_that_is_not_known_says_nothing(status: str) -> None:
    assert nova_state(status) is ServerState.UNKNOWN


@pytest.mark.parametrize("status", ["ACTIVE", "ERROR", "SHUTOFF", "A_LATER_ONE"])
def test_a_server_that_is_being_deleted_is_so_in_whatever_state(status: str) -> None:
    assert nova_state(status, "deleting") is ServerState.DELETING
