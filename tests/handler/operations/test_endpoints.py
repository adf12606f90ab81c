from __future__ import annotations

from dataclasses import replace

from collector.clients.circuit import Position
from collector.clients.circuits import EndpointStatus
from collector.clients.vault.reader import SecretState, VaultStatus
from config.units import Instant
from handler.operations.endpoints import vault_status

FRESH = VaultStatus(url="https://vault", counts={("clouds", SecretState.FRESH): 2}, failing=0.0, because="")
_AWAY = "secrets of the vault cannot be read since 1970-01-01 00:15:00 UTC, "


def test_a_vault_that_answers_has_nothing_to_say() -> None:
    assert vault_status(FRESH, Instant(1000.0)) == EndpointStatus(
        endpoint="https://vault", position=Position.CLOSED, because="", unsent=0
    )


def test_a_vault_that_is_away_says_since_when_and_what_that_does_to_which_sections() -> None:
    stale = {("clouds", SecretState.STALE): 2, ("profiles", SecretState.STALE): 1, ("oidc", SecretState.FRESH): 1}
    away = replace(FRESH, counts=stale, failing=100.0, because="it is sealed")
    assert vault_status(away, Instant(1000.0)).because == (
        f"{_AWAY}last values stay in use (clouds, profiles): it is sealed"
    )

    missing = replace(away, counts=stale | {("balancers", SecretState.MISSING): 1})
    status = vault_status(missing, Instant(1000.0))
    assert status.position is Position.OPEN
    assert status.because == (
        f"{_AWAY}last values stay in use (clouds, profiles) and what needs them waits (balancers): it is sealed"
    )
