"""A real RabbitMQ of our own: in the foreground, on the loopback, with nothing outside its directory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import aiormq
from aiormq.abc import AbstractChannel

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.model.clouds import EventBus, EventFormat
from config.units import CloudId, Seconds
from tests.support.certificates import Authority
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, stop, until

_USER, PASSWORD = "trimtab", "pass@word+1"
IN_URL = f"{_USER}:pass%40word%2B1"
"""Both, as a sender writes them into an address."""
_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""What Debian's own script runs as another user, in a directory that is not ours."""
EXCHANGE = "cloudstack-events"
MACHINES = ("*.*.*.VirtualMachine.*",)


@dataclass
class Broker:
    """One broker, which listens in clear and with TLS."""

    directory: Path
    port: int = field(default_factory=free_tcp_port)
    tls_port: int = field(default_factory=free_tcp_port)
    _ports: tuple[int, int] = field(default_factory=lambda: (free_tcp_port(), free_tcp_port()))
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list, repr=False)

    def start(self) -> None:
        """Start it with the register of names that Erlang needs, and wait until it answers."""
        certificates = Authority(self.directory)
        pair = certificates.sign("broker")
        self.ca = certificates.pair.certificate
        (self.directory / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}\n"
            f"ssl_options.certfile = {pair.certificate}\n"
            f"ssl_options.keyfile = {pair.key}\n"
            f"default_user = {_USER}\ndefault_pass = {PASSWORD}\n"
            "log.file = false\nlog.console = true\nlog.console.level = warning\n"
            "vm_memory_high_watermark.absolute = 512MB\ndisk_free_limit.absolute = 1MB\n"
        )
        names, distribution = self._ports
        self._run(["epmd", "-port", str(names), "-address", "127.0.0.1"], {})
        own = {
            "HOME": str(self.directory),
            "ERL_EPMD_PORT": str(names),
            "RABBITMQ_NODENAME": f"trimtab-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.directory / "log"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
        }
        broker = self._run([str(_SCRIPT)], own)
        until(lambda: self._answers(self.tls_port), process=broker, log=self.directory / "output")

    def stop(self) -> None:
        """Stop all of it that runs."""
        for process in reversed(self._processes):
            if process.poll() is None:
                stop(process)

    def bus(self, **given: str | tuple[str, ...] | Seconds | Trust) -> EventBus:
        """A bus of a CloudStack on it."""
        declared = {
            "cloud": CloudId("stack"),
            "format": EventFormat.CLOUDSTACK,
            "url": f"amqp://127.0.0.1:{self.port}/",
            "user": _USER,
            "password": SecretRef(env="BUS"),
            "exchange": EXCHANGE,
            "bindings": MACHINES,
            "trust": BY_SYSTEM,
            "timeout": PATIENT,
        }
        return EventBus(**(declared | given))  # type: ignore[arg-type]

    @contextlib.asynccontextmanager
    async def channel(self) -> AsyncIterator[AbstractChannel]:
        """A channel of a sender."""
        connection = aiormq.Connection(f"amqp://{IN_URL}@127.0.0.1:{self.port}/")
        await connection.connect()
        try:
            yield await connection.channel()
        finally:
            await connection.close()

    def declare(self, exchange: str = EXCHANGE) -> None:
        """Make an exchange, as CloudStack does."""

        async def play() -> None:
            async with self.channel() as channel:
                await channel.exchange_declare(exchange, exchange_type="topic", durable=True)

        asyncio.run(play())

    def _run(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.directory / "output").open("ab") as lines:
            process = subprocess.Popen(command, stdout=lines, stderr=lines, env=os.environ | environment)
        self._processes.append(process)
        return process

    @staticmethod
    def _answers(port: int) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
        return False


@contextlib.contextmanager
def running() -> Iterator[Broker]:
    """Start a broker; stop it when the block ends, and delete what it stored."""
    with tempfile.TemporaryDirectory(prefix="trimtab-rmq-") as directory:
        broker = Broker(Path(directory))
        try:
            broker.start()
            yield broker
        finally:
            broker.stop()
