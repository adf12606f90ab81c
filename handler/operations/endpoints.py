"""Every server that Trimtab calls, and whether it answers: clouds, balancers, message buses, the vault."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from collector.clients.circuit import Position
from collector.clients.circuits import EndpointStatus
from collector.clients.vault.reader import SecretState, VaultStatus
from config.units import Instant
from handler.engine.engine import Engine


def endpoints(engine: Engine) -> Sequence[EndpointStatus]:
    """Return the status of each."""
    vault, now = engine.parts.secrets.status(), engine.parts.clock().wall
    kept = () if vault is None else (vault_status(vault, now),)
    return (*engine.parts.endpoints(), *engine.ingest.buses.statuses(), *kept)


def vault_status(vault: VaultStatus, now: Instant) -> EndpointStatus:
    """Say for people which secrets cannot be read, and since when."""
    if not vault.failing:
        return EndpointStatus(endpoint=vault.url, position=Position.CLOSED, because="", unsent=0)
    since = datetime.fromtimestamp(now - vault.failing, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    stale, missing = (", ".join(vault.sections(state)) for state in (SecretState.STALE, SecretState.MISSING))
    effects = [f"last values stay in use ({stale})"] if stale else []
    effects += [f"what needs them waits ({missing})"] if missing else []
    because = f"secrets of the vault cannot be read since {since}, {' and '.join(effects)}: {vault.because}"
    return EndpointStatus(endpoint=vault.url, position=Position.OPEN, because=because, unsent=0)
