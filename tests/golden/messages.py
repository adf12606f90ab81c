"""What is told to other programs: metrics, notices, and members behind a shared listener."""

from __future__ import annotations

import json
from typing import Any, get_args

from config.units import GroupId, Instant
from handler.balancers.shared_listener.protocol import Message, encode
from handler.observability.metrics import Metrics
from handler.observability.notice_bodies import body
from handler.planning.steps import KINDS
from handler.ports.notices import Notice
from handler.recording.rows import REPLIES
from tests.support.filled import filled
from tests.support.replay import WEB, declared


def metrics_text() -> str:
    """The name and type of every metric, and the series that begin when a file is declared, without their values."""
    runtimes: dict[GroupId, Any] = {WEB: None}
    metrics = Metrics(runtimes, lambda: Instant(0.0))
    metrics.took(declared(), Instant(0.0))
    runtimes.clear()  # gauges are of a group that runs
    lines = [line for line in metrics.text().decode().splitlines() if "trimtab_" in line]
    types = [line for line in lines if line.startswith("# TYPE")]
    series = {line.rpartition(" ")[0] for line in lines if 'group="' in line or 'counter="' in line}
    return "".join(f"{line}\n" for line in (*sorted(types), *sorted(series)))


def messages_text() -> str:
    """A notice, the kinds of steps, the words of replies, and each message of the shared listener."""
    words = [json.dumps(sorted(KINDS.values())), json.dumps(sorted(REPLIES.values()))]
    messages = [encode(filled(kind)).decode().rstrip("\n") for kind in get_args(Message)]
    return "".join(f"{line}\n" for line in (body(filled(Notice)).decode(), *words, *messages))
