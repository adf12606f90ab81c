"""A whole group on a real OpenStack, with ports, floating addresses and volumes: grown, killed, and shrunk."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from collector.clients.openstack.pages import read_whole
from handler.orchestrators.openstack.part_parsing import SHELVES, MarkedPart, PartKind
from handler.planning.launches import LaunchId
from tests.support.daemon import Daemon, a_daemon
from tests.support.openstack_bed import OUTSIDE, BedStage, FileAccess
from tests.support.waiting import PATIENT, until

pytestmark = pytest.mark.bed("openstack")


MODEL = """
clouds:
  bed:
    openstack: {{cloud: {cloud}, config: {file}, timeout: 60s}}
    budget: {{outstanding: 40, per_hour: 1000}}
profiles:
  web:
    cloud: bed
    image: {image}
    flavor: {flavor}
    parts:
      data: {{volume: {{size: 1GiB}}}}
      front: {{port: {{network: {network}}}}}
      public: {{address: {{network: {outside}, port: front}}}}
groups:
  web:
    profile: web
    min: 0
    max: 40
    grace: 1s
    budget: {{outstanding: 40, per_hour: 1000}}
"""


@pytest.fixture
def stage() -> Iterator[BedStage]:
    stage = BedStage()
    if not stage.makes_parts:
        pytest.skip("this bed has no outer network, or no Cinder")
    try:
        yield stage
    finally:
        paths = {shelf.kind: shelf.path for shelf in SHELVES}
        stage.made |= {(paths[piece.kind], piece.id) for piece in pieces(stage)}
        stage.clear()


@pytest.fixture
def daemon(stage: BedStage) -> Iterator[Daemon]:
    with a_daemon(MODEL.format(outside=OUTSIDE, **FileAccess().facts)) as daemon:
        try:
            yield daemon
        finally:
            daemon.clear()


def pieces(stage: BedStage) -> list[MarkedPart]:
    """All parts of the project that bear the mark of the stage's installation."""
    read = ((shelf, read_whole(stage.connection, shelf.collection, {})) for shelf in SHELVES)
    found = [piece for shelf, each in read for piece in shelf.pieces(each.entries)[0]]
    marks = ((piece, LaunchId.parse(piece.member)) for piece in found)
    return [piece for piece, mark in marks if mark is not None and mark.installation == stage.here]


def scaled(daemon: Daemon, size: int) -> None:
    until(lambda: daemon.trimtab("scale", "web", str(size)).code == 0, every=0.2)  # once it has looked


def whole(stage: BedStage, daemon: Daemon, size: int) -> None:
    """No duplicate, no orphan: every member has a part of each kind, of its own server and of no other."""
    daemon.settled(size, within=PATIENT)
    serving = set(daemon.serving())
    assert len(serving) == size
    ours = {
        server.id: server.name
        for server in stage.nova.everything().machines
        if server.mark is not None and server.mark.installation == stage.here and server.task != "deleting"
    }
    assert sorted(ours.values()) == sorted(serving)
    until(lambda: {piece.member for piece in pieces(stage)} == serving, every=0.5)
    there = pieces(stage)
    each = {(name, kind): 1 for name in serving for kind in PartKind}
    assert Counter((piece.member, piece.kind) for piece in there) == each
    ports = {piece.id: piece for piece in there if piece.kind is PartKind.PORT}
    assert all(ours[port.holder] == port.member for port in ports.values())
    assert all(ports[piece.holder].member == piece.member for piece in there if piece.kind is PartKind.ADDRESS)
    assert all(piece.word == "in-use" for piece in there if piece.kind is PartKind.VOLUME)


def test_a_group_with_parts_survives_kills_in_the_middle_and_leaves_nothing_behind(
    stage: BedStage, daemon: Daemon
) -> None:
    daemon.start()
    stage.here = daemon.installation
    scaled(daemon, 2)
    whole(stage, daemon, 2)
    for size, pauses in ((6, (1.0, 2.5, 4.0)), (1, (1.0, 2.5))):
        scaled(daemon, size)
        for pause in pauses:
            time.sleep(pause)
            daemon.stop(signal.SIGKILL)
            daemon.start()
        whole(stage, daemon, size)
    scaled(daemon, 0)
    whole(stage, daemon, 0)
    assert pieces(stage) == []
