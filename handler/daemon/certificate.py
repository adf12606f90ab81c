"""The certificate that the daemon shows: read at the start, and again when one of its files changes.

Each pair gets a context of its own, so a pair that is half written, or does not fit, leaves the old one in force until
the next look, and no handshake meets half a change. Connections that are there keep the certificate with which they
began.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from config.errors import Refused
from config.model.access import SecretRef
from config.model.daemon import Tls
from config.settings import read_secret
from config.units import Instant, Seconds
from handler import logs
from handler.runtime.loops import Guard

LOOKED_EVERY: Seconds = 5.0
_MOST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFacts:
    """What a certificate says."""

    expires_at: Instant
    names: frozenset[str]
    """DNS names and addresses that it is for, lower case."""


class ServerCertificate:
    """The certificate in force. Connections take it from `context`."""

    def __init__(self, declared: Tls) -> None:
        """Read it.

        Raises:
            Refused: a file cannot be read, others can read the key, or the two do not belong together.
        """
        self._declared = declared
        self._seen, self._refused = _stamp(declared), ""  # first: what changes while it is read is read again
        self.context = _context(declared)
        self._newest = self.context
        self.context.sni_callback = self._show_newest
        self.facts = facts_of(declared.certificate)

    def look(self) -> bool:
        """Take a changed pair into force; returns whether it was.

        One that cannot be used is logged once, and tried at each look: another mode or owner does not show in a stamp.
        """
        stamp = _stamp(self._declared)
        if stamp == self._seen:
            return False
        try:
            made, facts = _context(self._declared), facts_of(self._declared.certificate)
        except Refused as error:
            self._refuse(str(error))
            return False
        self._newest, self.facts, self._seen, self._refused = made, facts, stamp, ""
        logs.say("certificate_taken", file=self._declared.certificate, expires_at=int(facts.expires_at))
        return True

    def _refuse(self, why: str) -> None:
        if why != self._refused:
            self._refused = why
            logs.warn("certificate_refused", file=self._declared.certificate, error=why, note="the old one stays")

    def _show_newest(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """Begin a connection with the newest certificate. It is also called for clients that name no server."""
        connection.context = self._newest

    async def watch(self) -> None:
        """Look again and again until cancelled."""
        guard = Guard("certificate")
        while True:
            await guard.run(lambda: asyncio.to_thread(self.look))
            await asyncio.sleep(LOOKED_EVERY)


def facts_of(certificate: str) -> CertificateFacts:
    """Read what the first certificate of a file says.

    Raises:
        Refused: there is none, or the names in it cannot be read.
    """
    try:
        with Path(certificate).open("rb") as file:
            found = x509.load_pem_x509_certificates(file.read(_MOST))[0]
    except OSError as error:
        raise Refused(f"the certificate {certificate} cannot be read: {error.strerror}") from error
    except (ValueError, IndexError):
        raise Refused(f"{certificate} holds no certificate in PEM") from None
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return CertificateFacts(expires_at=Instant(found.not_valid_after_utc.timestamp()), names=frozenset())
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise Refused(f"the names in the certificate {certificate} cannot be read: {error}") from error
    hosts = {name.lower() for name in names.get_values_for_type(x509.DNSName)}
    addresses = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    return CertificateFacts(
        expires_at=Instant(found.not_valid_after_utc.timestamp()), names=frozenset(hosts | addresses)
    )


def _context(declared: Tls) -> ssl.SSLContext:
    """Make a context with the declared files. Raises `Refused`."""
    read_secret(SecretRef(file=declared.key), os.environ)  # it refuses a key that other accounts can read
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(declared.certificate, declared.key, password=_no_password)
        if declared.clients is not None:
            context.load_verify_locations(cafile=declared.clients.authority)
            context.verify_mode = ssl.CERT_REQUIRED if declared.clients.required else ssl.CERT_OPTIONAL
    except ssl.SSLError as error:
        what = f"certificate {declared.certificate} and its key"
        raise Refused(f"the {what} cannot be used: {error.reason or error.strerror or 'not PEM'}") from error
    except OSError as error:
        raise Refused(f"the files of listen cannot be read: {error.filename or ''} {error.strerror}") from error
    return context


def _no_password() -> str:
    """Refuse an encrypted key instead of asking on the terminal."""
    raise Refused("the private key of listen is encrypted: give one without a password that only Trimtab can read")


def _stamp(declared: Tls) -> tuple[tuple[int, int, int], ...]:
    """Return what tells changed files apart; a missing file has a stamp, too."""
    return tuple(_stamp_of(name) for name in (declared.certificate, declared.key))


def _stamp_of(name: str) -> tuple[int, int, int]:
    try:
        found = Path(name).stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
