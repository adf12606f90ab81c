"""A store of today's schema with something in every table, as SQL."""

from __future__ import annotations

import contextlib
import io
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from config.document.entities import Entity
from config.document.statement import Statement
from config.model.edits import Edit
from config.units import ROOT_DOMAIN, DomainId, GroupId, MemberName
from handler.identity.accounts import Account, Domain
from handler.identity.audit import AuditEntry
from handler.identity.grants import Anonymous
from handler.planning.attachments import Attachment
from handler.planning.declared import Converged, Pinned
from handler.planning.garbage import Abandoned
from handler.planning.launches import Claim
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.status import StateSince
from handler.ports.canaries import Canary
from handler.ports.cloudstack_api import StoredHandle, StoredJob
from handler.ports.credentials import StoredKeyPair, StoredPassword
from handler.ports.declarations import AppliedFile, DeclaredOverApi, EntityChange, EntityRevision
from handler.ports.held_clock import ClockDifference
from handler.ports.identity import StoredCall, StoredToken, StoredUser
from handler.ports.notices import Filed
from handler.ports.settings import AppliedSettings
from handler.ports.store import FileChange
from handler.ports.stored import Event, StoredTick
from handler.recording.events import RecordingSelection, write_events
from handler.store.packing import LEAST
from handler.store.sqlite import SqliteStore
from handler.store.timeline import read_timeline
from handler.store.worker_schema import checkpoints, lease, relayed, workers
from tests.support.filled import filled
from tests.support.store import (
    INSTALLATION,
    LOCAL,
    WEB,
    a_definition,
    a_quiet,
    a_signal,
    a_tick,
    an_answer,
    an_explanation,
    at,
    fill,
)
from trigger.explain.recorded_inputs import FORM, RecordedInputs
from trigger.reasons import Reason
from trigger.requests import FleetPause, GroupState

_EDIT = replace(filled(Edit), groups=(WEB,))


@contextlib.contextmanager
def a_full_store() -> Iterator[Path]:
    """The file of a store with something in every table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trimtab.sqlite"
        store = SqliteStore.open(path, installation=INSTALLATION)
        try:
            fill_everything(store)
        finally:
            store.close()
        yield path


def store_text() -> str:
    """The whole store: its tables, and every row."""
    with a_full_store() as path:
        return dumped(path)


def events_text() -> str:
    """What is exported of the store's history, as CSV."""
    with a_full_store() as path:
        lines = io.StringIO()
        write_events(lines, read_timeline(path), RecordingSelection())
        return lines.getvalue()


def fill_everything(store: SqliteStore) -> None:
    """Put something into every table, by what the daemon calls."""
    fill(store)
    state = replace(filled(GroupState), signals=(a_signal(),), quiets=(a_quiet(),), fleet_pause=None)
    given = replace(filled(RecordedInputs), form=FORM, at=at(90))
    store.record((replace(a_tick(an_explanation(at(90), sizes=(5, 7)), state=state), given=given),))
    act = replace(filled(Event), group=WEB, at=at(91))
    roll = filled(Roll)
    store.steer(act, filled(Pinned), roll)
    store.save_converged(WEB, filled(Converged), wholly=True)
    store.attach(act, a_definition("web"), (filled(Attachment),), ())
    store.bind(WEB, filled(BalancerProvision))
    store.save_begun(WEB, {MemberName("web-k3f9ab-1"): filled(StateSince)}, ())
    store.abandon(act, replace(filled(Abandoned), group=WEB, cloud=LOCAL), ())
    store.file_notices((filled(Filed),))
    statement = Statement(values={("groups", "web", "max"): "10"}, used={WEB: frozenset({("groups", "web")})})
    edited = FileChange(by="ada", statement=statement, edits=(_EDIT,), applied=filled(AppliedFile))
    store.declare((a_definition("web"),), at(92), edited)
    store.declare((a_definition("web"),), at(92), None, DeclaredOverApi(revision=a_revision()))
    store.save_fleet_pause(filled(FleetPause), "pause_all", "ada", "maintenance", at(93))
    store.save_generation(Claim(counter=12, nonce="k3f9abcd"))
    _settings(store)
    fill_users(store)
    store.append_audit((filled(AuditEntry),), None)
    _call(store)
    store.retime(0.0, at(94), ClockDifference(boot="b1", seconds=1.5))
    _packed(store)
    _workers(store)


def _packed(store: SqliteStore) -> None:
    """Put in as much history as is packed."""
    reasons = (Reason.STEADY, Reason.HOLDING)
    explanations = [
        an_explanation(at(200 + number), group="worker", reason=reasons[number % 2]) for number in range(LEAST + 1)
    ]
    store.record([a_tick(each) for each in explanations])
    store.record(_decided())
    store.prune(before=at(-1e9), bytes_at_most=1 << 30)


