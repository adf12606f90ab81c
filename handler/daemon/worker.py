"""``trimtab run FILE --worker NAME``: one of several processes over one store, of which the holder of the lease acts.

A worker that loses the lease ends its engine and stands by again: it reads all of the store anew before it acts again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

from config.checks.workers import refuse_tied
from config.errors import DeclarationError, Refused, StoreError, TrimtabError
from config.settings import read_secret
from config.units import Moment, Monotonic, Seconds, WorkerName
from handler import logs
from handler.daemon.alert_keeping import AlertKeeping
from handler.daemon.applied_here import AppliedProblems, own_seal
from handler.daemon.carrying_out import CarryingOut
from handler.daemon.lease_keeper import LeaseKeeper
from handler.daemon.own_file import FileInForce, OwnFile
from handler.daemon.relaying import Asking, RelayThreads
from handler.daemon.run import Place, Running, Signals, acting, attended, built, holding, prepared
from handler.daemon.serving import edge_of, served
from handler.daemon.waking import Wakes
from handler.daemon.wiring import Tenure
from handler.ingest.request_rates import RequestRates
from handler.leasing.lease import SHORTEST
from handler.leasing.workers import Presence
from handler.observability.daemon_gauges import CertificateGauge
from handler.observability.exposition import exposition
from handler.observability.worker_gauges import WorkerGauges
from handler.runtime import clock
from handler.runtime.store_place import lease_of, relay_of, wakes_of
from handler.web.callers import Access
from handler.web.relayed import Headers
from handler.web.standby import Standby

if TYPE_CHECKING:
    from config.model.daemon import PostgresqlPlace
    from handler.store.postgresql_database import LeaseTerm
    from handler.store.postgresql_relay import PostgresqlRelay

T = TypeVar("T")
SPAN: Seconds = 10.0
"""How long a lease lasts from each renewal, if the command does not say."""


class CannotAct(TrimtabError):
    """A worker has had the lease and could not act on the store; the lease is given back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What the command says of one worker."""

    name: WorkerName
    file: Path
    state: Path
    host: str | None = None
    """To listen on, in place of the file's; likewise the port."""
    port: int | None = None
    url: str | None = None
    """Where other machines reach its API, without a port for one of several shards; ``None``: as it listens."""
    span: Seconds = SPAN
    priority: int = 0
    """Of the workers that can take the lease, the one with the highest is to have it."""
    wants_it_back: bool = False
    """It has its priority again some time after a failure has taken the lease from it."""
    lost_at: Monotonic | None = None
    """When it had the lease and could not act, by the steady clock; ``None``: that has not happened in this process."""
    shard: str = ""
    """Which of several shards that the process works for; empty: there is one."""
    accepts_file: bool = False
    """It takes over with its own file, though the workers before it had another, or one was applied."""


async def run_worker_until_signal(options: WorkerOptions) -> None:
    """Run until INT or TERM; HUP reloads what is in force. Raises as `working`."""
    limit, signals = prepared()
    await working(options, signals, limit)


async def working(options: WorkerOptions, signals: Signals, limit: int) -> None:
    """Stand by and act in turn, until the process is to stop. ``limit`` is how many files may be open.

    Raises:
        Refused: as `handler.daemon.run.running`; or another worker runs under this name.
        DeclarationError: the file is refused, also for what other workers could not go on with. A worker that
            does not reach all of it runs, and does not take over.
        CannotAct: it took the lease, and the store or the file in force is refused then.
        StoreError: the database cannot be reached, or a daemon that is no worker holds the store.
    """
    if options.span < SHORTEST:
        raise Refused(f"--lease {options.span:g}: a lease of less than {SHORTEST:g} s would end in any busy moment")
    held = holding(options.file, options.state, host=options.host, port=options.port, accepts_file=options.accepts_file)
    async with held as place:
        keeper = _keeper(place, options)
        relay = _Relay(rows=relay_of(_store(place)), wakes=Wakes(wakes_of(_store(place))), threads=RelayThreads())
        key = partial(own_seal, place.catalogue, place.directory)
        try:
            await _first(keeper.start(), signals.stop)
            async with relay.wakes.listening():
                while not signals.stop.is_set():
                    asking = Asking(relay.rows, key, options.name, _steady, relay.wakes, relay.threads)
                    secret = partial(read_secret, environ=os.environ)
                    keeping = AlertKeeping(
                        rows=relay.rows, asking=asking, secret=secret, now=lambda: clock.moment().wall
                    )
                    turn = await _stood_by(place, keeper, keeping, signals)
                    if turn is not None:
                        await _acted(place, keeper, turn, relay, signals, limit)
        finally:
            relay.threads.close()
            relay.rows.close()
            await keeper.leave()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relay:
    """What requests travel by from standbys to the holder, and back."""

    rows: PostgresqlRelay
    wakes: Wakes
    threads: RelayThreads


def _store(place: Place) -> PostgresqlPlace:
    if place.catalogue.store is None:
        raise Refused("workers need a store on PostgreSQL")
    return place.catalogue.store


def _keeper(place: Place, options: WorkerOptions) -> LeaseKeeper:
    refuse_tied(place.catalogue)
    own = Presence(
        name=options.name,
        process=secrets.token_hex(6),
        url=_address(options, place),
        version=version("trimtab"),
        priority=options.priority,
    )
    lease = lease_of(_store(place))
    applied = AppliedProblems(lease.applied_file, place.catalogue, place.directory, options.name)
    problem = OwnFile(place.file, options.name, applied.problem, place.acceptance).problem
    return LeaseKeeper(
        lease,
        own,
        options.span,
        _steady,
        problem,
        wants_it_back=options.wants_it_back,
        lost_at=options.lost_at,
        shard=options.shard,
    )


