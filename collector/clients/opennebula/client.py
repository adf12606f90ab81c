"""Calls to one OpenNebula for its drivers: each within one deadline; blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

import requests

from collector.clients.circuits import Circuits
from collector.clients.http.failures import HttpFailure
from collector.clients.http.http_errors import not_answered
from collector.clients.http.pool import BoundedPool, retry_after
from collector.clients.opennebula.messages import PAGE, XML, ErrorCode, OpennebulaRefused, call, opened, refusal, whole
from config.causes import READABLE, FailureCause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import OpennebulaCloud

_PAGES = 1000
_TRIES = 5
"""How often a page may begin too late, within one listing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntries:
    """The readable part of a pool."""

    read: tuple[Element, ...]
    because: str = ""
    """Why the pool is incomplete; empty: it is complete."""


class OpennebulaClient:
    """Calls methods; failures are `Transient` or `Permanent`.

    Args:
        declaration: the endpoint, the user, and how long an answer may take.
        read_secret: reads the password for every call, so that a changed one takes effect at once.
        circuits: those of all endpoints.
    """

    def __init__(
        self,
        declaration: OpennebulaCloud,
        read_secret: Callable[[SecretRef], str],
        circuits: Circuits | None = None,
    ) -> None:
        self._cloud = declaration
        self._read_secret = read_secret
        self._session = BoundedPool(declaration.timeout, circuits=circuits)

    def ask(self, method: str, *arguments: object) -> object:
        """Call ``one.METHOD``; if the user is not recognised, read the password again and call once more.

        Raises:
            NotThere: a definite not-found.
            Permanent: refused; nothing was done.
            Transient: no answer, an invalid one, or a temporary refusal. The call may have been carried out.
        """
        answer = self._tried(method, arguments)
        if isinstance(answer, OpennebulaRefused) and answer.fault is ErrorCode.AUTHENTICATION:
            answer = self._tried(method, arguments)
        if isinstance(answer, OpennebulaRefused):
            raise refusal(answer.fault, answer.detail, self._about(method))
        return answer

    def every(self, method: str, kind: str, whose: int, *more: int) -> PoolEntries:
        """Read a pool to its end. The result says so if the pool breaks off or keeps changing.

        OpenNebula reports no count, but keeps entries in the order of their ids. So each page begins with the last
        entry of the page before. If it begins earlier, entries were added; if it begins later, entries were removed,
        and those that moved across the border are looked for.

        Raises:
            DriverError: not even the first page can be read.
        """
        read: dict[int, Element] = {}
        last: int | None = None
        offset, tries, because = 0, _TRIES, ""
        for _ in range(_PAGES):
            try:
                page, because = self._page(method, kind, whose, offset, *more)
            except DriverError as error:
                if last is None:
                    raise
                page, because = (), str(error)
            read |= page
            if because:
                return PoolEntries(read=tuple(read.values()), because=because)
            if last is not None and not _reaches(page, last):
                offset, tries = max(offset - PAGE // 2, 0), tries - 1
                because = "" if tries else f"{self._about(method)}: the pool changes while it is read"
            elif len(page) < PAGE:
                return PoolEntries(read=tuple(read.values()))
            else:
                last, offset = page[-1][0], offset + PAGE - 1
            if because:
                break
        because = because or f"{self._about(method)} does not end"
        return PoolEntries(read=tuple(read.values()), because=because)

    def _page(
        self, method: str, kind: str, whose: int, offset: int, *more: int
    ) -> tuple[Sequence[tuple[int, Element]], str]:
        """Read one page, by id, and its defect. An end below -1 is the size of a page."""
        answer = self.ask(method, whose, offset, -PAGE, *more)
        if not isinstance(answer, Element) or answer.tag != f"{kind}_POOL":
            raise Transient(f"{self._about(method)}: the answer cannot be read")
        entries = answer.findall(kind)
        known = [(own_id, entry) for entry in entries if (own_id := whole(entry, "ID")) is not None]
        senseless = f"{self._about(method)} lists entries that cannot be read" if len(known) < len(answer) else ""
        return known, senseless

    def _tried(self, method: str, arguments: Sequence[object]) -> object | OpennebulaRefused:
        """Call once; a refusal's text never holds the password."""
        about, password, trust = self._about(method), self._password(), self._cloud.trust
        try:
            response = self._session.post(
                self._cloud.endpoint,
                data=call(f"{self._cloud.user}:{password}", method, *arguments),
                headers=XML,
                verify=trust.ca or not trust.insecure,
            )
        except requests.RequestException as error:
            raise not_answered(f"{about} was not answered by {self._cloud.endpoint}", error) from None
        if response.status_code != requests.codes.ok:
            detail = f"{about}: HTTP {response.status_code}, and the answer is not OpenNebula's"
            raise Transient(detail, retry_after=retry_after(response))
        answer = opened(response.content)
        if isinstance(answer, HttpFailure):
            raise Transient(f"{about}: the answer cannot be read")
        return (
            replace(answer, detail=answer.detail.replace(password, "…"))
            if isinstance(answer, OpennebulaRefused)
            else answer
        )

    def _password(self) -> str:
        try:
            return self._read_secret(self._cloud.password)
        except (TrimtabError, OSError) as error:
            raise Permanent(f"{self._cloud.id}: {error}", cause=FailureCause.CREDENTIALS, remedy=READABLE) from None

    def _about(self, method: str) -> str:
        return f"{self._cloud.id}: one.{method}"


def _reaches(page: Sequence[tuple[int, object]], last: int) -> bool:
    """Return whether a page begins no later than this entry, in either order.

    >>> _reaches([(7, ""), (5, "")], 7), _reaches([(9, ""), (7, "")], 7), _reaches([(5, ""), (3, "")], 7)
    (True, True, False)
    >>> _reaches([(2, ""), (4, "")], 3), _reaches([(3, "")], 3), _reaches([(4, "")], 3), _reaches([], 3)
    (True, True, False, False)
    """
    if not page or page[0][0] == last:
        return bool(page)
    first, final = page[0][0], page[-1][0]
    return first > last if first > final else first < last and first != final
