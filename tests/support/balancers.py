"""Real balancers with real members, behind one face, for tests of what all balancers promise."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from collector.clients.circuits import Circuits
from config.errors import Transient
from config.model.balancers import HaproxyBalancer, ServerTemplate, SharedListener
from config.units import BalancerId, MemberName
from handler.balancers.exchange import Address
from handler.balancers.haproxy.several_endpoints import haproxy as haproxy_driver
from handler.balancers.shared_listener import protocol
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.planning.world import RegistrationState
from handler.ports.balancer import Balancer
from tests.support.haproxy import Haproxy, running_haproxy
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, stop, until

ROOT = Path(__file__).parents[2]
_SEQUENCE = itertools.count(1)


def a_name() -> MemberName:
    """A launch id that no test has used."""
    return MemberName(f"web-k3f9ab-{next(_SEQUENCE)}")


def a_listener(*, id: str = "edge", address: str = "127.0.0.1", port: int | None = None) -> SharedListener:
    return SharedListener(id=BalancerId(id), address=address, port=free_tcp_port() if port is None else port)


def get(port: int, path: str = "/") -> str:
    """One request on a connection of its own; the body, which is the name of the member that answered."""
    conversation = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENT)
    try:
        conversation.request("GET", path, headers={"Connection": "close"})
        answer = conversation.getresponse()
        body = answer.read().decode()
        if answer.status != 200:
            raise ConnectionError(f"{answer.status}: {body}")
        return body
    finally:
        conversation.close()


def state_of(balancer: Balancer, name: MemberName) -> RegistrationState | None:
    registration = balancer.registrations().get(name)
    return None if registration is None else registration.state


def connections_of(balancer: Balancer, name: MemberName) -> int | None:
    return balancer.registrations()[name].connections


def settled(balancer: Balancer) -> str:
    """The incarnation, once a balancer that has just restarted answers again."""
    found: list[str] = []

    def answers() -> bool:
        with contextlib.suppress(Transient):
            found.append(balancer.incarnation())
        return bool(found)

    until(answers)
    return found[-1]


class Stage(Protocol):
    """One running balancer and its members."""

    balancer: Balancer
    address: Address
    """Where the balancer is steered."""
    port: int
    """Where clients connect."""

    def driver_at(self, address: Address, circuits: Circuits | None = None) -> Balancer:
        """Another driver of the same balancer, that goes another way to it."""
        ...

    def member(self, name: MemberName) -> tuple[str, int]:
        """Start a member process; the address to register it with."""
        ...

    def kill(self, name: MemberName) -> None: ...

    def release(self) -> None:
        """Let requests to ``/hold`` finish."""
        ...

    def register_foreign(self) -> str:
        """Register a server that is not a member of ours; its name."""
        ...

    def foreign_member(self, name: str) -> str | None:
        """The foreign member's registration as the balancer itself has it."""
        ...

    def restart(self) -> None: ...

    def clear(self) -> None:
        """Forget members and processes."""
        ...


class _Members:
    def __init__(self, directory: Path) -> None:
        self._directory, self._release = directory, directory / "release"
        self._running: dict[MemberName, subprocess.Popen[bytes]] = {}

    def start(self, name: MemberName, options: Sequence[str]) -> None:
        program = [sys.executable, "-m", "tests.support.tiny_member", name, str(self._release)]
        self._running[name] = subprocess.Popen([*program, *options], cwd=ROOT)

    def accepts(self, name: MemberName) -> bool:
        return (self._directory / name).exists()

    def kill(self, name: MemberName) -> None:
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def release(self) -> None:
        self._release.touch()

    def clear(self) -> None:
        for process in self._running.values():
            stop(process)
        self._running.clear()
        self._release.unlink(missing_ok=True)


class ListenerStage:
    def __init__(self, directory: Path, declaration: SharedListener) -> None:
        self.balancer = SharedListenerBalancer(declaration, directory)
        self.declared = declaration
        self.address: Address = self.balancer.control
        self.port = declaration.port
        self._members = _Members(directory)
        self.accepts, self.kill, self.release = self._members.accepts, self._members.kill, self._members.release

    def member(self, name: MemberName) -> tuple[str, int]:
        self._members.start(name, ["--control", str(self.balancer.control)])
        return "127.0.0.1", self.port

    def register_foreign(self) -> str:
        self.ask(protocol.ChangeMessage(ask="join", registration="another"))
        return "another"

    def foreign_member(self, name: str) -> str | None:
        answer = self.ask(protocol.AskRegistrations())
        assert isinstance(answer, protocol.RegistrationsMessage)
        return next((state for registration, state, _ in answer.registrations if registration == name), None)

    def driver_at(self, address: Address, circuits: Circuits | None = None) -> Balancer:
        assert isinstance(address, Path)
        assert circuits is None
        return SharedListenerBalancer(replace(self.declared, id=BalancerId(address.stem)), address.parent)

    def ask(self, question: protocol.FromDriver) -> protocol.Message:
        self.balancer.registrations()  # starts the holder if need be
        with socket.socket(socket.AF_UNIX) as conversation:
            conversation.connect(str(self.balancer.control))
            conversation.sendall(protocol.encode(question))
            return protocol.decode(b"".join(iter(lambda: conversation.recv(65536), b"")))

    def holder(self) -> int:
        return int(self.balancer.incarnation().partition("-")[0])

    def restart(self) -> None:
        os.kill(self.holder(), signal.SIGKILL)

    def clear(self) -> None:
        settled(self.balancer)
        for name in self.balancer.registrations():
            self.balancer.leave(name)
        self._members.clear()


