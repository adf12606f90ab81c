"""Jobs: every command that changes something answers with one. It has ended when its id is answered, and is stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final

from config.model.sections import Section
from config.units import AccountId, Instant, Seconds
from handler.cloudstack_api.call import JobResult, Lazily, ListResult
from handler.cloudstack_api.faults import CloudstackFault, FaultCode, invalid, unknown_id
from handler.cloudstack_api.handles import new_uuid
from handler.cloudstack_api.owners import shown_owner, wanted_accounts
from handler.cloudstack_api.parameters import Arguments, Command
from handler.cloudstack_api.rendering import Shown, without_nothing
from handler.cloudstack_api.view import View, shown_time
from handler.identity.actors import Actor
from handler.ports.cloudstack_api import CloudstackApiStore, StoredJob

KEPT: Final[Seconds] = 30 * 86_400.0
"""How long jobs, and the events that they are, can be read."""
KINDS: Final = {
    Section.COUNTERS: "Counter",
    Section.CONDITIONS: "Condition",
    Section.POLICIES: "AutoScalePolicy",
    Section.PROFILES: "AutoScaleVmProfile",
    Section.GROUPS: "AutoScaleVmGroup",
}
_MOST: Final = 5_000
_DAY: Final = "%Y-%m-%d"
_TO_ITS_END: Final[Seconds] = 86_399.0
_FORMS: Final = (_DAY, "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z")
_SUCCEEDED: Final = 1
_FAILED: Final = 2


class Jobs:
    """Writes and reads jobs."""

    def __init__(self, store: CloudstackApiStore, now: Callable[[], Instant]) -> None:
        self._store, self._now = store, now

    async def keep(self, command: Command, by: Actor, done: JobResult | CloudstackFault, result: Shown) -> str:
        """Write a job that has just ended, and return its UUID.

        Raises:
            StoreError: it could not be written; what the command did stays.
        """
        now, about = self._now(), done if isinstance(done, JobResult) else None
        job = StoredJob(
            uuid=new_uuid(),
            command=command.name,
            user=by.name,
            account=by.account,
            made_at=now,
            ended_at=now,
            code=0 if about is not None else _code(done),
            result=json.dumps(without_nothing(result)),
            section=None if about is None else about.key[0],
            subject="" if about is None else about.uuid,
            name="" if about is None else about.name,
        )
        await asyncio.to_thread(self._store.save_job, job, Instant(now - KEPT))
        return job.uuid

    async def query(self, arguments: Arguments, view: View) -> Shown:
        """Carry out queryAsyncJobResult.

        Raises:
            CloudstackFault: there is no such job, or it is another account's.
        """
        uuid = arguments.need("jobid")
        job = await asyncio.to_thread(self._store.job, uuid)
        if job is None:
            raise unknown_id(arguments.command.envelope, "jobid", uuid)
        if not is_own(view, job):
            text = f"{view.by.name} does not have permission to view job {uuid}"
            raise CloudstackFault(FaultCode.ACCOUNT, text)
        return _shown(view, job)

    async def listed(self, arguments: Arguments, view: View) -> ListResult:
        """Carry out listAsyncJobs."""
        begin = time_given(arguments, "startdate")
        found = [job for job in await self.own(arguments, view) if begin is None or job.made_at >= begin]
        return ListResult(kind="asyncjobs", objects=Lazily(found, partial(_shown, view)))

    async def own(self, arguments: Arguments, view: View) -> list[StoredJob]:
        """Return the newest jobs of the accounts that a list is about, as far as the caller may see them."""
        wanted, grants = wanted_accounts(arguments, view.by, view.accounts), view.by.grants
        accounts = {*grants.accounts, view.by.account} if wanted is None and grants.groups is not None else wanted
        found = await asyncio.to_thread(self._store.jobs, Instant(self._now() - KEPT), _MOST, accounts)
        return [job for job in found if is_own(view, job)]


def is_own(view: View, job: StoredJob) -> bool:
    """Tell whether a caller may see a job: its user, or one that has its account as a whole."""
    return job.user == view.by.name or view.by.grants.holds(AccountId(job.account))


def time_given(arguments: Arguments, name: str, *, is_end: bool = False) -> Instant | None:
    """Return the instant that a parameter names; ``None``: it is not given.

    A day alone is its beginning, or with ``is_end`` its end, as CloudStack has it.

    Raises:
        CloudstackFault: it is none.
    """
    text = arguments.text(name)
    if text is None:
        return None
    for form in _FORMS:
        try:
            found = datetime.strptime(text.replace("Z", "+0000"), form)  # noqa: DTZ007  # the form may have no offset
        except ValueError:
            continue
        at = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        return Instant(at + _TO_ITS_END if is_end and form == _DAY else at)
    raise invalid(arguments.command.envelope, name, text[:100])


def _code(fault: JobResult | CloudstackFault) -> int:
    return int(fault.code) if isinstance(fault, CloudstackFault) else 0


def _shown(view: View, job: StoredJob) -> Shown:
    account = view.accounts.named(AccountId(job.account))
    return {
        "accountid": None if account is None else account.uuid,
        **shown_owner(view.accounts, AccountId(job.account)),
        "userid": next((user.uuid for user in view.users.users() if user.name == job.user), None),
        "cmd": f"org.apache.cloudstack.api.command.user.autoscale.{job.command[0].upper()}{job.command[1:]}Cmd",
        "jobstatus": _FAILED if job.code else _SUCCEEDED,
        "jobprocstatus": 0,
        "jobresultcode": job.code,
        "jobresulttype": "object",
        "jobresult": json.loads(job.result),
        "jobinstancetype": None if job.section is None else KINDS[job.section],
        "jobinstanceid": job.subject or None,
        "created": shown_time(job.made_at),
        "completed": shown_time(job.ended_at),
        "jobid": job.uuid,
    }
