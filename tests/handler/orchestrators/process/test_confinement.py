"""Members within limits: what the kernel really holds them to."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.causes import FailureCause
from config.errors import Transient
from config.model.catalogue import ProcessRecipe
from config.model.recipes import ResourceLimits
from config.units import GroupId
from handler.orchestrators.process import confinement, procfs
from handler.orchestrators.process.driver import ProcessOrchestrator
from handler.ports.orchestrator import Launch
from tests.support.orchestrators import ProcessStage, a_recipe, pid_of, process_stage
from tests.support.waiting import PATIENT, until

MIB = 1 << 20
_OF_THE_C_LIBRARY = 1 << 31 | 1 << 32
"""Signals 32 and 33 are of glibc: what its posix_spawn starts, as make does, ignores them, and cannot tell."""
WEB = GroupId("web")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ProcessStage]:
    with process_stage(tmp_path) as stage:
        yield stage


@pytest.fixture
def box(stage: ProcessStage) -> ProcessOrchestrator:
    return stage.driver()


def python(program: str, **limits: object) -> ProcessRecipe:
    return a_recipe((sys.executable, "-I", "-S", "-c", program), limits=ResourceLimits(**limits))  # type: ignore[arg-type]


def printed(stage: ProcessStage, launch: Launch, box: ProcessOrchestrator) -> str:
    """All that a member prints until it ends."""
    until(lambda: box.find(launch.id.name) is None)
    return stage.log(launch).read_text().strip()


def test_limits_are_soft_and_hard_and_those_of_children_too(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    program = (
        "import os, resource as r\n"
        "if not os.fork():\n"
        "    print([r.getrlimit(x) for x in (r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_DATA, r.RLIMIT_CORE)], "
        "r.getrlimit(r.RLIMIT_CPU), os.getpriority(os.PRIO_PROCESS, 0), flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()"
    )
    recipe = python(program, open_files=64, file_size=2 * MIB, memory=64 * MIB, cpu_time=60.0, nice=7)
    launch = stage.launch(recipe=recipe)

    box.create(launch)

    plain = [(limit, limit) for limit in (64, 2 * MIB, 64 * MIB, 0)]
    assert printed(stage, launch, box) == f"{plain} (60, 65) 7"


def test_a_member_without_limits_has_ours_and_leaves_no_core_file(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    made = box.create(stage.launch())

    theirs = {each: resource.prlimit(pid_of(made), each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_DATA)}
    assert theirs == {each: resource.getrlimit(each) for each in theirs}
    assert resource.prlimit(pid_of(made), resource.RLIMIT_CORE) == (0, 0)


def test_memory_is_what_is_written_to_and_not_what_is_reserved(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    program = (
        "import mmap\n"
        "mmap.mmap(-1, 1 << 30, prot=0, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "print('reserved', flush=True)\n"
        "try:\n    bytearray(1 << 30)\n"
        "except MemoryError:\n    print('refused')"
    )
    launch = stage.launch(recipe=python(program, memory=64 * MIB))

    box.create(launch)

    assert printed(stage, launch, box).split() == ["reserved", "refused"]


def test_a_member_that_spins_ends_and_the_reason_is_known(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=python("while True: pass", cpu_time=1.0))

    box.create(launch)

    until(lambda: box.find(launch.id.name) is None)
    assert box.ending(launch.id.name) == "ended by signal 24 (SIGXCPU): its limit cpu_time"


def test_a_file_that_grows_too_large_ends_the_program_that_writes_it(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(recipe=a_recipe(("yes",), limits=ResourceLimits(file_size=MIB)))

    box.create(launch)

    until(lambda: box.find(launch.id.name) is None)
    assert box.ending(launch.id.name) == "ended by signal 25 (SIGXFSZ): its limit file_size"
    assert stage.log(launch).stat().st_size == MIB


@pytest.mark.parametrize(("new_privileges", "ending"), [(False, "1"), (True, "0")])
def test_privileges_are_gained_only_where_that_is_declared(
    new_privileges: bool, ending: str, box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    made = box.create(stage.launch(recipe=a_recipe(new_privileges=new_privileges)))

    status = Path(f"/proc/{pid_of(made)}/status").read_text()
    assert f"NoNewPrivs:\t{ending}\n" in status


def test_limits_that_this_process_may_not_give_are_refused_and_no_member_is_made(tmp_path: Path) -> None:
    """In a process of its own: who has lowered its hard limit cannot raise it again."""
    program = f"""
import ctypes, resource
from pathlib import Path
from config.errors import Permanent
from config.model.recipes import ResourceLimits
from tests.support.orchestrators import a_recipe, process_stage
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # for root: PR_CAPBSET_DROP, CAP_SYS_RESOURCE
with process_stage(Path({str(tmp_path)!r})) as stage:
    box = stage.driver()
    launch = stage.launch(recipe=a_recipe(limits=ResourceLimits(open_files=4096)))
    try:
        box.create(launch)
    except Permanent as error:
        print(error.cause.value, error)
    print(box.list(launch.id.group).servers, box.find(launch.id.name), repr(box.ending(launch.id.name)))
