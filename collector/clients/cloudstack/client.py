"""Calls to one CloudStack, each within one deadline, over the library `cs`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import requests

from collector.clients.bounded import Bounded, retry_after
from collector.clients.circuits import Circuits
from collector.clients.cloudstack.answers import Entries, Oversized, Page, page_of, refusal, text
from collector.clients.cloudstack.project import Project
from collector.clients.extras import library
from collector.clients.unanswered import why
from config.causes import READABLE, Cause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import CloudstackCloud
from config.units import Seconds

if TYPE_CHECKING:
    from cs import CloudStack, CloudStackException

_PAGE = 100
_PAGES = 1000
_UNAUTHORISED = 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """What CloudStack answered instead of doing it: a code, and words without secrets."""

    error: Mapping[str, object]
    retry_after: Seconds | None


class Wire:
    """Signs and sends commands, and says what became of them in the two words of a driver.

    Args:
        declaration: where, and how long an answer may take.
        read_secret: reads key and secret for every call, so that new ones take effect at once.
        circuits: those of all endpoints.
    """

    def __init__(
        self,
        declaration: CloudstackCloud,
        read_secret: Callable[[SecretRef], str],
        circuits: Circuits | None = None,
    ) -> None:
        self._cloud = declaration
        self._read_secret = read_secret
        self._size = _PAGE
        self._session = Bounded(declaration.timeout, circuits=circuits)
        self.project = Project(declaration, self.every)

    def ask(self, command: str, **parameters: str) -> Mapping[str, object]:
        """Give one command. One that is unauthorised is given once more, with key and secret read anew.

        Raises:
            Transient: no answer, one that makes no sense, or a refusal that passes. The command may have been obeyed.
            Permanent: refused; nothing was done.
        """
        parameters |= self.project.within(command)
        answer = self._tried(command, parameters)
        if isinstance(answer, Refused) and answer.error.get("errorcode") == _UNAUTHORISED:
            answer = self._tried(command, parameters)
        if isinstance(answer, Refused):
            self.project.forget()
            raise refusal(answer.error, self._about(command), retry_after=answer.retry_after)
        return answer

    def every(self, command: str, kind: str, **parameters: str) -> Entries:
        """Read a listing to its end. One that breaks off, or changes meanwhile, is not all of it.

        Pages are as large as this CloudStack allows: one that allows less than is asked for says how much.

        Raises:
            DriverError: not even the first page can be read.
        """
        try:
            return self._every(command, kind, self._size, parameters)
        except Oversized as problem:
            self._size = problem.at_most
            return self._every(command, kind, self._size, parameters)

    def _every(self, command: str, kind: str, size: int, parameters: Mapping[str, str]) -> Entries:
        pages: list[Page] = []
        for number in range(1, _PAGES + 1):
            try:
                page = self._page(command, kind, {**parameters, "page": str(number), "pagesize": str(size)})
            except DriverError as error:
                if number == 1:
                    raise
                return Entries(read=_entries(pages), because=str(error))
            if page.entries:
                pages.append(page)
            read = _entries(pages)
            if not page.entries or (len(page.entries) < size and len(read) >= (page.count or 0)):
                lacking = "" if _is_whole(pages) else f"{self._about(command)}: the listing changed while it was read"
                return Entries(read=read, because=lacking)
        return Entries(read=_entries(pages), because=f"{self._about(command)} does not end")

    def _page(self, command: str, kind: str, parameters: Mapping[str, str]) -> Page:
        page = page_of(self.ask(command, **parameters), kind)
        if page is None:
            raise Transient(f"{self._about(command)}: the answer makes no sense")
        return page

    def _tried(self, command: str, parameters: Mapping[str, str]) -> Mapping[str, object] | Refused:
        cs = self._library()
        secrets = self._secret(self._cloud.api_key), self._secret(self._cloud.secret)
        try:
            answer = getattr(self._client(cs, *secrets), command)(**parameters)
        except requests.RequestException as error:
            raise Transient(
                f"{self._about(command)} was not answered by {self._cloud.endpoint}: {why(error)}"
            ) from None
        except cs.CloudStackException as error:
            return self._refused(command, error, secrets)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, Mapping):
            raise Transient(f"{self._about(command)}: the answer makes no sense")
        return answer

    def _refused(self, command: str, error: CloudStackException, secrets: tuple[str, str]) -> Refused:
        """Take an answer that is none apart. Whatever CloudStack itself did not say is no refusal.

        The library's exceptions hold the request, key and signature included: none of them is passed on.
        """
        response, said = error.response, getattr(error, "error", None)
        wish = retry_after(response)
        if not isinstance(said, Mapping) or not isinstance(said.get("errorcode"), int):
            status = getattr(response, "status_code", "unknown")
            raise Transient(
                f"{self._about(command)}: no answer of CloudStack, HTTP {status}", retry_after=wish
            ) from None
        words = text(said, "errortext")
        for secret in secrets:
            words = words.replace(secret, "…")
        return Refused(error={"errorcode": said["errorcode"], "errortext": words}, retry_after=wish)

    def _client(self, cs: ModuleType, key: str, secret: str) -> CloudStack:
        trust = self._cloud.trust
        client: CloudStack = cs.CloudStack(
            endpoint=self._cloud.endpoint,
            key=key,
            secret=secret,
            method="post",  # user data is long, and addresses are written into logs
            verify=trust.ca,
            dangerous_no_tls_verify=trust.insecure,
            session=self._session,
        )
        return client

    def _library(self) -> ModuleType:
        return library("cs", of=self._cloud.id, extra="cloudstack", needs="cs>=5")

    def _secret(self, ref: SecretRef) -> str:
        try:
            return self._read_secret(ref)
        except (TrimtabError, OSError) as error:
            raise Permanent(f"{self._cloud.id}: {error}", cause=Cause.CREDENTIALS, mend=READABLE) from None

    def _about(self, command: str) -> str:
        return f"{self._cloud.id}: {command}"


def _entries(pages: Iterable[Page]) -> tuple[object, ...]:
    return tuple(entry for page in pages for entry in page.entries)


def _is_whole(pages: Sequence[Page]) -> bool:
    """Whether nothing came or went between two pages: an entry may have slipped over their border.

    Every page tells how many entries there are in all; some listings of CloudStack tell how many are on the page.
    """
    if all(page.count in {None, len(page.entries)} for page in pages):
        return True
    seen = {text(entry, "id") for entry in _entries(pages)}
    return {page.count for page in pages} == {len(seen)}
