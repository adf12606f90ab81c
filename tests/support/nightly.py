"""How long properties are searched: the same few runs in `make test`, many new ones in `make nightly`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_VARIABLE = "TRIMTAB_NIGHTLY"
"""Runs of each; set by `make nightly`."""


def runs(usual: int, *, steps: int) -> settings:
    """Settings of a machine of rules: ``usual`` runs of at most ``steps`` steps, the same everywhere, or a night's."""
    nightly = int(os.environ.get(_VARIABLE, "0"))
    return settings(
        max_examples=nightly or usual,
        stateful_step_count=steps,
        deadline=None,
        derandomize=not nightly,
        print_blob=bool(nightly),
        suppress_health_check=[HealthCheck.too_slow],
    )
