"""Real workers over one PostgreSQL: one acts, the others stand by, and the lease goes from one to the next."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handler.runtime.ownership import write_private
from tests.support.daemon import Daemon, typed
from tests.support.forking import forked
from tests.support.waiting import PATIENT, until
from tests.support.workers import Worker, WorkersBed, a_bed, give_key

_PROCESSES = """\
store: {url: 'postgresql:///trimtab?host=/nowhere'}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [sleep, "9"]}}
groups: {web: {profile: web, min: 1, max: 2}}
"""


@pytest.fixture(scope="module")
def running_bed() -> Iterator[WorkersBed]:
    with a_bed() as bed:
        for name in "ab":
            bed.worker(name)
            give_key(bed.workers[name])
            bed.workers[name].start()
        yield bed


@pytest.fixture
def bed(running_bed: WorkersBed) -> WorkersBed:
    """Two workers, of which one acts and the other could, with the same file."""
    for worker in running_bed.workers.values():
        worker.declare(running_bed.model)
        if not worker.runs:
            worker.start()
    holder = running_bed.holder()
    until(lambda: roles(holder) == {holder.name: "holder", standby(running_bed).name: "standby"}, every=0.05)
    return running_bed


def standby(bed: WorkersBed) -> Worker:
    holder = bed.holder()
    return next(worker for worker in bed.workers.values() if worker is not holder)


def roles(worker: Worker) -> dict[str, str]:
    return {each["name"]: each["role"] for each in worker.json("cluster", "status")["workers"]}


@pytest.mark.real("postgres")
def test_a_hand_over_keeps_windows_and_the_audit_trail_and_the_former_holder_stands_by(bed: WorkersBed) -> None:
    before, after = bed.holder(), standby(bed)
    until(lambda: bed.rows("SELECT count(*) FROM checkpoints WHERE ring > 0") != [(0,)], every=0.1)
    resumed = len(after.lines("windows_resumed"))
    until(lambda: before.trimtab("cluster", "hand-over").code == 0, every=0.2)
    assert bed.other(before) is after
    assert len(after.lines("windows_resumed")) > resumed
    until(lambda: roles(after)[before.name] == "standby", every=0.05)
    assert before.ask("GET", "/readyz", unix=True).status == 503
    assert after.trimtab("audit", "verify").code == 0


@pytest.mark.real("postgres")
def test_a_standby_passes_commands_on_to_the_holder_and_the_audit_trail_has_where_they_came_from(
    bed: WorkersBed,
) -> None:
    holder, other = sized(bed.holder()), standby(bed)
    scaled = other.trimtab("scale", "web", "2")
    assert (scaled.code, holder.json("status", "web")["desired"]) == (0, 2)
    assert other.json("status", "web")["desired"] == 2
    refused = other.trimtab("scale", "nowhere", "2")
    assert (refused.code, "there is no group nowhere" in refused.err) == (1, True)
    assert f"on worker {other.name}" in holder.trimtab("audit", "list", "--json").out
    holder.json("scale", "web", "1")


@pytest.mark.real("postgres")
def test_over_tcp_a_standby_answers_as_the_holder_and_takes_no_client_for_the_local_administrator(
    bed: WorkersBed,
) -> None:
    holder, other = sized(bed.holder()), standby(bed)
    read = other.get("/api/v1/groups")
    assert (read.status, read.headers["trimtab-worker"]) == (200, holder.name)
    assert "<html" in other.get("/").text
    size = "/api/v1/groups/web/size"
    assert other.ask("PUT", size, {"size": 2}).status == 401
    assert other.ask("PUT", size, {"size": 2}, bearer=token(other)).status == 401
    assert other.ask("PUT", size, {"size": 2}, bearer=token(holder)).status == 202
    streamed = other.get("/events")
    assert (streamed.status, streamed.headers["location"]) == (307, f"{holder_url(holder)}/events")
    holder.json("scale", "web", "1")


def sized(holder: Worker) -> Worker:
    """Wait until the first listing has given the group a size."""
    until(lambda: holder.json("status", "web")["desired"] is not None, every=0.1)
    return holder


def windows(bed: WorkersBed) -> list[Any]:
    """The windows in the store, of the group that has policies."""
    return bed.rows("SELECT md5(body) FROM checkpoints WHERE ring > 0 ORDER BY slot, ring, place")


def token(worker: Worker) -> str:
    return (worker.state / "token").read_text().strip()


@pytest.mark.real("postgres")
def test_after_a_kill_the_next_worker_goes_on_with_the_windows_and_the_killed_one_comes_back(bed: WorkersBed) -> None:
    killed, after = bed.holder(), standby(bed)
    known = windows(bed)
    until(lambda: windows(bed) != known, every=0.1)  # by a tick just now: a busy machine has 18 s to take over
    resumed = len(after.lines("windows_resumed"))
    killed.signal(signal.SIGKILL)
    until(lambda: not killed.runs)
    asked = after.trimtab("scale", "web", "1")  # while no worker holds the lease
    assert (asked.code, "nothing was done; try again" in asked.err) == (1, True)
    assert bed.other(killed) is after
    assert len(after.lines("windows_resumed")) > resumed
    killed.start()  # under the same name, once the store has not heard of it for a span
    until(lambda: roles(after)[killed.name] == "standby", every=0.05)


@pytest.mark.real("postgres")
def test_after_a_daemon_that_is_no_worker_only_a_worker_with_its_file_takes_over(bed: WorkersBed) -> None:
    right, old = bed.workers.values()
    assert (old.stop(), right.stop()) == (0, 0)
    right.declare(bed.model.replace("max: 60", "max: 9"))
    alone = Daemon(right.place, right.environment).start()
    assert alone.stop() == 0

    old.start()
    right.start()

    assert bed.holder() is right
    until(lambda: roles(right)[old.name] == "barred", every=0.05)
    right.declare(bed.model)  # as the other tests of this bed expect it
    assert right.trimtab("reload").code == 0
    until(lambda: roles(right)[old.name] == "standby", every=0.05)


OTHER_MARK = "UPDATE meta SET value = 'other-1' WHERE name = 'commit'"
"""As a promoted standby shows that lacks the last commit."""


@pytest.mark.real("postgres")
def test_a_holder_that_finds_the_store_changed_hands_over_to_a_worker_that_reads_it_anew(bed: WorkersBed) -> None:
    before, after = bed.holder(), standby(bed)

    bed.rows(OTHER_MARK)

    assert bed.other(before) is after
    until(lambda: roles(after)[before.name] == "standby", every=0.05)
    assert "the store is not as this worker left it" in before.lines("lease_ended")[-1]
    after.json("scale", "web", "2")
    assert after.json("status", "web")["desired"] == 2
    after.json("scale", "web", "1")


@pytest.mark.real("postgres")
def test_a_holder_without_another_worker_takes_the_lease_again_after_the_store_was_changed(bed: WorkersBed) -> None:
    alone, other = bed.holder(), standby(bed)
    assert other.stop() == 0
    epoch = bed.rows("SELECT epoch FROM lease")

    bed.rows(OTHER_MARK)

    until(lambda: bed.rows("SELECT epoch FROM lease") > epoch and alone.acts, every=0.1)
    alone.json("scale", "web", "1")


@pytest.mark.real("postgres")
def test_a_holder_that_is_to_stop_gives_the_lease_back_before_it_ends(bed: WorkersBed) -> None:
    stopped, after = bed.holder(), standby(bed)
    assert stopped.stop() == 0
    assert bed.other(stopped) is after
    assert stopped.name not in roles(after)


@pytest.mark.real("postgres")
def test_a_standby_with_another_file_does_not_take_over_and_says_so(bed: WorkersBed) -> None:
    holder, barred = bed.holder(), standby(bed)
    barred.declare(bed.model.replace("max: 60", "max: 3"))
    until(lambda: roles(holder)[barred.name] == "barred", every=0.05)
    shown = barred.trimtab("cluster", "status").out
    assert f"{barred.name}: its {barred.file} differs from the file in force: copy that one here" in shown
    assert "trimtab_worker_barred 1.0" in barred.get("/metrics").text
    refused = holder.trimtab("cluster", "hand-over")
    assert (refused.code, "no other worker could take over now" in refused.err) == (1, True)
    holder.declare(bed.model.replace("max: 60", "max: 3"))
    assert holder.trimtab("reload").code == 0
    until(lambda: roles(holder)[barred.name] == "standby", every=0.05)
    for worker in (holder, barred):  # as the other tests of this bed expect them, in whatever order they run
        worker.declare(bed.model)
    assert holder.trimtab("reload").code == 0
    until(lambda: roles(holder)[barred.name] == "standby", every=0.05)


_NAP = '{nap: {cloud: box, command: [/bin/sleep, "1000"]}, '
_LOCAL = "  local: {profile: nap, min: 1, max: 2, interval: 1s, grace: 0s}\n"


def with_processes(model: str, worker: Worker) -> str:
    """The model with members that are processes of one worker's machine."""
    clouds = f"clouds:\n  box: {{process: {{}}, on: {worker.name}}}\n"
    return model.replace("clouds:\n", clouds).replace("profiles: {", f"profiles: {_NAP}") + _LOCAL


