"""An engine on a machine whose clock is set while it runs, or while it does not: spans keep their lengths."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from collector.boards.alerts import Brought
from config.units import AlertId, Instant
from handler.engine import engine as engines
from handler.identity.grants import Anonymous
from handler.store.sqlite import SqliteStore
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.waiting import PATIENT
from tests.support.worlds import INSTALLATION
from trigger.reasons import Reason

DAY = 86400.0
STEPS = pytest.mark.parametrize("step", [-DAY, DAY], ids=["a-day-back", "a-day-forward"])


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    monkeypatch.setattr(engines, "_WATCH", 0.05)
    return EngineBed(tmp_path)


async def set_by(up: Up, step: float) -> None:
    """Set the machine's clock, and wait until the daemon has followed it."""
    up.bed.ahead += step
    held = up.engine.parts.held
    assert held is not None
    await up.until(lambda: abs(held.departed()) < 1.0)


async def scaled_out(up: Up) -> None:
    up.bed.readings.value = 95.0
    await up.until(lambda: up.status.desired == 3)
    await up.grown(3)


@STEPS
def test_a_quiet_time_lasts_neither_longer_nor_shorter_when_the_clock_is_set(bed: EngineBed, step: float) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await scaled_out(up)
        await set_by(up, step)
        await up.ticked(5)
        (quiet,) = up.status.quiets
        assert 3500.0 < quiet.until - up.operations.now() <= 3600.0
        assert up.status.desired == 3
        assert up.status.policies["out"] is Reason.QUIET

    bed.run(scene)


@pytest.mark.parametrize("running", [True, False], ids=["while-it-runs", "while-it-does-not"])
def test_a_day_back_does_not_keep_a_group_from_growing(bed: EngineBed, running: bool) -> None:
    bed.declare(model().replace("add: 1, quiet_time: 1h", "add: 1, quiet_time: 3s"))

    async def first(up: Up) -> None:
        await up.grown(2)
        await scaled_out(up)
        if running:
            await set_by(up, -DAY)
            await up.until(lambda: up.status.desired == 4)

    async def second(up: Up) -> None:
        await up.until(lambda: up.status.desired == 4)

    bed.run(first)
    if not running:
        bed.ahead -= DAY
        bed.run(second)


@STEPS
def test_a_restart_within_one_boot_keeps_what_is_left_of_a_quiet_time(bed: EngineBed, step: float) -> None:
    async def first(up: Up) -> None:
        await up.grown(2)
        await scaled_out(up)

    async def second(up: Up) -> None:
        (quiet,) = up.status.quiets
        assert 3500.0 < quiet.until - up.operations.now() <= 3600.0

    bed.run(first)
    bed.ahead += step
    bed.run(second)


def test_after_a_reboot_with_an_earlier_clock_a_quiet_time_lasts_no_longer_than_declared(
    bed: EngineBed,
) -> None:
    async def first(up: Up) -> None:
        await up.grown(2)
        await scaled_out(up)

    async def second(up: Up) -> None:
        (quiet,) = up.status.quiets
        assert quiet.until - up.operations.now() <= 3600.0

    bed.run(first)
    bed.ahead -= DAY
    bed.boot = "another-boot"
    bed.run(second)


