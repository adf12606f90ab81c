"""An alert that a standby proved and answered is judged by the time of the proof, however long it waited since."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from config.model.access import SecretRef
from config.units import Instant
from handler.ingest.alerts.receiver import WebhookRequest
from handler.ingest.alerts.signatures import SIGNATURE, TIMESTAMP
from handler.ingest.alerts.tokens import NewWebhook
from tests.support.alerting import Outside, play
from tests.support.hooks import an_alert, body, grafana

WAITED = 360.0
"""Seconds; longer than a signature is fresh."""


def test_a_signature_with_a_time_counts_by_when_a_standby_proved_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("between us\n")
    secret.chmod(0o600)
    raw = body(grafana(an_alert(labels={"alertname": "Failing", "service": "web"})))

    async def scene(outside: Outside) -> None:
        engine = outside.daemon.engine
        sent_at = Instant(engine.parts.clock().wall - WAITED)
        stamp = str(int(sent_at))
        signature = hmac.new(b"between us", f"{stamp}:".encode() + raw, hashlib.sha256).hexdigest()

        async def status(proved_at: Instant | None, signature: str = signature) -> int:
            headers = {SIGNATURE: signature, TIMESTAMP: stamp}
            request = WebhookRequest(token=outside.token, headers=headers, body=raw, proved_at=proved_at)
            return (await engine.ingest.alerting.take(request)).status

        assert [await status(None), await status(sent_at, "0" * 64), await status(sent_at)] == [401, 401, 202]

    play(tmp_path, scene, wanted=NewWebhook(name="grafana", hmac_secret=SecretRef(file=str(secret))))
