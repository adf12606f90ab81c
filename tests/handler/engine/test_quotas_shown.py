"""A daemon on a cloud without room for all members: its status, and that growth resumes by itself."""

from __future__ import annotations

import textwrap

import pytest

from tests.support.daemon import a_daemon
from tests.support.waiting import until

DECLARED = textwrap.dedent("""\
    clouds:
      lab: {simulated: {quota: 3, boot: 0s, call: 0s}}
    profiles:
      web: {cloud: lab}
    groups:
      web: {profile: web, min: 5, max: 9, interval: 1s}
    """)
WAITING = "waiting: 2 for quota (servers 3 of 3)"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_status_why_and_metrics_show_the_quota_until_it_is_lifted() -> None:
    with a_daemon(DECLARED) as daemon:
        daemon.start()
        until(lambda: WAITING in daemon.trimtab("status", "web").out, log=daemon.log)

        text = daemon.trimtab("status", "web").out
        assert "no room for 2 more: servers 3 of 3: raise the account's limit, or lower max" in text
        assert daemon.json("status", "web")["condition"] == "warning"
        assert daemon.trimtab("converge", "web", "--dry-run").out == f"{WAITING}\n"
        assert daemon.json("converge", "web", "--dry-run")["quota"] == "servers 3 of 3"
        assert "no capacity for more members: servers 3 of 3\n" in daemon.trimtab("why", "web").out
        assert 'trimtab_group_waits{group="web",wait="quota"} 2.0' in daemon.get("/metrics").text
        assert "servers 3 of 3" in daemon.get("/groups/web").text

        daemon.declare(DECLARED.replace("quota: 3", "quota: 9"))
        daemon.json("reload")
        daemon.settled(5)

        names = [event["name"] for event in reversed(daemon.json("history", "web"))]
        assert [name for name in names if name.startswith("quota")] == ["quota_reached", "quota_leaves_room"]
        failed = [event for event in daemon.json("history", "web") if event["result"] not in {"done", None}]
        assert failed == []
        assert "no room" not in daemon.trimtab("why", "web").out
