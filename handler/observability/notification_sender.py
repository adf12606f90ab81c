"""Carries notices: to a program, or as signed JSON over HTTP. Each within its time, and none holds up anything else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import urlsplit

from collector.clients.http.client import HttpClient, HttpRequest
from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from config.errors import Refused
from config.model.access import OPEN, SecretRef
from config.model.observability import NotifyCommand, NotifySlack, NotifyTarget, NotifyUrl
from config.units import Instant, Moment, Seconds
from handler.observability.notice_bodies import body, content, proof, slack
from handler.ports.notices import News, Notice
from handler.runtime import clock as steady_clock

_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")
"""Variables of our own that a command may see. Any other may hold a secret of Trimtab's."""
_WORKERS = 4
_ALL = frozenset(range(300, 600))
"""Statuses that are reported, besides those of success."""
_OF_THIS_NOTICE = frozenset({400, 409, 413, 422})
"""Answers that refuse one notice; any other may befall them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeliveredNotice:
    """Why a notice has not arrived."""

    because: str
    """In words without secrets: neither the address nor any content of the answer."""
    befalls_all: bool
    """The target could not be reached at all, so others need not be tried now."""


class NotificationSender:
    """Makes one attempt to deliver a notification; keeps nothing of earlier attempts."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        read_secret: Callable[[SecretRef], str],
        clock: Callable[[], Instant],
        source: str = "/trimtab",
        command_timeout: Seconds = 30.0,
        url_timeout: Seconds = 10.0,
    ) -> None:
        self._environ, self._read_secret = environ, read_secret
        self._clock = clock
        self._source = source
        self._command_timeout = command_timeout
        self._url_timeout = url_timeout
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="notify")
        self._http = HttpClient(
            clock=lambda: Moment(wall=clock(), steady=steady_clock.moment().steady),
            read_secret=read_secret,
        )

    async def send(self, target: NotifyTarget, notice: News) -> UndeliveredNotice | None:
        """Make one attempt; ``None``: it has arrived."""
        match target:
            case NotifyCommand(command=command):
                return await self._run(command, notice)
            case NotifyUrl() | NotifySlack():
                return await self._post(target, notice)
            case _:
                assert_never(target)

    async def close(self) -> None:
        """Give back every connection and thread; what hangs is left to its own end."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        await self._http.close()

    # Commands

    async def _run(self, command: tuple[str, ...], notice: News) -> UndeliveredNotice | None:
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
            return UndeliveredNotice(because=f"the command cannot be started: {_words(error)}", befalls_all=True)
        try:
            async with asyncio.timeout(self._command_timeout):
                await child.communicate(body(notice))
        except TimeoutError:
            return UndeliveredNotice(
                because=f"the command had not ended after {self._command_timeout:g} s", befalls_all=True
            )
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        if child.returncode == 0:
            return None
        return UndeliveredNotice(because=f"the command ended with {child.returncode}", befalls_all=False)

    def _environment(self, notice: News) -> dict[str, str]:
        inherited = {name: self._environ[name] for name in _INHERITED if name in self._environ}
        environment = inherited | {"TRIMTAB_ID": notice.id, "TRIMTAB_GROUP": notice.group}
        if not isinstance(notice, Notice):
            return environment | {"TRIMTAB_EVENT": "decided"}
        return environment | {
            "TRIMTAB_OUTAGE": notice.outage,
            "TRIMTAB_EVENT": notice.turn.value,
            "TRIMTAB_SEVERITY": notice.severity.value,
            "TRIMTAB_CONDITION": notice.condition.value,
        }

    # HTTP

    async def _post(self, target: NotifyUrl | NotifySlack, notice: News) -> UndeliveredNotice | None:
        """Post a notice, to an address of ours signed at this instant; it has arrived if the answer is 2xx."""
        try:
            async with asyncio.timeout(self._url_timeout):
                answer = await self._http.ask(await self._question(target, notice))
        except TimeoutError:
            return UndeliveredNotice(because=f"no answer within {self._url_timeout:g} s", befalls_all=True)
        except (OSError, ValueError, Refused) as error:
            return UndeliveredNotice(because=_words(error), befalls_all=True)
        if isinstance(answer, HttpFailure):
            return UndeliveredNotice(because=self._why(answer), befalls_all=True)
        if 200 <= answer.status < 300:  # noqa: PLR2004 what HTTP calls success
            return None
        return UndeliveredNotice(because=f"answered {answer.status}", befalls_all=answer.status not in _OF_THIS_NOTICE)

    async def _secret(self, ref: SecretRef) -> str:
        """Read the secret in a thread of our own: those of the store must never wait for a file."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, self._read_secret, ref)

    async def _question(self, target: NotifyUrl | NotifySlack, notice: News) -> HttpRequest:
        """Write the request.

        Raises:
            Refused: a secret cannot be read, or the address that it is cannot be used.
            ValueError: a secret is no key.
        """
        secret = await self._secret(target.secret if isinstance(target, NotifyUrl) else target.url)
        if isinstance(target, NotifyUrl):
            url, (kind, sent) = target.url, content(notice, target.format, self._source)
            signed = proof(secret, notice.id, self._clock(), sent)
        else:
            url, kind, sent, signed = _address(secret), "application/json", slack(notice), {}
        return HttpRequest(
            url=url,
            access=OPEN,
            timeout=self._url_timeout,
            method="POST",
            headers={
                "Content-Type": kind,
                "Connection": "close",  # a notice that meets a kept connection just as it is closed would fail
                **signed,
            },
            body=sent,
            accept=_ALL,
            status_only=True,
        )

    def _why(self, failure: HttpFailure) -> str:
        match failure.reply:
            case Reply.TIMEOUT:
                return f"no answer within {self._url_timeout:g} s"
            case Reply.UNTRUSTED:
                return f"the certificate is not trusted: {failure.detail}"
            case _:
                return failure.detail


def _address(secret: str) -> str:
    """Check the address that a secret is; it is repeated nowhere.

    Raises:
        Refused: it is none, or would be sent in clear.
    """
    try:
        parts = urlsplit(secret.strip())
    except ValueError:  # its words repeat the address
        raise Refused("the address cannot be read") from None
    here = parts.hostname in {"127.0.0.1", "localhost", "::1"}
    if not parts.hostname or parts.scheme not in {"https", "http"} or (parts.scheme == "http" and not here):
        raise Refused("the address is not https, and not on this machine")
    return secret.strip()


def _words(error: Exception) -> str:
    """An error in words of our own or of the system's."""
    match error:
        case OSError(strerror=str(reason)):
            return reason
        case UnicodeError():
            return "the address or the secret is not text that can be sent"
        case _:
            return str(error)
