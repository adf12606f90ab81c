"""The commands against a real daemon with real processes."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from handler.cli.roll_tables import rolling_lines
from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until

_MODEL = """\
clouds: {{local: {{process: {{}}}}}}
profiles: {{web: {{cloud: local, command: [sleep, "{seconds}"]}}}}
groups: {{web: {{profile: web, min: 2, max: 3, interval: 0.5s, drain: 0s, grace: 1s}}}}
"""


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with a_daemon(_MODEL.format(seconds=3600)) as daemon:
        daemon.start().settled(2, "web")
        yield daemon


def names(daemon: Daemon) -> set[str]:
    return {member["name"] for member in daemon.json("member", "list", "web")}


def test_a_profile_is_rolled_out_and_back_and_a_kill_in_between_costs_nothing(daemon: Daemon) -> None:
    until(lambda: daemon.json("definitions", "web")[0]["converged_at"] is not None)
    before = names(daemon)
    daemon.file.write_text(_MODEL.format(seconds=7200))
    assert daemon.trimtab("reload").out.splitlines()[0] == "changed web"
    assert "2 members were made from an earlier profile" in daemon.trimtab("status", "web").out
    assert names(daemon) == before

    assert daemon.trimtab("roll", "web", "--surge", "50%").out == "web: rolling, surge 50%, unavailable 0\n"
    daemon.stop(signal.SIGKILL)
    daemon.start()
    result = daemon.trimtab("roll", "web", "--wait")
    assert result.code == 0
    assert "web: roll done at 2/2" in result.out
    assert not before & names(daemon)
    daemon.settled(2, "web")

    newest, first = daemon.json("definitions", "web")
    assert (newest["members"], first["members"]) == (2, 0)
    table = daemon.trimtab("definitions", "web").out
    assert "2 declared, in force" in table
    assert "profile recipe command: changed" in table
    assert "7200" not in table, "people put secrets into commands"

    result = daemon.trimtab("rollback", "web")
    assert result.out == "web: new members are made from the profile of revision 1\n"
    assert "rolled back by" in daemon.trimtab("status", "web").out
    assert daemon.json("rollback", "web", "--off")["words"] == "new members are made from the file's profile again"


def test_what_cannot_be_is_refused_with_words_and_exit_codes(daemon: Daemon) -> None:
    assert daemon.trimtab("roll", "web", "--surge", "0").code == 1
    assert daemon.trimtab("roll", "web", "--surge", "lots").code == 2
    assert daemon.trimtab("roll", "web", "--stop").code == 1
    assert daemon.trimtab("roll", "web", "--stop", "--wait").code == 2
    assert daemon.trimtab("rollback", "web", "--off", "--to", "1").code == 2
    assert "no revision 9" in daemon.trimtab("rollback", "web", "--to", "9").err
    assert daemon.ask("POST", "/api/v1/groups/web/roll", {}).status == 401
    assert daemon.ask("POST", "/api/v1/groups/web/roll", {"surge": -1}, bearer=daemon.token).status == 422
    assert daemon.ask("GET", "/api/v1/groups/nobody/definitions").status == 404


def test_of_a_group_with_nothing_to_know_the_page_says_nothing() -> None:
    quiet = {"rollback": None, "roll": None, "old": 0, "pending": False, "converged_at": 1.0}
    assert list(rolling_lines(quiet)) == []
    roll = {"state": "stopped", "because": "by ada", "done": 3, "remaining": 2, "protected": ["web-1"], "target": "ab"}
    assert list(rolling_lines({**quiet, "roll": roll})) == ["roll stopped at 3/5 to profile ab: by ada"]
    assert list(rolling_lines({**quiet, "old": 2, "pending": True, "converged_at": 0.0})) == [
        "2 members were made from an earlier profile; to replace them: trimtab roll",
        "not converged since its last change; converged before that, at 1970-01-01 00:00:00 UTC",
    ]
