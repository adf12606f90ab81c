from __future__ import annotations

import asyncio
import contextlib
import fcntl
import resource
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from handler.balancers.haproxy.conversation import Conversation, conversation
from tests.support.waiting import PATIENT


@contextlib.contextmanager
def saying(path: Path, answers: Sequence[bytes]) -> Iterator[None]:
    """A server that answers each line with the next of these, and closes after the last."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            near, _ = listening.accept()
            with near, near.makefile("rb") as lines:
                for answer, _ in zip(answers, lines, strict=False):
                    near.sendall(answer)

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        yield
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextlib.contextmanager
def dripping(path: Path, begun: bytes) -> Iterator[None]:
    """A server that says this to a first line, and then never stops."""
    over = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            near, _ = listening.accept()
            with near:
                near.recv(100)
                near.sendall(begun)
                for _ in range(90):  # longer than the deadline, shorter than what may be said
                    if over.wait(0.05):
                        return
                    near.sendall(b".")

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        pytest.param([b"\n> ", b"\n> "], b"\n", id="nothing is said"),
        pytest.param([b"\n> ", b"New server registered.\n\n> "], b"New server registered.\n\n", id="words"),
        pytest.param([b"\n> ", b"a > b\n>c\n\n> "], b"a > b\n>c\n\n", id="words with an angle"),
    ],
)
def test_an_answer_ends_with_a_prompt(tmp_path: Path, answers: Sequence[bytes], asked: bytes) -> None:
    with saying(tmp_path / "s", answers), conversation(tmp_path / "s", within=PATIENT, at_most=100) as ask:
        assert ask(b"do\n") == asked


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([b"\n> "], id="cut before a word"),
        pytest.param([b"\n> ", b"\n"], id="cut before the prompt"),
        pytest.param([b"\n> ", b"\n>"], id="cut within the prompt"),
        pytest.param([b"\n> ", b"New server registered.\n\n"], id="cut after the words"),
        pytest.param([b"\n> ", b"a" * 101], id="too long"),
        pytest.param([b"what?\n"], id="no interactive mode"),
        pytest.param([], id="no-process"),
    ],
)
def test_what_is_no_whole_answer_is_none(tmp_path: Path, answers: Sequence[bytes]) -> None:
    with saying(tmp_path / "s", answers), pytest.raises(OSError):  # noqa: PT011 whichever
        asked(tmp_path / "s")


def asked(path: Path) -> None:
    with conversation(path, within=0.3, at_most=100) as ask:
        ask(b"do\n")


def test_after_an_answer_that_did_not_come_nothing_is_asked(tmp_path: Path) -> None:
    with saying(tmp_path / "s", [b"\n> ", b"", b"\n> "]), conversation(tmp_path / "s", within=0.2, at_most=100) as ask:
        with pytest.raises(TimeoutError):
            ask(b"do\n")
        with pytest.raises(ConnectionError, match="not in order any more"):
            ask(b"do\n")


def test_what_comes_before_anything_is_asked_is_no_answer() -> None:
    near, far = socket.socketpair(socket.AF_UNIX)
    with near, far:
        far.sendall(b"\n> ")

        with pytest.raises(ConnectionError, match="not in order any more"):
            asyncio.run(Conversation(near, 100).ask(b"do\n"))


@pytest.mark.parametrize("begun", [b"", b"\n> "], ids=["before the first prompt", "within an answer"])
def test_an_answer_that_drips_is_given_up_in_time(tmp_path: Path, begun: bytes) -> None:
    with dripping(tmp_path / "s", begun), pytest.raises(TimeoutError):
        asked(tmp_path / "s")


@pytest.fixture
def all_descriptors() -> Iterator[None]:
    """As many as the daemon takes for itself."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("all_descriptors")
def test_a_connection_with_a_high_descriptor_is_asked_like_any_other() -> None:
    async def asked_there() -> bytes:
        asking = asyncio.create_task(Conversation(high, 100).ask(b"do\n"))
        await asyncio.sleep(0)
        far.sendall(b"done\n\n> ")
        return await asking

    near, far = socket.socketpair(socket.AF_UNIX)
    with near, far, socket.socket(fileno=fcntl.fcntl(near, fcntl.F_DUPFD_CLOEXEC, 1024)) as high:
        high.setblocking(False)

        assert asyncio.run(asked_there()) == b"done\n\n"
