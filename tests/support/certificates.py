"""Certificates for tests, made by the real openssl; and its authority, that clients trust."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from config.model.daemon import Tls


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its key, in files."""

    certificate: Path
    key: Path

    @property
    def tls(self) -> Tls:
        return Tls(certificate=str(self.certificate), key=str(self.key))


class Authority:
    """An authority in a folder."""

    def __init__(self, place: Path, name: str = "authority") -> None:
        self._place = place
        self.pair = Pair(certificate=place / f"{name}.pem", key=place / f"{name}.key")
        _openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            f"/CN={name}", "-keyout", self.pair.key, "-out", self.pair.certificate,
        )  # fmt: skip

    def sign(self, name: str, *, alternatives: str = "IP:127.0.0.1,DNS:localhost", days: int = 1) -> Pair:
        """A pair in files of this name; made again, it replaces them."""
        pair = Pair(certificate=self._place / f"{name}.pem", key=self._place / f"{name}.key")
        _openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days),
            "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternatives}", "-addext",
            "basicConstraints=critical,CA:FALSE", "-CA", self.pair.certificate, "-CAkey", self.pair.key,
            "-keyout", pair.key, "-out", pair.certificate,
        )  # fmt: skip
        pair.key.chmod(0o600)
        return pair


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
