"""A daemon that listens with TLS, asked by the real curl and openssl."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from config.errors import Refused
from handler.daemon import certificate
from handler.daemon.certificate import ServerCertificate, facts_of
from handler.daemon.run import Running, holding, running
from tests.support.certificates import Authority, Pair
from tests.support.waiting import PATIENT

pytestmark = [pytest.mark.real("openssl"), pytest.mark.real("curl")]

MODEL = """\
clouds: {{local: {{process: {{}}}}}}
profiles: {{web: {{cloud: local, command: [sleep, "600"]}}}}
groups: {{web: {{profile: web, min: 0, max: 1, interval: 1h}}}}
listen: {{certificate: {pair.certificate}, key: {pair.key}{more}}}
"""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def play(place: Path, pair: Pair, scene: Callable[[Running], Awaitable[None]], more: str = "") -> None:
    async def whole() -> None:
        file = place / "model.yaml"
        file.write_text(MODEL.format(pair=pair, more=more))
        async with running(file, place / "state", port=0) as daemon, asyncio.timeout(PATIENT):
            await scene(daemon)

    asyncio.run(whole())


async def curl(daemon: Running, *words: str | Path, url: str = "https://127.0.0.1:{port}/healthz") -> tuple[int, str]:
    """Exit code, and head and body of the answer."""
    command = ["curl", "-sS", "-i", "--max-time", "20", *map(str, words), url.format(port=daemon.port)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_requests_come_encrypted_and_answers_forbid_anything_else(tmp_path: Path, authority: Authority) -> None:
    async def scene(daemon: Running) -> None:
        trusting = ("--cacert", authority.pair.certificate)
        code, answer = await curl(daemon, *trusting)
        assert code == 0
        assert answer.startswith("HTTP/1.1 200")
        for header in (
            "strict-transport-security: max-age=",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
        ):
            assert header in answer
        assert (await curl(daemon))[0] != 0, "curl does not trust the authority by itself"
        assert (await curl(daemon, url="http://127.0.0.1:{port}/healthz"))[0] != 0
        _, answer = await curl(daemon, *trusting, url="https://127.0.0.1:{port}/metrics")
        assert (
            f"trimtab_tls_certificate_expiry_timestamp_seconds {facts_of(str(pair.certificate)).expires_at}" in answer
        )

    pair = authority.sign("server")
    play(tmp_path, pair, scene)


def test_names_of_the_certificate_and_of_the_file_are_served_and_no_others(
    tmp_path: Path, authority: Authority
) -> None:
    async def scene(daemon: Running) -> None:
        for name, status in (
            ("trimtab.test", 200), ("a.wild.test", 200), ("a.b.wild.test", 421),
            ("other.test", 200), ("evil.test", 421),
        ):  # fmt: skip
            there = ("--insecure", "--resolve", f"{name}:{daemon.port}:127.0.0.1")
            _, answer = await curl(daemon, *there, url=f"https://{name}:{{port}}/healthz")
            assert answer.startswith(f"HTTP/1.1 {status}"), name

    pair = authority.sign("server", alternatives="DNS:trimtab.test,DNS:*.wild.test")
    play(tmp_path, pair, scene, more=", names: [Other.test]")


def test_a_process_that_does_not_act_takes_a_new_certificate_too(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "LOOKED_EVERY", 0.05)
    pair, file = authority.sign("server"), tmp_path / "model.yaml"
    file.write_text(MODEL.format(pair=pair, more=""))

    async def play() -> None:
        async with holding(file, tmp_path / "state", host=None, port=0) as place, asyncio.timeout(PATIENT):
            authority.sign("server", days=5)
            expires_at = facts_of(str(pair.certificate)).expires_at
            while place.protection.certificate.facts.expires_at != expires_at:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # its watch is at work

    asyncio.run(play())


def test_a_new_certificate_is_shown_without_a_restart_and_a_broken_one_is_not(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "LOOKED_EVERY", 0.05)

    async def scene(daemon: Running) -> None:
        first = await asyncio.to_thread(shown, daemon.port)
        pair.certificate.write_text("not PEM")
        await asyncio.sleep(0.2)
        assert await asyncio.to_thread(shown, daemon.port) == first
        authority.sign("server", days=5)
        while await asyncio.to_thread(shown, daemon.port) == first:  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the daemon's watch is at work
        expiry = facts_of(str(pair.certificate)).expires_at
        assert f"trimtab_tls_certificate_expiry_timestamp_seconds {expiry}" in daemon.operations.metrics().decode()

    pair = authority.sign("server")
    play(tmp_path, pair, scene)


def test_a_certificate_with_names_that_cannot_be_read_is_refused_and_the_old_one_stays(authority: Authority) -> None:
    kept = ServerCertificate(authority.sign("server").tls)
    before = kept.facts
    pair = authority.sign("server", alternatives="DER:04:03:61:62:63")
    with pytest.raises(Refused, match="cannot be read"):
        facts_of(str(pair.certificate))
    assert (kept.look(), kept.facts) == (False, before)


def test_a_watch_goes_on_after_a_look_that_failed_with_a_defect(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "LOOKED_EVERY", 0.01)
    kept, looks, looked = ServerCertificate(authority.sign("server").tls), iter([KeyError("a defect")]), asyncio.Event()

    async def play() -> None:
        loop = asyncio.get_running_loop()

        def seen() -> bool:
            for error in looks:
                raise error
            loop.call_soon_threadsafe(looked.set)
            return False

        monkeypatch.setattr(kept, "look", seen)
        watching = asyncio.create_task(kept.watch())
        async with asyncio.timeout(PATIENT):
            await looked.wait()
        watching.cancel()

    asyncio.run(play())


def test_a_pair_that_becomes_readable_later_is_taken_though_its_files_stay(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """A script of another account copies the files, and closes or gives away the key a moment later."""
    kept = ServerCertificate(authority.sign("server").tls)
    pair = authority.sign("server", days=5)
    pair.key.chmod(0o644)
    with caplog.at_level("WARNING", logger="trimtab"):
        assert [kept.look(), kept.look()] == [False, False]
    assert [record.getMessage().split()[0] for record in caplog.records] == ["event=certificate_refused"], "once"
    pair.key.chmod(0o600)
    assert kept.look()
    assert kept.facts == facts_of(str(pair.certificate))
    assert not kept.look()


def test_only_clients_with_a_certificate_of_the_authority_connect(tmp_path: Path, authority: Authority) -> None:
    async def scene(daemon: Running) -> None:
        trusting = ("--cacert", authority.pair.certificate)
        assert (await curl(daemon, *trusting))[0] != 0
        mine, foreign = authority.sign("client"), Authority(tmp_path, "another").sign("stranger")
        code, answer = await curl(daemon, *trusting, "--cert", mine.certificate, "--key", mine.key)
        assert (code, answer[:12]) == (0, "HTTP/1.1 200")
        assert (await curl(daemon, *trusting, "--cert", foreign.certificate, "--key", foreign.key))[0] != 0

    play(tmp_path, authority.sign("server"), scene, more=f", clients: {{authority: {authority.pair.certificate}}}")


def test_old_versions_of_tls_are_refused(tmp_path: Path, authority: Authority) -> None:
    async def scene(daemon: Running) -> None:
        old = [
            "openssl",
            "s_client",
            "-connect",
            f"127.0.0.1:{daemon.port}",
            "-cipher",
            "DEFAULT@SECLEVEL=0",
            "-tls1_1",
        ]
        done = await asyncio.to_thread(subprocess.run, old, capture_output=True, input=b"", check=False)
        assert done.returncode != 0
        assert b"Cipher is (NONE)" in done.stdout
        old[-1] = "-tls1_2"
        done = await asyncio.to_thread(subprocess.run, old, capture_output=True, input=b"", check=False)
        assert done.returncode == 0

    play(tmp_path, authority.sign("server"), scene)


def test_a_client_that_begins_no_handshake_is_let_go(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handler.daemon.http_server._HANDSHAKE_WITHIN", 0.2)

    def wait(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as idle:
            idle.settimeout(PATIENT)
            return idle.recv(1)

    async def scene(daemon: Running) -> None:
        assert await asyncio.to_thread(wait, daemon.port) == b""

    play(tmp_path, authority.sign("server"), scene)


def shown(port: int) -> str:
    """The certificate that a new connection gets."""
    return ssl.get_server_certificate(("127.0.0.1", port))


# Files that cannot be used


def unusable(pair: Pair) -> str:
    with pytest.raises(Refused) as refused:
        ServerCertificate(pair.tls)
    return str(refused.value)


def test_files_that_cannot_be_used_are_refused_with_why(tmp_path: Path, authority: Authority) -> None:
    good, other = authority.sign("good"), authority.sign("other")
    assert "cannot be used: KEY_VALUES_MISMATCH" in unusable(Pair(certificate=good.certificate, key=other.key))
    assert "cannot be read" in unusable(Pair(certificate=tmp_path / "none.pem", key=good.key))
    assert "cannot be read" in unusable(Pair(certificate=good.certificate, key=tmp_path / "none.key"))
    other.key.chmod(0o644)
    assert "can be read by every user" in unusable(other)
    locked = tmp_path / "locked.key"
    subprocess.run(
        ["openssl", "ec", "-in", str(good.key), "-aes256", "-passout", "pass:x", "-out", str(locked)],
        check=True, capture_output=True,
    )  # fmt: skip
    locked.chmod(0o600)
    assert "is encrypted" in unusable(Pair(certificate=good.certificate, key=locked))
