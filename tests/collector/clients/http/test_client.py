from __future__ import annotations

import asyncio
import gzip
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from collector.clients.http.client import HttpClient, HttpFailure, HttpRequest, HttpResponse
from collector.samples import Reply
from config.errors import Refused
from config.model.access import OPEN, Basic, BearerToken, HttpAccess, SecretRef, Trust
from tests.support.collector import a_moment, no_secret, real_clock
from tests.support.http_servers import (
    Certificates,
    Handler,
    Nginx,
    a_client,
    a_response,
    a_server,
    certificates,
    free_tcp_port,
    request,
    running_nginx,
    says,
)
from tests.support.waiting import PATIENT, scaled

TOKEN = SecretRef(env="TOKEN")


def a_question(url: str, *, access: HttpAccess = OPEN, timeout: float = PATIENT) -> HttpRequest:
    return HttpRequest(url=url, access=access, timeout=timeout)


def asked_of(
    handler: Handler, *, timeout: float = PATIENT, access: HttpAccess = OPEN, token: str = ""
) -> HttpResponse | HttpFailure:
    async def scene() -> HttpResponse | HttpFailure:
        async with a_server(handler) as port, a_client({"TOKEN": token}) as client:
            return await client.ask(a_question(f"http://127.0.0.1:{port}/", timeout=timeout, access=access))

    return asyncio.run(scene())


def asked(url: str, *, access: HttpAccess = OPEN, timeout: float = PATIENT) -> HttpResponse | HttpFailure:
    async def scene() -> HttpResponse | HttpFailure:
        async with a_client() as client:
            return await client.ask(a_question(url, access=access, timeout=timeout))

    return asyncio.run(scene())


def failed(answer: HttpResponse | HttpFailure) -> HttpFailure:
    assert isinstance(answer, HttpFailure), answer
    return answer


def whole(answer: HttpResponse | HttpFailure) -> HttpResponse:
    assert isinstance(answer, HttpResponse), answer
    return answer


# A real server with TLS.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory, made: Certificates) -> Iterator[Nginx]:
    extra = (
        "location /moved { return 302 http://127.0.0.1:1/; }",
        'location /guarded { auth_basic "x"; auth_basic_user_file /nonexistent; }',
        "location /busy { add_header Retry-After 120 always; return 429; }",
        "gzip on; gzip_min_length 1; gzip_types text/plain;",
    )
    with running_nginx(tmp_path_factory.mktemp("nginx"), made, extra) as running:
        (running.root / "value").write_text("42")
        with (running.root / "huge").open("wb") as file:
            file.truncate(17 * 1024 * 1024)
        yield running


@pytest.mark.real("nginx", "openssl")
def test_a_certificate_that_our_authority_signed_is_believed(nginx: Nginx, made: Certificates) -> None:
    ours = HttpAccess(trust=Trust(ca=str(made.ca)))

    assert whole(asked(nginx.url("/value", tls="good"), access=ours)).body == b"42"


@pytest.mark.real("nginx", "openssl")
@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        pytest.param("expired", "certificate has expired", id="expired"),
        pytest.param("other", "certificate is not valid for '127.0.0.1'", id="for another name"),
        pytest.param("alone", "self-signed certificate", id="signed by itself"),
    ],
)
def test_a_certificate_that_is_not_believed_is_no_answer(
    nginx: Nginx, made: Certificates, kind: str, detail: str
) -> None:
    failure = failed(asked(nginx.url("/value", tls=kind), access=HttpAccess(trust=Trust(ca=str(made.ca)))))

    assert failure.reply is Reply.UNTRUSTED
    assert detail in failure.detail


@pytest.mark.real("nginx", "openssl")
def test_a_certificate_of_an_unknown_authority_is_not_believed(nginx: Nginx) -> None:
    assert failed(asked(nginx.url("/value", tls="good"))).reply is Reply.UNTRUSTED


@pytest.mark.real("nginx", "openssl")
@pytest.mark.parametrize("kind", ["expired", "other", "alone"])
def test_an_appliance_without_a_certificate_answers_where_it_is_declared_insecure(nginx: Nginx, kind: str) -> None:
    insecure = HttpAccess(trust=Trust(insecure=True))

    assert whole(asked(nginx.url("/value", tls=kind), access=insecure)).body == b"42"


