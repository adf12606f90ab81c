"""Opening: creating, migrating, refusing.

`fixtures/0001.sqlite` was written by the release that had schema 0001, with `tests.support.store.fill`, and so on. They
are never written again: what people have on disk does not change either.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from config.errors import Refused, StoreError
from config.model.pacing import Budget
from config.units import ROOT_ACCOUNT, BalancerId, GroupId, PolicyId
from handler.planning.attachments import Attachment
from handler.planning.declared import essence
from handler.planning.desired import Definition
from handler.planning.provisioning import BalancerProvision
from handler.planning.world import Phase, Record
from handler.ports.alerts import AlertStatus, HookUse
from handler.ports.stored import Event, EventKind
from handler.store import revisions
from handler.store.revisions import MIGRATIONS, upgrade
from handler.store.schema import HEAD, METADATA
from handler.store.sqlite import SqliteStore
from handler.store.sqlite_file import writer_engine
from handler.store.sqlite_revisions import create_file, to_head
from tests.support.store import (
    INSTALLATION,
    LOCAL,
    WEB,
    a_definition,
    a_delivery,
    a_hook,
    a_record,
    a_tick,
    at,
    full_hook,
    full_record,
    full_state,
    opened,
)
from tests.support.waiting import PATIENT
from trigger.reasons import Reason
from trigger.requests import Observed, OlderStore, ServiceTurn

FIXTURES = Path(__file__).with_name("fixtures")


def left_by(schema: int):
    """Make the fixture of a store as the release of that schema left it."""

    @pytest.fixture
    def store(tmp_path: Path) -> Path:
        return Path(shutil.copy(FIXTURES / f"{schema:04}.sqlite", tmp_path / "trimtab.sqlite"))

    return store


first, second, third, fourth, fifth, sixth, seventh, eighth = map(left_by, range(1, 9))
ninth, tenth, eleventh, twelfth, thirteenth, fourteenth, fifteenth = map(left_by, range(9, 16))
seventeenth = left_by(17)


NEXT = f"{int(HEAD) + 1:04}"


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The migrations of a release to come: its first replaces ``groups``, as migrations on SQLite do."""
    scripts = Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))
    (scripts / "versions" / "next.py").write_text(
        "import sqlalchemy as sa\n"
        "from alembic import op\n"
        f"revision, down_revision = '{NEXT}', '{HEAD}'\n"
        "def upgrade():\n"
        "    with op.batch_alter_table('groups', recreate='always') as table:\n"
        "        table.add_column(sa.Column('colour', sa.Text))\n"
    )
    return scripts


SINCE = {
    "profile": 9,
    "detaching": 10,
    "failing_since": 12,
    "attempts": 13,
    "given": 14,
    "removal_at": 14,
    "removal_tried_at": 14,
    "parts": 15,
    "registrations": 16,
}
"""Fields of records → the schema that has had them first."""


def record_of(schema: int) -> Record:
    """What is told of the record with every field set where a release of that schema wrote it."""
    defaults = {field.name: field.default for field in fields(Record)}
    return replace(full_record(), **{name: defaults[name] for name, first in SINCE.items() if first > schema})


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def alter(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_the_migrations_lead_to_the_tables_that_the_code_uses(file):
    engine = writer_engine(file)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_the_code_expects_the_newest_migration():
    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [HEAD]


def test_a_new_store_is_its_owners_alone(tmp_path):
    SqliteStore.open(tmp_path / "new.sqlite", installation=INSTALLATION).close()
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]


