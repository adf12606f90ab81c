"""Send one request and read one answer on one connection."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

from collector.clients.connecting import connected
from config.units import Seconds

Address = Path | tuple[str, int]
"""A unix stream socket, or (host, TCP port)."""


def exchange(address: Address, question: bytes, *, within: Seconds, at_most: int) -> bytes:
    """Send ``question`` and read the answer until the other side closes. Blocks: for worker threads.

    ``within`` is for all of it together, connecting included; ``at_most`` bounds the answer, in bytes.

    Raises:
        OSError: not reachable, too slow (`TimeoutError`), or an answer that is too long (``EMSGSIZE``).
    """
    return asyncio.run(_exchange(address, question, within=within, at_most=at_most))


async def _exchange(address: Address, question: bytes, *, within: Seconds, at_most: int) -> bytes:
    async with asyncio.timeout(within):
        if isinstance(address, Path):
            reader, writer = await asyncio.open_unix_connection(str(address))
        else:
            reader, writer = await asyncio.open_connection(sock=await connected(address))
        try:
            writer.write(question)
            answer = bytearray()
            while piece := await reader.read(65536):
                answer += piece
                if len(answer) > at_most:
                    raise OSError(errno.EMSGSIZE, f"an answer of more than {at_most} bytes")
            return bytes(answer)
        finally:
            writer.close()