@pytest.mark.real("nginx", "openssl")
def test_certificates_that_were_replaced_are_believed_without_a_restart(
    nginx: Nginx, made: Certificates, tmp_path: Path
) -> None:
    believed = tmp_path / "ca.pem"
    believed.write_bytes(made.self_signed[0].read_bytes())
    question = a_question(nginx.url("/value", tls="good"), access=HttpAccess(trust=Trust(ca=str(believed))))

    async def scene() -> tuple[HttpResponse | HttpFailure, ...]:
        async with a_client() as client:
            before = await client.ask(question)
            believed.write_bytes(made.ca.read_bytes())
            return before, await client.ask(question), await client.ask(question)

    before, first, second = asyncio.run(scene())
    assert failed(before).reply is Reply.UNTRUSTED
    assert HttpResponse in {type(first), type(second)}, (first, second)


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        pytest.param(None, "No such file or directory", id="missing"),
        pytest.param("nothing", "it holds no certificate", id="no certificate"),
    ],
)
def test_an_authority_that_cannot_be_read_is_named(tmp_path: Path, content: str | None, detail: str) -> None:
    file = tmp_path / "ours.pem"
    if content is not None:
        file.write_text(content)

    failure = failed(asked("https://127.0.0.1:1/", access=HttpAccess(trust=Trust(ca=str(file)))))

    assert failure == HttpFailure(reply=Reply.UNTRUSTED, detail=f"{file} cannot be used as ca: {detail}")


@pytest.mark.real("nginx", "openssl")
def test_tls_spoken_to_a_port_without_it_says_so(nginx: Nginx) -> None:
    failure = failed(asked(f"https://127.0.0.1:{nginx.port}/value"))

    assert failure.reply is Reply.MALFORMED
    assert failure.detail.startswith("no TLS: ")


@pytest.mark.real("nginx", "openssl")
@pytest.mark.parametrize(
    ("path", "reply", "detail"),
    [
        pytest.param("/moved", Reply.MALFORMED, "HTTP 302 Found: redirects are not followed", id="redirect"),
        pytest.param("/nowhere", Reply.NO_SUCH_COUNTER, "HTTP 404 Not Found", id="not found"),
        pytest.param("/guarded", Reply.AUTH, "HTTP 401 Unauthorized", id="unauthorised"),
        pytest.param("/huge", Reply.MALFORMED, "the answer is longer than 16777216 bytes", id="huge"),
        pytest.param("/busy", Reply.RATE_LIMITED, "HTTP 429 Too Many Requests", id="asked too often"),
    ],
)
def test_what_a_real_server_refuses_is_no_answer(nginx: Nginx, path: str, reply: Reply, detail: str) -> None:
    assert failed(asked(nginx.url(path))) == HttpFailure(reply=reply, detail=detail)


@pytest.mark.real("nginx", "openssl")
def test_connections_that_the_server_ends_are_opened_again(nginx: Nginx) -> None:
    async def scene() -> list[bytes]:
        async with a_client() as client:
            return [whole(await client.ask(a_question(nginx.url("/value")))).body for _ in range(8)]

    assert asyncio.run(scene()) == [b"42"] * 8  # nginx closes after three requests


# What no well-kept server does.


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:  # one byte at a time keeps every other time limit from being reached
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def truncated(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.transport.abort()


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + bytes(65536) + b"\r\n")
        await writer.drain()