@STEPS
def test_members_that_build_or_drain_go_on_as_if_nothing_had_happened(bed: EngineBed, step: float) -> None:
    bed.declare(model(drain="30s", build_timeout="60s"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.build_time = 4.0
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.until(lambda: len(bed.machines) == 3)
        bed.edge.busy = 1000.0
        await up.operations.scale(WEB, 2, force=True, by="ada")
        await up.passed(3)
        before = bed.machines
        await set_by(up, step)
        await up.passed(3)
        assert bed.machines == before

    bed.run(scene)


@STEPS
def test_the_budget_of_an_hour_counts_what_was_made_in_the_last_hour(bed: EngineBed, step: float) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        used = up.store.creates(WEB, up.runtime.definition.cloud.id, up.operations.now()).group_past_hour
        await set_by(up, step)
        now = up.operations.now()
        assert up.store.creates(WEB, up.runtime.definition.cloud.id, now).group_past_hour == used == 2
        later = replace(up.engine.parts.clock(), wall=now + 3700.0).wall
        assert up.store.creates(WEB, up.runtime.definition.cloud.id, later).group_past_hour == 0

    bed.run(scene)


@STEPS
def test_a_member_is_silent_for_as_long_as_it_was_when_the_clock_is_set(bed: EngineBed, step: float) -> None:
    bed.declare(model().replace("{haproxy: scur,", "{snmp: 1.3.6.1.4.1.2021.11.9.0,"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.ticked(2)
        bed.readings.value = None
        await up.until(lambda: len(up.runtime.heard.unanswered) == 2)
        await set_by(up, step)
        await up.ticked(3)
        for missed in up.runtime.heard.unanswered.values():
            assert missed.heard_at is not None
            assert missed.silent_since is not None
            assert 0.0 <= up.operations.now() - missed.silent_since < PATIENT
            assert 0.0 <= missed.silent_since - missed.heard_at < PATIENT

    bed.run(scene)


@STEPS
def test_the_number_of_an_alert_lasts_as_long_as_it_did_when_the_clock_is_set(bed: EngineBed, step: float) -> None:
    async def scene(up: Up) -> None:
        now, board = up.engine.parts.clock(), up.engine.parts.inbox.board
        until = Instant(now.wall + 900.0)
        board.put(Brought(group=WEB, alert=AlertId("deep"), key="f1", value=7.0, at=now, until=until))
        await set_by(up, step)
        assert board.value(WEB, AlertId("deep"), up.engine.parts.clock()) == 7.0

    bed.run(scene)


def test_a_step_that_cannot_be_written_down_is_not_followed(bed: EngineBed, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await scaled_out(up)
        monkeypatch.setattr(up.store, "retime", _full)
        bed.ahead -= DAY
        await up.ticked(5)
        held = up.engine.parts.held
        assert held is not None
        assert held.departed() < -DAY / 2
        (quiet,) = up.status.quiets
        assert quiet.until - up.operations.now() > 3500.0
        monkeypatch.undo()
        hurry(monkeypatch)
        await up.until(lambda: abs(held.departed()) < 1.0)

    bed.run(scene)


def _full(*_: object) -> int:
    from config.errors import StoreError

    raise StoreError("the disk is full")


@STEPS
def test_what_is_on_disk_is_what_is_in_memory_after_the_clock_was_set(bed: EngineBed, step: float) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await scaled_out(up)
        await set_by(up, step)
        return up.runtime.state

    state = bed.run(scene)
    store = SqliteStore.open(bed.path, installation=INSTALLATION)
    (stored,) = store.groups()
    assert stored.state.quiets == state.quiets
    assert stored.state.grown_at == state.grown_at
    store.close()


@STEPS
def test_housekeeping_is_due_within_the_hour_when_the_clock_was_set(
    bed: EngineBed, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    class Machine(datetime):
        """The clock that APScheduler reads: that of the simulated machine."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.fromtimestamp(bed.read().wall, tz)

    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Machine)

    async def scene(up: Up) -> None:
        await set_by(up, step)
        job = up.engine.housekeeping._scheduler.get_job("prune")
        assert 0.0 < job.next_run_time.timestamp() - bed.read().wall <= 3600.0

    bed.run(scene)


@STEPS
def test_members_are_in_their_states_for_as_long_as_before_the_clock_was_set(bed: EngineBed, step: float) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await set_by(up, step)
        await up.passed(3)
        now = up.operations.now()
        assert all(0.0 <= now - member.state_since < 60.0 for member in up.status.members)

    bed.run(scene)
    bed.ahead += step
    bed.run(scene)


@STEPS
def test_a_token_expires_on_the_date_that_its_owner_was_shown(bed: EngineBed, step: float) -> None:
    async def scene(up: Up) -> None:
        users = up.engine.users
        await users.begin("ada", Anonymous.NONE)
        bearer = await up.operations.users.new_token("ada", "laptop", None, None, 30 * DAY)
        shown = users.token("ada", "laptop").expires_at
        await set_by(up, step)
        assert users.token("ada", "laptop").expires_at == shown
        bed.later = 30 * DAY - step - 3600.0
        assert users.bearer(bearer, "") is not None
        bed.later += 7200.0
        assert users.bearer(bearer, "") is None

    bed.run(scene)


@STEPS
def test_a_session_lasts_neither_longer_nor_shorter_when_the_clock_is_set(bed: EngineBed, step: float) -> None:
    async def scene(up: Up) -> None:
        sessions = up.engine.credentials.sessions
        cookie, _ = sessions.begin("ada")
        await set_by(up, step)
        bed.later = 3500.0
        assert sessions.find(cookie, by_person=False) is not None
        bed.later = 3700.0
        assert sessions.find(cookie, by_person=False) is None

    bed.run(scene)
