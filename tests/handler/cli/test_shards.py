"""Commands for several shards: one that hangs delays no command for another, and is named with its reason."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from types import SimpleNamespace
from typing import Any

import pytest

from config.errors import Refused
from handler.cli import names
from handler.cli import shards as cli_shards
from handler.cli.client import question
from handler.cli.names import group_names
from handler.cli.shards import answers_of, socket_for

KEYLESS = "worker b is a standby, and cannot pass requests on without the key"


class Answering(BaseHTTPRequestHandler):
    """A worker of one shard, with its groups; ``None``: it answers nothing but an error."""

    groups: frozenset[str] | None

    def do_GET(self) -> None:
        if self.groups is None:
            self.answer(503, {"error": KEYLESS})
            return
        group = self.path.removeprefix("/api/v1/groups").strip("/")
        found: object = [{"group": each} for each in sorted(self.groups)] if not group else {"group": group}
        self.answer(200 if not group or group in self.groups else 404, found)

    def answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingUnixStreamServer):
    daemon_threads = True

    def finish_request(self, request: Any, client_address: Any) -> None:  # its address is no pair
        super().finish_request(request, ("", 0))


@contextlib.contextmanager
def workers_of(state: Path, shards: Mapping[str, set[str] | None], *, hanging: str = "") -> Iterator[Path]:
    """A process that works for shards, of which one may take connections and never answer."""
    with contextlib.ExitStack() as undo:
        for shard, groups in shards.items():
            (state / shard).mkdir()
            (state / shard / "lock").touch()
            of_shard = None if groups is None else frozenset(groups)
            server = Server(str(state / shard / "trimtab.sock"), type("Bound", (Answering,), {"groups": of_shard}))
            undo.callback(server.server_close)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            undo.callback(server.shutdown)
        if hanging:
            (state / hanging).mkdir()
            (state / hanging / "lock").touch()
            listening = undo.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(state / hanging / "trimtab.sock"))
            listening.listen()
        yield state


def test_a_command_goes_to_the_shard_that_has_its_group_though_another_one_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_shards, "_FOR_OTHERS", 0.01)
    with workers_of(tmp_path, {"north": {"web"}, "west": {"shop"}}, hanging="south") as state:
        assert socket_for(state, question("groups", "web", "why")) == state / "north" / "trimtab.sock"


def test_where_no_shard_has_a_group_those_that_did_not_say_are_named_with_their_reasons(tmp_path: Path) -> None:
    shards = {"north": {"web"}, "west": None}
    with workers_of(tmp_path, shards, hanging="south") as state, pytest.raises(Refused) as refused:
        socket_for(state, question("groups", "shop"), within=0.1)
    first, south, west = str(refused.value).splitlines()
    assert first == "no shard that answers has a group shop (north, south, west)"
    assert "south: no daemon answers on" in south
    assert "timed out" in south
    assert west == f"west: {KEYLESS}"


def test_a_group_of_several_shards_is_refused(tmp_path: Path) -> None:
    words = r"north and west have a group web: say which, as in --state \S+/north"
    with workers_of(tmp_path, {"north": {"web"}, "west": {"web"}}) as state, pytest.raises(Refused, match=words):
        socket_for(state, question("groups", "web"))


def test_what_shows_all_shards_says_of_one_that_hangs_that_it_does(tmp_path: Path) -> None:
    with workers_of(tmp_path, {"north": {"web"}}, hanging="south") as state:
        found = answers_of([state / "north", state / "south"], "groups", within=0.1)
    assert found[state / "north"] == ([{"group": "web"}], "")
    assert "timed out" in found[state / "south"][1]


def test_a_shell_completes_the_groups_of_shards_that_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_PATIENCE", 0.1)
    with workers_of(tmp_path, {"north": {"web", "ads"}, "west": None}, hanging="south") as state:
        typed: Any = SimpleNamespace(params={"state": str(state)})
        assert group_names(typed, "w") == ["web"]
