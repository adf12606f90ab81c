"""What an engine is built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from collector.clients.circuits import EndpointStatus
from collector.clients.http.client import HttpClient
from collector.clients.vault.reader import SecretReader
from collector.sources.poll import Poller
from config.document.places import ParsedText
from config.model.access import SecretRef
from config.model.balancers import Balancer
from config.model.catalogue import Catalogue
from config.units import Moment, Seconds
from handler.convergence.converge import Converger
from handler.ingest.intake import Inbox
from handler.observability.notification_sender import NotificationSender
from handler.ports.balancer import Balancer as BalancerPort
from handler.ports.cluster import Cluster
from handler.ports.declarations import AppliedFile
from handler.ports.held_clock import HeldClock
from handler.ports.store import Store
from handler.runtime.clock import boot_id
from handler.runtime.forecasts import ForecastKeeper
from handler.runtime.resuming import WindowCheckpoints
from handler.sealing.key_sources import KeySource


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much history is kept."""

    span: Seconds = 30 * 86400.0
    bytes_at_most: int = 1 << 30


def anything(_: Catalogue) -> None:
    """Refuse no declaration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineParts:
    """What an engine is built from; `handler.daemon.wiring` makes the real ones."""

    file: Path
    """This machine's own."""
    applied_copy: Path
    """Where this machine has the text of a file that was applied for all daemons over the store."""
    store: Store
    converger: Converger
    poller: Poller
    balancer_for: Callable[[Balancer], BalancerPort]
    clock: Callable[[], Moment]
    notification_sender: NotificationSender
    inbox: Inbox
    http: HttpClient
    """Asks the provider that persons log in with."""
    secrets: SecretReader
    """Gives the secrets that the file refers to; it reads those of a vault before they are asked for."""
    seal_key: Callable[[SecretRef | None], KeySource]
    """Returns where the seal's key is kept, by what the file's section ``seal`` refers to."""
    applied: AppliedFile | None = None
    """The file that was applied, and is in force; its text is in the copy. ``None``: this machine's own is."""
    held: HeldClock | None = None
    """What ``clock`` reads, where the system's clock may be set; ``None``: it never is."""
    lost: bool = False
    """The store is new and the installation is not: whatever is declared first may have been known before."""
    retention: Retention = Retention()
    recordings: Path | None = None
    """Where samples are recorded, if they are."""
    checkpoints: WindowCheckpoints | None = None
    """Where windows and holds are saved; ``None``: they end with the process."""
    forecasts: ForecastKeeper | None = None
    """Keeps loads, and what forecasts have learned of them; ``None``: they end with the process."""
    audit: Path | None = None
    """Where the copy of the audit trail is; ``None``: there is none."""
    endpoints: Callable[[], Sequence[EndpointStatus]] = tuple
    """The drivers of clouds and balancers, and whether they answer."""
    boot: str = field(default_factory=boot_id)
    """Id of what the steady clock counts from: spans are compared only where it is the same."""
    cluster: Cluster | None = None
    """The other workers on the store; ``None``: the daemon is no worker."""
    workers_may_follow: bool = False
    """Workers may go on with the store later: it keeps a digest of the file in force."""
    refuse: Callable[[Catalogue], None] = anything
    """Raises `DeclarationError` for a declaration that this daemon cannot run, though others could."""
    refuse_applied: Callable[[Catalogue], None] = anything
    """Likewise for a file that is applied for all daemons over the store."""

    @property
    def start_file(self) -> Path:
        """What is read at the start."""
        return self.file if self.applied is None else self.applied_copy

    def announced(self, file: ParsedText | None) -> AbstractAsyncContextManager[None]:
        """Let other workers, if there are any, know which file the block brings into force. Raises `StoreError`.

        ``None``: it was applied, so that they find it in the store.
        """
        return nullcontext() if self.cluster is None or file is None else self.cluster.announced(file)