def _address(options: WorkerOptions, place: Place) -> str:
    """Return where others reach the API: as the command says, or as far as this machine knows."""
    if options.url is None:
        return _reachable(place)
    return f"{options.url}:{place.port}" if options.shard else options.url


def _reachable(place: Place) -> str:
    """Return where others reach the API, as far as this machine knows."""
    listen = place.protection.listen
    everywhere = listen.host in {"0.0.0.0", "::"}  # noqa: S104  # compared, not bound
    name = listen.names[0] if listen.names else socket.gethostname() if everywhere else ""
    scheme = "https" if place.protection.certificate is not None else "http"
    return f"{scheme}://{name}:{place.port}" if name else place.url


@dataclass(frozen=True, slots=True)
class _Turn:
    """A lease that was taken, and what renews it from that instant on."""

    term: LeaseTerm
    in_force: FileInForce
    keeping: asyncio.Task[None]


async def _stood_by(place: Place, keeper: LeaseKeeper, keeping: AlertKeeping, signals: Signals) -> _Turn | None:
    """Serve as a standby until the lease is this worker's; ``None``: it is to stop."""
    metrics = partial(_own_metrics, _registry(place, keeper))
    access = Access(trusted=False, port=place.port, names=place.protection.names)
    over_unix = Standby(Access(trusted=True), keeper.status, metrics, keeping.relay)
    standby = Standby(access, keeper.status, metrics, keeping.relay)
    over_tcp = edge_of(standby, place.protection, RequestRates(), asyncio.get_running_loop().time)
    async with served(over_unix, over_tcp, place.unix.dup(), place.tcp.dup(), protection=place.protection):
        logs.say("standing_by", url=place.url, socket=place.directory.socket)
        term = await _first(keeper.obtain(), signals.stop)
        keeping.asking.ended.set()
        in_force = FileInForce()
        return None if term is None else _Turn(term, in_force, asyncio.create_task(keeper.keep(term, in_force.digest)))


async def _acted(place: Place, keeper: LeaseKeeper, turn: _Turn, relay: _Relay, signals: Signals, limit: int) -> None:
    """Act until the lease is lost or handed over, or this process is to stop; then give the lease back.

    It is given back as well once the store was changed by another one, so that the next holder reads it anew. Until
    the engine has stopped it is renewed, so that calls under way end in the time of this worker.

    Raises:
        CannotAct: the store or the file in force is refused; the lease is given back before.
    """
    term, keeping = turn.term, turn.keeping
    try:
        async with _engaged(place, keeper, term) as daemon, attended(daemon, signals, limit):
            turn.in_force.file = lambda: daemon.engine.declared().file
            place.acceptance.pending = False
            seal, origin = daemon.engine.credentials.seal, partial(_origin, keeper)
            carrying_out = CarryingOut(relay.rows, seal, daemon.relayed, term.epoch, relay.wakes, origin, relay.threads)
            async with carrying_out.running():
                await _first(asyncio.wait({keeping}), keeper.handing_over, keeper.overtaken, signals.stop)
        logs.say("lease_ended", epoch=term.epoch, because=_why_ended(keeping, keeper))
    except StoreError as error:  # also: another worker has taken the lease meanwhile
        logs.warn("not_taken_over", epoch=term.epoch, error=str(error))
    except (Refused, DeclarationError) as error:
        raise CannotAct(str(error)) from error
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await keeper.give_back()


def _origin(keeper: LeaseKeeper) -> Headers:
    """Return which worker answers, and by which revision of the declaration, if one was applied."""
    status = keeper.status()
    revision = (("trimtab-revision", str(status.applied)),) if status.applied else ()
    return (("trimtab-worker", status.worker), *revision)


def _why_ended(keeping: asyncio.Task[None], keeper: LeaseKeeper) -> str:
    if keeping.done():
        return "another worker has taken it"
    if keeper.overtaken.is_set():
        return "the store is not as this worker left it"
    return "it is handed over" if keeper.handing_over.is_set() else "this worker stops"


@contextlib.asynccontextmanager
async def _engaged(place: Place, keeper: LeaseKeeper, term: LeaseTerm) -> AsyncIterator[Running]:
    """Open the store under this term, and run an engine over it, while the block runs."""
    ahead = keeper.ahead

    def moment() -> Moment:
        now = clock.moment()
        return Moment(wall=now.wall, steady=Monotonic(now.steady + ahead))

    tenure = Tenure(moment=moment, held_back=keeper.held_back, cluster=keeper, worker=keeper.worker)
    engine = await asyncio.to_thread(built, place, term, tenure)
    async with acting(place, engine) as daemon:
        yield daemon


async def _first(work: Awaitable[T], *ends: asyncio.Event) -> T | None:
    """Return the result of ``work``, or ``None`` if one of the events is set first."""
    working, ending = asyncio.ensure_future(work), [asyncio.create_task(event.wait()) for event in ends]
    try:
        await asyncio.wait({working, *ending}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, *ending):
            task.cancel()
        await asyncio.gather(working, *ending, return_exceptions=True)


def _registry(place: Place, keeper: LeaseKeeper) -> CollectorRegistry:
    registry, expiry, certificate = CollectorRegistry(), CertificateGauge(), place.protection.certificate
    if certificate is not None:
        expiry.expires_at = lambda: certificate.facts.expires_at
    registry.register(WorkerGauges(keeper))
    registry.register(expiry)
    ProcessCollector(registry=registry)
    build = Gauge("trimtab_build_info", "The running version.", ["version"], registry=registry)
    build.labels(version("trimtab")).set(1)
    return registry


def _own_metrics(registry: CollectorRegistry) -> bytes:
    return exposition(registry.collect())


def _steady() -> Monotonic:
    return clock.moment().steady
