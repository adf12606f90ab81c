"""The least that a member can be: answers every GET with five bytes on ``TRIMTAB_ADDRESS``, and ends at SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class _Conversation(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._received = transport, b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            _, _, self._received = self._received.partition(b"\r\n\r\n")
            self._transport.write(_ANSWER)


async def main() -> None:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    server = await loop.create_server(_Conversation, os.environ["TRIMTAB_ADDRESS"], 8080)
    await stopping.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