"""
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, check=True, timeout=PATIENT)

    refused, *other_lines = done.stdout.decode().splitlines()
    assert refused == (
        f"{FailureCause.LAUNCH_CONFIGURATION.value} limits: open_files 4096 is above what this process may give, 128: "
        "lower it, or raise LimitNOFILE= in the unit of Trimtab"
    )
    assert other_lines == ["() None ''"]


def test_the_environment_is_exactly_what_was_given(
    box: ProcessOrchestrator, stage: ProcessStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in os.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", os.defpath)
    launch = stage.launch(recipe=a_recipe(("env",), env={"PYTHONHOME": "/nowhere", "B": "ü=\n1"}))

    box.create(launch)

    given = printed(stage, launch, box)
    assert "PYTHONHOME=/nowhere\n" in given
    assert "B=ü=\n1\n" in given
    assert "LC_" not in given


def test_no_signal_is_ignored_that_a_program_expects(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        made = box.create(stage.launch())
    finally:
        signal.signal(signal.SIGHUP, before)

    (ignored,) = (
        line.split()[1]
        for line in Path(f"/proc/{pid_of(made)}/status").read_text().splitlines()
        if line.startswith("SigIgn")
    )
    assert int(ignored, 16) & ~_OF_THE_C_LIBRARY == 0


def test_a_program_that_does_not_begin_says_why_in_a_word() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"\n")

        confinement.main(theirs.fileno(), "", ["/no/such/program"])

        assert ours.recv(200) == b" 2"
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)  # as Python has them


def alive(pid: int) -> bool:
    process = procfs.look(pid)
    return process is not None and process.alive


# What ends, and what is left behind


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        pytest.param(("sh", "-c", "exit 3"), "ended by itself with status 3", id="by itself"),
        pytest.param(("sh", "-c", "kill -SEGV $$"), "ended by signal 11 (SIGSEGV)", id="by a signal"),
    ],
)
def test_the_end_of_a_member_is_known_to_the_driver_that_saw_it(
    command: tuple[str, ...], ending: str, box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(recipe=a_recipe(command))

    box.create(launch)

    until(lambda: box.find(launch.id.name) is None)
    assert box.ending(launch.id.name) == ending
    assert box.ending(stage.launch(2).id.name) == ""


def test_what_a_member_leaves_behind_ends_with_it(box: ProcessOrchestrator, stage: ProcessStage) -> None:
    launch = stage.launch(recipe=a_recipe(("sh", "-c", "setsid sleep 60 & env -i /bin/sleep 60 & sleep 60 & wait")))
    made = box.create(launch)
    until(lambda: stage.count(launch.id.name) == 3)
    others = [int(pid) for pid in Path(f"/proc/{pid_of(made)}/task/{pid_of(made)}/children").read_text().split()]

    stage.kill(made)

    until(lambda: box.find(launch.id.name) is None)
    until(lambda: box.list(WEB).complete and not any(map(alive, others)))
    assert stage.count(launch.id.name) == 0


@pytest.mark.parametrize("child", ["sleep 60", "setsid sleep 60"], ids=["of its session", "of a session of its own"])
def test_after_a_restart_what_was_left_behind_ends_before_the_next_member_is_made(
    child: str, box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    launch = stage.launch(1, recipe=a_recipe(("sh", "-c", f"{child} & wait")))
    until(lambda: box.create(launch) and stage.count(launch.id.name) == 2)
    stage.kill(box.create(launch))
    until(lambda: stage.count(launch.id.name) == 1)

    stage.driver().create(stage.launch(2))

    until(lambda: stage.count(launch.id.name) == 0)
    assert [server.name for server in box.list(WEB).servers] == [stage.launch(2).id.name]


def test_a_session_of_another_owner_with_the_number_of_one_that_is_gone_is_left_alone(
    box: ProcessOrchestrator, stage: ProcessStage
) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!"], start_new_session=True, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        child = int(other.stdout.readline())
        box.create(stage.launch(1))
        members = stage.directory / stage.here / "members"
        boot = str((members / stage.launch(1).id.name).readlink()).split(":")[2]
        until(lambda: other.poll() is not None)
        (members / stage.launch(7).id.name).symlink_to(f"{other.pid}:4:{boot}:127.0.0.9")

        stage.driver().create(stage.launch(2))

        assert not (members / stage.launch(7).id.name).is_symlink(), "it was struck off, so it was looked at"
        os.kill(child, 0)
        os.kill(child, signal.SIGKILL)


def test_a_destroy_needs_no_room_on_the_disk(stage: ProcessStage) -> None:
    """In a process that can write nothing to any file."""
    box, launch = stage.driver(), stage.launch()
    box.create(launch)
    program = f"""
import resource
from pathlib import Path
from tests.support.orchestrators import Clock, ProcessStage
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
box = ProcessStage(Path({str(stage.directory)!r}), Clock(), {stage.here!r}, {stage.there!r}).driver()
box.destroy({str(launch.id.name)!r}, grace=0.0)
"""
    root = Path(__file__).parents[4]
    subprocess.run([sys.executable, "-B", "-c", program], cwd=root, check=True, timeout=PATIENT)

    until(lambda: box.find(launch.id.name) is None)


def test_a_python_that_is_not_there_any_more_is_not_the_recipes_fault(
    box: ProcessOrchestrator, stage: ProcessStage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    with pytest.raises(Transient, match=r"is gone .*: restart Trimtab"):
        box.create(stage.launch())

    assert box.list(WEB).servers == ()