def _decided() -> list[StoredTick]:
    """Return as many decisions as are packed, with their inputs: one changes the size, and the others refuse to."""
    resized = an_explanation(at(220), group="api", reason=Reason.SCALED_OUT, sizes=(3, 4))
    refused = [
        an_explanation(at(220 + number), group="api", values=(), answers=(an_answer(Reason.QUIET),))
        for number in range(1, LEAST + 1)
    ]
    return [
        replace(
            a_tick(each), evaluated=False, given=replace(filled(RecordedInputs), form=FORM, number=number, at=each.at)
        )
        for number, each in enumerate((resized, *refused))
    ]


def _settings(store: SqliteStore) -> None:
    """Put in what persons applied, and what they try."""
    store.save_applied_settings(WEB, filled(AppliedSettings))
    store.save_canary(WEB, filled(Canary))


def _workers(store: SqliteStore) -> None:
    """Put in what workers on PostgreSQL have, as `trimtab store move` brings it."""
    row = {"name": "fleet", "epoch": 7, "process": "p1", "worker": "a", "renewals": 3, "span": 10.0, "expires_at": 94.0}
    put = {"id": "r1", "worker": "b", "at": 94.0, "epoch": 7, "request": "1.0a1b2c3d.AAAA"}
    own = {"name": "a", "process": "p1", "url": "http://a:8460", "version": "1", "problem": ""}

    def write(connection: Connection) -> None:
        connection.execute(insert(lease), {**row, "declaration": "d1"})
        connection.execute(insert(relayed), {**put, "taken_up": 7, "answer": "1.0a1b2c3d.BBBB"})
        connection.execute(insert(workers), {**own, "started_at": 90.0, "seen_at": 94.0})
        connection.execute(insert(checkpoints), {"slot": "s1", "ring": 0, "place": 0, "body": b"a head"})

    store._writer.do(write)


def fill_users(store: SqliteStore) -> None:
    """Make an account, and a user with one credential of each kind."""
    store.save_domain(replace(filled(Domain), id=DomainId("shops"), parent=ROOT_DOMAIN))
    store.save_account(replace(filled(Account), domain=DomainId("shops")))
    store.begin_users(replace(filled(StoredUser), name="ada"), Anonymous.VIEWER)
    store.save_token(replace(filled(StoredToken), user="ada"))
    store.save_password(replace(filled(StoredPassword), user="ada"))
    store.save_key_pairs((replace(filled(StoredKeyPair), user="ada"),))


def _call(store: SqliteStore) -> None:
    """Put in what interfaces keep of calls."""
    store.begin_call(filled(StoredCall), 60.0, 10)
    store.end_call("word", "word", 200, "{}")
    store.save_handles((filled(StoredHandle),))
    store.save_job(filled(StoredJob), at(-1e9))


def a_revision() -> EntityRevision:
    made = filled(Entity)
    return replace(filled(EntityRevision), changes=(EntityChange(key=made.key, before=None, after=made),))


def dumped(path: Path) -> str:
    """The rows of a store as SQL; what is compressed is laid open, as zlib reads it, too."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table in ("statements", "span_blocks"):
            for row, body in connection.execute(f"SELECT id, body FROM {table}").fetchall():  # noqa: S608
                plain = zlib.compress(zlib.decompress(body), 0)
                connection.execute(f"UPDATE {table} SET body = ? WHERE id = ?", (plain, row))  # noqa: S608
        return "".join(f"{line}\n" for line in connection.iterdump())


@contextlib.contextmanager
def loaded(text: str, path: Path) -> Iterator[SqliteStore]:
    """A store that holds what was dumped."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
    store = SqliteStore.open(path, installation=INSTALLATION)
    try:
        yield store
    finally:
        store.close()


def reads(store: SqliteStore) -> dict[str, Any]:
    """What is read of a store, by everything that reads it."""
    groups = store.groups()
    names = [group.definition.group.id for group in groups]
    return {
        "groups": groups,
        "members": [store.members(name) for name in names],
        "revisions": [store.revisions(name) for name in names],
        "bindings": [store.bindings(name) for name in names],
        "canaries": store.canaries(),
        "applied settings": [store.applied_settings(name) for name in names],
        "history": [store.history(name, before=None, limit=100) for name in names],
        "span": store.span_at(WEB, at(61)),
        "packed spans": store.spans_begun(GroupId("worker"), at(200), at(300), 100),
        "open steps": [store.open_steps(name) for name in names],
        "hooks": store.hooks(),
        "notices": store.last_notices(),
        "due": store.due_notices(at(10_000), 10),
        "abandoned": store.abandoned(),
        "fleet pause": store.fleet_pause(),
        "generation": store.generation(),
        "clock": store.clock(),
        "statement": store.statement(),
        "domains": store.domains(),
        "accounts": store.accounts(),
        "users": store.users(),
        "tokens": store.tokens(),
        "passwords": store.passwords(),
        "key pairs": store.key_pairs(),
        "anonymous": store.anonymous(),
        "audit": store.audit_after(0, 10),
        "calls": store.calls(),
        "handles": store.handles(),
        "jobs": store.jobs(at(0), 10),
        "entities": store.entities(),
        "entity revisions": store.entity_revisions(),
    }
