"""What a library writes past the log becomes lines of it: gufo-snmp's panics above all."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.waiting import PATIENT, scaled

_PANIC = """\
import os, socket
from gufo.snmp._fast import GetIter, SnmpV2cClientSocket
from handler import logs
from handler.daemon import stray_output

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
with stray_output.caught(logs.warn) as stream:
    logs.configure(stream=stream, json=True)
    logs.say("listening")
    client = SnmpV2cClientSocket("127.0.0.1:9", "public", 0, 0, 0, 0)
    os.dup2(theirs.fileno(), client.get_fd())
    client.send_get_next(GetIter("1.3.6.1"))
    asked = ours.recv(4096)
    ours.send(asked.replace(b"\\xa1", b"\\xa2", 1)[:-2] + b"\\x80\\x00")
    try:
        client.recv_get_next(GetIter("1.3.6.1"))
    except BaseException as error:
        logs.warn("caught", kind=type(error).__name__)
    logs.say("stopped")
logs.say("after")
"""


def logged(script: str) -> tuple[list[dict[str, object]], str]:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=scaled(PATIENT)
    )
    return [json.loads(line) for line in done.stderr.splitlines()], done.stdout


def test_a_panic_of_gufo_is_one_line_of_a_log_that_stays_json() -> None:
    lines, _ = logged(_PANIC)

    events = [line["event"] for line in lines]
    assert sorted(events) == ["after", "caught", "listening", "stopped", "stray_output"]
    (stray,) = (line for line in lines if line["event"] == "stray_output")
    assert "panicked at" in str(stray["text"])
    (kind,) = (line["kind"] for line in lines if line["event"] == "caught")
    assert kind == "PanicException"


def test_a_member_that_writes_more_than_is_read_is_never_blocked_and_cannot_fill_the_log() -> None:
    script = """\
import os
from handler import logs
from handler.daemon import stray_output
with stray_output.caught(logs.warn) as stream:
    logs.configure(stream=stream, json=True)
    for _ in range(20_000):
        try:
            os.write(2, b"x" * 100 + b"\\n")
        except BlockingIOError:
            pass
"""
    lines, _ = logged(script)

    assert 1 <= len(lines) <= 5
    assert all(line["event"] == "stray_output" and len(str(line["text"])) <= 300 for line in lines)


def test_what_python_says_at_its_end_is_where_it_was() -> None:
    script = """\
import sys
from handler import logs
from handler.daemon import stray_output
with stray_output.caught(logs.warn):
    print("inside", file=sys.stderr)
print("outside", file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=scaled(PATIENT)
    )

    assert done.stderr.splitlines() == ["inside", "outside"]
