"""Connections to a real daemon: a unix socket, TLS and ssh, and what is said where one fails."""

from __future__ import annotations

import gc
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.clients.libvirt.client import LibvirtClient
from collector.clients.libvirt.messages import Procedure
from collector.clients.libvirt.transport import Identity
from config.causes import FailureCause
from config.errors import DriverError, Permanent, Transient, Unanswered
from config.model.access import Trust
from tests.support.certificates import Authority, Pair
from tests.support.libvirt import Libvirtd, libvirtd
from tests.support.libvirt_relay import HANGING, LibvirtRelay, Mishap
from tests.support.waiting import until

pytestmark = pytest.mark.real("libvirtd")


def client(uri: str, identity: Identity = Identity(), timeout: float = 20.0) -> LibvirtClient:  # noqa: B008  # frozen
    return LibvirtClient("kvm", uri, identity, timeout)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Libvirtd]:
    with libvirtd() as daemon:
        yield daemon


def test_a_daemon_of_this_machine_is_reached_over_its_socket(daemon: Libvirtd) -> None:
    version = client(daemon.uri()).version()

    assert version.count(".") == 2
    assert client(daemon.uri()).memory() > 1 << 30


def test_a_socket_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(Transient, match=f"{tmp_path}/nix: No such file"):
        client(f"qemu:///system?socket={tmp_path}/nix").version()


def test_what_the_daemon_cannot_open_is_said_in_its_own_words(daemon: Libvirtd) -> None:
    with pytest.raises(DriverError, match="cannot be opened"):
        client(daemon.uri("qemu:///system")).version()


def test_many_calls_are_answered_in_their_order(daemon: Libvirtd) -> None:
    direct = client(daemon.uri())
    (domain,) = direct.domains()

    answers = direct.states([domain] * 500)

    assert answers == ((1, 0),) * 500


def test_a_large_volume_is_sent_in_parts_and_a_hypervisor_that_takes_none_refuses(daemon: Libvirtd) -> None:
    direct = client(daemon.uri())
    pool = direct.pool("default-pool")
    volume = direct.create_volume(
        pool, "<volume><name>large</name><capacity>1</capacity><target><format type='raw'/></target></volume>"
    )

    with pytest.raises(Permanent, match="not supported"):
        direct.upload(volume, bytes(1 << 20))


def test_a_daemon_that_hangs_is_given_up_in_time(daemon: Libvirtd) -> None:
    relay, path = LibvirtRelay(daemon.socket), daemon.directory / "hanging"
    relay.script(Procedure.CONNECT_OPEN, HANGING)
    relay.script(Procedure.CONNECT_GET_LIB_VERSION, HANGING)
    with relay.serving(path):
        asking = client(f"test:///default?socket={path}", timeout=0.3)
        with pytest.raises(Transient, match="no answer in time"):
            asking.version()
        with pytest.raises(Unanswered, match="no answer in time"):
            asking.version()


def test_an_answer_that_is_none_is_no_answer(daemon: Libvirtd) -> None:
    relay, path = LibvirtRelay(daemon.socket), daemon.directory / "garbled"
    relay.script(Procedure.CONNECT_LIST_ALL_DOMAINS, Mishap(answer=b"\x00\x00\x00\x07"))
    with relay.serving(path), pytest.raises(Unanswered, match="cannot be read"):
        client(f"test:///default?socket={path}").domains()


def test_what_is_no_libvirt_is_not_spoken_to(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        other.settimeout(20.0)
        asking = client(f"qemu:///system?socket={path}")
        near = None

        def answer() -> None:
            nonlocal near
            near, _ = other.accept()
            near.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Transient, match="cannot be read: a message of"):
            asking.version()
        thread.join()
        assert near is not None
        near.close()


def test_a_client_that_is_dropped_ends_its_connections(daemon: Libvirtd) -> None:
    def connections() -> int:
        listing = Path("/proc/net/unix").read_text(encoding="ascii")
        return sum(line.endswith(str(daemon.socket)) and " 03 " in line for line in listing.splitlines())

    gc.collect()
    before = connections()
    asking = client(daemon.uri())
    asking.version()
    assert connections() == before + 1
    del asking
    gc.collect()

    until(lambda: connections() == before)


