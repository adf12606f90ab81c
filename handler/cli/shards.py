"""Commands for several shards: which state directory a request goes to, where a process works for several."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import unquote

from config.errors import Refused
from handler.cli.client import PATIENCE, NotReachable, ask, question
from handler.operations.address import BASE, DataclassType, OperationRequest, call_of

_SOCKET = "trimtab.sock"
_GROUPS = f"{BASE}/groups/"
_FOR_ALL = 20.0
"""Seconds: what shows all shards waits no longer for one that hangs; a takeover takes less."""
_FOR_OTHERS = 2.0
"""Seconds that a command still waits for other shards once one has said that it has the group."""


def shards_below(directory: Path) -> tuple[Path, ...]:
    """Return the state directories of the shards that lie below a directory; none: it is a daemon's own, or empty."""
    if (directory / "lock").exists():
        return ()
    return tuple(sorted(lock.parent for lock in directory.glob("*/lock")))


def socket_for(directory: Path, call: OperationRequest, *, within: float = PATIENCE) -> Path:
    """Return the socket that a request goes to: of the shard that has its group, if there are several.

    Raises:
        Refused: several have it, or none that answers ``within`` so many seconds; or the request is for none, and no
            shard is named.
    """
    shards = shards_below(directory)
    if not shards:
        return directory / _SOCKET
    names = ", ".join(shard.name for shard in shards)
    group = _group_of(call)
    if not group:
        raise Refused(f"{directory} has the state of several shards ({names}): say which, as in --state {shards[0]}")
    having, problems = _having(shards, group, within)
    if len(having) == 1:
        return having[0] / _SOCKET
    if having:
        several = " and ".join(shard.name for shard in having)
        raise Refused(f"{several} have a group {group}: say which, as in --state {having[0]}")
    raise Refused("\n".join([f"no shard that answers has a group {group} ({names})", *problems]))


def _group_of(call: OperationRequest) -> str:
    """Return the group that a request's path names; empty: none."""
    path = call.path.partition("?")[0]
    return unquote(path.removeprefix(_GROUPS).partition("/")[0]) if path.startswith(_GROUPS) else ""


def _having(shards: Sequence[Path], group: str, within: float) -> tuple[list[Path], list[str]]:
    """Return the shards that have a group, and why others do not say whether they have it."""
    having, problems = set(), {}
    for shard, code, answer in _answers(shards, question("groups", group), within, _FOR_OTHERS):
        if code == HTTPStatus.OK:
            having.add(shard)
        elif code != HTTPStatus.NOT_FOUND:
            problems[shard] = _problem(code, answer)
    return sorted(having), [f"{shard.name}: {problem}" for shard, problem in sorted(problems.items())]


def _answers(
    shards: Sequence[Path], call: OperationRequest, within: float, others: float | None = None
) -> Iterator[tuple[Path, int, Any]]:
    """Ask all shards at once; yield each one's status and JSON as they come: 0 and why, if it does not answer.

    Once one has what was asked for, ``others`` are waited for so long at most.
    """
    found: SimpleQueue[tuple[Path, int, Any]] = SimpleQueue()

    def put(shard: Path) -> None:
        try:
            found.put((shard, *ask(shard / _SOCKET, call, within=within)))
        except NotReachable as error:
            found.put((shard, 0, str(error)))

    for shard in shards:
        threading.Thread(target=put, args=(shard,), daemon=True).start()
    patience = None
    for _ in shards:
        try:
            shard, code, answer = found.get(timeout=patience)
        except Empty:
            return
        patience = others if code == HTTPStatus.OK else patience
        yield shard, code, answer


def answers_of(shards: Sequence[Path], *parts: str, within: float = _FOR_ALL) -> Mapping[Path, tuple[Any, str]]:
    """Ask all shards at once; return of each its JSON, or ``None`` and why there is none."""
    found: dict[Path, tuple[Any, str]] = {}
    for shard, code, answer in _answers(shards, question(*parts), within):
        found[shard] = (answer, "") if code == HTTPStatus.OK else (None, _problem(code, answer))
    return {shard: found[shard] for shard in shards}


def perform_at(shard: Path, operation: DataclassType) -> str:
    """Have one shard perform an operation; return why it did not; empty: it did."""
    try:
        code, answer = ask(shard / _SOCKET, call_of(operation))
    except NotReachable as error:
        return str(error)
    return "" if code == HTTPStatus.OK else _problem(code, answer)


def _problem(code: int, answer: Any) -> str:  # noqa: ANN401  # JSON from the daemon
    """Return why a shard did not do what it was asked."""
    if not code:
        return f"{answer}; if only this shard is down, the log says why (event=shard_ended)"
    known = answer if isinstance(answer, dict) else {}
    return str(known.get("error", f"the worker answered {code}: see its log"))