@pytest.mark.real("postgres")
def test_only_the_worker_beside_them_looks_after_processes_and_no_reload_takes_them_away(bed: WorkersBed) -> None:
    holder, other = bed.holder(), standby(bed)
    for worker in (holder, other):
        worker.declare(with_processes(bed.model, holder))
    assert holder.trimtab("reload").code == 0
    why = f"{other.name}: clouds.box is on {holder.name}, and this worker is {other.name}"
    until(lambda: why in holder.trimtab("cluster", "status").out, every=0.1)
    assert roles(holder)[other.name] == "barred"
    until(lambda: len(holder.serving("local")) == 1, every=0.1)

    holder.declare(with_processes(bed.model, other))
    refused = holder.trimtab("reload")
    assert (refused.code, f"so worker {holder.name} could not act by this file" in refused.out) == (1, True)
    holder.declare(with_processes(bed.model, holder).replace(_LOCAL, ""))
    assert holder.trimtab("reload").code == 0
    assert holder.trimtab("delete", "local", "--members").code == 0
    for worker in (holder, other):
        worker.declare(bed.model)
    until(lambda: holder.trimtab("reload").code == 0, every=0.2)  # once no process is left
    until(lambda: roles(holder)[other.name] == "standby", every=0.05)


@pytest.mark.real("postgres")
def test_as_soon_as_a_reload_answers_no_other_worker_goes_back_to_the_file_before(bed: WorkersBed) -> None:
    holder, other = bed.holder(), standby(bed)
    before = bed.rows("SELECT declaration FROM lease")
    holder.declare(bed.model.replace("max: 60", "max: 4"))

    assert holder.trimtab("reload").code == 0
    taken = bed.rows("SELECT declaration FROM lease")
    holder.declare("groups: {")
    refused = holder.trimtab("reload")

    assert taken not in ([], before)
    assert (refused.code, bed.rows("SELECT declaration FROM lease")) == (1, taken)
    until(lambda: roles(holder)[other.name] == "barred", every=0.05)
    holder.declare(bed.model)
    assert holder.trimtab("reload").code == 0
    assert bed.rows("SELECT declaration FROM lease") == before
    until(lambda: roles(holder)[other.name] == "standby", every=0.05)


