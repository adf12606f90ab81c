"""A real Prometheus on loopback, without targets: given series by remote write, and rules that it evaluates."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from benchmarks.beside.machine import processor
from benchmarks.report.figures import ROUNDS
from collector.samples import Floats
from tests.support.ports import free_tcp_port

Series = tuple[Mapping[str, str], Floats]
"""Labels, sorted by name, and values."""


class RealPrometheus(NamedTuple):
    """One that runs."""

    home: Path
    port: int
    pid: int

    def get(self, path: str) -> str:
        """Fetch a page as text."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            text: str = answer.read().decode()
        return text

    def evaluated(self) -> float:
        """When the last evaluation that is over began, by the wall clock; 0.0: there was none."""
        found = re.findall(
            r"^prometheus_rule_group_last_evaluation_timestamp_seconds\{.*\} (\S+)", self.get("/metrics"), re.M
        )
        return max(map(float, found), default=0.0)

    def idle(self) -> float:
        """Return the cores that it uses while it has no rules, asked as often as `evaluations` asks."""
        time.sleep(3.0)  # what was written is not what is measured
        cpu, begun = processor(self.pid), time.monotonic()
        while time.monotonic() - begun < 5.0:
            self.evaluated()
            time.sleep(_LOOK)
        return (processor(self.pid) - cpu) / (time.monotonic() - begun)

    def evaluations(self, rules: str, idle: float, rounds: int = ROUNDS) -> tuple[float, ...]:
        """Give it these rules instead of others, and return the CPU seconds of each of some evaluations.

        Args:
            rules: one group of them, in a file.
            idle: the cores that it uses all the same.
            rounds: how many evaluations to measure.

        Raises:
            RuntimeError: it evaluates nothing for a minute.
        """
        (self.home / "only.rules").write_text(rules)
        self.reload()
        ended = self.next(self.next(time.time()))  # the first also begins to keep book
        spent = []
        for _ in range(rounds):
            cpu, begun = processor(self.pid), time.monotonic()
            ended = self.next(ended)
            spent.append(processor(self.pid) - cpu - idle * (time.monotonic() - begun))
        return tuple(spent)

    def write(self, body: bytes) -> None:
        """Store what `written` has put together."""
        headers = {"Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0"}
        packed = pa.compress(body, codec="snappy", asbytes=True)
        url = f"http://127.0.0.1:{self.port}/api/v1/write"
        urllib.request.urlopen(urllib.request.Request(url, packed, headers), timeout=60).close()

    def reload(self) -> None:
        """Let it take its rules again."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/-/reload", method="POST")
        urllib.request.urlopen(request, timeout=60).close()

    def next(self, after: float) -> float:
        """Wait for an evaluation to end that began after this."""
        for _ in range(round(_PATIENCE / _LOOK)):
            if (at := self.evaluated()) > after:
                return at
            time.sleep(_LOOK)
        raise RuntimeError(f"Prometheus has evaluated no rules for {_PATIENCE:.0f} s")

    def alerting(self) -> set[str]:
        """Read the label ``group`` of every alert that it has."""
        return {alert["labels"]["group"] for alert in json.loads(self.get("/api/v1/alerts"))["data"]["alerts"]}


_LOOK = 0.25
_PATIENCE = 60.0


@contextmanager
def running(home: Path) -> Iterator[RealPrometheus]:
    """Run one on loopback, without targets, until the block ends."""
    (home / "prometheus.yaml").write_text(f"rule_files: ['{home}/*.rules']\n")
    port = free_tcp_port()
    command = [
        "prometheus", f"--config.file={home}/prometheus.yaml", f"--storage.tsdb.path={home}/series",
        f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver", "--web.enable-lifecycle",
    ]  # fmt: skip
    with (home / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        server = RealPrometheus(home, port, process.pid)
        try:
            _ready(server)
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _ready(server: RealPrometheus) -> None:
    for _ in range(100):
        try:
            server.get("/-/ready")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"Prometheus did not come up: {(server.home / 'log').read_text()[-2000:]}")


# Remote write 1.0: a snappy block of the protobuf message WriteRequest.
# Source: https://prometheus.io/docs/specs/remote_write_spec/


def written(series: Iterable[Series], times: list[int]) -> bytes:
    """Put series into a request, all with samples at these times (Unix milliseconds)."""
    stamps = [b"\x10" + _varint(at) for at in times]
    return b"".join(_field(1, _labels(labels) + _samples(values, stamps)) for labels, values in series)


def _labels(labels: Mapping[str, str]) -> bytes:
    return b"".join(_field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in labels.items())


def _samples(values: Floats, stamps: list[bytes]) -> bytes:
    doubles = values.astype("<f8").tobytes()
    return b"".join(_field(2, b"\x09" + doubles[8 * n : 8 * n + 8] + stamp) for n, stamp in enumerate(stamps))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])
