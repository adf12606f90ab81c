"""A bed of two balancers, and a person who attaches and detaches its group as the daemon does."""

from __future__ import annotations

from config.model.balancers import HaproxyBalancer
from config.units import BalancerId
from handler.planning.attachments import Attachment, AttachmentChange, GroupAttachments, to_attach, to_detach
from handler.planning.world import Record
from handler.ports.stored import Event, EventKind
from tests.support.beds import Bed
from tests.support.fake_cloud import FakeBalancer
from tests.support.worlds import NOW, WEB, a_definition

SIDE = BalancerId("side")
DECLARED = HaproxyBalancer(id=SIDE, socket="/run/side.sock", backend="web")


def an_attachment(port: int = 81) -> Attachment:
    return Attachment(balancer=SIDE, port=port, by="ada", at=NOW)


def a_standing(
    *records: Record, listed: tuple[BalancerId, ...] = (), attachments: tuple[Attachment, ...] = ()
) -> GroupAttachments:
    """A group of whose file ``listed`` are the balancers."""
    definition = a_definition(balancers=listed)
    return GroupAttachments(
        declared=definition.group,
        where="model.yaml:9",
        definition=definition,
        attachments=attachments,
        records=records,
    )


def with_side(bed: Bed) -> Bed:
    """Put a second balancer beside the bed's own."""
    bed.balancers[SIDE] = FakeBalancer(bed.clock, instants=bed.instants)
    return bed


def attach(bed: Bed) -> None:
    _write(bed, to_attach(_standing(bed), an_attachment(), DECLARED), "attach")


def detach(bed: Bed) -> None:
    _write(bed, to_detach(_standing(bed), SIDE), "detach")


def _standing(bed: Bed) -> GroupAttachments:
    kept = bed.store.kept[WEB]
    return GroupAttachments(
        declared=bed.definition.group,
        where="model.yaml:9",
        definition=kept.definition,
        attachments=kept.attachments,
        records=bed.store.members(WEB),
    )


def _write(bed: Bed, change: AttachmentChange, act: str) -> None:
    line = Event(at=bed.clock(), group=WEB, kind=EventKind.NOTE, name=act, by="ada")
    bed.store.attach(line, change.definition, change.attachments, change.records)