def test_a_store_that_others_could_read_is_closed_to_them(file):
    file.chmod(0o644)
    store = opened(file)
    store.declare((a_definition(),), at(0))
    assert {path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {0o600}
    store.close()


def defined_then(group: str) -> Definition:
    """A definition as releases stored it that had one budget for all: 10 at once and 60 an hour."""
    definition, then = a_definition(group), Budget(outstanding=10, per_hour=60)
    return replace(
        definition, group=replace(definition.group, budget=then), cloud=replace(definition.cloud, budget=then)
    )


def test_state_of_schema_0001_is_all_there(first):
    store = opened(first)
    web, worker = store.groups()
    assert (web.id, web.state, web.definition) == (
        WEB,
        replace(full_state(), signals=(), moves=(), observed=Observed(), watched=(), turn=ServiceTurn()),
        defined_then("web"),
    )
    assert (web.failed_builds, web.back_off_until, web.deleting) == (2, at(600), False)
    assert (worker.id, worker.state.desired, worker.state.orphaned) == (GroupId("worker"), None, True)
    intended = [replace(a_record(number, phase=Phase.INTENDED), intended_at=at(2)) for number in (1, 2)]
    assert store.members(WEB) == (*intended, record_of(1))
    assert store.intend(WEB, web.definition.cloud.id, 1, (), at(700))[0].sequence == 8
    assert store.answered(WEB, "alarm-1").reason is Reason.SCALED_OUT
    store.close()


def test_history_of_schema_0001_is_all_there(first):
    store = opened(first)
    events = [(event.kind, event.name, event.by) for event in store.history(WEB, before=None, limit=10)]
    assert events == [
        (EventKind.DECISION, "quiet", "person ada"),
        (EventKind.NOTE, "pause", "ada"),
        (EventKind.STEP, "create", "web-k3f9ab-2"),
        (EventKind.STEP, "create", "web-k3f9ab-1"),
        (EventKind.DECISION, "scaled_out", "alarm nagios"),
        (EventKind.NOTE, "declared", "file"),
    ]
    span = store.span_at(WEB, at(40))
    assert (span.first_at, span.last_at, span.ticks, span.least, span.greatest) == (at(31), at(61), 2, (40.0,), (60.0,))
    store.close()


def test_a_store_of_schema_0001_can_take_alerts(first):
    store = opened(first)
    store.record((a_tick(state=full_state()),))
    store.save_hook(full_hook())
    store.deliver((a_delivery(),))
    assert (store.groups()[0].state, store.hooks()) == (full_state(), (full_hook(),))
    store.close()


def test_schema_0002_is_all_there(second):
    store = opened(second)
    web, worker = store.groups()
    assert (web.state, web.definition, worker.state.signals) == (
        replace(full_state(), moves=(), observed=Observed(), watched=(), turn=ServiceTurn()),
        defined_then("web"),
        (),
    )
    assert store.hooks() == (a_hook(), full_hook())
    deliveries = (a_delivery(at(9)), a_delivery(at(10), AlertStatus.RESOLVED, decision="d2"))
    assert store.delivered(WEB, deliveries[0].alert, "f1") == deliveries
    assert store.answered(WEB, "alarm-1").reason is Reason.SCALED_OUT
    assert len(store.members(WEB)) == 3
    store.close()


def test_groups_of_schema_0004_have_not_moved_and_can(fourth):
    store = opened(fourth)
    assert store.groups()[0].state == replace(
        full_state(), moves=(), observed=Observed(), watched=(), turn=ServiceTurn()
    )
    store.record((a_tick(state=full_state()),))
    assert store.groups()[0].state == full_state()
    store.close()


def test_nothing_was_advised_in_groups_of_schema_0005_and_can_be(fifth):
    store = opened(fifth)
    assert store.groups()[0].state == replace(full_state(), observed=Observed(), watched=(), turn=ServiceTurn())
    store.record((a_tick(state=full_state()),))
    assert store.groups()[0].state == full_state()
    store.close()


def test_schedules_of_groups_of_schema_0006_are_new(sixth):
    store = opened(sixth)
    assert store.groups()[0].state == replace(full_state(), watched=(), turn=ServiceTurn())
    store.record((a_tick(state=full_state()),))
    assert store.groups()[0].state == full_state()
    store.close()


def test_no_group_of_schema_0007_waits_for_a_turn_and_every_group_can(seventh):
    store = opened(seventh)
    assert store.groups()[0].state == replace(full_state(), turn=ServiceTurn())
    store.record((a_tick(state=full_state()),))
    assert store.groups()[0].state == full_state()
    store.close()


def test_the_profile_of_members_of_schema_0008_is_unknown(eighth):
    store = opened(eighth)
    assert (store.groups()[0].state, len(store.members(WEB))) == (full_state(), 3)
    assert {record.profile for record in store.members(WEB)} == {None}
    assert store.members(WEB)[-1] == record_of(8)
    store.save((full_record(),), LOCAL)
    assert store.members(WEB)[-1] == full_record()
    store.close()


def test_no_member_of_schema_0009_is_attached_or_about_to_leave_a_balancer(ninth):
    store = opened(ninth)
    assert [group.attachments for group in store.groups()] == [(), ()]
    assert store.members(WEB)[-1] == record_of(9)
    attachment = Attachment(balancer=BalancerId("side"), port=81, by="ada", at=at(700))
    act = Event(at=at(700), group=WEB, kind=EventKind.NOTE, name="attach", by="ada")
    store.attach(act, a_definition("web"), (attachment,), (full_record(),))
    assert (store.groups()[0].attachments, store.members(WEB)[-1]) == ((attachment,), full_record())
    store.close()


def test_no_member_of_schema_0011_is_known_to_fail_and_every_member_can(eleventh):
    store = opened(eleventh)
    assert store.members(WEB)[-1] == record_of(11)
    store.save((full_record(),), LOCAL)
    assert store.members(WEB)[-1] == full_record()
    store.close()


def test_of_members_of_schema_0012_no_call_is_known_to_have_failed(twelfth):
    store = opened(twelfth)
    assert store.members(WEB)[-1] == record_of(12)
    store.save((full_record(),), LOCAL)
    assert store.members(WEB)[-1] == full_record()
    store.close()


def test_members_of_schema_0013_were_all_made_here_and_none_was_abandoned(thirteenth):
    store = opened(thirteenth)
    assert (len(store.members(WEB)), store.members(WEB)[-1]) == (3, record_of(13))
    assert (store.abandoned(), store.abandoned_of(WEB)) == ((), frozenset())
    store.save((full_record(),), LOCAL)
    assert store.members(WEB)[-1] == full_record()
    store.close()


def test_members_of_schema_0014_have_no_parts(fourteenth):
    store = opened(fourteenth)
    assert store.members(WEB)[-1] == record_of(14)
    store.save((full_record(),), LOCAL)
    assert store.members(WEB)[-1] == full_record()
    store.close()


def test_nothing_was_made_for_groups_of_schema_0015_and_can_be_now(fifteenth):
    store = opened(fifteenth)
    assert store.bindings(WEB) == ()
    store.bind(WEB, BalancerProvision(balancer=BalancerId("lb")))
    assert store.bindings(WEB) == (BalancerProvision(balancer=BalancerId("lb")),)
    store.close()


def test_no_group_of_schema_0017_is_in_doubt_and_can_be_now(seventeenth):
    store = opened(seventeenth)
    state = store.groups()[0].state
    assert state.older is None
    doubted = replace(state, older=OlderStore(since=at(9), stored=5, found=8, sequence=8))
    store.note(WEB, "older_store", "convergence", "", at(9), doubted)
    assert store.groups()[0].state == doubted
    store.close()


def test_groups_of_schema_0017_are_not_new_and_neither_are_their_names(seventeenth):
    store = opened(seventeenth)
    assert not any(group.state.fresh for group in store.groups())
    store.drop_group(GroupId("worker"))
    store.declare((a_definition("web"), a_definition("worker"), a_definition("other")), at(8))
    assert {group.id: group.state.fresh for group in store.groups()} == {"web": False, "worker": False, "other": True}
    store.close()


def test_no_length_of_a_quiet_time_of_schema_0017_is_known(seventeenth):
    store = opened(seventeenth)
    assert {quiet.lasts for quiet in store.groups()[0].state.quiets} == {None}
    store.close()


def test_webhooks_of_schema_0003_take_alerts_as_they_did_and_others_may_take_values(third):
    store = opened(third)
    values = replace(a_hook("orders", id="h3"), pushes=True)
    store.save_hook(values)
    assert store.hooks() == (a_hook(), full_hook(), values)
    assert [hook.pushes for hook in store.hooks()] == [False, False, True]
    store.close()


def test_webhooks_of_schema_0003_execute_and_observe_nothing_and_others_may(third):
    store = opened(third)
    executes = replace(a_hook("deploys", id="h3"), policy=PolicyId("out"))
    observes = replace(a_hook("events", id="h4"), observes=True)
    store.save_hook(executes)
    store.save_hook(observes)
    assert [hook.use for hook in store.hooks()] == [
        HookUse.ALERTS, HookUse.EXECUTE, HookUse.OBSERVE, HookUse.ALERTS,
    ]  # fmt: skip
    assert store.hooks()[1:3] == (executes, observes)
    store.close()


def test_a_migration_keeps_members_although_it_replaces_groups(first, later):
    to_head(first, scripts=later, head=NEXT)
    assert rows(first, "SELECT version_num FROM alembic_version") == [(NEXT,)]
    assert rows(first, "SELECT id, desired, colour FROM groups") == [("web", 5, None), ("worker", None, None)]
    assert len(rows(first, "SELECT * FROM members")) == 3
    assert len(rows(first, "SELECT * FROM quiets")) == 2


def test_before_a_migration_a_copy_is_laid_beside(first, later):
    before = rows(first, "SELECT * FROM members")
    to_head(first, scripts=later, head=NEXT)
    copy = first.with_name(f"trimtab.sqlite.before-{NEXT}")
    assert rows(copy, "SELECT * FROM members") == before
    assert rows(copy, "SELECT version_num FROM alembic_version") == [("0001",)]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert not list(first.parent.glob("*.draft"))


def test_a_migration_that_fails_leaves_the_store_as_it_was(first, later):
    with (later / "versions" / "next.py").open("a") as script:
        script.write("    op.execute('SELECT nonsense')\n")
    with pytest.raises(OperationalError, match="nonsense"):
        to_head(first, scripts=later, head=NEXT)
    store = opened(first)
    assert len(store.members(WEB)) == 3
    store.close()


def test_a_migration_that_would_leave_orphan_rows_is_undone(first, later):
    with (later / "versions" / "next.py").open("a") as script:
        script.write("    op.execute('DELETE FROM groups')\n")
    with pytest.raises(StoreError, match="rows without their group"):
        to_head(first, scripts=later, head=NEXT)
    assert len(rows(first, "SELECT * FROM groups")) == 2


def test_a_store_of_a_newer_release_is_refused_and_untouched(first):
    alter(first, "UPDATE alembic_version SET version_num = '0999'")
    before = first.read_bytes()
    with pytest.raises(Refused, match=rf"schema 0999; this release knows up to {HEAD}\): run that release") as refused:
        opened(first)
    assert "trimtab.sqlite.before-0999" in str(refused.value)
    assert first.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "trimtab.sqlite"
    path.write_text("groups: {}\n" * 1000)
    with pytest.raises(StoreError, match="not an SQLite database; restore a backup, or move it away"):
        opened(path)
    assert path.read_text() == "groups: {}\n" * 1000


def test_a_damaged_file_is_refused_with_what_to_do(first):
    content = bytearray(first.read_bytes())
    (root,) = rows(first, "SELECT rootpage FROM sqlite_master WHERE name = 'members'")[0]
    content[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    first.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged.*restore a backup"):
        opened(first)


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "trimtab.sqlite"
    alter(path, "CREATE TABLE songs (name TEXT)")
    with pytest.raises(StoreError, match="a database of another program"):
        opened(path)


def test_a_directory_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(StoreError, match="No such file or directory"):
        SqliteStore.open(tmp_path / "nowhere" / "trimtab.sqlite", installation=INSTALLATION)


def test_what_schema_0010_had_declared_is_the_first_revision_once_the_file_says_something_else(tenth):
    store = opened(tenth)
    before = store.groups()[0].definition
    store.declare((before,), at(100))
    assert [(each.number, each.definition) for each in store.revisions(WEB)] == [(1, essence(before))]
    store.close()


def test_a_change_just_after_schema_0010_is_a_second_revision(tenth):
    store = opened(tenth)
    before, after = store.groups()[0].definition, a_definition(maximum=99)
    store.declare((after,), at(100))
    assert [(each.number, each.definition) for each in store.revisions(WEB)] == [
        (2, essence(after)),
        (1, essence(before)),
    ]
    store.close()


def test_users_from_before_accounts_belong_to_the_root_account_under_their_names(tmp_path):
    path = tmp_path / "trimtab.sqlite"
    create_file(path)
    to_head(path, head="0033")
    alter(path, "INSERT INTO users (name, role, created_at) VALUES ('ada', 'admin', 1.0), ('bob', 'viewer', 2.0)")
    store = SqliteStore.open(path, installation=INSTALLATION)
    ada, bob = store.users()
    assert [(user.name, user.display_name, user.account) for user in (ada, bob)] == [
        ("ada", "ada", ROOT_ACCOUNT),
        ("bob", "bob", ROOT_ACCOUNT),
    ]
    assert len({ada.uuid, bob.uuid, store.accounts()[0].uuid, store.domains()[0].uuid}) == 4
    store.close()


def test_revisions_from_before_an_account_was_made_are_none_of_its_own(tmp_path):
    path = tmp_path / "trimtab.sqlite"
    create_file(path)
    to_head(path, head="0056")
    alter(
        path,
        'INSERT INTO entity_revisions (number, "at", "by", origin, changes) VALUES '
        "(1, 1.0, 'ada', 'token', '[]'), (2, 5.0, 'ada', 'token', '[]'), (3, 9.0, 'ada', 'token', '[]')",
    )
    alter(
        path,
        "INSERT INTO accounts (id, uuid, domain, created_at) VALUES "
        "('first', 'u1', 'ROOT', 0.5), ('later', 'u2', 'ROOT', 6.0)",
    )
    store = SqliteStore.open(path, installation=INSTALLATION)
    assert {each.id: each.after_revision for each in store.accounts()} == {"root": 0, "first": 0, "later": 2}
    store.close()


def test_an_older_store_of_another_installation_is_refused_before_it_is_migrated(tmp_path):
    path = Path(shutil.copy(FIXTURES / "0017.sqlite", tmp_path / "trimtab.sqlite"))
    with pytest.raises(Refused, match="belongs to installation k3f9ab, not other1"):
        SqliteStore.open(path, installation="other1")
    with contextlib.closing(sqlite3.connect(path)) as store:
        assert store.execute("SELECT version_num FROM alembic_version").fetchone() == ("0017",)
    assert not list(tmp_path.glob("*.before-*"))


def test_stores_that_are_made_at_once_in_one_process_are_all_whole(tmp_path: Path) -> None:
    places = [tmp_path / f"{number}.sqlite" for number in range(6)]
    for place in places:
        create_file(place)
    with ThreadPoolExecutor(len(places)) as pool:
        assert list(pool.map(to_head, places)) == [None] * len(places)
    assert {revision(place) for place in places} == {HEAD}


def test_a_store_whose_database_hangs_as_it_is_migrated_keeps_no_other_one_waiting_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisions, "_TURN_WITHIN", 0.01)
    begun, goes_on = threading.Event(), threading.Event()
    hanging, other = (create_engine(f"sqlite:///{tmp_path / name}") for name in "ab")

    @event.listens_for(hanging, "before_cursor_execute")
    def hang(*_: object) -> None:
        begun.set()
        goes_on.wait(PATIENT)

    def migrated(engine: Engine) -> None:
        with engine.begin() as connection:
            upgrade(connection)

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(migrated, hanging)
        assert begun.wait(PATIENT)
        with pytest.raises(StoreError, match="the migration of another one in this process has not ended"):
            migrated(other)
        goes_on.set()
        slow.result(PATIENT)
    migrated(other)
    assert [revision(tmp_path / name) for name in "ab"] == [HEAD, HEAD]
    hanging.dispose()
    other.dispose()


def revision(place: Path) -> str:
    with contextlib.closing(sqlite3.connect(place)) as connection:
        (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found)
