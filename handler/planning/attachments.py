"""Attach a running group to one more balancer, or detach it from one: what changes, or why it is refused. Pure.

Members stay on the balancers that they were made with, so a changed file moves none of those that run; attaching and
detaching do. An attachment is state: it survives reloads and restarts, and is never in the file. As long as the file
lists the same balancer, the file decides.

Source: Senlin's load-balancing policy: "attach adds all or refuses", "detach removes what we made, then forgets".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from types import MappingProxyType

from config.errors import Refused
from config.model.balancers import Balancer
from config.model.catalogue import BalancerUse, Group, ManagedBalancer
from config.units import BalancerId, GroupId, Instant
from handler.planning.desired import Definition
from handler.planning.exclusive import occupied
from handler.planning.world import Member, Phase, Record, ServerState, World

_NAMED = 5
"""Members that a warning names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Members are made behind ``balancer`` too, serving at ``port``."""

    balancer: BalancerId
    port: int
    by: str
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAttachments:
    """Hold the balancers of a group: from its file, from attachments, and from each member's record."""

    declared: Group
    """As the file has it."""
    where: str
    """``FILE:LINE`` of that."""
    definition: Definition
    """In force."""
    attachments: tuple[Attachment, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentChange:
    """Hold what is written in one transaction."""

    definition: Definition
    attachments: tuple[Attachment, ...]
    """All that the group has then."""
    records: tuple[Record, ...]
    """Of the members that change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detached:
    """Hold the result of a detach."""

    members: int
    """How many leave the balancer, or were dropped from it."""
    warning: str = ""
    """What may stay behind, of a balancer that was dropped; empty: nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """One balancer that members of a group are behind, or will be."""

    balancer: BalancerId
    port: int
    by: str
    """Who attached new members to it: ``file``, or a person; empty: only earlier members are registered there."""
    members: int
    leaving: int
    """Of them, those that are about to leave it though they stay themselves."""
    parts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What was made of it for the group: ``loadbalancer``, ``listener``, ``pool``, ``healthmonitor`` → id."""


def attached(group: Group, attachments: Iterable[Attachment]) -> Group:
    """Return the group with all balancers of new members: the declared ones, then those attached to it."""
    listed = {use.balancer for use in group.balancers}
    more = (BalancerUse(balancer=each.balancer, port=each.port) for each in attachments if each.balancer not in listed)
    return replace(group, balancers=(*group.balancers, *more))


def to_attach(standing: GroupAttachments, wanted: Attachment, balancer: Balancer) -> AttachmentChange:
    """Attach every member that stays to a balancer, and new members too unless the file lists it for them.

    Raises:
        Refused: the file lists another port, or nothing would change, or members serve there at another port.
    """
    group, port = standing.declared, wanted.port
    listed = {use.balancer: use.port for use in group.balancers}.get(balancer.id)
    if listed is not None and listed != port:
        raise Refused(f"{standing.where} has group {group.id} behind {balancer.id} at port {listed}: change it there")
    others = {at for record in standing.records for behind, at in record.balancers if behind == balancer.id} - {port}
    if others:
        raise Refused(f"members serve behind {balancer.id} at port {min(others)}: detach {group.id} from it first")
    records = tuple(_changed(standing.records, lambda record: _joined(record, balancer.id, port)))
    if listed is not None and not records:
        raise Refused(f"every member of {group.id} is behind {balancer.id} already, by {standing.where}")
    attachments = standing.attachments
    if listed is None:
        attachments = (*(each for each in attachments if each.balancer != balancer.id), wanted)
    balancers = MappingProxyType({**standing.definition.balancers, balancer.id: balancer})
    definition = replace(standing.definition, group=attached(group, attachments), balancers=balancers)
    return AttachmentChange(definition=definition, attachments=attachments, records=records)


def to_detach(standing: GroupAttachments, balancer: BalancerId) -> AttachmentChange:
    """Detach every member that stays from a balancer, and register no new ones there.

    Raises:
        Refused: the file lists it, or no member is registered there.
    """
    change = _parted(standing, balancer)
    records = tuple(_changed(standing.records, lambda record: _parting(record, balancer)))
    if not records and len(change.attachments) == len(standing.attachments):
        raise Refused(
            f"members of {standing.declared.id} are leaving {balancer} already"
            if any(balancer in record.detaching for record in standing.records)
            else f"group {standing.declared.id} is not behind {balancer}"
        )
    return replace(change, records=records)


def _parted(standing: GroupAttachments, balancer: BalancerId) -> AttachmentChange:
    """Make no more members behind a balancer; those that are there stay.

    Raises:
        Refused: the file lists it.
    """
    group = standing.declared
    if balancer in {use.balancer for use in group.balancers}:
        raise Refused(
            f"{standing.where} has group {group.id} behind {balancer}: take it from there and reload, then detach the "
            "members that were made behind it"
        )
    attachments = tuple(each for each in standing.attachments if each.balancer != balancer)
    definition = replace(standing.definition, group=attached(group, attachments))
    return AttachmentChange(definition=definition, attachments=attachments, records=())


def to_drop(standing: GroupAttachments, balancer: BalancerId) -> AttachmentChange:
    """Forget that members are behind a balancer that cannot be asked, and make no more behind it.

    No member leaves the balancer for it: one that is registered there stays so. Members that wait to be drained there,
    those that are leaving the group included, wait no longer.

    Raises:
        Refused: the file lists the balancer, or no member is behind it.
    """
    records = tuple(_without(record, balancer) for record in standing.records if balancer in dict(record.balancers))
    return replace(_parted(standing, balancer), records=records) if records else to_detach(standing, balancer)


def left_behind(change: AttachmentChange, balancer: BalancerId) -> str:
    """Warn of the members that a dropped balancer may go on giving work; empty: there are none."""
    names = [record.name for record in change.records]
    if not names:
        return ""
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return (
        f"{balancer} could not be asked, so no member was drained there or removed from it: it may still list {shown}, "
        "and send clients to their addresses after their machines are gone: remove them from it by hand"
    )


def _without(record: Record, balancer: BalancerId) -> Record:
    return replace(
        record,
        balancers=tuple(each for each in record.balancers if each[0] != balancer),
        detaching=tuple(each for each in record.detaching if each != balancer),
        registrations=tuple(each for each in record.registrations if each[0] != balancer),
        attempts=tuple(each for each in record.attempts if each.balancer != balancer),
    )


def _changed(records: Iterable[Record], change: Callable[[Record], Record]) -> Iterator[Record]:
    for record in records:
        if record.phase is not Phase.LEAVING and (after := change(record)) != record:
            yield after


def _joined(record: Record, balancer: BalancerId, port: int) -> Record:
    if balancer in dict(record.balancers):  # it may have been about to leave it
        return replace(record, detaching=tuple(other for other in record.detaching if other != balancer))
    return replace(record, balancers=(*record.balancers, (balancer, port)))


def _parting(record: Record, balancer: BalancerId) -> Record:
    if balancer not in dict(record.balancers) or balancer in record.detaching:
        return record
    return replace(record, detaching=(*record.detaching, balancer))


def unfit(balancer: ManagedBalancer, definition: Definition, others: Sequence[GroupId]) -> str | None:
    """Return why a balancer cannot be created for a group; ``others``: the groups that it is or will be created for."""
    if others:
        return f"{balancer.id} is made for the group {others[0]}, and deleted with it"
    if balancer.on != definition.cloud.id:
        return f"{balancer.id} is made on the cloud {balancer.on}, and members come from {definition.cloud.id}"
    ports = [use.port for use in definition.group.balancers if use.balancer == balancer.id]
    if balancer.rule is not None and ports and ports[0] != balancer.rule.private_port:
        return f"{balancer.id} leads to port {balancer.rule.private_port}, its private_port, and not to {ports[0]}"
    return None


def hindrance(
    change: AttachmentChange,
    world: World,
    balancer: BalancerId,
    occupants: Mapping[tuple[str, int], str] = MappingProxyType({}),
) -> str | None:
    """Return why some member of a change could not join the balancer; ``None``: all can.

    Args:
        change: as `to_attach` made it.
        world: as it was gathered for the changed definition.
        balancer: to be attached.
        occupants: the name registered there at each address and port, foreign ones too; where the balancer shows it.
    """
    balancer_view = world.balancer_views.get(balancer)
    if balancer_view is None or balancer_view.registrations is None:
        return (
            balancer_view.because
            if balancer_view is not None and balancer_view.because
            else f"balancer {balancer} was not queried"
        )
    if balancer_view.foreign:
        return occupied(world.group, balancer, balancer_view.foreign)
    if not world.complete:
        return f"not every member could be checked: {world.because}"
    ports = {record.name: dict(record.balancers).get(balancer, 0) for record in change.records}
    joining = [member for member in world.members if member.name in ports and _runs(member)]
    return next((why for member in joining if (why := _obstacle(member, ports[member.name], occupants))), None)


def _runs(member: Member) -> bool:
    """Return whether a member should be able to join now; one that is still being built joins when it is ready."""
    return member.server is not None and member.server.state is ServerState.RUNNING


def _obstacle(member: Member, port: int, occupants: Mapping[tuple[str, int], str]) -> str | None:
    address = None if member.server is None else member.server.address
    if address is None:
        return f"{member.name} has no address"
    occupant = occupants.get((plain_address(address), port))
    if occupant is None or occupant == member.name:
        return None
    return f"{address}:{port}, where {member.name} would be registered, already belongs to {occupant}"


def plain_address(text: str) -> str:
    """Return the one spelling of an address; a host name stays as it is.

    >>> plain_address("2001:DB8:0::1"), plain_address("web.example.org")
    ('2001:db8::1', 'web.example.org')
    """
    try:
        return str(ip_address(text))
    except ValueError:
        return text


def behind_of(
    standing: GroupAttachments, made: Mapping[BalancerId, Mapping[str, str]] = MappingProxyType({})
) -> tuple[Behind, ...]:
    """Return the balancers of a group's members, now or soon, by name; ``made``: the parts created for the group."""
    by = {each.balancer: each.by for each in standing.attachments}
    by |= {use.balancer: "file" for use in standing.declared.balancers}
    ports = {behind: port for record in standing.records for behind, port in record.balancers}
    used = {use.balancer: use.port for use in standing.definition.group.balancers}
    return tuple(
        Behind(
            balancer=balancer,
            port=port,
            by=by.get(balancer, "") if balancer in used else "",
            members=sum(balancer in dict(record.balancers) for record in standing.records),
            leaving=sum(balancer in record.detaching for record in standing.records),
            parts=made.get(balancer, MappingProxyType({})),
        )
        for balancer, port in sorted((ports | used).items())
    )
