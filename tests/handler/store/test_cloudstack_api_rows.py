"""What CloudStack's query API keeps: ids of entities, jobs, and the changes of size that are its events."""

from __future__ import annotations

from dataclasses import replace

from config.document.entities import Entity
from config.model.sections import Section
from handler.ports.cloudstack_api import StoredHandle, StoredJob
from handler.ports.declarations import DeclaredOverApi, EntityChange, EntityRevision
from handler.store.sqlite import SqliteStore
from tests.support.filled import filled
from tests.support.store import at

HANDLE = StoredHandle(section=Section.GROUPS, id="web", uuid="u1", made_at=at(0), details={"name": "shop"})
JOB = replace(filled(StoredJob), ended_at=at(0))


def test_a_handle_is_replaced_by_a_newer_one_and_goes_with_its_entity(store: SqliteStore) -> None:
    other = replace(HANDLE, section=Section.COUNTERS, uuid="u2", details={})
    store.save_handles((HANDLE, other))
    store.save_handles((replace(HANDLE, details={}),))
    assert store.handles() == (other, replace(HANDLE, details={}))

    web = Entity(section=Section.GROUPS, id="web", name="web", text="{}", revision=1)
    gone = EntityChange(key=web.key, before=web, after=None)
    revision = EntityRevision(number=2, at=at(2), by="ada", origin="socket", changes=(gone,))
    store.declare((), at(2), over=DeclaredOverApi(revision=revision))
    assert store.handles() == (other,)


def test_jobs_are_kept_for_a_while_newest_first(store: SqliteStore) -> None:
    jobs = [replace(JOB, uuid=f"u{number}", ended_at=at(number)) for number in range(4)]
    for job in jobs:
        store.save_job(job, at(0))
    store.save_job(replace(JOB, uuid="u4", ended_at=at(4)), at(2))

    assert [job.uuid for job in store.jobs(at(0), 10)] == ["u4", "u3", "u2"]
    assert [job.uuid for job in store.jobs(at(3), 1)] == ["u4"]
    assert (store.job("u3"), store.job("u0")) == (jobs[3], None)
