from __future__ import annotations

from collections.abc import Callable

from handler.ports.stored import EventKind
from handler.store.sql_store import SqlStore
from tests.support.store import NOW, a_definition
from trigger.requests import FleetPause, Pause

Reopened = Callable[[], SqlStore]
STOPPED = FleetPause(pause=Pause.ALL, by="ada", since=NOW, because="storage moves")


def test_a_pause_of_the_fleet_is_there_after_a_restart_and_of_groups_declared_later_too(
    store: SqlStore, reopened: Reopened
) -> None:
    store.save_fleet_pause(STOPPED, "pause_all", "ada", "everything", NOW)
    again = reopened()
    again.declare([a_definition(name) for name in ("web", "worker", "later")], NOW)
    assert again.fleet_pause() == STOPPED
    assert [stored.state.fleet_pause for stored in again.groups()] == [STOPPED] * 3
    assert {stored.state.pause for stored in again.groups()} == {Pause.NO}


def test_every_group_has_a_line_of_who_paused_the_fleet(store: SqlStore) -> None:
    store.save_fleet_pause(STOPPED, "pause_all", "ada", "everything", NOW)
    for stored in store.groups():
        lines = store.history(stored.id, before=None, limit=9, kinds={EventKind.NOTE})
        assert ("pause_all", "ada", "everything") in {(line.name, line.by, line.message) for line in lines}


def test_a_lifted_pause_leaves_nothing(store: SqlStore) -> None:
    store.save_fleet_pause(STOPPED, "pause_all", "ada", "", NOW)
    store.save_fleet_pause(None, "resume_all", "bob", "", NOW)
    assert store.fleet_pause() is None
    assert {stored.state.fleet_pause for stored in store.groups()} == {None}
