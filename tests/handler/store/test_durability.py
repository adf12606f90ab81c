"""What was acknowledged is there, whatever happens to the process or the disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from config.errors import StoreError
from handler.planning.world import Phase
from tests.support.store import (
    EDGE,
    LOCAL,
    NOW,
    WEB,
    a_record,
    a_state,
    a_tick,
    an_explanation,
    at,
    full_record,
    opened,
)
from tests.support.waiting import PATIENT, stopped

ROOT = Path(__file__).parents[3]

WRITING = """
import sys
from pathlib import Path
from tests.support.store import *
store = opened(Path(sys.argv[1]))
store.declare((a_definition(),), NOW)
for number in range(1, 100_000):
    store.intend(WEB, LOCAL, 1, (EDGE,), at(number))
    told = an_explanation(at(number), reason=Reason.SCALED_OUT, sizes=(number - 1, number))
    store.record((a_tick(told, state=a_state(number, quiets=(a_quiet(at(number)),))),))
    print(number, flush=True)
"""

LIMITED = """
import resource, sys
from pathlib import Path
from config.errors import StoreError
from tests.support.store import *
path = Path(sys.argv[1])
store = opened(path)
store.declare((a_definition(),), NOW)
log = path.with_name(path.name + "-wal")
free, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, most))
try:
    store.intend(WEB, LOCAL, 1, (), NOW)
except StoreError as error:
    print("refused", error)
print("read", len(store.groups()), len(store.members(WEB)))
resource.setrlimit(resource.RLIMIT_FSIZE, (free, most))
print("written", store.intend(WEB, LOCAL, 1, (), NOW)[0].name)
store.close()
"""


def python(script: str, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_what_was_acknowledged_survives_sigkill(file):
    process = python(WRITING, file)
    with stopped(process):
        acknowledged = [int(process.stdout.readline()) for _ in range(25)]
        process.kill()
        acknowledged += [int(line) for line in process.stdout.read().split() if line]
        process.stdout.close()
    store = opened(file)
    members, (web,) = store.members(WEB), store.groups()
    assert [member.sequence for member in members][: acknowledged[-1]] == acknowledged
    assert len(members) - acknowledged[-1] in (0, 1)
    assert web.state.desired - acknowledged[-1] in (0, 1)
    assert web.state.quiets[0].until == at(web.state.desired)
    assert store.history(WEB, before=None, limit=1)[0].desired_to == web.state.desired
    store.close()


@pytest.fixture
def empty(in_file):
    """A store in a file: its disk is what is tried."""
    return in_file


@pytest.fixture
def full(store):
    """A store on a disk without room; returns what gives the room back."""
    store.save((a_record(1),), LOCAL)

    def pages(most: int) -> None:
        store._writer.do(lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {most}").scalar())

    pages(1)  # as few as there are
    return lambda: pages(1 << 30)


def many(first: int) -> list:
    return [a_record(number, phase=Phase.INTENDED) for number in range(first, first + 500)]


def test_on_a_full_disk_nothing_is_half_written_and_reading_goes_on(store, full):
    with pytest.raises(StoreError, match="the disk is full: free space on it"):
        store.intend(WEB, LOCAL, 500, (EDGE,), NOW)
    with pytest.raises(StoreError, match="the disk is full"):
        store.begin_step(WEB, "create", None, NOW, many(100), LOCAL)
    assert store.members(WEB) == (a_record(1),)
    assert [event.name for event in store.history(WEB, before=None, limit=10)] == ["declared"]


def test_when_there_is_room_again_writing_goes_on_where_it_was(store, full):
    with pytest.raises(StoreError):
        store.intend(WEB, LOCAL, 500, (), NOW)
    full()
    assert [record.sequence for record in store.intend(WEB, LOCAL, 500, (), NOW)] == list(range(2, 502))


def test_a_decision_that_was_not_written_leaves_the_last_span_as_it_was(store, full):
    store.record((a_tick(),))
    big = a_tick(an_explanation(at(30), values=(1.0,) * 200), state=a_state(9))
    with pytest.raises(StoreError):
        store.record((big,))
    assert store.groups()[0].state.desired is None
    assert store.span_at(WEB, at(30)).last_at == NOW
    full()
    store.record((big,))
    assert store.groups()[0].state.desired == 9
    assert store.span_at(WEB, at(30)).last_at == at(30)


def test_a_commit_that_the_disk_refuses_is_a_store_error_and_leaves_nothing(file):
    process = python(LIMITED, file)
    with stopped(process):
        output, _ = process.communicate(timeout=PATIENT)
    lines = output.decode().splitlines()
    assert lines[0].startswith("refused")
    assert "disk" in lines[0]
    assert lines[1:] == ["read 1 0", "written web-k3f9ab-1"]


def test_one_that_does_not_fit_does_not_take_those_that_do_with_it(store, full):
    with pytest.raises(StoreError):
        store.save(many(100), LOCAL)
    store.save((full_record(),), LOCAL)
    assert store.members(WEB) == (a_record(1), full_record())
