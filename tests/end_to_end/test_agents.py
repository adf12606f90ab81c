"""Members that are SNMP agents as Debian ships them: what they say sizes the fleet, what they do not say does not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until

OID = "1.3.6.1.4.1.8072.9999.1"

_CONFIG = """\
rocommunity public
pass_persist .{oid} /bin/sh {script}
"""
_SCRIPT = """\
while read -r asked; do
  case $asked in
    PING) echo PONG ;;
    get) read -r object; read -r value < {reading}; printf '%s\\ngauge\\n%s\\n' "$object" "$value" ;;
    getnext) read -r object; echo NONE ;;
  esac
done
"""
"""snmpd keeps what a plain ``pass`` program said for half a minute."""
_MODEL = """\
counters: {{load: {{snmp: {oid}.0, range: [0, 100]}}}}
conditions:
  busy: {{counter: load, above: 80}}
  idle: {{counter: load, below: 20}}
policies:
  out: {{when: [busy], add: 1, quiet_time: 0s}}
  in: {{when: [idle], remove: 1, quiet_time: 0s}}
clouds: {{local: {{process: {{}}}}}}
profiles:
  agent:
    cloud: local
    command:
      - sh
      - -c
      - 'exec snmpd -f -r -Lo -C -c {config} -I -smux --persistentDir=$TRIMTAB_STATE/$TRIMTAB_MEMBER
        udp:$TRIMTAB_ADDRESS:1161'
    env: {{MIBS: "", SNMPCONFPATH: {home}, PATH: "{path}"}}
    snmp: {{port: 1161}}
groups:
  web: {{profile: agent, min: 1, max: 3, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, policies: [out, in]}}
"""


class Agents:
    """A fleet of agents that all read one file."""

    def __init__(self, daemon: Daemon, reading: Path) -> None:
        self.daemon = daemon
        self._reading = reading

    def say(self, value: int) -> None:
        draft = self._reading.with_suffix(".new")
        draft.write_text(f"{value}\n")
        draft.replace(self._reading)

    def silence(self, *names: str) -> None:
        for name in names:
            os.kill(self.daemon.pids()[name], signal.SIGSTOP)

    def wake(self) -> None:
        for pid in self.daemon.pids().values():
            os.kill(pid, signal.SIGCONT)

    def condition(self, policy: str) -> dict[str, object]:
        """How a policy's one condition was judged at the last tick."""
        policies = (self.daemon.json("why", "web")["explanation"] or {"policies": []})["policies"]
        judged = {each["policy"]: each["conditions"][0] for each in policies}
        return judged.get(policy, {"truth": None, "heard": None})

    def tick(self, times: int) -> None:
        """Let some more decisions pass."""
        for _ in range(times):
            before = self.daemon.group()["decided_at"]
            until(lambda before=before: self.daemon.group()["decided_at"] != before, every=0.05)


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    config, script, reading = tmp_path / "snmpd.conf", tmp_path / "load.sh", tmp_path / "reading"
    config.write_text(_CONFIG.format(oid=OID, script=script))
    script.write_text(_SCRIPT.format(oid=OID, reading=reading))
    model = _MODEL.format(oid=OID, config=config, home=tmp_path, path=os.environ["PATH"])
    with a_daemon(model) as daemon:
        fleet = Agents(daemon, reading)
        fleet.say(50)
        daemon.start()
        yield fleet
        fleet.wake()


@pytest.mark.real("snmpd")
def test_the_fleet_follows_what_its_agents_say_and_never_their_silence(agents: Agents) -> None:
    daemon = agents.daemon
    daemon.settled(1)
    agents.say(95)
    daemon.settled(3)
    until(lambda: agents.condition("out")["heard"] == 3, every=0.05)

    agents.say(50)
    until(lambda: agents.condition("out")["truth"] == "false", every=0.05)
    first, *others = daemon.serving()

    agents.silence(first)  # one that does not answer might be the busy one
    agents.say(5)
    until(lambda: agents.condition("in")["heard"] == 2, every=0.05)
    agents.tick(3)
    assert agents.condition("in")["truth"] == "unknown"
    assert daemon.group()["desired"] == 3

    agents.silence(*others)
    until(lambda: agents.condition("in")["heard"] == 0, every=0.05)
    agents.tick(3)
    assert daemon.group()["reason"] == "blind"
    assert daemon.group()["desired"] == 3
    assert "0 of 3 members answered" in daemon.trimtab("why", "web").out
    unheard = {member["name"] for member in daemon.group()["members"] if member["unheard_since"] is not None}
    assert unheard == {first, *others} == set(daemon.serving())
    assert len(daemon.lines("unheard_began")) == 3

    agents.wake()
    daemon.settled(1)
    assert len(daemon.lines("unheard_ended")) == 3
