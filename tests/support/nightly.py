"""What `make nightly` adds: many new runs of properties, of which `make test` has the same few; and long tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

_VARIABLE = "TRIMTAB_NIGHTLY"
"""Runs of each; set by `make nightly`."""
nightly = pytest.mark.skipif(_VARIABLE not in os.environ, reason="takes long: make nightly runs it")


def runs(usual: int, *, steps: int) -> settings:
    """Settings of a machine of rules: ``usual`` runs of at most ``steps`` steps, the same everywhere, or a night's."""
    many = int(os.environ.get(_VARIABLE, "0"))
    return settings(
        max_examples=many or usual,
        stateful_step_count=steps,
        deadline=None,
        derandomize=not many,
        print_blob=bool(many),
        suppress_health_check=[HealthCheck.too_slow],
    )
