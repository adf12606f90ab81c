"""Tests that meet a real program skip where it is missing, and say how to provide it."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import sys
import typing
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.support.costs import COSTLY, Costs, left_out_of_sample
from tests.support.real_clouds import NAMES, is_here

# A busy machine is no defect of the code under test. `make nightly` searches longer.
settings.register_profile("suite", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sample", settings.get_profile("suite"), max_examples=10)
settings.register_profile("nightly", settings.get_profile("suite"), max_examples=1000)
settings.load_profile("suite")

_PACKAGES = {
    "libvirtd": "libvirt-daemon libvirt-daemon-driver-qemu",
    "qemu-img": "qemu-utils",
    "qemu-system-x86_64": "qemu-system-x86",
    "virt-ssh-helper": "libvirt-daemon",
    "promtool": "prometheus",
    "postgres": "postgresql",
    "snmpwalk": "snmp",
}
"""Debian's package of a program, where it is called otherwise."""

_PLACES = ("/usr/sbin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)))
"""Where Debian keeps daemons; not on every account's path."""

# Typer makes the tree of all our commands anew at every call: five sixths of what a command costs in a test.
typer.testing._get_command = functools.cache(typer.testing._get_command)  # type: ignore[attr-defined]

# Before 3.12, Python gathers the names of a protocol anew at every isinstance(): a tenth of what a pass costs.
if hasattr(typing, "_get_protocol_attrs") and sys.version_info < (3, 12):
    typing._get_protocol_attrs = functools.cache(typing._get_protocol_attrs)

gc.disable()  # what collection makes lives as long as the worker: see pytest_collection_finish

os.environ["PATH"] += "".join(os.pathsep + place for place in _PLACES)

_TESTS = Path(__file__).parent
_PARTS = 8
"""Into so many parts the tests of one file are split at most: each part is one worker's."""


class _Parts(LoadScopeScheduling):
    """Spread the tests of a file over workers, unless they share what a fixture of the whole file starts.

    xdist's own ``loadgroup`` marks tests through a field of nodes that pytest 9.2 no longer has (xdist 3.8 does nothing
    there), and ``loadfile`` leaves one worker alone with the file that waits longest.
    """

    def _split_scope(self, nodeid: str) -> str:
        path, _, name = nodeid.partition("::")
        shared, together, _ = name.rpartition("[")[2].partition("@")  # `[shared@rest]`: what these share is made once
        part = shared if together else zlib.crc32(nodeid.encode()) % _PARTS
        return path if _shares(path) else f"{path}#{part}"


@functools.cache
def _shares(path: str) -> bool:
    return 'scope="module"' in (_TESTS.parent / path).read_text()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Parts:
    return _Parts(config, log)


_PROGRAMS = {"chromium", "daemon", "grafana", "haproxy", "postgresql", "prometheus", "rabbitmq", "snmpd"}
"""Modules of tests.support that start a program."""
_SUPPORT = re.compile(r"^from tests\.support(?:\.(\w+))? import ([\w, ]+)", re.MULTILINE)


@functools.cache
def _starts_programs(path: Path) -> bool:
    """Whether a file of tests starts a program, itself or through what it imports of `tests.support`."""
    text = path.read_text()
    used = {
        name.strip() for module, names in _SUPPORT.findall(text) for name in ([module] if module else names.split(","))
    }
    files = (_TESTS / "support" / f"{name}.py" for name in used)
    itself = path.parent.name != "support" and "subprocess" in text
    return itself or bool(used & _PROGRAMS) or any(file.exists() and _starts_programs(file) for file in files)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", action="store_true", help="of costly tests, try a sample: tests/support/costs.py")
    parser.addoption("--costs", action="store_true", help="measure each test, and list the costly ones anew")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--sample"):
        settings.load_profile("sample")
    if config.getoption("--costs"):
        config.pluginmanager.register(Costs(config))


def _leave_out_costly(config: pytest.Config, items: list[pytest.Item]) -> None:
    costly = frozenset(COSTLY.read_text(encoding="utf-8").splitlines())
    left_out = left_out_of_sample((item.nodeid for item in items), costly)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--sample"):
        _leave_out_costly(config, items)
    items.sort(
        key=lambda item: not _starts_programs(item.path)
    )  # what takes long begins first: no worker waits at the end
    for item in items:
        if _starts_programs(item.path) or item.get_closest_marker("real"):
            item.add_marker("program")
        for reason in _reasons_to_skip(item):
            item.add_marker(pytest.mark.skip(reason=reason))


def _reasons_to_skip(item: pytest.Item) -> Iterator[str]:
    for marker in item.iter_markers("bed"):
        (cloud,) = marker.args
        if not is_here(cloud):
            yield f"no real {NAMES[cloud]} is here: see make test-real in CONTRIBUTING.md"
    for program in {program: None for marker in item.iter_markers("real") for program in marker.args}:
        if shutil.which(program) is None:
            yield f"{program} is not here: apt-get install {_PACKAGES.get(program, program)}"


def pytest_collection_finish() -> None:
    """Look for cycles from now on, and never again in the modules and the 16,000 tests that are there by now."""
    gc.collect()
    gc.freeze()
    gc.enable()
