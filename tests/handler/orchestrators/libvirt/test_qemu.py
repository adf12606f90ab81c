"""Members that are guests of a real QEMU, without KVM."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from handler.orchestrators.libvirt.driver import LibvirtOrchestrator
from handler.planning.world import ServerState
from tests.support.libvirt import HERE, MIB, QemuHost, a_guest, a_libvirt, qemu_host
from tests.support.orchestrators import Clock

pytestmark = pytest.mark.real("libvirtd", "qemu-system-x86_64", "qemu-img")


@pytest.fixture(scope="module")
def running() -> Iterator[QemuHost]:
    with qemu_host() as host:
        yield host


@pytest.fixture
def host(running: QemuHost) -> QemuHost:
    running.clear()
    return running


@pytest.fixture
def clock() -> Clock:
    return Clock()


def driver(host: QemuHost, clock: Clock) -> LibvirtOrchestrator:
    """A driver that knows nothing yet."""
    return LibvirtOrchestrator(a_libvirt(host.host()), HERE, clock)


def shown(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_guest_runs_from_an_overlay_of_the_base_and_is_removed_with_it(host: QemuHost, clock: Clock) -> None:
    launch = a_guest(disk=8 * MIB)
    made = driver(host, clock).create(launch)

    overlay = host.images / f"{launch.id.name}.qcow2"
    assert made.state is ServerState.RUNNING
    told = shown("qemu-img", "info", "--force-share", str(overlay))
    assert f"backing file: {host.images / 'base.qcow2'}" in told
    assert "virtual size: 8 MiB" in told

    driver(host, clock).destroy(launch.id.name, grace=0.0)

    assert driver(host, clock).list_all().servers == ()
    assert [path.name for path in host.images.iterdir()] == ["base.qcow2"]


def test_a_guest_finds_its_user_data_on_a_disc(host: QemuHost, clock: Clock) -> None:
    launch = a_guest(user_data="#cloud-config\npackages: [nginx]\n")
    made = driver(host, clock).create(launch)

    image = (host.images / f"{launch.id.name}.seed.iso").read_bytes()

    assert b"#cloud-config\npackages: [nginx]\n" in image
    assert f"instance-id: {made.id}\nlocal-hostname: {launch.id.name}\n".encode() in image
    driver(host, clock).destroy(launch.id.name, grace=0.0)
    assert [path.name for path in host.images.iterdir()] == ["base.qcow2"]


def test_a_guest_that_does_not_listen_is_ended_after_its_grace(host: QemuHost, clock: Clock) -> None:
    name = driver(host, clock).create(a_guest()).name

    driver(host, clock).destroy(name, grace=30.0)
    (leaving,) = driver(host, clock).list_all().servers
    clock.at += 30.0
    driver(host, clock).destroy(name, grace=30.0)

    assert leaving.state is ServerState.DELETING
    assert driver(host, clock).list_all().servers == ()


def test_guests_outlive_their_daemon_and_bear_their_marks_and_claims(host: QemuHost, clock: Clock) -> None:
    made = driver(host, clock).create(a_guest())
    host.daemon.kill()
    host.daemon.start()

    assert driver(host, clock).list_all().servers == (made,)
