"""A libvirt to test the driver against: a real daemon, with libvirt's own pretended hypervisor or with QEMU."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID
from xml.sax.saxutils import escape

from collector.clients.circuits import Circuits
from collector.clients.libvirt.client import LibvirtClient
from collector.clients.libvirt.messages import DomainRef, LibvirtError, LibvirtFailed
from collector.clients.libvirt.transport import Identity
from config.model.catalogue import LibvirtCloud, Profile
from config.model.libvirt import LibvirtHost, LibvirtRecipe
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId
from handler.orchestrators.libvirt.driver import LibvirtOrchestrator
from handler.orchestrators.libvirt.states import ACTIVE
from handler.planning.launches import LaunchId
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from tests.support.circuits import circuits_by
from tests.support.libvirt_relay import LibvirtRelay
from tests.support.orchestrators import Clock
from tests.support.waiting import PATIENT, until

HERE, THERE = "k3f9ab", "zzzzzz"
PRETENDED = '<domain type="test"><os><type>hvm</type></os></domain>'
MIB = 1 << 20


@dataclass
class Libvirtd:
    """A daemon for one user: it makes no bridge, and starts QEMU as that user."""

    directory: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.directory / "libvirt" / "libvirt-sock"

    def uri(self, name: str = "test:///default") -> str:
        return f"{name}?socket={self.socket}"

    def client(self, name: str = "test:///default") -> LibvirtClient:
        return LibvirtClient("test", self.uri(name), Identity(), PATIENT)

    def start(self, *settings: str) -> None:
        owner = _owner()
        os.chown(self.directory, owner.pw_uid, owner.pw_gid)
        conf = self.directory / "libvirtd.conf"
        conf.write_text("\n".join(('log_outputs = "3:stderr"', *settings)))
        program = shutil.which("libvirtd")
        assert program is not None, "libvirtd is not here: the test needs @pytest.mark.real('libvirtd')"
        options = ["-l"] if settings else []
        log = self.directory / "log"
        with log.open("ab") as lines:
            self.process = subprocess.Popen(
                [program, *options, "-f", str(conf), "-p", str(self.directory / "pid")],
                stdout=lines,
                stderr=lines,
                cwd=self.directory,
                env=self._environment(),
                **_as(owner),
            )
        until(self._answers, process=self.process, log=log)

    def kill(self) -> None:
        """End it as a power cut would; its domains go on."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=PATIENT)
        self.socket.unlink(missing_ok=True)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=PATIENT)

    def _answers(self) -> bool:
        with contextlib.suppress(Exception):
            return bool(self.client().version())
        return False

    def _environment(self) -> Mapping[str, str]:
        here = str(self.directory)
        return {"PATH": os.environ["PATH"], "HOME": here, "XDG_RUNTIME_DIR": here, "XDG_CONFIG_HOME": here} | {
            "XDG_CACHE_HOME": here
        }


@contextlib.contextmanager
def libvirtd(*settings: str) -> Iterator[Libvirtd]:
    """Start a daemon; stop it when the block ends. Sockets need a short path."""
    with tempfile.TemporaryDirectory(prefix="tt-lv-") as directory:
        daemon = Libvirtd(Path(directory))
        try:
            daemon.start(*settings)
            yield daemon
        finally:
            daemon.stop()


def a_domain_recipe(**fields: Any) -> LibvirtRecipe:
    kept = {"base_pool": "default-pool", "base": "web", "memory": 16 * MIB, "vcpus": 1, "networks": ("default",)}
    return LibvirtRecipe(**{**kept, "domain": PRETENDED, **fields})


def a_libvirt(*hosts: LibvirtHost, **fields: Any) -> LibvirtCloud:
    return LibvirtCloud(**{"id": CloudId("kvm"), "hosts": hosts, "timeout": PATIENT, **fields})


@dataclass
class LibvirtStage:
    """One host without members, on which guests are pretended; nothing that is not libvirt's own."""

    daemon: Libvirtd
    wire: LibvirtRelay
    relayed: Path
    clock: Callable[[], Instant]
    circuits: Circuits = field(init=False)

    def __post_init__(self) -> None:
        self.circuits = circuits_by(self.clock)
        self.direct = self.daemon.client()
        """Keeps a connection: a pretended host is as new when the last one ends."""
        for domain in self.direct.domains():  # it pretends to have more memory than the host
            gone(self.direct, domain)
        add_volume(self.direct, "default-pool", "web")

    def driver(self, *, elsewhere: bool = False, **fields: Any) -> LibvirtOrchestrator:
        host = LibvirtHost(name="", uri=f"test:///default?socket={self.relayed}")
        installation = THERE if elsewhere else HERE
        return LibvirtOrchestrator(a_libvirt(host, **fields), installation, self.clock, self.circuits)

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False, **fields: Any) -> Launch:
        mark = LaunchId(installation=THERE if elsewhere else HERE, group=GroupId(group), sequence=sequence)
        profile = Profile(id=ProfileId("p"), cloud=CloudId("kvm"), recipe=a_domain_recipe(**fields))
        return Launch(id=mark, profile=profile)

    def kill(self, server: Server) -> None:
        gone(self.direct, self.direct.domain(UUID(server.id)))

    def foreign_member(self, name: str) -> str:
        domain = self.direct.define(pretended(name))
        self.direct.start(domain)
        return str(domain.uuid)

    def count(self, name: MemberName) -> int:
        return [domain.name for domain in self.direct.domains()].count(name)

    def volumes(self, name: MemberName) -> list[str]:
        return volumes_of(self.direct, "default-pool", name)


