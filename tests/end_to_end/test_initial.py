"""`initial` of a group with real daemons: used once, by no reload, no restart, no second declaration, no lost store."""

from __future__ import annotations

from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until

MODEL = """\
clouds: {box: {simulated: {boot: {median: 50ms, p95: 80ms}, stop: 50ms}}}
profiles: {web: {cloud: box}}
groups:
  web: {profile: web, min: 0, max: 6, initial: 3, interval: 500ms, drain: 0s}
"""
SECOND = "  api: {profile: web, min: 1, max: 6, initial: 2, interval: 500ms, drain: 0s}\n"


def desired(daemon: Daemon, name: str) -> int:
    until(lambda: daemon.group(name).get("desired") is not None, process=daemon.process, log=daemon.log)
    return int(daemon.group(name)["desired"])


def test_a_new_group_begins_with_it_once() -> None:
    with a_daemon(MODEL) as daemon:
        daemon.start()
        daemon.settled(3)
        assert "first_listing" in {event["name"] for event in daemon.json("history", "web")}
        daemon.json("scale", "web", "0")
        daemon.settled(0)

        daemon.declare(MODEL.replace("initial: 3", "initial: 4") + SECOND)
        daemon.json("reload")
        daemon.settled(2, "api")
        assert desired(daemon, "web") == 0

        daemon.stop()
        daemon.start()
        assert (desired(daemon, "web"), desired(daemon, "api")) == (0, 2)

        daemon.declare(MODEL)
        daemon.json("reload")
        daemon.json("delete", "api", "--members")
        until(lambda: "error" in daemon.group("api"), process=daemon.process, log=daemon.log)
        daemon.declare(MODEL + SECOND)
        daemon.json("reload")
        assert desired(daemon, "api") == 1


def test_a_lost_store_takes_it_for_no_group() -> None:
    with a_daemon(MODEL + SECOND) as daemon:
        daemon.start()
        daemon.settled(3)
        daemon.settled(2, "api")
        daemon.json("scale", "web", "0")
        daemon.settled(0)
        daemon.stop()
        for path in daemon.state.glob("trimtab.sqlite*"):
            path.unlink()
        daemon.start()
        assert (desired(daemon, "web"), desired(daemon, "api")) == (0, 2)
