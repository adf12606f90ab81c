"""Calls to one OpenNebula, each within one deadline, over the library `pyone`."""

from __future__ import annotations

import xmlrpc.client
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from xml.parsers.expat import ExpatError

import requests

from collector.clients.circuits import Circuits
from collector.clients.extras import library
from collector.clients.http.pool import Bounded, retry_after
from collector.clients.http.unanswered import why
from config.causes import READABLE, Cause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef, Trust
from config.model.catalogue import OpennebulaCloud
from config.units import Seconds
from handler.orchestrators.opennebula.answers import Fault, refusal, whole

_PAGE = 100
_PAGES = 1000
_TRIES = 5
"""How often a page may begin too late, in one reading."""
_NONSENSE = (ValueError, TypeError, AttributeError, LookupError, SyntaxError, RecursionError, ExpatError)
"""What xmlrpc.client, lxml and the bindings of pyone raise over answers that are none."""


class _Status(Exception):
    """HTTP's own answer, instead of OpenNebula's."""

    def __init__(self, code: int, wish: Seconds | None) -> None:
        super().__init__(code)
        self.code, self.wish = code, wish


class Carrier:
    """What takes pyone's requests to the endpoint, instead of its own transport, which has no deadline."""

    def __init__(self, session: requests.Session, endpoint: str, trust: Trust) -> None:
        self._session, self._endpoint = session, endpoint
        self._verify: bool | str = trust.ca or not trust.insecure

    def request(self, _host: str, _handler: str, body: bytes, verbose: object = None) -> tuple[Any, ...]:
        """Post one call, and read its answer as `xmlrpc.client.Transport.request` does."""
        headers = {"Content-Type": "text/xml"}
        response = self._session.post(self._endpoint, data=body, headers=headers, verify=self._verify)
        if response.status_code != requests.codes.ok:
            raise _Status(response.status_code, retry_after(response))
        answer, _ = xmlrpc.client.loads(response.content)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """A pool, as far as it could be read."""

    read: tuple[object, ...]
    because: str = ""
    """Why it is not all of it; empty: it is."""


class Wire:
    """Calls methods, and says what became of them in the two words of a driver.

    Args:
        declaration: where, who, and how long an answer may take.
        read_secret: reads the password for every call, so that a new one takes effect at once.
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
        session = Bounded(declaration.timeout, circuits=circuits)
        self._carrier = Carrier(session, declaration.endpoint, declaration.trust)

    def ask(self, method: str, *arguments: object) -> object:
        """Call ``one.METHOD``. A call whose user is not recognised is made once more, with the password read anew.

        Raises:
            NotThere: a definite not-found.
            Permanent: refused; nothing was done.
            Transient: no answer, one that makes no sense, or a refusal that passes. It may have been done.
        """
        try:
            return self._tried(method, arguments)
        except _Refused as first:
            if first.fault is not Fault.AUTHENTICATION:
                raise refusal(first.fault, first.said, self._about(method)) from None
        try:
            return self._tried(method, arguments)
        except _Refused as again:
            raise refusal(again.fault, again.said, self._about(method)) from None

    def every(self, method: str, kind: str, whose: int, *more: int) -> Entries:
        """Read a pool to its end. One that breaks off, or changes all the time, is not all of it.

        OpenNebula counts nothing, but it keeps entries in the order of their ids. So each page begins with the entry
        that the page before it ended with. Where it begins before that, others have come; where it begins behind,
        others have gone, and what moved up over the border is looked for.

        Raises:
            DriverError: not even the first page can be read.
        """
        read: dict[int, object] = {}
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
                return Entries(read=tuple(read.values()), because=because)
            if last is not None and not _reaches(page, last):
                offset, tries = max(offset - _PAGE // 2, 0), tries - 1
                because = "" if tries else f"{self._about(method)}: the pool changes while it is read"
            elif len(page) < _PAGE:
                return Entries(read=tuple(read.values()))
            else:
                last, offset = page[-1][0], offset + _PAGE - 1
            if because:
                break
        because = because or f"{self._about(method)} does not end"
        return Entries(read=tuple(read.values()), because=because)

    def _page(
        self, method: str, kind: str, whose: int, offset: int, *more: int
    ) -> tuple[Sequence[tuple[int, object]], str]:
        """One page, by id, and what is wrong with it. An end below -1 is the size of a page."""
        answer = getattr(self.ask(method, whose, offset, -_PAGE, *more), kind, None)
        if not isinstance(answer, list):
            raise Transient(f"{self._about(method)}: the answer makes no sense")
        known = [(own_id, entry) for entry in answer if (own_id := whole(entry, "ID")) is not None]
        senseless = f"{self._about(method)} shows entries that make no sense" if len(known) < len(answer) else ""
        return known, senseless

    def _tried(self, method: str, arguments: Sequence[object]) -> object:
        pyone, password = self._library(), self._password()
        try:
            one = pyone.OneServer(self._cloud.endpoint, f"{self._cloud.user}:{password}", protocol="xmlrpc")
            one("transport").request = self._carrier.request
            call = one
            for part in method.split("."):
                call = getattr(call, part)
            return call(*arguments)
        except requests.RequestException as error:
            raise Transient(f"{self._about(method)} was not answered by {self._cloud.endpoint}: {why(error)}") from None
        except _Status as status:
            said = f"{self._about(method)}: no answer of OpenNebula, HTTP {status.code}"
            raise Transient(said, retry_after=status.wish) from None
        except pyone.OneException as error:
            raise _Refused(_fault(pyone, error), str(error).replace(password, "…")) from None
        except (*_NONSENSE, pyone.bindings.supermod.GDSParseError, xmlrpc.client.Error):
            raise Transient(f"{self._about(method)}: the answer makes no sense") from None

    def _library(self) -> ModuleType:
        return library("pyone", of=self._cloud.id, extra="opennebula", needs="pyone>=7.3")

    def _password(self) -> str:
        try:
            return self._read_secret(self._cloud.password)
        except (TrimtabError, OSError) as error:
            raise Permanent(f"{self._cloud.id}: {error}", cause=Cause.CREDENTIALS, mend=READABLE) from None

    def _about(self, method: str) -> str:
        return f"{self._cloud.id}: one.{method}"


def _reaches(page: Sequence[tuple[int, object]], last: int) -> bool:
    """Whether a page begins no later than with this entry, in whichever order pages are.

    >>> _reaches([(7, ""), (5, "")], 7), _reaches([(9, ""), (7, "")], 7), _reaches([(5, ""), (3, "")], 7)
    (True, True, False)
    >>> _reaches([(2, ""), (4, "")], 3), _reaches([(3, "")], 3), _reaches([(4, "")], 3), _reaches([], 3)
    (True, True, False, False)
    """
    if not page or page[0][0] == last:
        return bool(page)
    first, final = page[0][0], page[-1][0]
    return first > last if first > final else first < last and first != final


class _Refused(Exception):
    """What OpenNebula answered instead of doing it, in words without secrets."""

    def __init__(self, fault: Fault, said: str) -> None:
        super().__init__(said)
        self.fault, self.said = fault, said


def _fault(pyone: ModuleType, error: Exception) -> Fault:
    kinds: Mapping[type, Fault] = {getattr(pyone, fault.value): fault for fault in Fault}
    return kinds.get(type(error), Fault.OTHER)
