"""Commands to one CloudStack for its drivers: each within one deadline; blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import requests

from collector.clients.circuits import Circuits
from collector.clients.cloudstack.parsing import (
    PAGE,
    UNAUTHORISED,
    CloudstackRefused,
    ListedEntries,
    Oversized,
    PagedListing,
    opened,
    page_of,
    refusal,
)
from collector.clients.cloudstack.project import Project
from collector.clients.cloudstack.signing import FORM, signed, system_time
from collector.clients.http.http_errors import not_answered
from collector.clients.http.pool import BoundedPool, retry_after
from config.causes import READABLE, FailureCause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import CloudstackCloud


class CloudstackClient:
    """Signs and sends commands; failures are `Transient` or `Permanent`.

    Args:
        declaration: the endpoint, and how long an answer may take.
        read_secret: reads key and secret for every call, so that changed ones take effect at once.
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
        self._size = PAGE
        self._session = BoundedPool(declaration.timeout, circuits=circuits)
        self.project = Project(declaration, self.every)

    def ask(self, command: str, **parameters: str) -> Mapping[str, object]:
        """Send one command; if it is unauthorised, read key and secret again and send it once more.

        Raises:
            Transient: no answer, an invalid one, or a temporary refusal. The command may have been carried out.
            Permanent: refused; nothing was done.
        """
        parameters |= self.project.within(command)
        answer = self._tried(command, parameters)
        if isinstance(answer, CloudstackRefused) and answer.code == UNAUTHORISED:
            answer = self._tried(command, parameters)
        if isinstance(answer, CloudstackRefused):
            self.project.forget()
            raise refusal(answer.error, self._about(command), retry_after=answer.retry_after)
        return answer

    def every(self, command: str, kind: str, **parameters: str) -> ListedEntries:
        """Read a listing to its end. The result says so if the listing breaks off or changes meanwhile.

        Pages are as large as this CloudStack allows: a refusal of a larger page names the limit.

        Raises:
            DriverError: not even the first page can be read.
        """
        try:
            return self._every(command, kind, self._size, parameters)
        except Oversized as problem:
            self._size = problem.at_most
            return self._every(command, kind, self._size, parameters)

    def _every(self, command: str, kind: str, size: int, parameters: Mapping[str, str]) -> ListedEntries:
        listing, about = PagedListing(size), self._about(command)
        while not listing.ended:
            if listing.endless:
                return ListedEntries(read=tuple(listing.read), because=f"{about} does not end")
            try:
                page = page_of(self.ask(command, **parameters, **listing.asks), kind)
                if page is None:
                    raise Transient(f"{about}: the answer cannot be read")
            except DriverError as error:
                if not listing.read:
                    raise
                return ListedEntries(read=tuple(listing.read), because=str(error))
            listing.take(page)
        lacking = listing.lacking
        return ListedEntries(read=tuple(listing.read), because=f"{about}: {lacking}" if lacking else "")

    def whole(self, command: str, kind: str, **parameters: str) -> tuple[object, ...]:
        """Return the entries of a complete listing.

        Raises:
            DriverError: it cannot be read to its end, or changed meanwhile.
        """
        entries = self.every(command, kind, **parameters)
        if entries.because:
            raise Transient(entries.because)
        return entries.read

    def _tried(self, command: str, parameters: Mapping[str, str]) -> Mapping[str, object] | CloudstackRefused:
        """Send a command once.

        Raises:
            Transient: no answer, or one that is not CloudStack's.
        """
        key, secret = self._secret(self._cloud.api_key), self._secret(self._cloud.secret)
        body = signed(command, parameters, key=key, secret=secret, now=system_time())
        trust, about = self._cloud.trust, self._about(command)
        try:
            response = self._session.post(
                self._cloud.endpoint, data=body, headers=FORM, verify=trust.ca or not trust.insecure
            )
        except requests.RequestException as error:
            raise not_answered(f"{about} was not answered by {self._cloud.endpoint}", error) from None
        answer = opened(response.content, response.status_code)
        if not isinstance(answer, CloudstackRefused):
            return answer
        if answer.code is None:
            detail = f"{about}: HTTP {answer.status}, and the answer is not CloudStack's"
            raise Transient(detail, retry_after=retry_after(response))
        words = answer.words
        for each in (key, secret):
            words = words.replace(each, "…") if each else words
        return replace(answer, words=words, retry_after=retry_after(response))

    def _secret(self, ref: SecretRef) -> str:
        try:
            return self._read_secret(ref)
        except (TrimtabError, OSError) as error:
            raise Permanent(f"{self._cloud.id}: {error}", cause=FailureCause.CREDENTIALS, remedy=READABLE) from None

    def _about(self, command: str) -> str:
        return f"{self._cloud.id}: {command}"
