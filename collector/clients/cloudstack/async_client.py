"""CloudStack's client for counters: listings and single answers, requested side by side; failures are values.

CloudStack's own error texts are never repeated: they may hold the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from collector.clients.cloudstack.parsing import (
    OK,
    PAGE,
    UNAUTHORISED,
    CloudstackRefused,
    PagedListing,
    one_called,
    opened,
    page_of,
)
from collector.clients.cloudstack.project import ANOTHER, is_id
from collector.clients.cloudstack.signing import FORM, signed, system_time
from collector.clients.http.client import HttpClient, HttpRequest
from collector.clients.http.failures import HttpFailure, of_server, refused
from collector.samples import Reply
from collector.targets import Round
from config.errors import TrimtabError
from config.model.access import HttpAccess
from config.model.clouds import CloudstackCloud
from config.units import CloudId

_LARGEST = 64 * 1024 * 1024
_LONG = 64 * 1024
"""From here on (a few ms) decoding goes to a thread, so that the event loop is not held."""
_REFUSALS = frozenset(range(400, 600))
"""Statuses whose body holds CloudStack's own error."""
_MALFORMED = HttpFailure(reply=Reply.MALFORMED, detail="the endpoint does not speak CloudStack's API")


class AsyncCloudstackClient:
    """Sends commands that only read. Remembers each cloud's page size and the ids of its projects.

    Args:
        http: sends the requests; its owner closes it.
    """

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._projects: dict[CloudId, str] = {}
        self._sizes: dict[CloudId, int] = {}

    async def ask(
        self, poll: Round, cloud: CloudstackCloud, command: str, **parameters: str
    ) -> Mapping[str, object] | HttpFailure:
        """Send one command."""
        answer = await self._tried(poll, cloud, command, parameters)
        return _failure(answer) if isinstance(answer, CloudstackRefused) else answer

    async def every(
        self, poll: Round, cloud: CloudstackCloud, command: str, kind: str, **parameters: str
    ) -> Sequence[object] | HttpFailure:
        """Read a listing of the cloud's project to its end; the project's name is looked up anew after a refusal."""
        project = await self._project(poll, cloud)
        if isinstance(project, HttpFailure):
            return project
        found = await self._every(poll, cloud, command, kind, {**parameters, **project})
        if isinstance(found, HttpFailure):
            self._projects.pop(cloud.id, None)
        return found

    async def _project(self, poll: Round, cloud: CloudstackCloud) -> Mapping[str, str] | HttpFailure:
        """Return the parameters that keep a command within the cloud's project."""
        if cloud.project is None or is_id(cloud.project):
            return {} if cloud.project is None else {"projectid": cloud.project}
        if cloud.id not in self._projects:
            found = await self._every(poll, cloud, "listProjects", "project", {"name": cloud.project})
            if isinstance(found, HttpFailure):
                return found
            try:
                self._projects[cloud.id] = one_called(found, "project", cloud.project, remedy=ANOTHER)
            except ValueError as error:
                return HttpFailure(reply=Reply.AUTH, detail=str(error))
        return {"projectid": self._projects[cloud.id]}

    async def _every(
        self, poll: Round, cloud: CloudstackCloud, command: str, kind: str, parameters: Mapping[str, str]
    ) -> Sequence[object] | HttpFailure:
        """Read all pages. If CloudStack refuses the page size, use the size that its refusal names."""
        listing = PagedListing(self._sizes.get(cloud.id, PAGE))
        while not listing.ended:
            if listing.endless:
                return HttpFailure(reply=Reply.INCOMPLETE, detail="the listing does not end")
            answer = await self._tried(poll, cloud, command, {**parameters, **listing.asks})
            if isinstance(answer, CloudstackRefused) and answer.at_most is not None and not listing.read:
                listing = PagedListing(self._sizes.setdefault(cloud.id, answer.at_most))
                answer = await self._tried(poll, cloud, command, {**parameters, **listing.asks})
            if isinstance(answer, CloudstackRefused | HttpFailure):
                return _failure(answer) if isinstance(answer, CloudstackRefused) else answer
            page = page_of(answer, kind)
            if page is None:
                return _MALFORMED
            listing.take(page)
        if not listing.read and listing.lacking:
            return HttpFailure(reply=Reply.INCOMPLETE, detail=listing.lacking)
        return listing.read

    async def _tried(
        self, poll: Round, cloud: CloudstackCloud, command: str, parameters: Mapping[str, str]
    ) -> Mapping[str, object] | CloudstackRefused | HttpFailure:
        try:
            key, secret = poll.read_secret(cloud.api_key), poll.read_secret(cloud.secret)
        except (TrimtabError, OSError) as error:
            return HttpFailure(reply=Reply.AUTH, detail=str(error))
        answer = await self._http.ask(
            HttpRequest(
                url=cloud.endpoint,
                access=HttpAccess(trust=cloud.trust),
                timeout=cloud.timeout,
                method="POST",
                headers=FORM,
                body=signed(command, parameters, key=key, secret=secret, now=system_time()),
                accept=_REFUSALS,
                only_reads=True,
                largest=_LARGEST,
            )
        )
        if isinstance(answer, HttpFailure):
            return of_server(answer)
        if len(answer.body) < _LONG:
            return opened(answer.body, answer.status)
        return await asyncio.to_thread(opened, answer.body, answer.status)


def _failure(refusal: CloudstackRefused) -> HttpFailure:
    if refusal.code is None:
        return _MALFORMED if refusal.status == OK else refused(refusal.status)
    if UNAUTHORISED in (refusal.status, refusal.code):
        words = "CloudStack does not know the key and its signature, or the account's role does not have the command"
        return HttpFailure(reply=Reply.AUTH, detail=words)
    return HttpFailure(reply=Reply.UNREACHABLE, detail=f"CloudStack answers with the error {refusal.code}")
