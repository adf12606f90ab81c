from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import shutil
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from config.model.access import SecretRef
from config.model.observability import NoticeFormat, NotifyCommand, NotifySlack, NotifyTarget, NotifyUrl
from config.settings import read_secret
from handler.ingest.alerts.signatures import forged
from handler.observability.notice_bodies import body
from handler.observability.notification_sender import NotificationSender, UndeliveredNotice
from tests.support.collector import no_secret
from tests.support.fake_cloud import FakeClock
from tests.support.http_servers import a_response, a_server, says
from tests.support.notices import NOW, Receiver, a_notice, silent_server
from tests.support.waiting import PATIENT, until

ENVIRON = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "KEY": "hunter2", "DATABASE_PASSWORD": "hunter3"}


def carried(
    target: NotifyTarget, *, command_timeout: float = PATIENT, url_timeout: float = PATIENT, **environ: str
) -> UndeliveredNotice | None:
    """What becomes of one attempt."""

    async def attempt() -> UndeliveredNotice | None:
        notification_sender = NotificationSender(
            environ=ENVIRON,
            read_secret=partial(read_secret, environ=ENVIRON | environ),
            clock=lambda: NOW,
            command_timeout=command_timeout,
            url_timeout=url_timeout,
        )
        try:
            return await notification_sender.send(target, a_notice())
        finally:
            await notification_sender.close()

    return asyncio.run(attempt())


def script(path: Path, text: str) -> NotifyCommand:
    path.write_text(text)
    return NotifyCommand(command=(sys.executable, str(path), "--group"))


def url(address: str) -> NotifyUrl:
    return NotifyUrl(url=address, secret=SecretRef(env="KEY"))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver.running() as running:
        yield running


# Commands


def test_a_command_gets_the_notice_on_its_input_and_little_else(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter3")
    out = tmp_path / "out.json"
    page = script(
        tmp_path / "page.py",
        "import json, os, sys\n"
        f"json.dump([sys.argv[1:], sys.stdin.read(), dict(os.environ), os.getcwd()], open({str(out)!r}, 'w'))\n",
    )
    assert carried(page) is None
    arguments, given, environ, directory = json.loads(out.read_text())
    assert arguments == ["--group"]
    assert given.encode() == body(a_notice())
    assert {name: value for name, value in environ.items() if name.startswith("TRIMTAB_")} == {
        "TRIMTAB_ID": "web.1700000000000.error.entered",
        "TRIMTAB_OUTAGE": "web.1700000000000",
        "TRIMTAB_GROUP": "web",
        "TRIMTAB_EVENT": "entered",
        "TRIMTAB_SEVERITY": "error",
        "TRIMTAB_CONDITION": "error",
    }
    assert environ["PATH"] == ENVIRON["PATH"]
    assert not {"KEY", "DATABASE_PASSWORD"} & environ.keys()
    assert directory == "/"


def test_no_shell_reads_the_command(tmp_path):
    flag = tmp_path / "flag"
    assert carried(NotifyCommand(command=("true", f"; touch {flag}", f"$(touch {flag})"))) is None
    assert not flag.exists()


def test_a_command_need_not_read_its_input():
    assert carried(NotifyCommand(command=("true",))) is None


@pytest.mark.parametrize(
    ("command", "because", "befalls_all"),
    [
        (("false",), "the command ended with 1", False),
        (("/nowhere/page",), "the command cannot be started: No such file or directory", True),
        (("/etc/passwd",), "the command cannot be started: Permission denied", True),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), "the command ended with -9", False),
    ],
    ids=["wrong-exit", "missing", "not-executable", "killed"],
)
def test_a_command_that_fails_has_not_taken_the_notice(command: tuple[str, ...], because: str, befalls_all: bool):
    assert carried(NotifyCommand(command=command)) == UndeliveredNotice(because=because, befalls_all=befalls_all)


