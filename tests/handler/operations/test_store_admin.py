"""An engine over a store that is older than its fleet: its report, what it does not touch, and a person's adoption."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from config.errors import Refused
from handler.planning.status import GroupCondition
from handler.ports.stored import EventKind
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.waiting import PATIENT
from trigger.reasons import Reason


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    """Make a fleet of six members whose store was rolled back to three."""
    hurry(monkeypatch)
    bed = EngineBed(tmp_path, model(maximum=8, notify="{command: [/bin/true]}"))

    async def three(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)

    async def six(up: Up) -> None:
        await up.operations.scale(WEB, 6, force=False, by="ada")
        await up.grown(6)

    bed.run(three)
    shutil.copy(bed.path, bed.path.with_suffix(".old"))
    bed.run(six)
    shutil.copy(bed.path.with_suffix(".old"), bed.path)
    return bed


def test_an_older_store_removes_and_makes_nothing_and_says_so(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.older_store is not None)
        await up.passed(10)
        await up.ticked(3)
        status = up.status
        assert (status.desired, up.serving(), len(bed.machines)) == (6, 6, 6)
        assert (status.condition, status.reason) == (GroupCondition.ERROR, Reason.OLDER_STORE)
        assert "it has size 3, but the cloud lists 6 members up to launch 6" in status.messages[0]
        assert "trimtab store adopt web" in status.messages[0]
        assert b'trimtab_group_older_store{group="web"} 1.0' in up.operations.metrics()
        assert b'trimtab_restricted{group="web",reason="older_store"} 1.0' in up.operations.metrics()
        await up.until(up.store.last_notices)
        (notice,) = up.store.last_notices()
        assert "older than the fleet" in notice.messages[0]
        refused = await up.operations.scale(WEB, 3, force=True, by="ada")
        assert (refused.reason, refused.desired_to) == (Reason.OLDER_STORE, 6)

    bed.run(scene)
    assert not bed.cloud.destroyed
    assert len(bed.cloud.created) == 6


def test_a_restart_neither_forgets_the_doubt_nor_needs_it_to_be_found_again(bed: EngineBed) -> None:
    async def doubted(up: Up) -> None:
        await up.until(lambda: up.status.older_store is not None)
        await up.passed(3)

    async def still(up: Up) -> None:
        assert up.status.older_store is not None
        await up.passed(3)
        assert up.status.older_store is not None
        assert up.serving() == 6

    bed.run(doubted)
    bed.run(still)
    events = [event.name for event in bed.run(_history) if event.name == "older_store"]
    assert events == ["older_store"]


async def _history(up: Up):
    return await up.operations.history(WEB, before=None, limit=500, kinds={EventKind.NOTE})


def test_a_person_confirms_and_new_members_have_names_that_were_never_used(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.older_store is not None)
        (adopted,) = (await up.operations.stores.adopt(None, by="ada")).groups
        assert (adopted.stored, adopted.desired, adopted.found) == (3, 6, 6)
        await up.grown(6)
        assert up.status.condition is not GroupCondition.ERROR
        await up.operations.scale(WEB, 7, force=False, by="ada")
        await up.grown(7)
        assert len(set(bed.cloud.created)) == len(bed.cloud.created) == 7
        (event,) = [event for event in await _history(up) if event.name == "store_adopted"]
        assert event.by == "ada"

    bed.run(scene)
    assert not bed.cloud.destroyed


def test_a_group_that_is_not_in_doubt_needs_no_confirmation(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.older_store is not None)
        await up.operations.stores.adopt(WEB, by="ada")
        with pytest.raises(Refused, match="not in doubt"):
            await up.operations.stores.adopt(WEB, by="ada")
        assert (await up.operations.stores.adopt(None, by="ada")).groups == ()

    bed.run(scene)


def test_a_pass_that_saw_the_fleet_before_a_person_confirmed_does_not_doubt_anew(
    bed: EngineBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, go_on = threading.Event(), threading.Event()

    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.older_store is not None)
        converger = up.engine.parts.converger
        run = converger.run

        def held(*args: Any, **kwargs: Any) -> Any:
            done = run(*args, **kwargs)
            seen.set()
            go_on.wait(PATIENT)
            return done

        monkeypatch.setattr(converger, "run", held)
        up.runtime.wake.set()
        await up.until(seen.is_set)
        asyncio.get_running_loop().call_later(0.2, go_on.set)
        await up.operations.stores.adopt(WEB, by="ada")
        await up.passed(3)
        assert up.status.older_store is None
        events = [event.name for event in await _history(up) if event.name == "older_store"]
        assert events == ["older_store"]

    bed.run(scene)