# TLS


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    """In a folder that the daemon's account may read, too."""
    with tempfile.TemporaryDirectory(prefix="tt-pki-") as folder:
        Path(folder).chmod(0o755)
        yield Authority(Path(folder))


@pytest.fixture(scope="module")
def secured(authority: Authority) -> Iterator[str]:
    """The address of a daemon that takes clients with a certificate of this authority."""
    server, port = authority.sign("server"), free_port()
    for each in (authority.pair.certificate, server.certificate, server.key):
        each.chmod(0o644)
    settings = ("listen_tls = 1", f'tls_port = "{port}"', 'listen_addr = "127.0.0.1"')
    files = {"ca_file": authority.pair.certificate, "cert_file": server.certificate, "key_file": server.key}
    with libvirtd(*settings, *(f'{name} = "{path}"' for name, path in files.items())):
        yield f"test+tls://127.0.0.1:{port}/default"


def known_by(pair: Pair, authority: Authority) -> Identity:
    return Identity(
        trust=Trust(ca=str(authority.pair.certificate)), certificate=str(pair.certificate), key=str(pair.key)
    )


@pytest.mark.real("openssl")
def test_a_host_is_reached_over_tls(secured: str, authority: Authority) -> None:
    asking = client(secured, known_by(authority.sign("trimtab"), authority))

    assert [domain.name for domain in asking.domains()] == ["test"]
    kept = asking._idle[0]
    assert [domain.name for domain in asking.domains()] == ["test"]
    assert asking._idle == [kept]


@pytest.mark.real("openssl")
def test_a_host_that_shows_a_certificate_of_another_authority_is_not_trusted(
    secured: str, authority: Authority, tmp_path: Path
) -> None:
    foreign = Authority(tmp_path)

    with pytest.raises(Transient, match="TLS: CERTIFICATE_VERIFY_FAILED"):
        client(secured, known_by(authority.sign("trimtab"), foreign)).version()


@pytest.mark.real("openssl")
def test_a_client_that_the_host_does_not_know_is_sent_away(secured: str, authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(Transient, match="is not reached at"):
        client(secured, known_by(Authority(tmp_path).sign("trimtab"), authority)).version()


def test_certificates_that_cannot_be_read_are_named() -> None:
    identity = Identity(trust=Trust(ca="/nonexistent/ca.pem"))

    with pytest.raises(Permanent, match=r"/nonexistent/ca\.pem cannot be used") as refused:
        client("qemu+tls://127.0.0.1:1/system", identity).version()

    assert refused.value.cause is FailureCause.CREDENTIALS


def test_a_host_that_does_not_listen_is_said_to(tmp_path: Path) -> None:
    with pytest.raises(Transient, match=r"kvm is not reached at qemu\+tls://127\.0\.0\.1:1/system: Connection refused"):
        client("qemu+tls://127.0.0.1:1/system").version()


# ssh


def as_ssh(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program in the place of ssh."""
    program = folder / "ssh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.real("virt-ssh-helper")
def test_a_host_is_reached_by_ssh_and_the_helper_of_libvirt_there(
    daemon: Libvirtd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ssh runs the last of its arguments in a shell of the host."""
    user = "setpriv --reuid=nobody --regid=nogroup --clear-groups" if os.geteuid() == 0 else ""
    shell = f'XDG_RUNTIME_DIR={daemon.directory} exec {user} sh -c "$last"'
    as_ssh(tmp_path, f'echo "$@" > {tmp_path}/asked\nfor last; do :; done\n{shell}', monkeypatch)
    asking = client("qemu+ssh://fleet@h1:2222/session")

    assert asking.domains() == ()
    assert asking.version().count(".") == 2
    asked = (tmp_path / "asked").read_text()
    assert asked == "-T -e none -o BatchMode=yes -p 2222 -l fleet -- h1 virt-ssh-helper qemu:///session\n"


def test_what_ssh_complains_of_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_ssh(tmp_path, "echo 'fleet@h1: Permission denied (publickey).' >&2; exit 255", monkeypatch)

    with pytest.raises(Transient, match=r"fleet@h1: Permission denied \(publickey\)\."):
        client("qemu+ssh://fleet@h1/system").version()


def test_without_ssh_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Transient, match="the program ssh cannot be started"):
        client("qemu+ssh://h1/system").version()
