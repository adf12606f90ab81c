"""``trimtab run FILE``: hold the state directory, start the engine, serve, and stop in order on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from config.load import load
from config.model.catalogue import Catalogue
from config.model.daemon import ListenOn
from config.units import Seconds
from handler import logs
from handler.daemon import connections
from handler.daemon.applied_here import brought_here
from handler.daemon.certificate import ServerCertificate
from handler.daemon.own_file import Acceptance
from handler.daemon.serving import Protection, bind_tcp, bind_unix, refuse_without_users, serving
from handler.daemon.storing import open_store
from handler.daemon.wiring import FileToRun, Tenure
from handler.daemon.wiring import engine as build_engine
from handler.engine.engine import Engine
from handler.identity.actors import ON_HANGUP
from handler.ingest.pushes.receiver import PATH
from handler.operations.canary_days import CanaryDays
from handler.operations.facade import Operations
from handler.operations.group_operations import ReloadFile
from handler.operations.registry import perform
from handler.runtime.directory import StateDirectory
from handler.runtime.loops import Guard, keep_settled
from handler.web.relayed import RelayedApps

if TYPE_CHECKING:
    from handler.store.postgresql_database import LeaseTerm

_TURN: Seconds = 0.001
"""How long a thread may hold the interpreter. The event loop gives it up at every system call, and waits for passes and
the store's writer before it gets it back: with the default of 5 ms each, that made tens of milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A running daemon."""

    engine: Engine
    operations: Operations
    directory: StateDirectory
    port: int
    relayed: RelayedApps
    """What answers requests that other workers pass on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a process holds for as long as it lives, whether it acts or stands by."""

    file: Path
    directory: StateDirectory
    catalogue: Catalogue
    """The file, as it was when the process started."""
    protection: Protection
    unix: socket.socket
    tcp: socket.socket
    token: str = field(repr=False)
    acceptance: Acceptance

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self.tcp.getsockname()[1])

    @property
    def url(self) -> str:
        """The address for this machine's own requests."""
        return _url(self.protection, self.port)


@contextlib.asynccontextmanager
async def holding(
    file: Path, state: Path, *, host: str | None, port: int | None, accepts_file: bool = False
) -> AsyncIterator[Place]:
    """Hold the state directory and the sockets, and take changed certificates, while the block runs.

    Raises as `running`.
    """
    directory = StateDirectory(state)
    directory.hold()
    with contextlib.ExitStack() as undo:
        undo.callback(directory.release)
        token = directory.token()
        catalogue = await asyncio.to_thread(load, file)
        protection = _protection(catalogue.listen, host, port)
        listen = protection.listen
        tcp = undo.enter_context(bind_tcp(listen.host, listen.port, protected=listen.is_protected))
        unix = undo.enter_context(bind_unix(directory.socket))
        undo.callback(directory.socket.unlink, missing_ok=True)
        async with _watched(protection.certificate):
            yield Place(
                file=file,
                directory=directory,
                catalogue=catalogue,
                protection=protection,
                unix=unix,
                tcp=tcp,
                token=token,
                acceptance=Acceptance(pending=accepts_file),
            )


def built(place: Place, term: LeaseTerm | None = None, tenure: Tenure | None = None) -> Engine:
    """Open the store, find out which file is in force, and build the engine. It blocks.

    ``term`` and ``tenure`` are those of a worker. Raises as `running`.
    """
    own, directory = place.catalogue, place.directory
    opened = open_store(directory, own.store, term)
    try:
        applied = brought_here(opened.store, own, directory, accepts_own=place.acceptance.pending)
        return build_engine(FileToRun(place.file, own.seal, applied), directory, opened, place.url + PATH, tenure)
    except BaseException:
        opened.store.close()
        raise


@contextlib.asynccontextmanager
async def running(
    file: Path, state: Path, *, host: str | None = None, port: int | None = None, accepts_file: bool = False
) -> AsyncIterator[Running]:
    """Run the daemon while the block runs. Its end stops only the daemon: members go on serving.

    Raises:
        Refused: another daemon holds the state directory, another account could have changed it, the address cannot
            be listened on, its certificate cannot be used, or the store is newer than this release.
        DeclarationError: the file is refused.
        StoreError: the store cannot be opened or written.
    """
    async with holding(file, state, host=host, port=port, accepts_file=accepts_file) as place:
        engine = await asyncio.to_thread(built, place)
        async with acting(place, engine) as daemon:
            yield daemon