class HaproxyStage:
    def __init__(self, directory: Path, haproxy: Haproxy, *others: Haproxy) -> None:
        self.declared = HaproxyBalancer(
            id=BalancerId("edge"),
            socket=str(haproxy.socket),
            backend=haproxy.backend,
            further=tuple(str(other.socket) for other in others),
            template=ServerTemplate(prefix="slot", map=str(haproxy.map)) if haproxy.state is not None else None,
        )
        self.balancer = haproxy_driver(self.declared)
        self.address: Address = haproxy.socket
        self.port = haproxy.frontend_port
        self.haproxy = haproxy
        self.others = others
        self._members = _Members(directory)
        self.kill, self.release = self._members.kill, self._members.release

    def member(self, name: MemberName) -> tuple[str, int]:
        port = free_tcp_port()
        self._members.start(name, ["--port", str(port)])
        until(lambda: self._members.accepts(name))
        return "127.0.0.1", port

    def driver_at(self, address: Address, circuits: Circuits | None = None) -> Balancer:
        return haproxy_driver(replace(self.declared, socket=str(address)), circuits)

    def register_foreign(self) -> str:
        self.haproxy.ask("add server web/theirs 127.0.0.1:9")  # in maintenance: it answers no traffic of a test
        return "theirs"

    def foreign_member(self, name: str) -> str | None:
        rows = self.haproxy.ask("show servers state web").splitlines()[2:]
        return next((row.split()[6] for row in rows if row and row.split()[3] == name), None)

    def restart(self) -> None:
        for one in (self.haproxy, *self.others):
            one.restart()

    def lose(self, *, others: bool) -> Callable[[], None]:
        """Take the backend from every process; as `Haproxy.lose`."""
        back = [one.lose(others=others) for one in (self.haproxy, *self.others)]
        return lambda: [put_back() for put_back in back][-1]

    def reweigh(self, name: MemberName, weight: str) -> None:
        """A person sets the weight of a member's server on every process."""
        for one in (self.haproxy, *self.others):
            one.ask(f"set server web/{self.server_of(one, name)} weight {weight}")

    def weight(self, name: MemberName) -> str:
        """The weight that HAProxy gives the member's server, and the configured one."""
        return self.haproxy.ask(f"get weight web/{self.server_of(self.haproxy, name)}").strip()

    def server_of(self, one: Haproxy, name: MemberName) -> str:
        """What a member's server is called: its own name, or a slot's."""
        rows = [row.split() for row in one.ask("show servers state web").splitlines()[2:] if row]
        if name in {row[3] for row in rows}:
            return name
        names = (line.split() for line in one.ask(f"show map {one.map}").splitlines())
        place = next(words[1] for words in names if words[2:] == [name])
        return next(row[3] for row in rows if f"{row[4]}:{row[18]}" == place)

    def clear(self) -> None:
        for name in self.balancer.registrations():
            until(lambda name=name: _done(lambda: self.balancer.drain(name)))
            until(lambda name=name: _done(lambda: self.balancer.leave(name)))
        self._members.clear()


def _done(call: Callable[[], object]) -> bool:
    """Whether a call succeeds: on a busy machine the holder may answer too late."""
    with contextlib.suppress(Transient):
        call()
        return True
    return False


@contextlib.contextmanager
def listener_stage(directory: Path) -> Iterator[ListenerStage]:
    stage = ListenerStage(directory, a_listener())
    try:
        yield stage
    finally:
        stage.clear()
        until(lambda: _done(stage.balancer.stop))


@contextlib.contextmanager
def haproxy_stage(directory: Path) -> Iterator[HaproxyStage]:
    with running_haproxy(directory) as haproxy:
        yield HaproxyStage(directory, haproxy)


@contextlib.contextmanager
def template_stage(directory: Path) -> Iterator[HaproxyStage]:
    """Members are put into the servers of a template, and HAProxy keeps its state."""
    with running_haproxy(directory, slots=4) as haproxy:
        yield HaproxyStage(directory, haproxy)


@contextlib.contextmanager
def several_stage(directory: Path) -> Iterator[HaproxyStage]:
    """Two processes are one balancer."""
    second = directory / "second"
    second.mkdir()
    with running_haproxy(directory) as haproxy, running_haproxy(second) as other:
        yield HaproxyStage(directory, haproxy, other)
