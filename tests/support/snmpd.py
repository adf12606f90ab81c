"""A real snmpd of our own: in the foreground, on a free loopback port, with nothing outside its directory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.model.access import AuthProtocol, PrivProtocol
from tests.support.ports import free_udp_port
from tests.support.waiting import stopped, until


@dataclass(frozen=True, slots=True, kw_only=True)
class Snmpd:
    """Where the agent answers SNMP."""

    address: str
    port: int
    community: str
    process: subprocess.Popen[bytes]


AUTH_PASSWORD = "maple-syrup"
PRIV_PASSWORD = "pan-of-cakes"
_CIPHERS = {
    PrivProtocol.DES: "DES",
    PrivProtocol.AES: "AES",
    PrivProtocol.AES192: "AES-192",
    PrivProtocol.AES256: "AES-256",
}
_DIGESTS = {
    AuthProtocol.MD5: "MD5",
    AuthProtocol.SHA: "SHA",
    AuthProtocol.SHA224: "SHA-224",
    AuthProtocol.SHA256: "SHA-256",
    AuthProtocol.SHA384: "SHA-384",
    AuthProtocol.SHA512: "SHA-512",
}


def user_lines(name: str, auth: AuthProtocol | None = None, priv: PrivProtocol | None = None) -> Sequence[str]:
    """Lines of snmpd.conf for a user who must sign and encrypt as given, with the two passwords above."""
    level = "noauth" if auth is None else "auth" if priv is None else "priv"
    words = ["createUser", name]
    if auth is not None:
        words += [_DIGESTS[auth], AUTH_PASSWORD]
    if priv is not None:
        words += [_CIPHERS[priv], PRIV_PASSWORD]
    return [" ".join(words), f"rouser {name} {level}"]


@contextlib.contextmanager
def running_snmpd(
    tmp_path: Path,
    *,
    addresses: Sequence[str] = ("127.0.0.1",),
    port: int | None = None,
    community: str = "public",
    lines: Sequence[str] = (),
) -> Iterator[Snmpd]:
    """Run one agent until the block ends.

    Args:
        tmp_path: for its configuration, state and log.
        addresses: all of 127.0.0.0/8 is ours: one agent can stand for many.
        port: a free one by default; give an old one to start the agent again in its place.
        community: the only one that is answered, unless lines say more.
        lines: more of snmpd.conf, for example ``override 1.3.6.1.4.1.8072.9999.1.0 integer 42``.
    """
    home = tmp_path / "snmpd"
    home.mkdir(exist_ok=True)
    chosen = port or free_udp_port()
    kept = home / "kept"  # how often it was started, among others; beside that it reads nothing but its configuration
    kept.mkdir(exist_ok=True)
    config, log = home / "snmpd.conf", home / f"snmpd-{time.monotonic_ns()}.log"
    config.write_text("\n".join([f"rocommunity {community}", *lines]) + "\n")
    listen = ",".join(f"udp:{address}:{chosen}" for address in addresses)
    command = ["snmpd", "-f", "-r", "-Lo", "-c", str(config), "-I", "-smux", f"--persistentDir={kept}", listen]
    environment = {"PATH": os.environ["PATH"], "MIBS": "", "SNMPCONFPATH": str(kept)}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    with stopped(process):
        until(lambda: "NET-SNMP version" in log.read_text(), process=process, log=log)
        yield Snmpd(address=addresses[0], port=chosen, community=community, process=process)