HANGS = """
import os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
pathlib.Path({pids!r} + ".draft").write_text(f"{{os.getpid()}} {{child.pid}}")
os.rename({pids!r} + ".draft", {pids!r})
child.wait()
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    pids = tmp_path / "pids"
    page = script(tmp_path / "page.py", HANGS.format(pids=str(pids)))
    unsent = carried(page, command_timeout=1.0)
    assert unsent == UndeliveredNotice(because="the command had not ended after 1 s", befalls_all=True)
    if pids.exists():  # on a busy machine it may have been ended before it got there
        until(lambda: not any(is_running(int(pid)) for pid in pids.read_text().split()))


def test_a_command_is_ended_when_the_daemon_stops(tmp_path):
    pids = tmp_path / "pids"
    page = script(tmp_path / "page.py", HANGS.format(pids=str(pids)))

    async def stopped() -> None:
        notification_sender = NotificationSender(environ=ENVIRON, read_secret=no_secret, clock=lambda: NOW)
        attempt = asyncio.create_task(notification_sender.send(page, a_notice()))
        await asyncio.to_thread(until, pids.exists)
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        await notification_sender.close()

    asyncio.run(stopped())
    until(lambda: not any(is_running(int(pid)) for pid in pids.read_text().split()))


# HTTP


def test_what_is_posted_can_be_verified_in_three_lines(receiver):
    assert carried(url(receiver.url)) is None
    (got,) = receiver.got
    stamp, made = got.headers["X-Trimtab-Signature"].removeprefix("t=").split(",v1=")
    wanted = hmac.new(b"hunter2", f"{stamp}.".encode() + got.body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(made, wanted)
    assert got.body == body(a_notice())
    assert float(stamp) == NOW
    assert got.headers["X-Trimtab-Id"] == a_notice().id
    assert got.headers["Content-Type"] == "application/json"
    assert "hunter2" not in str(got)


def test_the_request_uses_the_complete_address(receiver):
    assert carried(url(f"{receiver.url}/a/b?token=c%20d")) is None
    assert receiver.got[0].path == "/a/b?token=c%20d"
    assert receiver.got[0].headers["Host"] == receiver.url.removeprefix("http://")


def test_a_secret_in_a_file_is_read_at_each_attempt(receiver, tmp_path):
    key = tmp_path / "key"
    for secret in ("first", "second"):
        key.write_text(f"{secret}\n")
        key.chmod(stat.S_IRUSR | stat.S_IWUSR)
        assert carried(NotifyUrl(url=receiver.url, secret=SecretRef(file=str(key)))) is None
        got = receiver.got[-1]
        wanted = hmac.new(secret.encode(), f"{NOW:.0f}.".encode() + got.body, hashlib.sha256).hexdigest()
        assert got.headers["X-Trimtab-Signature"] == f"t={NOW:.0f},v1={wanted}"


@pytest.mark.parametrize(
    ("status", "unsent"),
    [
        (200, None),
        (202, None),
        (204, None),
        (302, UndeliveredNotice(because="answered 302", befalls_all=True)),
        (400, UndeliveredNotice(because="answered 400", befalls_all=False)),
        (401, UndeliveredNotice(because="answered 401", befalls_all=True)),
        (422, UndeliveredNotice(because="answered 422", befalls_all=False)),
        (429, UndeliveredNotice(because="answered 429", befalls_all=True)),
        (503, UndeliveredNotice(because="answered 503", befalls_all=True)),
    ],
)
def test_only_success_has_arrived_and_redirects_are_not_followed(
    receiver, status: int, unsent: UndeliveredNotice | None
):
    receiver.statuses = [status]
    assert carried(url(receiver.url)) == unsent
    assert len(receiver.got) == 1


def test_without_its_secret_nothing_is_posted(receiver):
    unsent = carried(NotifyUrl(url=receiver.url, secret=SecretRef(env="NO_KEY")))
    assert unsent is not None
    assert "NO_KEY holds no secret" in unsent.because
    assert receiver.got == []


@pytest.mark.parametrize(
    ("says", "because"),
    [
        (None, "no answer within 0.3 s"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "no answer within 0.3 s"),
        (b"", "the connection was closed before an answer"),
        (b"SSH-2.0-x\r\n", "the endpoint does not speak HTTP"),
        (b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 500 No\r\n\r\n", "answered 500"),
        (b"x" * 200_000, "the endpoint does not speak HTTP"),
    ],
    ids=["nothing", "go-on", "hangs-up", "not-http", "go-on-and-then-no", "no-line"],
)
def test_a_peer_that_does_not_speak_properly_is_left_in_time(says: bytes | None, because: str):
    with silent_server(says) as address:
        unsent = carried(url(address), url_timeout=0.3 if "within" in because else PATIENT)
    assert unsent == UndeliveredNotice(because=because, befalls_all=True)


def test_a_peer_that_says_yes_and_never_ends_its_answer_has_taken_the_notice():
    with silent_server(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthanks") as address:
        assert carried(url(address)) is None


def test_a_missing_peer_is_reported_without_its_address():
    with silent_server(None) as address:
        pass
    assert carried(url(f"{address}/token")) == UndeliveredNotice(because="Connection refused", befalls_all=True)


def test_a_secret_that_is_not_text_shows_nowhere(receiver):
    unsent = carried(url(receiver.url), KEY="hunter2\udcff")
    assert unsent == UndeliveredNotice(
        because="the address or the secret is not text that can be sent", befalls_all=True
    )


@pytest.mark.real("openssl")
def test_a_certificate_must_be_trusted(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    openssl = shutil.which("openssl")
    assert openssl is not None
    subprocess.run(
        f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        f" -addext subjectAltName=DNS:localhost -keyout {key} -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Receiver.running(context) as receiver:
        foreign_member = carried(url(receiver.url))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert carried(url(receiver.url)) is None
        assert carried(url(receiver.url.replace("localhost", "127.0.0.1"))) == UndeliveredNotice(
            because="the certificate is not trusted: IP address mismatch, certificate is not valid for '127.0.0.1'.",
            befalls_all=True,
        )
    assert foreign_member is not None
    assert foreign_member.because.startswith("the certificate is not trusted")
    assert len(receiver.got) == 1


# Formats


def test_an_address_gets_cloud_events_if_the_file_says_so(receiver: Receiver) -> None:
    target = replace(url(receiver.url), format=NoticeFormat.CLOUDEVENTS)
    assert carried(target) is None
    (got,) = receiver.got
    assert got.headers["Content-Type"] == "application/cloudevents+json"
    headers = {name.lower(): value for name, value in got.headers.items()}
    assert forged("hunter2", headers, got.body, NOW) is None
    assert json.loads(got.body)["source"] == "/trimtab"


def test_slack_gets_text_at_the_address_that_is_kept_as_a_secret(receiver: Receiver, tmp_path: Path) -> None:
    kept = tmp_path / "slack"
    kept.write_text(f"{receiver.url}/services/T0/B0/secret\n")
    kept.chmod(0o600)
    assert carried(NotifySlack(url=SecretRef(file=str(kept)))) is None
    (got,) = receiver.got
    assert got.path.endswith("services/T0/B0/secret")
    assert json.loads(got.body)["text"].startswith("*web*: error")


@pytest.mark.parametrize(
    "address",
    [
        "http://hooks.example.org/secret",
        "secret",
        "ftp://x/secret",
        "https://secret\u2100.example",
        "https://[secret]/",
    ],
)
def test_an_address_that_would_be_sent_in_clear_is_not_used_and_not_repeated(tmp_path: Path, address: str) -> None:
    kept = tmp_path / "slack"
    kept.write_text(address)
    kept.chmod(0o600)
    unsent = carried(NotifySlack(url=SecretRef(file=str(kept))))
    assert unsent is not None
    assert "secret" not in unsent.because


def test_a_pager_is_asked_again_when_it_said_though_the_clock_was_set_back_since() -> None:
    heard: list[str] = []
    clock = FakeClock()

    async def attempts() -> None:
        busy = a_response(status="503 Service Unavailable", headers={"Retry-After": "0"})
        async with a_server(says(busy, heard)) as port:
            notification_sender = NotificationSender(
                environ=ENVIRON,
                read_secret=partial(read_secret, environ=ENVIRON),
                clock=clock,
            )
            for _ in range(2):
                await notification_sender.send(url(f"http://127.0.0.1:{port}"), a_notice())
                clock.advance(-86_400.0)
            await notification_sender.close()

    asyncio.run(attempts())
    assert len(heard) == 2
