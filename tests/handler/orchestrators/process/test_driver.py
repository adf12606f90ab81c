from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.causes import FailureCause
from config.errors import Permanent, Refused, Transient
from config.model.access import SecretRef
from config.model.catalogue import ProcessRecipe
from config.units import GroupId
from handler.orchestrators.process import procfs
from handler.orchestrators.process.driver import ProcessOrchestrator
from handler.planning.world import Server, ServerState
from handler.ports.orchestrator import Launch
from tests.support.orchestrators import Clock, ProcessStage, a_recipe, bearing, pid_of, process_stage
from tests.support.waiting import PATIENT, until

WEB = GroupId("web")
STUBBORN = ("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(tmp_path: Path, clock: Clock) -> Iterator[ProcessStage]:
    with process_stage(tmp_path, clock) as stage:
        yield stage


@pytest.fixture
def box(stage: ProcessStage) -> ProcessOrchestrator:
    return stage.driver()


def shell(script: str) -> ProcessRecipe:
    return a_recipe(("sh", "-c", script))


def printed(stage: ProcessStage, launch: Launch, lines: int = 1) -> list[str]:
    log = stage.log(launch)
    until(lambda: log.exists() and log.read_text().count("\n") >= lines)
    return log.read_text().splitlines()


def led(launch: Launch) -> list[int]:
    return [pid for pid in bearing(f"TRIMTAB_MEMBER={launch.id.name}") if os.getsid(pid) == pid]


def gone(server: Server) -> bool:
    process = procfs.look(pid_of(server))
    return process is None or not process.alive


# What a member is given


def test_a_member_gets_its_name_and_place(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(
        12, recipe=shell('echo "$TRIMTAB_MEMBER $TRIMTAB_INSTALLATION $TRIMTAB_GROUP $TRIMTAB_ADDRESS"; exec sleep 60')
    )

    made = box.create(launch)

    assert printed(stage, launch) == [f"{launch.id.name} {stage.here} web {made.address}"]
    assert made.address is not None
    assert made.address.startswith(
        "127."
    )  # which one: `choose_address`; another installation may hold its first choice


def test_a_member_starts_in_the_state_directory_which_it_is_reported(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(recipe=shell('pwd; echo "$TRIMTAB_STATE"; exec sleep 60'))

    box.create(launch)

    assert printed(stage, launch, 2) == [str(stage.directory / stage.here)] * 2


def test_the_recipe_sets_directory_and_environment_in_any_script(
    box: ProcessOrchestrator, stage: ProcessStage, tmp_path: Path
) -> None:
    there = tmp_path / "Ωmega"
    there.mkdir()
    recipe = a_recipe(("sh", "-c", "pwd; echo $GRUSS; exec sleep 60"), env={"GRUSS": "grüß 日本"}, directory=str(there))
    launch = stage.launch(recipe=recipe)

    box.create(launch)

    assert printed(stage, launch, 2) == [str(there), "grüß 日本"]


def test_a_variable_that_refers_to_a_secret_holds_it(stage: ProcessStage) -> None:
    asked = list[SecretRef]()

    def read(ref: SecretRef) -> str:
        asked.append(ref)
        return "canary"

    recipe = a_recipe(("sh", "-c", "echo $PIN; exec sleep 60"), env={"PIN": SecretRef(env="DB"), "PLAIN": "x"})
    launch = stage.launch(recipe=recipe)
    stage.driver(read_secret=read).create(launch)
    assert printed(stage, launch) == ["canary"]
    assert asked == [SecretRef(env="DB")]
    assert "canary" not in repr(launch)


def test_no_program_starts_while_a_secret_of_its_environment_cannot_be_read(stage: ProcessStage) -> None:
    def read(ref: SecretRef) -> str:
        raise Refused(f"{ref.place} is not there")

    launch = stage.launch(recipe=a_recipe(env={"PIN": SecretRef(env="DB")}))
    with pytest.raises(Permanent, match="box: PIN of profile p: the environment variable DB is not there") as caught:
        stage.driver(read_secret=read).create(launch)
    assert caught.value.cause is FailureCause.CREDENTIALS
    assert stage.count(launch.id.name) == 0


def test_the_mark_wins_over_the_recipe(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=a_recipe(env={"TRIMTAB_MEMBER": "web-000000-1"}))

    box.create(launch)

    assert [server.name for server in box.list(WEB).servers] == [launch.id.name]


def test_a_member_learns_nothing_else_of_our_environment(
    box: ProcessOrchestrator, stage: ProcessStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CS_KEY", "hush")
    monkeypatch.setenv("LC_NUMERIC", "C")

    made = box.create(stage.launch())

    given = procfs.environment(pid_of(made))
    assert "hush" not in given.values()
    assert given["LC_NUMERIC"] == "C"
    assert given["PATH"] == os.environ["PATH"]


def descriptors_of(pid: int) -> dict[str, str]:
    """What a process holds open; a file that it closes meanwhile (it is starting) is left out."""
    held = {}
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held[link.name] = str(link.readlink())
    return held


def test_a_member_shares_no_descriptor_session_or_terminal_with_us(
    box: ProcessOrchestrator, stage: ProcessStage, tmp_path: Path
) -> None:
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        made = box.create(stage.launch())

    log = str(stage.log(stage.launch()))
    until(lambda: descriptors_of(pid_of(made)) == {"0": "/dev/null", "1": log, "2": log})
    assert os.getsid(pid_of(made)) == os.getpgid(pid_of(made)) == pid_of(made)


def test_the_log_is_private_and_is_never_begun_again(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=shell("echo out; echo err >&2"))
    for _ in range(2):
        made = box.create(launch)
        until(lambda made=made: box.find(launch.id.name) is None and gone(made))

    assert stage.log(launch).read_text().split() == ["out", "err"] * 2
    assert stat.S_IMODE(stage.log(launch).stat().st_mode) == 0o600
    assert stat.S_IMODE(stage.log(launch).parent.stat().st_mode) == 0o700


def test_old_logs_go_when_there_are_many_but_never_those_of_members(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    first = stage.launch(1)
    box.create(first)
    os.utime(stage.log(first), (0, 0))
    for number in range(105):
        old = stage.log(first).with_name(f"web-{stage.here}-{number + 1000}.log")
        old.touch()
        os.utime(old, (number, number))

    box.create(stage.launch(2))

    left = sorted(stage.log(first).parent.iterdir(), key=lambda path: path.stat().st_mtime)
    assert len(left) == 102
    assert stage.log(first) in left
    assert left[1].name == f"web-{stage.here}-1005.log"


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        pytest.param(a_recipe(("no-such-program",)), "'no-such-program': not found; install it", id="no command"),
        pytest.param(a_recipe(("/dev",)), "'/dev': Permission denied", id="not executable"),
        pytest.param(a_recipe(directory="/no/such/place"), "/no/such/place: not a directory; create it", id="no place"),
        pytest.param(a_recipe(env={"A": "nul\0"}), "embedded null byte", id="impossible environment"),
    ],
)
def test_a_recipe_that_cannot_work_says_what_to_change(
    recipe: ProcessRecipe, message: str, box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    with pytest.raises(Permanent, match=message):
        box.create(stage.launch(recipe=recipe))

    assert box.list(WEB).servers == ()


# Who is a member


def test_a_program_that_ends_at_once_is_just_not_there(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=a_recipe(("true",)))

    made = box.create(launch)

    assert made.name == launch.id.name
    until(lambda: box.find(launch.id.name) is None)
    assert box.list(WEB).servers == ()


def test_no_zombie_stays_behind(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    made = box.create(stage.launch())
    stage.kill(made)

    until(lambda: not box.list(WEB).servers)

    until(lambda: box.list(WEB).complete and procfs.look(pid_of(made)) is None)


def test_children_that_other_code_started_are_left_to_that_code(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    with subprocess.Popen(["sh", "-c", "exit 3"]) as other:
        until(lambda: (process := procfs.look(other.pid)) is not None and not process.alive)

        box.list(WEB)
        box.create(stage.launch())

        assert other.wait(timeout=PATIENT) == 3


def test_children_of_a_member_are_not_members(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=shell("sleep 60 & setsid sleep 60 & wait"))

    made = box.create(launch)

    until(lambda: stage.count(launch.id.name) == 3)
    assert [server.id for server in box.list(WEB).servers] == [made.id]


@pytest.mark.parametrize("roll", [True, False], ids=["on the roll", "by its mark alone"])
def test_the_oldest_bearer_of_a_name_is_the_member(roll: bool, box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=shell("setsid sleep 60 & wait"))
    made = box.create(launch)
    until(lambda: stage.count(launch.id.name) == 2)
    if not roll:
        shutil.rmtree(stage.directory / stage.here / "members")

    assert [server.id for server in stage.driver().list(WEB).servers] == [made.id]


def test_a_child_that_outlives_its_member_does_not_take_its_place(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(recipe=shell("setsid sleep 60 & wait"))
    made = box.create(launch)
    until(lambda: stage.count(launch.id.name) == 2)

    stage.kill(made)

    until(lambda: box.find(launch.id.name) is None)
    assert box.list(WEB).servers == ()


def test_a_member_that_writes_over_its_environment_is_still_a_member(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    # exec without the mark: what /proc shows of a program that sets its own title
    launch = stage.launch(recipe=shell("exec env -i /bin/sleep 60"))
    made = box.create(launch)
    until(lambda: procfs.environment(pid_of(made)) == {})

    assert [server.id for server in stage.driver().list(WEB).servers] == [made.id]


def test_a_program_runs_only_once_its_line_is_written(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    members = stage.directory / stage.here / "members"
    launch = stage.launch(recipe=shell(f'readlink "{members}/$TRIMTAB_MEMBER"; exec sleep 60'))

    made = box.create(launch)

    (line,) = printed(stage, launch)
    assert line.startswith(f"{made.id}:")


def test_no_program_runs_whose_line_cannot_be_written(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=shell("echo begun; exec sleep 60"))
    (stage.directory / stage.here / "members" / f".{launch.id.name}").mkdir(parents=True)

    with pytest.raises(Transient, match="this machine did not answer"):
        box.create(launch)

    assert stage.count(launch.id.name) == 0
    assert stage.log(launch).read_text() == ""


def test_no_program_runs_after_a_daemon_that_died_before_it_wrote_the_line(stage: ProcessStage, tmp_path: Path) -> None:
    name, printed_to = stage.launch().id.name, tmp_path / "output"
    program = f"""
import os
from pathlib import Path
from config.model.catalogue import ProcessRecipe
from handler.orchestrators.process import children
recipe = ProcessRecipe(command=("sh", "-c", "echo begun; exec sleep 60"))
with open({str(printed_to)!r}, "wb") as output:
    mark = {{"TRIMTAB_MEMBER": {str(name)!r}, "TRIMTAB_INSTALLATION": {stage.here!r}}}
    with children.held({str(name)!r}, recipe, mark, directory=Path("/"), output=output.fileno()) as child:
        print(child.process.pid, flush=True)
        os.kill(os.getpid(), 9)
"""
    died = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert died.returncode == -signal.SIGKILL, died.stderr
    until(lambda: (left := procfs.look(int(died.stdout))) is None or not left.alive)
    assert printed_to.read_text() == ""


def test_a_program_that_cannot_begin_leaves_no_line(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    with pytest.raises(Permanent, match="not found"):
        box.create(stage.launch(recipe=a_recipe(("no-such-program",))))

    assert [*(stage.directory / stage.here / "members").iterdir()] == []


def test_members_survive_a_lost_state_directory(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    made = box.create(stage.launch())
    shutil.rmtree(stage.directory / stage.here)

    assert stage.driver().list(WEB).servers == (made,)


def test_a_line_of_an_earlier_boot_or_another_process_finds_no_member(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    made = box.create(stage.launch())
    members = stage.directory / stage.here / "members"
    pid, started, boot, address = str((members / made.name).readlink()).split(":")
    for sequence, (start, of) in enumerate([(int(started) - 1, boot), (int(started), "earlier")], start=2):
        (members / stage.launch(sequence).id.name).symlink_to(f"{pid}:{start}:{of}:{address}")

    assert [server.name for server in box.list(WEB).servers] == [made.name]
    box.destroy(stage.launch(2).id.name, grace=0.0)
    box.destroy(stage.launch(3).id.name, grace=0.0)

    assert not gone(made)


def test_lines_of_the_gone_are_struck_when_the_next_member_is_made(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    made = box.create(stage.launch(1))
    stage.kill(made)
    until(lambda: not box.list(WEB).servers)

    box.create(stage.launch(2))

    assert [path.name for path in (stage.directory / stage.here / "members").iterdir()] == [stage.launch(2).id.name]


def test_addresses_wrap_past_what_is_taken(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    made = [box.create(stage.launch(sequence)) for sequence in (1, 1 + 256 * 254)]

    first, second = (str(server.address).split(".", 2)[2] for server in made)
    assert second.startswith("0."), "the sequence has wrapped"
    assert second != first, "and others on this machine may have taken some"


def test_what_cannot_be_seen_is_partial_and_never_gone(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    box.create(stage.launch())
    members = stage.directory / stage.here / "members"
    members.rename(members.with_name("aside"))
    members.write_text("not a directory")

    listing = box.list(WEB)

    assert not listing.complete
    assert "Not a directory" in listing.because


# How a member ends


def test_a_member_may_finish_in_its_own_time(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=shell("trap 'echo bye; exit' TERM; echo up; while :; do sleep 0.05; done"))
    made = box.create(launch)
    printed(stage, launch)

    box.destroy(launch.id.name, grace=30.0)

    until(lambda: gone(made))
    assert "bye" in stage.log(launch).read_text().split()


def test_a_member_that_is_leaving_says_so(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=a_recipe(STUBBORN))
    box.create(launch)
    printed(stage, launch)

    box.destroy(launch.id.name, grace=30.0)

    assert [server.state for server in box.list(WEB).servers] == [ServerState.DELETING]


def test_grace_ends_by_itself(box: ProcessOrchestrator, stage: ProcessStage, clock: Clock) -> None:
    launch = stage.launch(recipe=shell("trap '' TERM; echo up; while :; do sleep 0.1; done"))
    made = box.create(launch)
    printed(stage, launch)
    box.destroy(launch.id.name, grace=30.0)
    clock.at += 29.0
    box.destroy(launch.id.name, grace=30.0)
    assert not gone(made)

    clock.at += 1.0

    until(lambda: gone(made))


def test_a_shorter_grace_counts_at_once(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=a_recipe(STUBBORN))
    made = box.create(launch)
    printed(stage, launch)
    box.destroy(launch.id.name, grace=30.0)

    box.destroy(launch.id.name, grace=0.0)

    until(lambda: gone(made))


def test_a_member_is_asked_to_stop_once_and_again_after_a_restart(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(recipe=shell("trap 'echo told' TERM; echo up; while :; do sleep 0.05; done"))
    box.create(launch)
    printed(stage, launch)
    times = lambda: stage.log(launch).read_text().split().count("told")  # noqa: E731
    for _ in range(3):
        box.destroy(launch.id.name, grace=30.0)
        until(lambda: times() >= 1)

    stage.driver().destroy(launch.id.name, grace=30.0)

    until(lambda: times() >= 2)
    assert times() == 2


def test_everything_that_a_member_started_goes_with_it(
    box: ProcessOrchestrator, stage: ProcessStage, clock: Clock
) -> None:
    # a child in a process group of its own, one in a session of its own, and a leader that goes first
    launch = stage.launch(
        recipe=shell("set -m; sh -c \"trap '' TERM; echo up; sleep 60\" & setsid sleep 60 & echo up; exec sleep 60")
    )
    box.create(launch)
    printed(stage, launch, lines=2)
    until(lambda: stage.count(launch.id.name) >= 3 and len(led(launch)) == 2)
    box.destroy(launch.id.name, grace=5.0)
    until(lambda: box.find(launch.id.name) is None)
    assert bearing(f"TRIMTAB_MEMBER={launch.id.name}")

    clock.at += 5.0

    until(lambda: not bearing(f"TRIMTAB_MEMBER={launch.id.name}"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_members_outlive_the_trimtab_that_made_them(how: signal.Signals, stage: ProcessStage) -> None:
    launch = stage.launch()
    program = f"""
import os, signal
from pathlib import Path
from tests.support.orchestrators import Clock, ProcessStage
ProcessStage(Path({str(stage.directory)!r}), Clock(), {stage.here!r}).driver().create(
    ProcessStage(Path({str(stage.directory)!r}), Clock(), {stage.here!r}).launch())
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.killpg(0, {int(how)})
"""
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as trimtab:
        assert trimtab.wait(timeout=PATIENT) == -how

    found = stage.driver().find(launch.id.name)

    assert found is not None
    assert found.state is ServerState.RUNNING


def test_the_output_of_a_member_is_read_while_it_runs_and_after_it_is_gone(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(recipe=shell("echo ready; exec sleep 60"))
    box.create(launch)
    printed(stage, launch)

    assert box.output(launch.id.name, 10) == b"ready\n"
    box.destroy(launch.id.name, grace=0.0)
    until(lambda: box.find(launch.id.name) is None)
    assert box.output(launch.id.name, 10) == b"ready\n"


# Processes that gained privileges


@contextlib.contextmanager
def untouchable(*pids: int) -> Iterator[None]:
    """The kernel's answer to a user who signals processes that have become another user's."""
    send = procfs.send

    def refused(process: procfs.Process, number: signal.Signals) -> None:
        if process.pid in pids:
            raise PermissionError(1, "Operation not permitted")
        send(process, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(procfs, "send", refused)
        yield


def test_a_process_that_cannot_be_signalled_keeps_no_other_from_its_end(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    made = [box.create(stage.launch(number, recipe=a_recipe(STUBBORN))) for number in (1, 2)]
    for number in (1, 2):
        printed(stage, stage.launch(number))

    with untouchable(pid_of(made[0])):
        with pytest.raises(Permanent, match="must belong to the user of Trimtab"):
            box.destroy(made[0].name, grace=0.0)
        box.destroy(made[1].name, grace=0.0)

        until(lambda: gone(made[1]), within=10.0)
        assert not gone(made[0])


def test_what_cannot_be_signalled_of_a_member_that_is_gone_stops_no_new_one(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(1, recipe=shell("sleep 60 & wait"))
    made = box.create(launch)
    until(lambda: stage.count(launch.id.name) == 2)
    stage.kill(made)
    until(lambda: stage.count(launch.id.name) == 1)

    with untouchable(*bearing(f"TRIMTAB_MEMBER={launch.id.name}")):
        new = stage.driver().create(stage.launch(2))

    assert not gone(new)
