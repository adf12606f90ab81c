"""Every driver of a cloud: what runs over each of them takes them from here."""

from __future__ import annotations

import pytest

from tests.support import libvirt_trials, oneflow_trials, openstack_trials, trials
from tests.support.oneflow_stage import old_oneflow_stage

COLUMNS = (*trials.COLUMNS, openstack_trials.COLUMN, oneflow_trials.COLUMN, libvirt_trials.COLUMN)
STAGES = [
    *(pytest.param(column.stage, id=column.name, marks=column.marks) for column in COLUMNS),
    pytest.param(old_oneflow_stage, id="oneflow-6.10"),
]
"""For fixtures, which take a stage."""
