"""The answer about one group: programs ask for it far more often than the group changes.

It is kept as it is sent, until something that it was made of is replaced (`handler.runtime.status_basis`). To find the
route and its parameters takes the framework ten times as long as to send such an answer. So `GroupReading` stands
before it, and answers callers that may read the group; every other request goes on to the route, which refuses in its
words.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from fastapi.responses import JSONResponse

from config.units import GroupId
from handler.operations.address import BASE
from handler.operations.authorising import Authorising
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.size_tags import size_tag
from handler.planning.status import GroupStatus
from handler.runtime.status_basis import StatusBasis
from handler.web.conditional import body_tag
from handler.web.gate import ACTOR, App, Receive, Scope, Send
from handler.web.needs import READING_GROUP
from handler.web.render import plain

_BEFORE = f"{BASE}/groups/"
_BYTES = 16 * 1024 * 1024
"""Of all answers that are kept: those of ten thousand groups of four. The one unused for longest goes first."""


@dataclass(frozen=True, slots=True)
class _Kept:
    response: JSONResponse
    basis: StatusBasis


class GroupAnswers:
    """Lives on the event loop."""

    def __init__(self, operations: Operations, at_most: int = _BYTES) -> None:
        self._operations = operations
        self._at_most = at_most
        self._kept: OrderedDict[GroupId, _Kept] = OrderedDict()
        self._size = 0

    def of(self, group: GroupId) -> JSONResponse:
        """Return the answer about a group as it is now. It is shared: nothing may be added to it. Raises `NoSuch`."""
        kept = self._kept.pop(group, None)
        if kept is not None:
            self._size -= len(kept.response.body)
        if kept is None or not self._operations.stands(group, kept.basis):
            basis = self._operations.basis(group)
            kept = _Kept(answer_about(self._operations.group(group)), basis)
        self._kept[group] = kept
        self._size += len(kept.response.body)
        while self._size > self._at_most:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.response.body)
        return kept.response


def answer_about(status: GroupStatus) -> JSONResponse:
    """Return the answer about a group with its tag: that of its size, then the digest of everything else."""
    response, begin = JSONResponse(plain(status)), size_tag(status.revision, status.desired).strip('"')
    response.headers["ETag"] = body_tag(bytes(response.body), f"{begin}.")
    return response


class GroupReading:
    """ASGI middleware of the application."""

    def __init__(self, app: App, authorising: Authorising, answers: GroupAnswers) -> None:
        self._app = app
        self._authorising = authorising
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer about a group that the caller may read, and pass every other request on."""
        found = self._found(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        if found is None:
            await self._app(scope, receive, send)
        else:
            await found(scope, receive, send)

    def _found(self, scope: Scope) -> JSONResponse | None:
        path: str = scope["path"]
        group = path[len(_BEFORE) :] if path.startswith(_BEFORE) else ""
        if not group or "/" in group or not self._authorising.allows(scope[ACTOR], READING_GROUP.right({}, group)):
            return None
        try:
            return self._answers.of(GroupId(group))
        except NoSuch:
            return None
