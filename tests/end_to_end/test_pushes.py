"""Members that push their own load with curl: what they say sizes the fleet, that they have fallen silent does not."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until

_MEMBER = """\
while :; do
  read -r load < {reading}
  curl -s -o /dev/null -H "Authorization: Bearer $TRIMTAB_PUSH_TOKEN" -d "LOAD=$load" "$TRIMTAB_PUSH_URL"
  sleep 0.2
done
"""
_MODEL = """\
counters:
  load: {{push: LOAD, range: [0, 100]}}
  orders: {{push: ORDERS_PENDING, per: group}}
conditions:
  busy: {{counter: load, above: 80}}
  idle: {{counter: load, below: 20}}
  full: {{counter: orders, above: 100}}
policies:
  out: {{when: [busy], add: 1, quiet_time: 0s}}
  in: {{when: [idle], remove: 1, quiet_time: 0s}}
  more: {{when: [full], add: 2, quiet_time: 1h}}
clouds: {{local: {{process: {{}}}}}}
profiles: {{pusher: {{cloud: local, command: [sh, "{script}"]}}}}
groups:
  web: {{profile: pusher, min: 1, max: 3, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, policies: [out, in]}}
  shop: {{profile: pusher, min: 0, max: 3, interval: 0.5s, policies: [more]}}
"""


def condition(daemon: Daemon, policy: str) -> dict[str, object]:
    """How a policy's one condition was judged at the last tick."""
    policies = (daemon.json("why", "web")["explanation"] or {"policies": []})["policies"]
    judged = {each["policy"]: each["conditions"][0] for each in policies}
    return judged.get(policy, {"truth": None, "heard": None})


@pytest.mark.real("curl")
def test_the_fleet_follows_what_its_members_push_and_never_their_silence(tmp_path: Path) -> None:
    reading, script = tmp_path / "reading", tmp_path / "member.sh"
    script.write_text(_MEMBER.format(reading=reading))

    def say(load: int) -> None:
        draft = reading.with_suffix(".new")
        draft.write_text(f"{load}\n")
        draft.replace(reading)

    say(50)
    with a_daemon(_MODEL.format(script=script)) as daemon:
        daemon.start()
        daemon.settled(1)
        say(95)
        daemon.settled(3)
        until(lambda: condition(daemon, "out")["heard"] == 3, every=0.05)

        say(50)
        until(lambda: condition(daemon, "out")["truth"] == "false", every=0.05)
        first = daemon.serving()[0]
        os.killpg(daemon.pids()[first], signal.SIGSTOP)
        say(5)
        until(lambda: condition(daemon, "in")["heard"] == 2, every=0.05)
        for _ in range(3):
            before = daemon.group()["decided_at"]
            until(lambda before=before: daemon.group()["decided_at"] != before, every=0.05)
        assert condition(daemon, "in")["truth"] == "unknown"
        assert daemon.group()["desired"] == 3
        assert "no new value has been pushed under LOAD for more than" in daemon.trimtab("why", "web").out

        os.killpg(daemon.pids()[first], signal.SIGCONT)
        daemon.settled(1)
        assert stat.S_IMODE((daemon.state / "member-keys").stat().st_mode) == 0o600
        assert daemon.lines("push_refused") == []


@pytest.mark.real("curl")
def test_an_application_pushes_for_its_group(tmp_path: Path) -> None:
    script = tmp_path / "member.sh"
    script.write_text("exec sleep 600\n")
    with a_daemon(_MODEL.format(script=script)) as daemon:
        daemon.start()
        made = daemon.json("hook", "new", "shop", "--push", "shop")
        assert daemon.json("hook", "list")[0]["push"] is True
        assert "pushed values" in daemon.trimtab("hook", "list").out
        pushed = subprocess.run(
            ["curl", "-s", "-H", f"Authorization: Bearer {made['token']}", "-d", "ORDERS_PENDING=512",
             f"http://127.0.0.1:{daemon.port}{made['path']}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert pushed.stdout == '{"taken": 1}'
        daemon.settled(2, "shop")
        daemon.trimtab("hook", "rotate-members")
        daemon.trimtab("hook", "rotate-members", "--finish")
        kept = (daemon.state / "member-keys").read_text().split()
        assert len(kept) == 1
        assert made["token"] not in daemon.log.read_text()
