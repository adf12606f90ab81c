"""Build the object graph; no other module constructs drivers, sources or the store."""

from __future__ import annotations

import os
import secrets
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from collector.boards.alerts import Board
from collector.boards.pushes import Pushes
from collector.clients.amqp.subscription import listen
from collector.clients.circuits import Circuits
from collector.clients.http.client import HttpClient
from collector.clients.vault.reader import SecretReader
from collector.sources.cloudstack.source import CloudstackSource
from collector.sources.haproxy.source import HaproxySource
from collector.sources.http.source import HttpSource
from collector.sources.netscaler.source import NetscalerSource
from collector.sources.opennebula.source import OpennebulaSource
from collector.sources.openstack.gnocchi import GnocchiSource
from collector.sources.openstack.keystone import Keystone, granted
from collector.sources.openstack.nova import NovaSource
from collector.sources.openstack.nova_servers import NovaServers
from collector.sources.plugins import PluginSource
from collector.sources.poll import Poller
from collector.sources.prometheus.source import PrometheusSource
from collector.sources.pushed import AlertedSource, PushedSource
from collector.sources.snmp import SnmpSource
from config.checks.workers import refuse_tied, refuse_unfit
from config.model.access import SecretRef
from config.model.balancers import Balancer
from config.model.catalogue import Cloud
from config.units import MemberName, Moment, WorkerName
from handler import logs
from handler.balancers.table import balancer_for
from handler.convergence.claiming import Generation
from handler.convergence.converge import Converger
from handler.convergence.sightings import probe
from handler.daemon.storing import OpenedStore
from handler.engine.engine import Engine
from handler.engine.parts import EngineParts, anything
from handler.ingest.intake import Inbox
from handler.ingest.pushes.member_keys import MemberKeys
from handler.observability.notification_sender import NotificationSender
from handler.orchestrators.table import orchestrator_for
from handler.ports.balancer import Balancer as BalancerPort
from handler.ports.cluster import Cluster
from handler.ports.declarations import AppliedFile
from handler.ports.held_clock import HeldClock
from handler.ports.orchestrator import Orchestrator
from handler.runtime import clock
from handler.runtime.directory import StateDirectory
from handler.runtime.forecasts import ForecastKeeper
from handler.runtime.resuming import WindowCheckpoints
from handler.sealing.key_sources import OwnKeyFile, ReferredKey
from handler.store.checkpoint_rows import StoredCheckpoints
from handler.store.checkpoints import CheckpointFolder
from handler.store.forecast_files import ForecastFolder

_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """What an engine goes by that a worker runs for as long as it has the lease."""

    moment: Callable[[], Moment]
    """Both clocks. The steady one is the database's, as it was when the lease was taken, gone on since: it means the
    same on every machine."""
    held_back: Callable[[], str]
    """Returns why nothing may be begun now; empty: it may."""
    cluster: Cluster
    worker: WorkerName
    """That has the lease: a file with entries that it does not reach is refused."""


@dataclass(frozen=True, slots=True)
class FileToRun:
    """Which file an engine goes by."""

    own: Path
    """This machine's."""
    seal: SecretRef | None
    """Where it says that the key of sealed secrets is; ``None``: in the state directory."""
    applied: AppliedFile | None
    """The one that was applied for all daemons over the store, and is in force; ``None``: this machine's own is."""


