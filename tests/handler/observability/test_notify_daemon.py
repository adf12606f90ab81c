"""A real daemon, real processes, a real command that gets notices."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.units import GroupId
from handler.daemon.run import Running, running
from handler.orchestrators.process.children import reap
from handler.planning.status import GroupCondition
from tests.support.waiting import until

WEB = GroupId("web")
PAGE = "import sys\nopen(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))\n"
MEMBER = "#!{python}\nimport os, signal\nopen({pids!r}, 'a').write(f'{{os.getpid()}} ')\nsignal.pause()\n"
FILE = """\
notify: {{command: [{python}, {page}, {sent}]}}
clouds:
  local: {{process: {{}}}}
profiles:
  small: {{cloud: local, command: [{member}]}}
groups:
  web: {{profile: small, min: 1, max: 2, interval: 2s}}
"""


class Bench:
    """A declaration with a profile that names a program that does not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file, self.sent_file, self.member, self.pids = (
            path / name for name in ("trimtab.yaml", "sent", "member", "pids")
        )
        (path / "page.py").write_text(PAGE)
        self.file.write_text(
            FILE.format(python=sys.executable, page=path / "page.py", sent=self.sent_file, member=self.member)
        )

    def sent(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.sent_file.read_text().splitlines()] if self.sent_file.exists() else []

    def events(self) -> list[str]:
        return [sent["event"] for sent in self.sent()]

    def correct(self) -> None:
        draft = self.path / "draft"
        draft.write_text(MEMBER.format(python=sys.executable, pids=str(self.pids)))
        draft.chmod(0o700)
        draft.rename(self.member)

    async def run(self, *waits: Callable[[Running], bool]) -> Running:
        """Run a daemon until each of these has come true, in turn."""
        async with running(self.file, self.path / "state", port=0) as daemon:
            for wait in waits:
                await asyncio.to_thread(until, lambda wait=wait: wait(daemon))
        return daemon


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for pid in made.pids.read_text().split() if made.pids.exists() else ():
        os.kill(int(pid), signal.SIGKILL)
        until(lambda pid=pid: reap() is None and not Path(f"/proc/{pid}").exists())


def condition(daemon: Running) -> GroupCondition:
    return daemon.operations.group(WEB).condition


def test_trouble_of_a_real_group_gives_one_notice_across_a_restart_and_one_when_it_is_over(bench: Bench) -> None:
    asyncio.run(bench.run(lambda _: bench.events() == ["entered"]))
    (entered,) = bench.sent()
    assert (entered["group"], entered["severity"], entered["condition"]) == ("web", "error", "error")
    assert "not found" in entered["messages"][0]

    asyncio.run(bench.run(lambda daemon: condition(daemon) is GroupCondition.ERROR))
    bench.correct()

    def recorded(daemon: Running) -> bool:
        return 'trimtab_notices_total{kind="command",result="delivered"} 1.0' in daemon.operations.metrics().decode()

    daemon = asyncio.run(
        bench.run(
            lambda daemon: condition(daemon) is GroupCondition.RUNNING,
            lambda _: bench.events() == ["entered", "left"],
            recorded,
        )
    )
    assert [notice["outage"] for notice in bench.sent()] == [entered["outage"]] * 2
    assert 'trimtab_notices_total{kind="url",result="given_up"} 0.0' in daemon.operations.metrics().decode()
