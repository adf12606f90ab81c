"""Carries notices: to a program, or as signed JSON over HTTP. Each within its time, and none holds up anything else.

HTTP is spoken here rather than by a library, for the sake of one deadline over everything: looking the name up,
connecting, TLS, writing and a peer that drips its answer. Redirects, proxies and cookies are for nobody's notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import ssl
import urllib.parse
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, assert_never

from config.errors import Refused
from config.model.observability import NotifyCommand, NotifyTarget, NotifyUrl
from config.settings import read_secret
from config.units import Instant, Seconds
from handler.ports.notices import Notice, body, signature

_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")
"""Variables of our own that a command may see. Any other may hold a secret of Trimtab's."""
_WORKERS = 4
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])\b")
_INTERIM = 8
"""Answers of the kind "go on" that are read before the real one."""
_OF_THIS_NOTICE = frozenset({400, 409, 413, 422})
"""Answers that refuse one notice; any other may befall them all."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """Why a notice has not arrived."""

    because: str
    """In words without secrets: neither the address nor anything that the other side said."""
    befalls_all: bool
    """The target could not be reached at all, so others need not be tried now."""


class Courier:
    """Makes attempts; knows nothing of earlier ones."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], Instant],
        command_timeout: Seconds = 30.0,
        url_timeout: Seconds = 10.0,
    ) -> None:
        self._environ = environ
        self._clock = clock
        self._command_timeout = command_timeout
        self._url_timeout = url_timeout
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="notify")
        self._trust: ssl.SSLContext | None = None

    async def send(self, target: NotifyTarget, notice: Notice) -> Unsent | None:
        """Make one attempt; ``None``: it has arrived."""
        match target:
            case NotifyCommand(command=command):
                return await self._run(command, notice)
            case NotifyUrl():
                return await self._post(target, notice)
            case _:
                assert_never(target)

    def close(self) -> None:
        """Stop looking up names; what hangs is left to its own end."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    # Commands

    async def _run(self, command: tuple[str, ...], notice: Notice) -> Unsent | None:
        """Run a program without a shell, in a process group of its own; it has taken the notice if it exits with 0."""
        try:
            child = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._environment(notice),
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Unsent(because=f"the command cannot be started: {_words(error)}", befalls_all=True)
        try:
            async with asyncio.timeout(self._command_timeout):
                await child.communicate(body(notice))
        except TimeoutError:
            return Unsent(because=f"the command had not ended after {self._command_timeout:g} s", befalls_all=True)
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        if child.returncode == 0:
            return None
        return Unsent(because=f"the command ended with {child.returncode}", befalls_all=False)

    def _environment(self, notice: Notice) -> dict[str, str]:
        inherited = {name: self._environ[name] for name in _INHERITED if name in self._environ}
        return inherited | {
            "TRIMTAB_ID": notice.id,
            "TRIMTAB_OUTAGE": notice.outage,
            "TRIMTAB_GROUP": notice.group,
            "TRIMTAB_EVENT": notice.turn.value,
            "TRIMTAB_SEVERITY": notice.severity.value,
            "TRIMTAB_CONDITION": notice.condition.value,
        }

    # HTTP

    async def _post(self, target: NotifyUrl, notice: Notice) -> Unsent | None:
        """Post a notice, signed at this instant; it has arrived if the answer is 2xx."""
        try:
            async with asyncio.timeout(self._url_timeout):
                secret = await self._in_thread(partial(read_secret, target.secret, self._environ))
                status = await self._exchange(target.url, _request(target.url, secret, notice, self._clock()))
        except TimeoutError:
            return Unsent(because=f"no answer within {self._url_timeout:g} s", befalls_all=True)
        except (OSError, EOFError, ValueError, Refused) as error:
            return Unsent(because=_words(error), befalls_all=True)
        if 200 <= status < 300:  # noqa: PLR2004 what HTTP calls success
            return None
        return Unsent(because=f"answered {status}", befalls_all=status not in _OF_THIS_NOTICE)

    async def _exchange(self, url: str, request: bytes) -> int:
        parts = urllib.parse.urlsplit(url)
        trust = await self._trusted() if parts.scheme == "https" else None
        reader, writer = await self._connect(parts.hostname or "", parts.port or (443 if trust else 80), trust)
        try:
            writer.write(request)
            await writer.drain()
            return await _status(reader)
        finally:
            writer.transport.abort()  # nothing more is wanted, and a peer that does not say goodbye is not waited for

    async def _connect(
        self, host: str, port: int, trust: ssl.SSLContext | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Try each address of a name. Names are looked up in our own threads: those of the store must never wait."""
        found = await self._in_thread(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
        error: OSError = OSError("the name has no address")
        for *_, address in found:
            try:
                return await asyncio.open_connection(
                    str(address[0]), port, ssl=trust, server_hostname=host if trust else None
                )
            except OSError as failed:
                error = failed
        raise error

    async def _trusted(self) -> ssl.SSLContext:
        if self._trust is None:
            self._trust = await self._in_thread(ssl.create_default_context)
        return self._trust

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, call)


def _request(url: str, secret: str, notice: Notice, now: Instant) -> bytes:
    parts = urllib.parse.urlsplit(url)
    sent = body(notice)
    lines = (
        f"POST {parts.path or '/'}{'?' if parts.query else ''}{parts.query} HTTP/1.1",
        f"Host: {parts.netloc}",
        "User-Agent: trimtab",
        "Content-Type: application/json",
        f"Content-Length: {len(sent)}",
        f"X-Trimtab-Id: {notice.id}",
        f"X-Trimtab-Signature: {signature(secret, now, sent)}",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii") + sent


async def _status(reader: asyncio.StreamReader) -> int:
    """Read up to the status of the real answer.

    Raises:
        EOFError: the other side hung up.
        ValueError: what it says is not HTTP.
    """
    for _ in range(_INTERIM):
        line = await reader.readline()
        if not line:
            raise EOFError("hung up without an answer")
        found = _STATUS.match(line)
        if found is None:
            break
        status = int(found[1])
        if status >= 200:  # noqa: PLR2004 those below say "go on"
            return status
        while (await reader.readline()).strip():
            pass
    raise ValueError("answered something that is not HTTP")


def _words(error: Exception) -> str:
    """An error in words of our own or of the system's."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"the certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return f"TLS failed: {error.reason}"
        case ConnectionError(errno=int(number)):
            return os.strerror(number)
        case OSError(strerror=str(said)):
            return said
        case UnicodeError():
            return "the address or the secret is not text that can be sent"
        case _:
            return str(error)
