"""Tests that meet a real program skip where it is missing, and say how to provide it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.real_clouds import NAMES, is_here

# A busy machine is no defect of the code under test.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

_PACKAGES = {"promtool": "prometheus", "postgres": "postgresql"}
"""Debian's package of a program, where it is called otherwise."""

_PLACES = ("/usr/sbin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)))
"""Where Debian keeps daemons; not on everybody's path."""

os.environ["PATH"] += "".join(os.pathsep + place for place in _PLACES)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item.iter_markers("bed"):
            (cloud,) = marker.args
            if not is_here(cloud):
                reason = f"no real {NAMES[cloud]} is here: see make test-real in CONTRIBUTING.md"
                item.add_marker(pytest.mark.skip(reason=reason))
        for marker in item.iter_markers("real"):
            for program in marker.args:
                if shutil.which(program) is None:
                    package = _PACKAGES.get(program, program)
                    item.add_marker(pytest.mark.skip(reason=f"{program} is not here: apt-get install {package}"))
