"""``trimtab member observe`` and ``converge`` against a real daemon with real processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, a_daemon

_MODEL = """\
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "3600"]}}
groups: {web: {profile: web, min: 1, max: 3, interval: 0.5s, drain: 0s, grace: 1s}}
"""


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with a_daemon(_MODEL) as daemon:
        daemon.start().settled(1, "web")
        yield daemon


def test_one_member_is_looked_at_and_converged_by_name(daemon: Daemon) -> None:
    (member,) = daemon.json("member", "list", "web")
    name = member["name"]
    text = daemon.trimtab("member", "observe", "web", name).out
    assert text.startswith(f"{name}: serving: it serves\nrecord: in service since 20")
    assert "\ncloud: running (" in text
    assert text.endswith("\nto do: nothing\n")
    seen = daemon.json("member", "observe", "web", name)
    assert (seen["member"], seen["role"], seen["record"]["phase"], seen["steps"]) == (name, "serving", "in_service", [])
    assert daemon.trimtab("member", "converge", "web", name).out == f"{name}: nothing to do\n"
    assert daemon.json("member", "converge", "web", name) == {"group": "web", "member": name, "done": []}
    missing = daemon.trimtab("member", "observe", "web", f"{name}0")
    assert (missing.code, f"did you mean {name}?" in missing.err) == (1, True)
