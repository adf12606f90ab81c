"""One real daemon for all tests that only talk to it; each test that changes something has a group to itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.support.daemon import COMMUNITY, Daemon, a_daemon

_GROUP = (
    "{profile: web, min: 1, max: 3, interval: 1m, warm_up: 0s, drain: 0s, grace: 1s, quiet_time: 0s, policies: [out]}"
)
_GROUPS = [f"group-{number}" for number in range(1, 25)]
_MODEL = """\
counters: {load: {snmp: 1.3.6.1.4.1.8072.9999.1.0, range: [0, 100]}}
conditions: {high: {counter: load, above: 80}}
policies: {out: {when: [high], add: 5, quiet_time: 1h}}
clouds: {local: {process: {}, budget: {outstanding: 50, per_hour: 500}}}
profiles: {web: {cloud: local, command: [sleep, "3600"], snmp: {port: 1, community: {env: COMMUNITY}}}}
groups:
""" + "".join(f"  {name}: {_GROUP}\n" for name in _GROUPS)


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    with a_daemon(_MODEL, {"COMMUNITY": COMMUNITY}) as daemon:
        yield daemon.start()


@pytest.fixture(scope="session")
def _groups() -> Iterator[str]:
    return itertools.chain(_GROUPS)


@pytest.fixture
def group(daemon: Daemon, _groups: Iterator[str]) -> str:
    """A group of its own, with one member in service."""
    name = next(_groups)
    daemon.settled(1, name)
    return name
