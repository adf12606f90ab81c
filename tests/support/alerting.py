"""A daemon in this process that takes alerts over a real socket; advising, so that no member is ever made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handler.daemon.run import Running, running
from handler.ingest.alerts.tokens import NewWebhook
from tests.support.waiting import PATIENT

MODEL = """\
counters: {{depth: {{alert: deep}}}}
conditions: {{high: {{counter: depth, window: 1h, above: 80}}}}
policies:
  out: {{when: [high], duration: 1h, add: 2}}
clouds: {{local: {{process: {{}}}}}}
profiles: {{web: {{cloud: local, command: [sleep, "600"]}}}}
alerts:
  slow: {{match: {{alertname: WebSlow}}, groups: [web, api], group_label: service, fire: out, ttl: 15m}}
  loaded: {{match: {{alertname: Loaded}}, groups: [web, api], floor: 3, ttl: 15m}}
  failing: {{match: {{alertname: Failing}}, groups: [web], shield: true, ttl: 15m}}
  deep: {{match: {{alertname: Deep}}, groups: [web, api], group_label: service, value: depth, ttl: 15m}}
groups:
  web: {{profile: web, min: 0, max: 9, interval: 1h, mode: {mode}, policies: [out]}}
  api: {{profile: web, min: 0, max: 9, interval: 1h, mode: {mode}, policies: [out]}}
"""


@dataclass
class Outside:
    """Senders of alerts, and the answers that they get."""

    daemon: Running
    token: str
    headers: dict[str, str] = field(default_factory=dict)

    async def send(
        self,
        payload: object,
        *,
        token: str | None = None,
        method: str = "POST",
        path: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        """The status and JSON that come back; bytes are sent as they are."""
        status, answer, _ = await self.exchange(payload, token=token, method=method, path=path, headers=headers)
        return status, answer

    async def exchange(
        self,
        payload: object,
        *,
        token: str | None = None,
        method: str = "POST",
        path: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, Any], str]:
        """The same, with the head of the answer."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        target = path if path is not None else f"/hooks/alerts/{self.token if token is None else token}"
        given = {
            "Host": f"127.0.0.1:{self.daemon.port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **(headers or {}),
        }
        head = "".join(f"{key}: {value}\r\n" for key, value in given.items())
        reader, writer = await asyncio.open_connection("127.0.0.1", self.daemon.port)
        try:
            writer.write(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
            answer = await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()
        first, _, rest = answer.partition(b"\r\n\r\n")
        return int(first[9:12]), json.loads(rest), first.decode().lower()

    def signals(self, group: str = "web") -> list[tuple[str, str]]:
        """What lasts in a group: (alert, kind)."""
        state = self.daemon.engine.runtimes[group].state  # type: ignore[index]
        return [(signal.alert, signal.kind.value) for signal in state.signals]

    def counted(self, source: str, result: str) -> float:
        line = f'trimtab_webhook_requests_total{{source="{source}",result="{result}"}} '
        text = self.daemon.operations.metrics().decode()
        return float(next(each for each in text.splitlines() if each.startswith(line)).removeprefix(line))


def play(
    place: Path, scene: Callable[[Outside], Awaitable[None]], *, wanted: NewWebhook | None = None, mode: str = "advise"
) -> None:
    """Play a scene with a daemon on this directory; the same directory again is the same daemon after a restart."""

    async def whole() -> None:
        file = place / "model.yaml"
        file.write_text(MODEL.format(mode=mode))
        async with running(file, place / "state", port=0) as daemon:
            token_file = place / "hook-token"
            if not token_file.exists():
                token_file.write_text(await daemon.operations.webhooks.make(wanted or NewWebhook(name="prometheus")))
            async with asyncio.timeout(PATIENT):
                while any(not runtime.fleet().listed for runtime in daemon.engine.runtimes.values()):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                await scene(Outside(daemon, token_file.read_text()))

    asyncio.run(whole())
