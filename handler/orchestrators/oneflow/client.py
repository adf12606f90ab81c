"""Calls to one OneFlow server, each within one deadline."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping

import requests

from collector.clients.circuits import Circuits
from collector.clients.http.http_errors import not_answered
from collector.clients.http.pool import BoundedPool, retry_after
from config.causes import READABLE, FailureCause
from config.errors import Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import OneflowCloud
from handler.orchestrators.oneflow.parsing import refusal


class FlowWire:
    """Calls OneFlow; failures are `Transient` or `Permanent`.

    Args:
        declaration: the endpoint, the user, and how long an answer may take.
        read_secret: reads the password for every call, so that a changed one takes effect at once.
        circuits: those of all endpoints.
    """

    def __init__(
        self,
        declaration: OneflowCloud,
        read_secret: Callable[[SecretRef], str],
        circuits: Circuits | None = None,
    ) -> None:
        self._cloud, self._access = declaration, declaration.nebula
        self._read_secret = read_secret
        self._session = BoundedPool(self._access.timeout, circuits=circuits)

    def ask(self, verb: str, path: str, body: Mapping[str, object] | None = None) -> object:
        """Make one call and return its answer, decoded from JSON; ``None``: the answer is empty.

        If the user is not recognised, read the password again and call once more.

        Raises:
            NotThere: a definite not-found.
            Full: a quota.
            Permanent: refused; nothing was done.
            Transient: no answer, an invalid one, or a temporary refusal. The call may have been carried out.
        """
        about = f"{self._cloud.id}: OneFlow: {verb} {path}"
        response = self._sent(verb, path, body, about)
        if response.status_code == requests.codes.unauthorized:
            response = self._sent(verb, path, body, about)
        if not response.ok:
            detail = response.content.decode(errors="replace").replace(self._password(), "…")
            raise refusal(response.status_code, detail, about, retry_after=retry_after(response))
        if response.status_code == requests.codes.no_content:
            return None
        try:
            answer: object = json.loads(response.content)
        except (ValueError, RecursionError):
            raise Transient(f"{about}: the answer cannot be read") from None
        return answer

    def _sent(self, verb: str, path: str, body: Mapping[str, object] | None, about: str) -> requests.Response:
        known = base64.b64encode(f"{self._access.user}:{self._password()}".encode()).decode()
        headers = {"Authorization": f"Basic {known}", "Content-Type": "application/json"}
        trust = self._access.trust
        try:
            return self._session.request(
                verb,
                self._cloud.endpoint.rstrip("/") + path,
                data=None if body is None else json.dumps(body).encode(),
                headers=headers,
                verify=trust.ca or not trust.insecure,
            )
        except requests.RequestException as error:
            raise not_answered(f"{about} was not answered by {self._cloud.endpoint}", error) from None

    def _password(self) -> str:
        try:
            return self._read_secret(self._access.password)
        except (TrimtabError, OSError) as error:
            raise Permanent(f"{self._cloud.id}: {error}", cause=FailureCause.CREDENTIALS, remedy=READABLE) from None