@pytest.mark.real("postgres")
def test_all_workers_follow_an_applied_file_until_one_is_started_to_go_by_its_own(bed: WorkersBed) -> None:
    before, after = bed.holder(), standby(bed)
    applied = before.file.with_name("applied.yaml")
    applied.write_text(bed.model.replace("max: 60", "max: 7"))
    (after.state / "seal-key").unlink()
    done = before.trimtab("apply", str(applied))
    assert (done.code, "revision 1 is in force for every daemon over the store" in done.out) == (0, True)
    until(lambda: roles(before)[after.name] == "barred", every=0.05)
    assert "is sealed under a key that" in before.trimtab("cluster", "status").out
    give_key(after)
    until(lambda: roles(before)[after.name] == "standby", every=0.05)  # though its own file differs

    rotated = before.trimtab("seal", "rotate")
    assert (rotated.code, f"to the machines of the other workers: {after.name}" in rotated.out) == (0, True)
    until(lambda: roles(before)[after.name] == "barred", every=0.05)
    copy_key(before, after)
    until(lambda: roles(before)[after.name] == "standby", every=0.05)

    assert before.trimtab("cluster", "hand-over").code == 0
    assert bed.other(before) is after
    assert after.json("status", "web")["maximum"] == 7
    refused = after.trimtab("reload")
    assert (refused.code, "revision 1 of the declaration is in force" in refused.err) == (1, True)

    assert after.stop() == 0  # from here on as the other tests of this bed expect it
    until(lambda: before.acts, every=0.05)
    assert before.json("status", "web")["maximum"] == 7
    assert before.stop() == 0
    before.more = ("--accept-file",)
    before.start()
    until(lambda: before.acts, every=0.05)
    assert before.json("status", "web")["maximum"] == 60
    before.more = ()


