"""Alerts that reach a standby while no holder takes them up: kept in the store, for the next holder to carry out.

# Note [A kept alert is one that its sender may bring]

The sender is answered before a holder has seen the request, so the standby finds out by itself what the holder would
refuse: it reads the webhooks in the store, compares the token with their hashes, checks the signature over the raw
body, and reads the payload. What is not proved so is not kept; it waits for a holder, as every other request does.
Which groups an alert means, and what it does there, only the holder can tell.

When that was found out is sealed with the request. The holder judges the time of the signature by it: an alert may wait
for longer than a signature is fresh.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from config.errors import Refused, StoreError
from config.model.access import SecretRef
from config.units import Instant, Seconds
from handler import logs
from handler.daemon.relaying import Asking, NotTaken, OutcomeUnknown, row_of
from handler.ingest.addresses import ALERTS, kinds_of
from handler.ingest.alerts import payloads, signatures, tokens
from handler.ingest.alerts.notifications import Payload
from handler.ingest.alerts.receiver import METHODS, token_in
from handler.leasing.relaying import ANY_EPOCH, PutDown
from handler.ports.alerts import HookUse, StoredHook
from handler.web.gate import unfit_body
from handler.web.relayed import HolderAnswer, RelayedAnswer, RelayedRequest

if TYPE_CHECKING:
    from handler.store.postgresql_relay import PostgresqlRelay

_TAKEN_WITHIN: Seconds = 2.0
"""A holder that acts takes a request up sooner: later there is none, and the sender need not wait for one."""
_NOTE = "no worker took them up: these alerts are stored, and the next one that holds the lease carries them out"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertKeeping:
    """Has the holder carry requests out; alerts that no holder takes up are kept.

    Args:
        rows: in the database.
        asking: relays all requests.
        secret: reads what a webhook's bodies are signed with; raises `Refused`.
        now: the wall clock, by which tokens and signatures expire.
    """

    rows: PostgresqlRelay
    asking: Asking
    secret: Callable[[SecretRef], str]
    now: Callable[[], Instant]

    async def relay(self, request: RelayedRequest) -> HolderAnswer:
        """Have the holder carry a request out, or keep it. Raises as `Asking.relay`."""
        if not is_alert(request):
            return await self.asking.relay(request)
        try:
            return await self.asking.relay(request, taken_within=_TAKEN_WITHIN)
        except NotTaken:
            kept = await self._kept(request)
            return await self.asking.relay(request) if kept is None else kept

    async def _kept(self, request: RelayedRequest) -> RelayedAnswer | None:
        """Keep a request and return what its sender is answered; ``None``: it is not kept, and nothing was done.

        Raises `OutcomeUnknown`: it may be kept.
        """
        now = self.now()
        try:
            hooks = await self.asking.threads.run(self.rows.hooks)
            payload = await asyncio.to_thread(self._proved, request, hooks, now)
            if payload is None or not await self._stored(replace(request, proved_at=now)):
                return None
        except OutcomeUnknown:
            raise
        except (Refused, StoreError) as error:
            logs.warn("alert_not_kept", error=str(error))
            return None
        logs.say("alert_kept", sender=payload.sender.value, alerts=len(payload.alerts))
        head = {"sender": payload.sender.value, "alerts": len(payload.alerts)}
        text = json.dumps({**head, "effects": [], "stored": True, "note": _NOTE}).encode()
        headers = (("content-type", "application/json"), ("content-length", str(len(text))))
        return RelayedAnswer(status=202, headers=(*headers, ("trimtab-worker", self.asking.worker)), body=text)

    async def _stored(self, request: RelayedRequest) -> bool:
        seal, name = await asyncio.to_thread(self.asking.seal), secrets.token_hex(8)
        sealed = seal.seal(request.text, row_of(name, ANY_EPOCH, "request"))
        row = PutDown(id=name, worker=self.asking.worker, epoch=ANY_EPOCH, request=sealed)
        return await self.asking.written(self.rows.keep, row)

    def _proved(self, request: RelayedRequest, hooks: tuple[StoredHook, ...], now: Instant) -> Payload | None:
        """Return the alerts of a request that its webhook may bring; ``None``: the holder judges. It may block."""
        headers = {name.lower(): value for name, value in request.headers}
        hook = tokens.holder(hooks, token_in(request.path, headers), now)
        if hook is None or hook.use is not HookUse.ALERTS:
            return None
        if unfit_body(headers, len(request.body), kinds_of(request.path, headers)) is not None:
            return None
        secret = None if hook.hmac_secret is None else self.secret(hook.hmac_secret)
        if secret is not None and signatures.forged(secret, headers, request.body, now) is not None:
            return None
        payload = payloads.read(request.body, headers)
        return payload if isinstance(payload, Payload) else None


def is_alert(request: RelayedRequest) -> bool:
    """Tell whether a request brings alerts to a webhook: nothing else is kept."""
    return request.method in METHODS and f"{request.path}/".startswith(f"{ALERTS}/")
