"""One vault: logs in, renews its token, and reads secrets of KV engines of both versions. Blocks.

No error holds a secret, a token or what the server answered: its words are our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import requests

from collector.clients.http.http_errors import why
from collector.clients.http.pool import BoundedPool
from collector.clients.optional_imports import library
from config.causes import FailureCause
from config.errors import Permanent, Transient
from config.model.access import AppRole, SecretRef, VaultAccess, VaultToken
from config.units import Seconds

_SOONEST: Seconds = 5.0
"""Between two renewals of a token whose lease is about to end for good."""
_ABOUT = "the vault"
_DENIED = frozenset({"Forbidden", "Unauthorized"})
_LOGIN = "check the login of the section vault"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultAnswer:
    """One secret as the vault had it."""

    fields: Mapping[str, str]
    """Fields that are text; others cannot be referred to."""
    lease: Seconds
    """How long it is to be used before it is read again; 0: the vault does not say."""

    def __repr__(self) -> str:
        """Return the names of its fields alone."""
        return f"VaultAnswer({', '.join(self.fields)})"


class VaultClient:
    """A login at one vault. For one thread at a time.

    Args:
        access: where it is, and how to log in.
        read_local: reads a secret of this machine; raises `config.errors.Refused`.

    Raises:
        Permanent: hvac is not installed.
    """

    def __init__(self, access: VaultAccess, read_local: Callable[[SecretRef], str]) -> None:
        self._access, self._read_local = access, read_local
        self._errors = library("hvac.exceptions", of=_ABOUT, extra="vault", needs="trimtab[vault]").VaultError
        self._hvac: Any = library("hvac", of=_ABOUT, extra="vault", needs="trimtab[vault]").Client(
            url=access.url,
            token="",  # or it would take one out of the environment
            verify=access.trust.ca or not access.trust.insecure,
            namespace=access.namespace,
            allow_redirects=False,
            session=BoundedPool(access.timeout),
        )
        self._given = ""
        """The token that was read last, where it is given."""
        self._renewed_at: Seconds = -math.inf
        self._lease: Seconds = 0.0
        """Of the token; 0: it has not logged in yet. Infinite: it cannot be renewed."""

    def read(self, path: str, now: Seconds) -> VaultAnswer:
        """Read a secret; ``now`` is of a clock that is never set.

        Raises:
            Permanent: there is none, it may not be read, or the login is refused.
            Transient: the vault does not answer, is sealed or is no active one.
            Refused: the secret of the login cannot be read.
        """
        try:
            self._log_in(now)
            return self._read_logged_in(path, now)
        except (KeyError, TypeError, AttributeError):
            raise Transient(f"{_ABOUT} {self._access.url} does not answer as one: is it another server?") from None

    def _read_logged_in(self, path: str, now: Seconds) -> VaultAnswer:
        try:
            return self._read(path)
        except Permanent as error:
            if error.cause is not FailureCause.CREDENTIALS or not isinstance(self._access.login, AppRole):
                raise
            self._enter(self._access.login, now)  # the token may have been revoked
            return self._read(path)

    # The token

    def _log_in(self, now: Seconds) -> None:
        match self._access.login:
            case VaultToken(token=ref):
                token = self._read_local(ref)
                if token != self._given:
                    self._given = self._hvac.token = token
                    self._look_at_token(now)
                elif self._is_due(now):
                    self._renew(now)
            case AppRole() as role:
                if self._lease == 0 or (self._is_due(now) and not self._renew(now)):
                    self._enter(role, now)
            case _ as other:
                assert_never(other)

    def _is_due(self, now: Seconds) -> bool:
        return now - self._renewed_at >= max(self._lease / 2, _SOONEST)

    def _look_at_token(self, now: Seconds) -> None:
        """Find out how long a token lasts. One that may not even look at itself is used as it is."""
        try:
            found = self._asked("look at its token", self._hvac.auth.token.lookup_self)["data"]
        except Permanent:
            found = {}
        renewable, lease = found.get("renewable") is True, float(found.get("ttl") or 0)
        self._lease, self._renewed_at = (lease if renewable and lease > 0 else math.inf), now

    def _renew(self, now: Seconds) -> bool:
        try:
            granted = self._asked("renew its token", self._hvac.auth.token.renew_self)["auth"]
        except Permanent:
            granted = {"lease_duration": 0}  # it has ended, or has lasted as long as it may
        self._lease, self._renewed_at = float(granted["lease_duration"]) or _SOONEST, now
        return bool(granted["lease_duration"])

    def _enter(self, role: AppRole, now: Seconds) -> None:
        secret_id = self._read_local(role.secret_id)

        def enter() -> object:
            return self._hvac.auth.approle.login(
                role_id=role.role_id, secret_id=secret_id, use_token=False, mount_point=role.mount
            )

        granted = self._asked("log in", enter)["auth"]
        self._hvac.token = granted["client_token"]
        self._lease, self._renewed_at = float(granted["lease_duration"]) or math.inf, now

    # Secrets

    def _read(self, path: str) -> VaultAnswer:
        """Read a secret, after the vault has said where the engine is mounted and which version it has."""
        ask = self._hvac.adapter.get
        mount = self._asked(f"find the engine of {path}", lambda: ask(f"/v1/sys/internal/ui/mounts/{path}"))["data"]
        place, version = str(mount.get("path", "")).strip("/"), (mount.get("options") or {}).get("version")
        if mount.get("type") not in {"kv", "generic"} or not path.startswith(f"{place}/"):
            raise Permanent(f"{_ABOUT}: {path} is not in a KV engine: only those hold secrets to refer to")
        kv, rest = self._hvac.secrets.kv, path.removeprefix(f"{place}/")
        if version == "2":
            answer = self._asked(
                f"read {path}",
                lambda: kv.v2.read_secret_version(rest, mount_point=place, raise_on_deleted_version=True),
            )
            return _answer(answer["data"]["data"], 0)
        answer = self._asked(f"read {path}", lambda: kv.v1.read_secret(rest, mount_point=place))
        return _answer(answer["data"], answer.get("lease_duration") or 0)

    def _asked(self, what: str, call: Callable[[], object]) -> Any:  # noqa: ANN401 JSON
        try:
            answer = call()
        except self._errors as error:
            raise self._failure(what, error) from None
        except requests.RequestException as error:
            raise Transient(f"{_ABOUT} {self._access.url} did not answer: {why(error)}") from None
        except ValueError:
            raise Transient(f"{_ABOUT}: to {what}: the answer is no JSON") from None
        if not isinstance(answer, dict):
            raise Transient(
                f"{_ABOUT}: to {what}: the answer is not the vault's; a standby redirects, which is not followed"
            )
        return answer

    def _failure(self, what: str, error: Exception) -> Permanent | Transient:
        kind = type(error).__name__
        if kind in _DENIED:
            words = f"{_ABOUT} does not allow Trimtab to {what}"
            return Permanent(words, cause=FailureCause.CREDENTIALS, remedy=f"{_LOGIN} and its policies")
        if kind == "InvalidPath":
            return Permanent(f"{_ABOUT} has nothing there, to {what}: check path and namespace")
        if kind == "InvalidRequest":
            words = f"{_ABOUT} refuses the request, to {what}"
            return Permanent(words, cause=FailureCause.CREDENTIALS, remedy=_LOGIN)
        return Transient(f"{_ABOUT} {self._access.url} cannot answer now ({kind}): is it sealed, or no active one?")


def _answer(found: object, lease: object) -> VaultAnswer:
    fields = found if isinstance(found, dict) else {}
    return VaultAnswer(
        fields={str(name): value for name, value in fields.items() if isinstance(value, str)},
        lease=float(lease) if isinstance(lease, int | float) else 0.0,
    )
