"""One process that is a worker of several shards: each has a lease of its own, and fails by itself."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
import uvloop

from config.errors import Refused
from config.units import WorkerName
from handler.daemon.shards import PREFERRED, ShardLoop, own_threads, shards_of
from handler.daemon.worker import WorkerOptions
from handler.leasing.workers import priority_for
from handler.logs import about, say
from handler.runtime.ownership import take_directory, write_private
from tests.support.daemon import typed
from tests.support.shards import ShardedWorker, ShardsBed, ShardView, a_bed_of
from tests.support.waiting import PATIENT, until

SHARDS = ("north", "south", "west")
BOX1 = WorkerOptions(name=WorkerName("box1"), file=Path("-"), state=Path("/state"))


def test_each_shard_has_a_state_directory_and_a_priority_by_its_name() -> None:
    north, south = shards_of([Path("/etc/north.yaml"), Path("/etc/south.yaml")], BOX1, ["south"])
    assert (north.shard, north.state, north.file) == ("north", Path("/state/north"), Path("/etc/north.yaml"))
    assert (north.priority, south.priority) == (priority_for("box1", "north"), PREFERRED)


def test_two_files_of_one_name_are_refused_and_so_is_a_preferred_shard_that_is_none() -> None:
    with pytest.raises(Refused, match="two files are called north"):
        shards_of([Path("/a/north.yaml"), Path("/b/north.yml")], BOX1, [])
    with pytest.raises(Refused, match="--prefer east: no file has this name; there are north, south"):
        shards_of([Path("/a/north.yaml"), Path("/a/south.yaml")], BOX1, ["east"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "several files are several installations, which only a worker runs: add --worker NAME"),
        (["--worker", "a", "--port", "8460"], "each says under listen which port"),
        (["--worker", "a", "--url", "https://a:8460"], "with several files it has no port"),
        (["--worker", "a", "--url", "https://a/"], "with several files it has no port"),
        (["--worker", "a", "--priority", "3"], "say with --prefer which of them"),
    ],
)
def test_options_that_are_for_one_file_are_refused_for_several(options: list[str], words: str) -> None:
    refused = typed("run", "north.yaml", "south.yaml", *options)
    assert (refused.code, words in refused.err) == (2, True)


def test_a_preference_is_refused_for_one_file() -> None:
    refused = typed("run", "north.yaml", "--worker", "a", "--prefer", "north")
    assert (refused.code, "with one, say --priority" in refused.err) == (2, True)


def test_the_state_directory_of_one_daemon_is_not_taken_for_that_of_several_shards(tmp_path: Path) -> None:
    write_private(tmp_path / "installation", "k3f9ab\n")
    refused = typed("run", "north.yaml", "south.yaml", "--worker", "a", "--state", str(tmp_path))
    assert (refused.code, "is the state directory of one daemon: move what is in it" in refused.err) == (1, True)


def test_the_directory_above_several_shards_is_not_taken_for_that_of_one_daemon(tmp_path: Path) -> None:
    (tmp_path / "north").mkdir()
    (tmp_path / "north" / "lock").touch()
    for options in ([], ["--worker", "a"]):
        refused = typed("run", "north.yaml", *options, "--state", str(tmp_path))
        assert refused.code == 1
        assert (
            f"several shards (north): name the files of all, or the directory of this one, as in --state {tmp_path}"
            in (refused.err)
        )


def test_calls_of_one_shard_that_hang_take_no_thread_from_another(caplog: pytest.LogCaptureFixture) -> None:
    goes_on, begun = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        begun.release()
        goes_on.wait(PATIENT)

    async def acts(shard: str, calls: Sequence[Callable[[], object]]) -> None:
        with about(shard=shard), own_threads(shard):
            await asyncio.gather(*(asyncio.to_thread(call) for call in calls))

    async def side_by_side() -> bool:
        hanging = asyncio.create_task(acts("south", [hang] * 100))
        await acts("north", [begun.acquire, partial(say, "renewed")])
        is_hanging = not hanging.done()
        goes_on.set()
        await hanging
        return is_hanging

    caplog.set_level(logging.INFO, logger="trimtab")
    assert uvloop.run(side_by_side(), loop_factory=ShardLoop)
    assert [record.getMessage() for record in caplog.records] == ["event=renewed shard=north"]


def test_state_directories_are_taken_that_were_moved_below_one_that_others_can_read(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "north").mkdir()
    take_directory(tmp_path, shards=["north", "south"])
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    tmp_path.chmod(0o755)
    with pytest.raises(Refused, match="is not a state directory: it has mode 0755 and holds other files, such as nor"):
        take_directory(tmp_path, shards=["south"])


@pytest.fixture(scope="module")
def running_bed() -> Iterator[ShardsBed]:
    with a_bed_of(*SHARDS) as bed:
        for name in "ab":
            bed.worker(name).start()
        yield bed


@pytest.fixture
def bed(running_bed: ShardsBed) -> ShardsBed:
    """Two workers that are there for all shards, whose files are good."""
    workers = running_bed.workers.values()
    for worker in workers:
        for shard, text in running_bed.files.items():
            worker.file(shard).write_text(text)
        if not worker.runs:
            worker.start()
    running_bed.holders()
    until(lambda: not any("error" in shard for worker in workers for shard in worker.cluster().values()), every=0.1)
    return running_bed


def other(bed: ShardsBed, worker: ShardedWorker) -> ShardedWorker:
    return next(each for each in bed.workers.values() if each is not worker)


def a_holder(bed: ShardsBed) -> ShardedWorker:
    """One that has the lease of a shard at least."""
    return bed.workers[bed.holders()["north"]]


@pytest.mark.real("postgres")
def test_the_shards_of_a_worker_that_is_killed_go_to_another_and_it_comes_back_as_a_standby(bed: ShardsBed) -> None:
    lost = a_holder(bed)
    left = other(bed, lost)
    had = lost.held()
    for shard in SHARDS:
        bed.shard(shard).json("scale", "web", "3")
    lost.kill()
    until(lambda: left.held() == frozenset(SHARDS), every=0.1)
    for shard in SHARDS:
        bed.shard(shard).settled(3)
    bed.has_each_member_once()
    assert {left.cluster()[shard]["epoch"] for shard in had} != {1}
    lost.start()
    until(lambda: all("standby" in roles(left, shard) for shard in SHARDS), every=0.1)


def roles(worker: ShardedWorker, shard: str) -> set[str]:
    return {each["role"] for each in worker.cluster()[shard]["workers"]}


@pytest.mark.real("postgres")
def test_a_shard_whose_file_is_refused_keeps_no_other_from_acting(bed: ShardsBed) -> None:
    worker = a_holder(bed)
    worker.kill()
    worker.file("south").write_text(bed.files["south"].replace("max: 60", "max: 0"))
    worker.start()
    until(lambda: "standby" in roles(worker, "north"), every=0.1)
    (line, *_) = worker.lines("shard_ended", "south")
    assert "south.yaml:8: groups.web.min: 1 is more than max, 0" in line
    assert not worker.lines("shard_ended", "north")
    shown = typed("cluster", "status", "--state", str(worker.state))
    assert (shown.code, "does not answer" in shown.out, "no daemon answers" in shown.out) == (1, True, True)


def expose(worker: ShardedWorker, text: str) -> None:
    """Have it listen for other machines, which is refused once the store is read, since it has no users."""
    exposed = "listen: {address: '0.0.0.0:8460', behind_proxy: {trusted: [127.0.0.1/32]}}\n"
    worker.file("north").write_text(exposed + text)


def spoil(worker: ShardedWorker, text: str) -> None:
    """Have a file where its engine has a directory."""
    listeners = worker.state / "north" / "listeners"
    if listeners.is_dir():
        listeners.rmdir()
    listeners.touch()


@pytest.mark.real("postgres")
@pytest.mark.parametrize(
    ("disable", "words"), [(expose, "the store has no users"), (spoil, "FileExistsError")], ids=["refused", "spoilt"]
)
def test_a_worker_that_has_had_a_lease_and_could_not_act_does_not_get_it_back_at_once(
    bed: ShardsBed, disable: Callable[[ShardedWorker, str], None], words: str
) -> None:
    right, wrong = bed.workers.values()
    right.kill()
    wrong.kill()
    disable(wrong, bed.files["north"])
    wrong.start("--prefer", "north")
    until(lambda: bool(wrong.lines("shard_ended", "north")), every=0.1)
    assert words in wrong.lines("shard_ended", "north")[-1]
    right.start()
    until(lambda: "north" in right.held(), every=0.1)
    until(lambda: priorities(right, "north").get(wrong.name) == 0, every=0.1)
    wrong.kill()
    if disable is spoil:
        (wrong.state / "north" / "listeners").unlink()


def priorities(worker: ShardedWorker, shard: str) -> dict[str, int]:
    return {each["name"]: each["priority"] for each in worker.cluster()[shard]["workers"] if each["role"] == "standby"}


@pytest.mark.real("postgres")
def test_a_hangup_reloads_the_files_of_all_shards_that_a_worker_acts_for(bed: ShardsBed) -> None:
    worker = a_holder(bed)
    other(bed, worker).kill()
    until(lambda: worker.held() == frozenset(SHARDS), every=0.1)
    for limit in (70, 60):  # and back: the other worker has the file of before
        for shard, text in bed.files.items():
            worker.file(shard).write_text(text.replace("max: 60", f"max: {limit}"))
        worker.signal(signal.SIGHUP)
        until(lambda limit=limit: all(most(worker, shard) == limit for shard in SHARDS), every=0.05)


def most(worker: ShardedWorker, shard: str) -> int:
    return int(ShardView(worker.state / shard).group()["maximum"])


@pytest.mark.real("postgres")
def test_a_command_goes_to_the_shard_that_has_its_group_and_is_told_to_name_one_of_several(bed: ShardsBed) -> None:
    state = str(a_holder(bed).state)
    assert typed("scale", "of-south", "2", "--state", state).code == 0
    assert bed.shard("south").group("of-south")["desired"] == 2
    assert typed("scale", "of-south", "0", "--state", state).code == 0
    for command, words in (
        (("why", "web"), f"north and south and west have a group web: say which, as in --state {state}/north"),
        (("why", "none"), "no shard that answers has a group none (north, south, west)"),
        (("garbage",), f"(north, south, west): say which, as in --state {state}/north"),
    ):
        refused = typed(*command, "--state", state)
        assert (refused.code, words in refused.err) == (2, True), refused


@pytest.mark.real("postgres")
def test_every_worker_shows_the_groups_and_the_leases_of_all_shards(bed: ShardsBed) -> None:
    state = str(a_holder(bed).state)
    shown = typed("cluster", "status", "--state", state)
    assert shown.code == 0
    assert [line.split()[:2] for line in shown.out.splitlines()[1:4]] == sorted(map(list, bed.holders().items()))

    def groups() -> list[tuple[str, str]]:
        shown = typed("status", "--state", state, "--json").json
        return [(each["shard"], each["group"]) for each in shown if each["group"] != "web"]

    until(lambda: groups() == [(shard, f"of-{shard}") for shard in SHARDS], every=0.1)  # a lease may be on its way
    words = typed("status", "--state", state).out
    assert [line for line in words.splitlines() if line.endswith(":")] == [f"{shard}:" for shard in SHARDS]


@pytest.mark.real("postgres")
def test_a_machine_is_drained_by_handing_over_all_leases_that_its_worker_holds(bed: ShardsBed) -> None:
    drained = a_holder(bed)
    left = other(bed, drained)
    until(lambda: all("standby" in roles(drained, shard) for shard in SHARDS), every=0.1)
    had = drained.held()
    answer = typed("cluster", "hand-over", "--state", str(drained.state), "--json")
    assert answer.code == 0
    assert {(shard["shard"], shard["error"]) for shard in answer.json["shards"]} == {(shard, "") for shard in had}
    until(lambda: left.held() == frozenset(SHARDS), every=0.1)
    again = typed("cluster", "hand-over", "--state", str(drained.state))
    assert (again.code, "holds the lease of no shard" in again.err) == (0, True)
    left.kill()
    until(lambda: drained.held() == frozenset(SHARDS), every=0.1)
    until(lambda: all("standby" not in roles(drained, shard) for shard in SHARDS), every=0.2)
    refused = typed("cluster", "hand-over", "--state", str(drained.state))
    assert (refused.code, "no other worker could take over now" in refused.out) == (1, True)


@pytest.mark.real("postgres")
def test_the_address_that_a_worker_gives_of_itself_has_the_port_of_each_shard(bed: ShardsBed) -> None:
    worker = a_holder(bed)
    worker.kill()
    worker.start("--url", "http://box1.example.org")
    found = worker.cluster()
    for shard in SHARDS:
        (listens,) = re.findall(r"url=\S+:(\d+)", worker.lines("standing_by", shard)[0])
        (address,) = (each["api"] for each in found[shard]["workers"] if each["name"] == worker.name)
        assert address == f"http://box1.example.org:{listens}"


@pytest.mark.real("postgres")
def test_metrics_of_a_lease_name_its_shard_at_the_holder_and_at_the_standby(bed: ShardsBed) -> None:
    for worker in bed.workers.values():
        holds = "1.0" if "north" in worker.held() else "0.0"
        scraped = ShardView(worker.state / "north").ask("GET", "/metrics", unix=True).text
        assert f'trimtab_worker_holds_lease{{shard="north"}} {holds}' in scraped.splitlines()
        assert 'trimtab_worker_takeovers_total{shard="north"}' in scraped


@pytest.mark.real("postgres")
def test_lines_of_the_log_name_their_shard_also_those_of_passes(bed: ShardsBed) -> None:
    worker = a_holder(bed)
    lines = [line for line in worker.log.read_text().splitlines() if " group=web " in line]
    assert lines
    assert [line for line in lines if " shard=" not in line] == []
