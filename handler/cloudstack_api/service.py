"""Carry commands out for callers whose signature holds. Every request has an answer of CloudStack's form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from config.errors import StoreError, TrimtabError
from config.model.cloudstack_api import CloudstackApi
from config.model.sections import Section
from config.units import Seconds
from handler import logs
from handler.cloudstack_api import conditions, counters, details, events, groups, lookups, machines, policies, profiles
from handler.cloudstack_api.call import Call, JobResult, ListResult
from handler.cloudstack_api.changes import Changes
from handler.cloudstack_api.commands import COMMANDS, ROOT_ONLY, described
from handler.cloudstack_api.faults import CloudstackFault, FaultCode, unauthorized
from handler.cloudstack_api.handles import Handles
from handler.cloudstack_api.jobs import Jobs
from handler.cloudstack_api.owners import is_root_admin
from handler.cloudstack_api.parameters import PAGE_AT_MOST, Arguments, Command, lowered, page_of, read
from handler.cloudstack_api.rendering import RenderedAnswer, Shown, answer, fault_answer, listed, shown_failure
from handler.cloudstack_api.signatures import is_signed, is_timely, named
from handler.cloudstack_api.view import AnswerCache, View, is_in, keys_in
from handler.engine.declared import Declaration
from handler.engine.engine import Engine
from handler.identity.actors import Actor
from handler.identity.rights import Verb
from handler.ingest.request_rates import API_TOKEN, Allowances
from handler.operations.facade import Operations

VERSION: Final = "4.22.0.0"
"""The release of CloudStack whose API this is."""
_AT_ONCE: Final = 50
"""Objects of a list that are written on the event loop; longer lists are written beside it."""
_NO_SECRET: Final = "no key pair has this secret"  # noqa: S105  # so that an unknown key takes as long as a known one

_ACTS: Final[Mapping[str, Callable[[Call], Awaitable[JobResult]]]] = {
    "createcounter": counters.create,
    "deletecounter": counters.delete,
    "createcondition": conditions.create,
    "updatecondition": conditions.update,
    "deletecondition": conditions.delete,
    "createautoscalepolicy": policies.create,
    "updateautoscalepolicy": policies.update,
    "deleteautoscalepolicy": policies.delete,
    "createautoscalevmprofile": profiles.create,
    "updateautoscalevmprofile": profiles.update,
    "deleteautoscalevmprofile": profiles.delete,
    "createautoscalevmgroup": groups.create,
    "updateautoscalevmgroup": groups.update,
    "deleteautoscalevmgroup": groups.delete,
    "enableautoscalevmgroup": groups.enable,
    "disableautoscalevmgroup": groups.disable,
    "addresourcedetail": details.add,
    "removeresourcedetail": details.remove,
}
_LISTS: Final[Mapping[str, Callable[[Call], Awaitable[ListResult]]]] = {
    "listcounters": counters.listed,
    "listconditions": conditions.listed,
    "listautoscalepolicies": policies.listed,
    "listautoscalevmprofiles": profiles.listed,
    "listautoscalevmgroups": groups.listed,
    "listvirtualmachines": machines.listed,
    "listresourcedetails": details.listed,
    "listzones": lookups.zones,
    "listtemplates": lookups.templates,
    "listserviceofferings": lookups.offerings,
    "listloadbalancerrules": lookups.rules,
    "listusers": lookups.users,
    "listaccounts": lookups.accounts,
    "listdomains": lookups.domains,
}
_SHOWN: Final[Mapping[Section, Callable[[View, str], Shown]]] = {
    Section.COUNTERS: counters.shown,
    Section.CONDITIONS: conditions.shown,
    Section.POLICIES: policies.shown,
    Section.PROFILES: profiles.shown,
    Section.GROUPS: groups.shown,
}


class CloudstackCommands:
    """CloudStack's API of one daemon."""

    def __init__(self, engine: Engine, operations: Operations, clock: Callable[[], Seconds]) -> None:
        """Make it; ``clock`` is a steady one, for rates."""
        self._engine, self._operations, self._clock = engine, operations, clock
        self._handles = Handles(engine.parts.store)
        self._jobs = Jobs(engine.parts.store, operations.now)
        self._rates = Allowances(API_TOKEN)
        self._turn = asyncio.Lock()
        self._covered: Declaration | None = None
        self._kept = AnswerCache()
        self._kept_of: tuple[Declaration, int] | None = None

    @property
    def api(self) -> CloudstackApi | None:
        """What the file declares of it; ``None``: it is not served."""
        return self._engine.catalogue().cloudstack_api

    async def answer(self, api: CloudstackApi, parameters: Mapping[str, str], peer: str) -> RenderedAnswer:
        """Answer a request.

        Args:
            api: what the file declares.
            parameters: decoded, by the names as sent; of a name that is sent twice, the first value.
            peer: the address of the client.
        """
        form, command = named(parameters, "response"), COMMANDS.get(named(parameters, "command").lower())
        envelope = "errorresponse" if command is None else command.key
        try:
            by = self._verified(api, parameters, peer)
            if command is None or not _may(by, command):
                name = named(parameters, "command")[:100]
                text = f"The given command '{name}' either does not exist, is not available for user."
                raise CloudstackFault(FaultCode.UNAUTHORIZED, text)
            content = await self._carried_out(api, read(command, lowered(parameters)), by)
        except CloudstackFault as fault:
            return fault_answer(envelope, fault, form)
        except StoreError as error:
            return fault_answer(envelope, CloudstackFault(FaultCode.INTERNAL, str(error)), form)
        count = content.get("count")
        if not isinstance(count, int) or count <= _AT_ONCE:
            return answer(envelope, content, form)
        return await asyncio.to_thread(answer, envelope, content, form)

    def _verified(self, api: CloudstackApi, parameters: Mapping[str, str], peer: str) -> Actor:
        """Return the actor of a request whose signature holds. The answer to any other never says why.

        Raises:
            CloudstackFault: it does not hold, or the key has no requests left.
        """
        api_key, keys = named(parameters, "apiKey"), self._operations.keys.signing
        try:
            key = keys.signing_key(api_key)
        except TrimtabError as error:
            logs.warn("key_pair_shut", error=str(error))
            key = None
        holds = is_signed(parameters, _NO_SECRET if key is None else key.secret)
        timely = is_timely(parameters, self._operations.now(), require_expiry=api.require_expiry)
        by = keys.signed(key, peer) if key is not None and holds and timely else None
        if by is None:
            why = (
                "no such key" if key is None else "signature" if not holds else "expired" if not timely else "disabled"
            )
            self._operations.attempts.note(
                self._operations.users.known.without_token(peer), "/client/api", f"a signed request is refused: {why}"
            )
            raise unauthorized()
        if self._rates.wait(api_key, self._clock()) is not None:
            raise CloudstackFault(
                FaultCode.TOO_MANY, "The given user has reached his/her account api limit, please retry"
            )
        return by

    async def _carried_out(self, api: CloudstackApi, arguments: Arguments, by: Actor) -> Shown:
        await self._cover()
        name = arguments.command.name.lower()
        if name in _ACTS:
            async with self._turn:
                await self._cover()  # while this waited, other interfaces may have declared something
                return await self._job(self._call(api, arguments, by))
        call = self._call(api, arguments, by)
        match name:
            case "queryasyncjobresult":
                return await self._jobs.query(arguments, call.view)
            case "listcapabilities":
                return {"capability": _capabilities()}
            case "listapis":
                return _apis(arguments, by)
            case "listasyncjobs":
                found = await self._jobs.listed(arguments, call.view)
            case "listevents":
                store, now = self._engine.parts.store, self._operations.now()
                found = await events.listed(arguments, call.view, self._jobs, store, now)
            case _:
                found = await _LISTS[name](call)
        objects = found.objects
        if len(objects) <= _AT_ONCE:
            return listed(found.kind, page_of(objects, arguments), len(objects))
        return listed(found.kind, await asyncio.to_thread(page_of, objects, arguments), len(objects))

    async def _job(self, call: Call) -> Shown:
        """Carry a command out, and keep what became of it as a job.

        Raises:
            CloudstackFault: it is refused at once, as CloudStack does: a parameter is wrong, or it makes something.
        """
        command, by = call.arguments.command, call.view.by
        try:
            done = await _ACTS[command.name.lower()](call)
        except CloudstackFault as fault:
            if command.makes or fault.is_of_a_parameter:
                raise
            return {"jobid": await self._jobs.keep(command, by, fault, shown_failure(fault))}
        await self._cover()
        result: Shown = {"success": True}
        view = self._call_view(call)
        if not done.is_gone and is_in(view.declared, *done.key):
            section, entity_id = done.key
            result = {command.entity: _SHOWN[section](view, entity_id)}
        job = await self._jobs.keep(command, by, done, result)
        return {"id": done.uuid, "jobid": job} if command.makes else {"jobid": job}

    def _call_view(self, call: Call) -> View:
        """Return the view of a call's caller, as it is now."""
        return self._view(call.view.api, call.view.by)

    def _call(self, api: CloudstackApi, arguments: Arguments, by: Actor) -> Call:
        return Call(
            arguments=arguments,
            view=self._view(api, by),
            changes=Changes(self._operations, self._handles, by, self._engine.declared),
            operations=self._operations,
            read_secret=self._engine.parts.inbox.read_secret,
        )

    def _view(self, api: CloudstackApi, by: Actor) -> View:
        declared = self._engine.declared()
        return View(
            by=by,
            declared=declared,
            handles=self._handles.known,
            users=self._operations.users.known,
            api=api,
            runtimes=self._engine.runtimes,
            kept=self._last_shown(declared),
        )

    def _last_shown(self, declared: Declaration) -> AnswerCache:
        """Return what is kept of the last answers, as long as nothing has changed that they show."""
        of = declared, self._handles.known.version
        if self._kept_of is None or self._kept_of[0] is not declared or self._kept_of[1] != of[1]:
            self._kept, self._kept_of = AnswerCache(), of
        return self._kept

    async def _cover(self) -> None:
        """Have every declared entity known to clients, also what is declared while others are written down."""
        await self._handles.load(self._engine.declared().revision)
        while (declared := self._engine.declared()) is not self._covered:
            await self._handles.cover(keys_in(declared), declared.revision, self._operations.now())
            self._covered = declared


def _may(by: Actor, command: Command) -> bool:
    return Verb.READ in by.grants.verbs and (command.name not in ROOT_ONLY or is_root_admin(by))


def _apis(arguments: Arguments, by: Actor) -> Shown:
    wanted = arguments.text("name")
    shown = described(
        command for command in COMMANDS.values()
        if _may(by, command) and (wanted is None or command.name.lower() == wanted.lower())
    )  # fmt: skip
    return listed("api", shown, len(shown))


def _capabilities() -> Shown:
    return {
        "cloudstackversion": VERSION,
        "defaultuipagesize": 20,
        "dynamicrolesenabled": False,
        "securitygroupsenabled": False,
        "supportELB": "false",
        "userpublictemplateenabled": False,
        "projectinviterequired": False,
        "allowusercreateprojects": False,
        "apilimitinterval": 1,
        "apilimitmax": round(API_TOKEN.per_second),
        "defaultpagesize": PAGE_AT_MOST,
    }