def engine(
    file: FileToRun, directory: StateDirectory, opened: OpenedStore, push_url: str, tenure: Tenure | None = None
) -> Engine:
    """Build the engine of one daemon over a held state directory and its store; members push values to ``push_url``.

    Raises:
        StoreError: the claim of this daemon cannot be written.
    """
    store, installation = opened.store, opened.installation
    held = HeldClock(clock.moment if tenure is None else tenure.moment)
    directory.listeners.mkdir(mode=0o700, exist_ok=True)

    keys = MemberKeys(directory.member_keys)
    keys.load()

    def papers(member: MemberName) -> Mapping[str, str]:
        return {"TRIMTAB_PUSH_URL": push_url, "TRIMTAB_PUSH_TOKEN": keys.token(member)}

    secret = secret_reader()
    circuits = Circuits(held.moment) if tenure is None else Circuits(held.moment, tenure.held_back)
    windows = CheckpointFolder(directory.checkpoints) if tenure is None else StoredCheckpoints(store)
    boot = clock.boot_id() if tenure is None else f"store-{installation}"

    @lru_cache(maxsize=256)
    def cloud(declared: Cloud) -> Orchestrator:
        return orchestrator_for(
            declared, installation, directory.path, held.wall, papers, secret, circuits, held.elapsed
        )

    @lru_cache(maxsize=256)
    def balancer(declared: Balancer) -> BalancerPort:
        return balancer_for(declared, directory.listeners, held.elapsed, secret, installation, circuits)

    board, pushes = Board(), Pushes()
    generation = Generation(
        stored=store.generation(),
        save=store.save_generation,
        nonce="".join(secrets.choice(_LETTERS) for _ in range(8)),
        installation=installation,
        clock=held.wall,
    )
    return Engine(
        EngineParts(
            file=file.own,
            applied_copy=directory.applied,
            applied=file.applied,
            store=store,
            converger=Converger(
                installation=installation,
                store=store,
                orchestrator_for=cloud,
                balancer_for=balancer,
                probe=probe,
                clock=held.wall,
                generation=generation,
            ),
            poller=poller(secret, board, pushes, held.moment, circuits),
            balancer_for=balancer,
            clock=held.moment,
            held=held,
            lost=opened.lost,
            workers_may_follow=opened.on_server and tenure is None,
            notification_sender=NotificationSender(
                environ=os.environ, read_secret=secret, clock=held.wall, source=f"/trimtab/{installation}"
            ),
            inbox=Inbox(board=board, pushes=pushes, member_keys=keys, read_secret=secret, listen=listen),
            http=HttpClient(clock=held.moment, read_secret=secret),
            secrets=secret,
            seal_key=lambda ref: OwnKeyFile(directory.seal_key) if ref is None else ReferredKey(ref, secret),
            recordings=directory.recordings,
            audit=directory.audit,
            forecasts=ForecastKeeper(ForecastFolder(directory.forecasts)),
            checkpoints=WindowCheckpoints(windows, boot),
            endpoints=circuits.statuses,
            boot=boot,
            cluster=None if tenure is None else tenure.cluster,
            refuse=anything if tenure is None else partial(refuse_tied, worker=tenure.worker),
            refuse_applied=partial(
                refuse_unfit,
                seal=file.seal,
                of_workers=tenure is not None,
                worker=None if tenure is None else tenure.worker,
            ),
        )
    )


def poller(
    secret: SecretReader,
    board: Board | None = None,
    pushes: Pushes | None = None,
    moment: Callable[[], Moment] = clock.moment,
    circuits: Circuits | None = None,
) -> Poller:
    """Build the poller with every source; a source whose argument is left out yields nothing."""
    http = HttpClient(clock=moment, read_secret=secret)
    keystone = Keystone(http, partial(granted, circuits=circuits))
    servers = NovaServers(keystone)
    sources = (
        SnmpSource(),
        HaproxySource(http),
        NetscalerSource(http),
        PrometheusSource(http),
        HttpSource(http),
        OpennebulaSource(http),
        CloudstackSource(http),
        NovaSource(keystone, servers),
        GnocchiSource(keystone, servers),
        PluginSource(_log_plugin),
        AlertedSource(board or Board()),
        PushedSource(pushes or Pushes()),
    )
    return Poller(clock=moment, read_secret=secret, sources=sources, http=http)


def _log_plugin(plugin: str, wrong: str | None) -> None:
    if wrong is None:
        logs.say("plugin_recovered", plugin=plugin)
    else:
        logs.warn("plugin_failed", plugin=plugin, error=wrong)


def _log_secret(path: str, wrong: str | None) -> None:
    if wrong is None:
        logs.say("vault_recovered", path=path)
    else:
        logs.warn("vault_failed", path=path, error=wrong, note="the last value stays, if there is one")


def secret_reader() -> SecretReader:
    """Build the reader of secrets; it knows no vault until it is given a catalogue to use."""
    return SecretReader(os.environ, lambda: clock.moment().steady, _log_secret)
