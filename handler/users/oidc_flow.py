"""One login with a provider: what is sent there, and which answers prove a person. Pure but for what is random.

Source: OpenID Connect Core 1.0, 3.1 (code flow); RFC 7636 (PKCE); RFC 9207 (``iss`` of the answer).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from config.model.daemon import OidcProvider
from config.units import Instant

_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519", "RS384", "PS384", "ES384", "RS512", "PS512", "ES512"]
"""Signatures that only the provider can make; never one by a shared secret, and never none."""
_APART = 60
"""Seconds by which the provider's clock may differ."""


class Unproved(Exception):
    """The provider's answer proves no one; the words are our own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcFlow:
    """What the browser keeps between its way to the provider and its way back."""

    state: str
    nonce: str
    verifier: str = field(repr=False)
    then: str
    """The path that the person wanted."""

    @classmethod
    def begun(cls, then: str) -> OidcFlow:
        """Begin one."""
        return cls(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            then=then,
        )

    @property
    def text(self) -> str:
        """What its cookie holds."""
        values = [self.state, self.nonce, self.verifier, self.then]
        return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")

    @classmethod
    def of(cls, text: str) -> OidcFlow | None:
        """Read a cookie; ``None``: it holds no flow."""
        try:
            values = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (ValueError, RecursionError):
            return None
        if not isinstance(values, list) or [type(each) for each in values] != [str] * 4:
            return None
        state, nonce, verifier, then = values
        if not all(each.isascii() for each in values):
            return None  # what we write is, and half of a character could not even be compared
        return cls(state=state, nonce=nonce, verifier=verifier, then=then) if state and nonce and verifier else None

    def sent(self, provider: OidcProvider, redirect: str) -> str:
        """Return the query with which a browser is sent to the provider."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")
        return urlencode(
            {
                "response_type": "code",
                "client_id": provider.client_id,
                "redirect_uri": redirect,
                "scope": " ".join(provider.scopes),
                "state": self.state,
                "nonce": self.nonce,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
        )

    def code_in(self, answer: Mapping[str, str], issuer: str) -> str:
        """Return the code that the browser brings back.

        Raises:
            Unproved: it belongs to another login or provider, or the provider refuses.
        """
        if not hmac.compare_digest(answer.get("state", "").encode(), self.state.encode()):
            raise Unproved("the answer belongs to another login: begin again")
        if answer.get("iss", issuer) != issuer:
            raise Unproved("the answer is another provider's")
        if "error" in answer or not answer.get("code"):
            raise Unproved("the provider refuses")
        return answer["code"]


def proved(
    token: str, keys: Mapping[str, object], flow: OidcFlow, provider: OidcProvider, now: Instant
) -> Mapping[str, object]:
    """Return what an identity token claims, once its signature, addressee, age and nonce have been checked.

    Raises:
        Unproved: one of them is wrong.
        KeyError: it names a key that is not among ``keys``.
    """
    from joserfc import errors, jwt
    from joserfc.jwk import KeySet

    registry = jwt.JWTClaimsRegistry(
        now=int(now),
        leeway=_APART,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": flow.nonce},
    )
    try:
        found = jwt.decode(token, KeySet.import_key_set(keys), algorithms=_ALGORITHMS)  # type: ignore[arg-type]
    except errors.InvalidKeyIdError:
        raise KeyError from None
    except (errors.JoseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Unproved(f"the identity token is not sound ({type(error).__name__})") from None
    claims: Mapping[str, object] = found.claims
    try:
        registry.validate(found.claims)
    except errors.JoseError as error:
        raise Unproved(f"the identity token is not for this login ({type(error).__name__})") from None
    audience = claims.get("aud")
    if claims.get("azp", provider.client_id) != provider.client_id:
        raise Unproved("the identity token is for another client")
    if isinstance(audience, list) and len(audience) > 1 and "azp" not in claims:
        raise Unproved("the identity token is for several clients and names none")
    return claims


def user_of(claims: Mapping[str, object], provider: OidcProvider) -> str | None:
    """Return the user that a person is mapped to, the first that fits in the order of the file; ``None``: none.

    >>> provider = OidcProvider(issuer="i", client_id="c", claim="groups", users={"ops": "olga", "dev": "dan"})
    >>> user_of({"groups": ["dev", "ops"]}, provider), user_of({"groups": "op"}, provider)
    ('olga', None)
    """
    if provider.claim == "email" and claims.get("email_verified") is not True:
        return None
    held = claims.get(provider.claim)
    values: Sequence[object] = held if isinstance(held, list) else [held]
    return next((user for value, user in provider.users.items() if value in values), None)