def copy_key(of: Worker, to: Worker) -> None:
    write_private(to.state / "seal-key", (of.state / "seal-key").read_text())


@pytest.mark.real("postgres")
def test_a_reload_that_other_workers_could_not_go_on_with_is_refused(bed: WorkersBed) -> None:
    holder = bed.holder()
    holder.declare(f"{bed.model}balancers: {{near: {{shared_listener: {{listen: '127.0.0.1:1'}}}}}}\n")
    refused = holder.trimtab("reload")
    assert (refused.code, "a shared listener belongs to one machine" in refused.out) == (1, True)
    holder.declare(bed.model)


@pytest.mark.real("postgres")
def test_a_second_worker_of_one_name_and_a_daemon_that_is_no_worker_are_refused(
    bed: WorkersBed, tmp_path: Path
) -> None:
    holder = bed.holder()
    where = ("--state", str(tmp_path / "state"), "--port", "0")
    namesake = typed("run", str(holder.file), *where, "--worker", holder.name)
    assert (namesake.code, f"a worker {holder.name} runs already, at {holder_url(holder)}" in namesake.err) == (1, True)
    alone = typed("run", str(holder.file), *where)
    assert (alone.code, "start this daemon with --worker NAME, too" in alone.err) == (1, True)


@pytest.mark.real("postgres")
def test_a_worker_that_waits_for_a_process_of_its_name_ends_when_it_is_told_to(bed: WorkersBed) -> None:
    killed = bed.holder()
    killed.signal(signal.SIGKILL)
    until(lambda: not killed.runs)
    with killed.log.open("ab") as log:
        begun = log.tell()
        where = ("--state", killed.state, "--port", "0", "--worker", killed.name, "--lease", 3600)
        waiting = forked(("run", killed.file, *where), {**os.environ, **killed.environment}, log)
    until(lambda: "event=waits_for_namesake" in killed.log.read_text()[begun:], every=0.05, process=waiting)
    waiting.send_signal(signal.SIGTERM)
    assert waiting.wait(timeout=PATIENT) == 0
    killed.start()


def holder_url(holder: Worker) -> str:
    return f"http://127.0.0.1:{holder.port}"


def test_a_worker_with_members_of_its_own_machine_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text(_PROCESSES)
    refused = typed("run", str(file), "--state", str(tmp_path / "state"), "--port", "0", "--worker", "a")
    assert (refused.code, f"{file}:2: clouds.box: its members are processes of one machine" in refused.err) == (1, True)
    checked = typed("check", "--worker", str(file))
    assert (checked.code, f"{file}:2: clouds.box: its members are processes" in checked.out) == (1, True)
    assert typed("check", str(file)).code == 0
    file.write_text(_PROCESSES.replace("process: {}", "process: {}, on: a"))
    assert [typed("check", *on, str(file)).code for on in (["--worker"], ["--on", "a"], ["--on", "b"])] == [0, 0, 1]
    misnamed = typed("check", "--on", "Box 1", str(file))
    assert (misnamed.code, "expected 1 to 63 small letters" in misnamed.err) == (1, True)


def test_options_of_workers_need_a_worker_and_a_worker_needs_a_plain_name(tmp_path: Path) -> None:
    where = ("--state", str(tmp_path / "state"))
    alone = typed("run", "model.yaml", *where, "--lease", "3")
    assert (alone.code, "are for workers: add --worker NAME" in alone.err) == (2, True)
    misnamed = typed("run", "model.yaml", *where, "--worker", "Box 1")
    assert (misnamed.code, "expected 1 to 63 small letters, digits and hyphens" in misnamed.err) == (1, True)


def test_a_lease_that_would_end_in_a_busy_moment_is_refused(tmp_path: Path) -> None:
    refused = typed("run", "model.yaml", "--state", str(tmp_path / "state"), "--worker", "a", "--lease", "1")
    assert (refused.code, "--lease 1: a lease of less than 2 s" in refused.err) == (1, True)