async def endless_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def another_protocol(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    await reader.read()


@pytest.mark.parametrize(
    ("handler", "reply"),
    [
        pytest.param(silent, Reply.TIMEOUT, id="silent"),
        pytest.param(slow, Reply.TIMEOUT, id="slow"),
        pytest.param(truncated, Reply.MALFORMED, id="truncated"),
        pytest.param(reset, Reply.UNREACHABLE, id="reset"),
        pytest.param(endless, Reply.MALFORMED, id="endless"),
        pytest.param(endless_headers, Reply.MALFORMED, id="endless headers"),
        pytest.param(another_protocol, Reply.MALFORMED, id="another protocol"),
        pytest.param(says(a_response(b"x", headers={"Content-Encoding": "gzip"})), Reply.MALFORMED, id="no gzip"),
        pytest.param(
            says(a_response(gzip.compress(b"42" * 99)[:-4], headers={"Content-Encoding": "gzip"})),
            Reply.MALFORMED,
            id="gzip cut short",
        ),
        pytest.param(says(a_response(b"x", headers={"Content-Encoding": "br"})), Reply.MALFORMED, id="not asked for"),
        pytest.param(says(a_response(b"", status="500 Oops")), Reply.UNREACHABLE, id="its own error"),
        pytest.param(says(a_response(b"", status="299 Fine")), None, id="any success"),
        pytest.param(says(a_response(b"", status="799 Whatever")), Reply.UNREACHABLE, id="a status of its own"),
    ],
)
def test_a_server_that_misbehaves_is_a_failure_with_a_kind(handler: Handler, reply: Reply | None) -> None:
    answer = asked_of(handler, timeout=0.3 if reply is Reply.TIMEOUT else PATIENT)

    assert (answer.reply if isinstance(answer, HttpFailure) else None) == reply


def test_an_answer_that_unpacks_to_too_much_takes_no_memory() -> None:
    bomb = gzip.compress(bytes(1024 * 1024 * 512), compresslevel=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    failure = failed(asked_of(says(a_response(bomb, headers={"Content-Encoding": "gzip"}))))

    assert failure.detail == "the answer is longer than 16777216 bytes"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 96 * 1024  # KiB; half a GiB is packed in it


@pytest.mark.parametrize("members", [1, 2, 3])
def test_a_packed_answer_is_unpacked(members: int) -> None:
    packed = gzip.compress(b"42\n" * 30_000) * members

    answer = asked_of(says(a_response(packed, headers={"Content-Encoding": "gzip"})))

    assert whole(answer).body == b"42\n" * 30_000 * members


@pytest.mark.parametrize(
    ("host", "reply"),
    [("127.0.0.1", Reply.REFUSED), ("localhost", Reply.REFUSED), ("nowhere.invalid", Reply.UNREACHABLE)],
)
def test_a_port_without_listener_and_a_name_that_does_not_exist_differ(host: str, reply: Reply) -> None:
    assert failed(asked(f"http://{host}:{free_tcp_port()}/")).reply is reply


@pytest.mark.parametrize("url", ["http://[::1:80/", "http://\udcff/", "http://a b/", "http:///", "ftp://127.0.0.1/x"])
def test_an_address_that_is_none_is_a_failure(url: str) -> None:
    assert failed(asked(url)).reply in {Reply.MALFORMED, Reply.UNREACHABLE}


# Connections that are kept.


def closing_after(answers: int, heard: list[str]) -> Handler:
    """Answer so many requests, read one more, and close without an answer; the next connection answers again."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(answers):
            heard.append(await request(reader))
            writer.write(a_response(b"42"))
        heard.append(await request(reader))

    return handler


@pytest.mark.parametrize(
    ("method", "only_reads", "again"), [("GET", False, True), ("POST", True, True), ("POST", False, False)]
)
def test_a_kept_connection_that_died_is_replaced_once_for_what_only_reads(
    method: str, only_reads: bool, again: bool
) -> None:
    heard: list[str] = []

    async def scene() -> HttpResponse | HttpFailure:
        async with a_server(closing_after(1, heard)) as port, a_client() as client:
            body = None if method == "GET" else b"query=up"
            question = a_question(f"http://127.0.0.1:{port}/")
            question = replace(question, method=method, only_reads=only_reads, body=body)
            whole(await client.ask(question))
            return await client.ask(question)

    answer = asyncio.run(scene())
    if again:
        assert whole(answer).body == b"42"
        assert len(heard) == 3
    else:
        assert failed(answer).reply is Reply.UNREACHABLE
        assert len(heard) == 2


def test_a_server_that_always_closes_is_asked_twice_and_no_more() -> None:
    heard: list[str] = []

    assert failed(asked_of(closing_after(0, heard))).reply is Reply.UNREACHABLE
    assert len(heard) == 2


def test_a_question_that_waits_for_silent_servers_has_all_its_time_left() -> None:
    async def scene() -> HttpResponse | HttpFailure:
        async with a_server(silent) as mute, a_server(says(a_response(b"42"))) as port, a_client() as client:
            patience = scaled(2.0)
            silence = [client.ask(a_question(f"http://127.0.0.1:{mute}/", timeout=patience)) for _ in range(600)]
            waiting = asyncio.gather(*silence)
            await asyncio.sleep(0)  # they have taken every slot
            answer = await client.ask(a_question(f"http://127.0.0.1:{port}/", timeout=patience * 0.95))
            await waiting
            return answer

    assert whole(asyncio.run(scene())).body == b"42"


def test_a_closed_client_leaves_nothing_behind() -> None:
    async def scene() -> int:
        async with a_server(says(a_response(b"42"))) as port:
            async with a_client() as client:
                await asyncio.gather(*(client.ask(a_question(f"http://127.0.0.1:{port}/")) for _ in range(20)))
                await client.close()
            return len([task for task in asyncio.all_tasks() if "HttpClient" in repr(task)])

    assert asyncio.run(scene()) == 0


# Patience.


def test_a_service_that_asks_to_wait_is_not_asked_again_until_then() -> None:
    heard: list[str] = []
    now = 100.0

    async def scene() -> list[HttpResponse | HttpFailure]:
        nonlocal now
        busy = says(a_response(b"", status="429 Slow Down", headers={"Retry-After": "60"}), heard)
        client = HttpClient(clock=lambda: a_moment(now), read_secret=no_secret)
        async with a_server(busy) as port:
            question = a_question(f"http://127.0.0.1:{port}/")
            answers = [await client.ask(question), await client.ask(question)]
            now += 61.0
            answers.append(await client.ask(question))
        await client.close()
        return answers

    first, second, third = asyncio.run(scene())
    assert [failed(answer).reply for answer in (first, second, third)] == [Reply.RATE_LIMITED] * 3
    assert failed(second).detail == "HTTP 429 Too Many Requests, and asks to wait 60 s"
    assert len(heard) == 2


def test_a_server_that_asks_for_a_year_is_asked_again_after_five_minutes() -> None:
    now = 0.0

    async def scene() -> HttpResponse | HttpFailure:
        nonlocal now
        client = HttpClient(clock=lambda: a_moment(now), read_secret=no_secret)
        busy = says(a_response(b"", status="503 x", headers={"Retry-After": "99999999999999999999"}))
        async with a_server(busy) as port:
            question = a_question(f"http://127.0.0.1:{port}/")
            await client.ask(question)
            now = 301.0
            answer = await client.ask(question)
        await client.close()
        return answer

    assert failed(asyncio.run(scene())).detail == "HTTP 503 Service Unavailable"


# Secrets.


SECRETS = ["correct-horse", "two\r\nX-Admin: yes", "nul\x00nul", "pass\udcffword", "pässword", "x" * 100_000]


@pytest.mark.parametrize("secret", SECRETS, ids=["plain", "line break", "nul", "no text", "accent", "long"])
@pytest.mark.parametrize(
    "access",
    [HttpAccess(credentials=BearerToken(token=TOKEN)), HttpAccess(credentials=Basic(user="u", password=TOKEN))],
    ids=["bearer", "basic"],
)
@pytest.mark.parametrize("status", ["401 {}", "200 {}"])
def test_a_secret_never_comes_back_in_what_is_reported(secret: str, access: HttpAccess, status: str) -> None:
    echo = secret.encode(errors="surrogateescape").replace(b"\r\n", b" ").replace(b"\x00", b"")[:1000]
    head = b"HTTP/1.1 " + status.encode().replace(b"{}", echo) + b"\r\nContent-Length: 0\r\n\r\n"

    answer = asked_of(says(head), access=access, token=secret)

    detail = answer.detail if isinstance(answer, HttpFailure) else ""
    assert not any(part in detail for part in (secret, secret[:5], "horse", "X-Admin"))


def test_a_header_cannot_be_smuggled_in_with_a_token() -> None:
    heard: list[str] = []

    failure = failed(
        asked_of(
            says(a_response(b"42"), heard),
            access=HttpAccess(credentials=BearerToken(token=TOKEN)),
            token="a\r\nX-Admin: yes",
        )
    )

    assert failure.reply is Reply.AUTH
    assert "TOKEN" in failure.detail
    assert heard == []


def test_a_secret_that_is_not_there_is_reported_before_a_request_is_sent() -> None:
    def missing(ref: SecretRef) -> str:
        raise Refused(f"the environment variable {ref.env} holds no secret")

    async def scene() -> HttpResponse | HttpFailure:
        client = HttpClient(clock=real_clock, read_secret=missing)
        try:
            access = HttpAccess(credentials=BearerToken(token=TOKEN))
            return await client.ask(a_question("http://127.0.0.1:1/", access=access))
        finally:
            await client.close()

    expected = HttpFailure(reply=Reply.AUTH, detail="the environment variable TOKEN holds no secret")
    assert asyncio.run(scene()) == expected


def test_credentials_and_headers_are_sent_as_declared() -> None:
    heard: list[str] = []

    asked_of(says(a_response(b"42"), heard), access=HttpAccess(credentials=Basic(user="u", password=TOKEN)), token="pw")

    assert "Authorization: Basic dTpwdw==" in heard[0]
    assert "User-Agent: trimtab" in heard[0]