@contextlib.asynccontextmanager
async def acting(place: Place, engine: Engine) -> AsyncIterator[Running]:
    """Run an engine, and serve, while the block runs. Raises as `running`."""
    operations = Operations(engine)
    engine.housekeeping.add(CanaryDays(engine, operations).job())
    certificate = place.protection.certificate
    if certificate is not None:
        engine.reports.metrics.expires(lambda: certificate.facts.expires_at)
    try:
        await engine.start()
        refuse_without_users(place.protection.listen, engine.users.exist)
        async with serving(
            operations, engine, place.unix.dup(), place.tcp.dup(), place.token, protection=place.protection
        ) as relayed:
            logs.say("listening", url=place.url, socket=place.directory.socket)
            yield Running(
                engine=engine, operations=operations, directory=place.directory, port=place.port, relayed=relayed
            )
    finally:
        await engine.stop()
        logs.say("stopped")


def _protection(listen: ListenOn, host: str | None, port: int | None) -> Protection:
    """Return where the file and the command say to listen, and the certificate. Raises as `running`."""
    if host is not None:
        listen = replace(listen, host=host)
    if port is not None:
        listen = replace(listen, port=port)
    return Protection(listen=listen, certificate=None if listen.tls is None else ServerCertificate(listen.tls))


@contextlib.asynccontextmanager
async def _watched(certificate: ServerCertificate | None) -> AsyncIterator[None]:
    """Have a changed certificate taken while the block runs, whether the process acts or stands by."""
    if certificate is None:
        yield
        return
    watching = asyncio.create_task(certificate.watch())
    try:
        yield
    finally:
        watching.cancel()


def _url(protection: Protection, port: int) -> str:
    """Return the address for this machine's own requests: what listens everywhere listens on the loopback, too."""
    names, scheme = protection.listen.names, "http" if protection.certificate is None else "https"
    host = names[0] if names and protection.certificate is not None else protection.listen.host
    if host in {"0.0.0.0", "::"}:  # noqa: S104  # compared, not bound
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


async def run_until_signal(
    file: Path, state: Path, *, host: str | None, port: int | None, accepts_file: bool = False
) -> None:
    """Run until INT or TERM; HUP reloads. Raises as `running`."""
    limit, signals = prepared()
    started = running(file, state, host=host, port=port, accepts_file=accepts_file)
    async with started as daemon, attended(daemon, signals, limit):
        await signals.stop.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The signals that this process was sent."""

    stop: asyncio.Event
    """INT or TERM."""
    reload: asyncio.Event
    """HUP."""


def prepared() -> tuple[int, Signals]:
    """Prepare the process: its open files, its turns, its signals. Returns how many files it may open."""
    sys.setswitchinterval(_TURN)
    limit = connections.take_all_descriptors()
    signals = Signals(stop=asyncio.Event(), reload=asyncio.Event())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, signals.stop.set)
    loop.add_signal_handler(signal.SIGHUP, signals.reload.set)  # from the start: by default HUP ends the process
    return limit, signals


@contextlib.asynccontextmanager
async def attended(daemon: Running, signals: Signals, limit: int) -> AsyncIterator[None]:
    """Reload on HUP, and keep memory settled, while the block runs."""
    reloading = asyncio.create_task(_reload_on(signals.reload, daemon.operations))
    settling = asyncio.create_task(keep_settled(daemon.engine.ingest.alerting.busy))
    _warn_of_limit(limit, connections.wanted_descriptors(daemon.engine.catalogue()))
    try:
        yield
    finally:
        reloading.cancel()
        settling.cancel()


def _warn_of_limit(limit: int, wanted: int) -> None:
    if limit < wanted:
        logs.warn(
            "few_descriptors",
            limit=limit,
            wanted=wanted,
            remedy="raise LimitNOFILE= of the service, or the hard limit of ulimit -n: until then polls open sockets",
        )


async def _reload_on(asked: asyncio.Event, operations: Operations) -> None:
    guard = Guard("reload")
    while True:
        await asked.wait()
        asked.clear()
        await guard.run(lambda: perform(operations, ReloadFile(), ON_HANGUP))
