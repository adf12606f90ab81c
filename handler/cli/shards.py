"""Commands for several shards: which state directory a request goes to, where a process works for several."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from config.errors import Refused
from handler.cli.client import NotReachable, ask, question
from handler.operations.address import BASE, DataclassType, OperationRequest, call_of

_SOCKET = "trimtab.sock"
_GROUPS = f"{BASE}/groups/"


def shards_below(directory: Path) -> tuple[Path, ...]:
    """Return the state directories of the shards that lie below a directory; none: it is a daemon's own, or empty."""
    if (directory / "lock").exists():
        return ()
    return tuple(sorted(lock.parent for lock in directory.glob("*/lock")))


def socket_for(directory: Path, call: OperationRequest) -> Path:
    """Return the socket that a request goes to: of the shard that has its group, if there are several.

    Raises:
        Refused: several have it, or none that answers; or the request is for none, and no shard is named.
    """
    shards = shards_below(directory)
    if not shards:
        return directory / _SOCKET
    names = ", ".join(shard.name for shard in shards)
    group = _group_of(call)
    if not group:
        raise Refused(f"{directory} has the state of several shards ({names}): say which, as in --state {shards[0]}")
    having, silent = _having(shards, group)
    if len(having) == 1:
        return having[0] / _SOCKET
    if having:
        several = " and ".join(shard.name for shard in having)
        raise Refused(f"{several} have a group {group}: say which, as in --state {having[0]}")
    missing = f"; {', '.join(silent)} did not answer" if silent else ""
    raise Refused(f"no shard that answers has a group {group} ({names}){missing}")


def _group_of(call: OperationRequest) -> str:
    """Return the group that a request's path names; empty: none."""
    path = call.path.partition("?")[0]
    return unquote(path.removeprefix(_GROUPS).partition("/")[0]) if path.startswith(_GROUPS) else ""


def _having(shards: Sequence[Path], group: str) -> tuple[list[Path], list[str]]:
    """Return the shards that have a group, and the names of those that do not answer."""
    having, silent = [], []
    for shard in shards:
        try:
            code, _ = ask(shard / _SOCKET, question("groups", group))
        except NotReachable:
            silent.append(shard.name)
            continue
        if code == HTTPStatus.OK:
            having.append(shard)
        elif code != HTTPStatus.NOT_FOUND:
            silent.append(shard.name)
    return having, silent


def answer_of(shard: Path, *parts: str) -> tuple[Any, str]:
    """Ask one shard; return its JSON, or why there is none."""
    return _sent(shard, question(*parts))


def perform_at(shard: Path, operation: DataclassType) -> str:
    """Have one shard perform an operation; return why it did not; empty: it did."""
    return _sent(shard, call_of(operation))[1]


def _sent(shard: Path, call: OperationRequest) -> tuple[Any, str]:
    try:
        code, answer = ask(shard / _SOCKET, call)
    except NotReachable as error:
        return None, str(error)
    if code != HTTPStatus.OK:
        known = answer if isinstance(answer, dict) else {}
        return None, str(known.get("error", f"the worker answered {code}: see its log"))
    return answer, ""
