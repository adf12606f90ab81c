"""The least that a member can be: answers every GET with five bytes on ``TRIMTAB_ADDRESS``, and ends when told to."""

from __future__ import annotations

import asyncio
import os
import signal

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class _Conversation(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._said = transport, b""

    def data_received(self, data: bytes) -> None:
        self._said += data
        while b"\r\n\r\n" in self._said:
            _, _, self._said = self._said.partition(b"\r\n\r\n")
            self._transport.write(_ANSWER)


async def main() -> None:
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    server = await loop.create_server(_Conversation, os.environ["TRIMTAB_ADDRESS"], 8080)
    await told.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