def pretended(name: str, more: str = "") -> str:
    """Define a domain of the pretended hypervisor."""
    return (
        f'<domain type="test"><name>{name}</name><memory>16384</memory><os><type>hvm</type></os>'
        f"{more}<devices/></domain>"
    )


def add_volume(client: LibvirtClient, pool: str, name: str, format: str = "qcow2") -> None:
    xml = (
        f"<volume><name>{escape(name)}</name><capacity unit='bytes'>{MIB}</capacity>"
        f"<target><format type='{format}'/></target></volume>"
    )
    client.create_volume(client.pool(pool), xml)


def volumes_of(client: LibvirtClient, pool: str, name: str) -> list[str]:
    """Those volumes of a member that there are."""
    found = []
    for volume in (f"{name}.qcow2", f"{name}.seed.iso"):
        with contextlib.suppress(Exception):
            found.append(client.volume(client.pool(pool), volume).name)
    return found


def gone(client: LibvirtClient, domain: DomainRef) -> None:
    """Another client removes a domain, whatever its state."""
    (state,) = client.states([domain])
    if not isinstance(state, LibvirtError):
        if state[0] in ACTIVE:
            with contextlib.suppress(LibvirtFailed):  # a daemon that has just started may have found it dead meanwhile
                client.switch_off(domain)
        client.undefine(domain, 1 | 2)


@contextlib.contextmanager
def libvirt_stage(_: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[LibvirtStage]:
    with libvirtd() as daemon:
        relay, path = LibvirtRelay(daemon.socket), daemon.directory / "relay"
        with relay.serving(path):
            yield LibvirtStage(daemon, relay, path, clock or Clock())


def _owner() -> pwd.struct_passwd:
    """As root, libvirt's daemon would be the one of the whole machine."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def _as(owner: pwd.struct_passwd) -> dict[str, Any]:
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}


TINY = """
<domain type="qemu">
  <os><type arch="x86_64" machine="pc">hvm</type></os>
  <features><acpi/></features>
  <devices><controller type="usb" model="none"/><memballoon model="none"/></devices>
</domain>
"""
"""A guest of QEMU that finds nothing to boot."""


@dataclass
class QemuHost:
    """A daemon with QEMU, without KVM, and a pool of volumes."""

    daemon: Libvirtd

    def __post_init__(self) -> None:
        self.uri = self.daemon.uri("qemu:///session")
        self.direct = self.daemon.client("qemu:///session")

    @property
    def images(self) -> Path:
        return self.daemon.directory / "images"

    def host(self, name: str = "") -> LibvirtHost:
        return LibvirtHost(name=name, uri=self.uri)

    def clear(self) -> None:
        """Guests outlive their daemon."""
        for domain in self.direct.domains():
            gone(self.direct, domain)


@contextlib.contextmanager
def qemu_host() -> Iterator[QemuHost]:
    with tempfile.TemporaryDirectory(prefix="tt-lq-") as directory:
        daemon, owner = Libvirtd(Path(directory)), _owner()
        images, pools = daemon.directory / "images", daemon.directory / "libvirt/storage"
        for made in (images, pools / "autostart"):
            made.mkdir(parents=True)
        xml = f"<pool type='dir'><name>images</name><target><path>{images}</path></target></pool>"
        (pools / "images.xml").write_text(xml)
        (pools / "autostart/images.xml").symlink_to(pools / "images.xml")
        for path in (daemon.directory, *daemon.directory.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)
        with contextlib.ExitStack() as ending:
            ending.callback(daemon.stop)
            daemon.start()
            host = QemuHost(daemon)
            ending.callback(host.clear)
            add_volume(host.direct, "images", "base.qcow2")
            yield host


def a_guest(sequence: int = 1, group: str = "web", **fields: Any) -> Launch:
    """A member for hosts with QEMU."""
    mark = LaunchId(installation=HERE, group=GroupId(group), sequence=sequence)
    recipe = a_domain_recipe(**{"base_pool": "images", "base": "base.qcow2", "networks": (), "domain": TINY, **fields})
    return Launch(id=mark, profile=Profile(id=ProfileId("p"), cloud=CloudId("kvm"), recipe=recipe))
