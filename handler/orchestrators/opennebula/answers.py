"""What OpenNebula's answers mean. Pure: each function takes what pyone made of XML, of which nothing is certain.

Source: ``vm.xsd``, ``vm_pool.xsd`` and the error codes of the XML-RPC API of OpenNebula 7.4.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from collector.clients.said import shown
from config.causes import Cause
from config.errors import DriverError, Full, Permanent, Transient
from config.model.node_orders import ORDER, ordered
from config.model.recipes import Extra
from config.units import Instant, MemberName
from handler.orchestrators.opennebula.states import nebula_state
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import ServerState

MARK = "TRIMTAB"
"""The attribute in USER_TEMPLATE that holds the member's name."""
GIVEN = "TRIMTAB_VM"
"""Beside the mark of a machine that was given to Trimtab, and keeps its own name: its id."""
CLAIM = "TRIMTAB_CLAIM"
"""Beside the mark: the store generation that claimed the machine last."""
RELEASED = "released"
"""The mark of a machine that was let go: attributes can be overwritten, but not be taken away alone."""

_QUOTA = re.compile(r"\blimit of\b.*\b(reached|exceeded)\b|\bquota\b", re.IGNORECASE)
_PENDING = 1
_WHEN = re.compile(r"^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} ?: ")
_ADDRESSES = ("IP", "IP6_GLOBAL", "IP6_ULA", "IP6")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One virtual machine of OpenNebula, whoever it belongs to."""

    id: int
    name: str
    user: str
    mark: str
    """Empty: it bears none."""
    given: str
    """The id that stands beside its mark; empty: none does."""
    complaint: str
    """What OpenNebula says of it: why no host takes it, or why it failed; empty: nothing."""
    order: str
    """The order of OneFlow's that it was made by; empty: none (`config.model.node_orders`)."""
    state: int
    lcm: int
    nics: tuple[Mapping[str, object], ...]
    cluster: int | None
    """Where it runs; ``None``: it has not run yet."""
    created_at: Instant
    claim: Claim | None = None

    @property
    def word(self) -> str:
        """OpenNebula's word for its state, and what it complains of while it is in that state."""
        word, state = self.meaning or ("DONE", ServerState.DELETING)
        complains = bool(self.complaint) and (self.state == _PENDING or state is ServerState.ERROR)
        return f"{word}: {self.complaint}" if complains else word

    @property
    def meaning(self) -> tuple[str, ServerState] | None:
        """OpenNebula's word for its state, and what that means; ``None``: it is gone."""
        return nebula_state(self.state, self.lcm)

    @property
    def launch(self) -> LaunchId | None:
        """Which member it is, of any installation.

        Its mark says so, and either its name or the id beside the mark agrees: what somebody copied is no member.
        Without a mark, the order that it was made by says so.
        """
        if not self.mark:
            return LaunchId.parse(ordered(self.order, self.name))
        launch = LaunchId.parse(self.mark)
        return launch if launch is not None and (self.name == self.mark or self.given == str(self.id)) else None

    def address(self, network: str | None) -> str | None:
        """Where it is reached: in that network or, with ``None``, by its first interface that has an address."""
        for nic in self.nics:
            if network is None or text(nic, "NETWORK") == network:
                for key in _ADDRESSES:
                    if said := text(nic, key):
                        return said
        return None

    def member(self, installation: str) -> MemberName | None:
        """Which member of this installation it is; ``None``: somebody else's."""
        launch = self.launch
        return launch.name if launch is not None and launch.installation == installation else None


def machine_of(entry: object) -> Machine | None:
    """Read one machine; ``None``: that is none, or lacks what identifies it.

    >>> from types import SimpleNamespace as Entry
    >>> entry = Entry(ID=7, NAME="web-k3f9ab-1", UNAME="fleet", STATE=3, LCM_STATE=3, STIME=1769853600,
    ...               USER_TEMPLATE={"TRIMTAB": "web-k3f9ab-1"}, HISTORY_RECORDS=Entry(HISTORY=[Entry(CID=100)]),
    ...               TEMPLATE={"NIC": [{"NETWORK": "back", "IP": "10.0.0.7"}, {"NETWORK": "web", "IP": "10.1.1.7"}]})
    >>> machine = machine_of(entry)
    >>> machine.address(None), machine.address("web"), machine.cluster, machine.member("k3f9ab")
    ('10.0.0.7', '10.1.1.7', 100, 'web-k3f9ab-1')
    """
    own_id, state, lcm = whole(entry, "ID"), whole(entry, "STATE"), whole(entry, "LCM_STATE")
    name, user, started = getattr(entry, "NAME", None), getattr(entry, "UNAME", None), whole(entry, "STIME")
    if (
        own_id is None
        or state is None
        or lcm is None
        or started is None
        or not isinstance(name, str)
        or not isinstance(user, str)
    ):
        return None
    user_template = getattr(entry, "USER_TEMPLATE", None)
    return Machine(
        id=own_id,
        name=name,
        user=user,
        mark=text(user_template, MARK),
        given=text(user_template, GIVEN),
        complaint=complaint(text(user_template, "SCHED_MESSAGE" if state == _PENDING else "ERROR")),
        order=text(user_template, ORDER),
        state=state,
        lcm=lcm,
        nics=tuple(_vectors(getattr(entry, "TEMPLATE", None), "NIC")),
        cluster=_cluster(getattr(entry, "HISTORY_RECORDS", None)),
        created_at=Instant(started),
        claim=Claim.parse(text(user_template, CLAIM)),
    )


def complaint(said: str) -> str:
    """What OpenNebula's scheduler or drivers complain of, without the time that it begins with.

    >>> complaint("Sat Nov  1 19:20:45 2026: Cannot dispatch VM: No host meets SCHED_REQUIREMENTS")
    'Cannot dispatch VM: No host meets SCHED_REQUIREMENTS'
    """
    return shown(_WHEN.sub("", said))


def id_of(written: str) -> int | None:
    """Read an id as people write it; ``None``: it is none, and may be a name.

    >>> id_of("12"), id_of("web"), id_of("12345678901")
    (12, None, None)
    """
    return int(written) if re.fullmatch("[0-9]{1,9}", written) else None


def whole(entry: object, key: str) -> int | None:
    """A whole number that is not negative; ``None``: there is none."""
    value = getattr(entry, key, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def text(template: object, key: str) -> str:
    """A single value of a template; empty where there is none, or a vector, or several of that name."""
    value = template.get(key) if isinstance(template, Mapping) else None
    return value if isinstance(value, str) else ""


def _vectors(template: object, key: str) -> Iterator[Mapping[str, object]]:
    value = template.get(key) if isinstance(template, Mapping) else None
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, Mapping):
            yield each


def _cluster(records: object) -> int | None:
    history = getattr(records, "HISTORY", None)
    return whole(history[-1], "CID") if isinstance(history, list) and history else None


# What is sent.


def claim_of(claim: Claim | None) -> tuple[tuple[str, str], ...]:
    """The claim as an attribute; nothing where there is none."""
    return () if claim is None else ((CLAIM, claim.text),)


def template_xml(attributes: Extra) -> str:
    """Write attributes as the XML that OpenNebula takes wherever it takes a template.

    >>> template_xml((("TRIMTAB", "web-k3f9ab-1"), ("NIC", (("NETWORK_ID", "3"),)), ("MOTD", 'a "<b>" & ☂')))
    '<TEMPLATE><TRIMTAB>web-k3f9ab-1</TRIMTAB><NIC><NETWORK_ID>3</NETWORK_ID></NIC>\
<MOTD>a "&lt;b&gt;" &amp; ☂</MOTD></TEMPLATE>'
    """
    root = ElementTree.Element("TEMPLATE")
    for name, value in attributes:
        child = ElementTree.SubElement(root, name)
        if isinstance(value, str):
            child.text = value
        else:
            for key, single in value:
                ElementTree.SubElement(child, key).text = single
    return ElementTree.tostring(root, encoding="unicode")


# Errors.


class Fault(enum.Enum):
    """Why OpenNebula did not do what was asked, as far as pyone tells."""

    AUTHENTICATION = "OneAuthenticationException"
    AUTHORISATION = "OneAuthorizationException"
    NO_EXISTS = "OneNoExistsException"
    ACTION = "OneActionException"
    API = "OneApiException"
    INTERNAL = "OneInternalException"
    OTHER = "OneException"
    """Allocation, a lock, replication, or what is newer than this."""


class NotThere(Permanent):
    """OpenNebula has no such thing: a definite not-found."""


class NotAllowed(Permanent):
    """The user lacks a right, or an attribute is restricted."""


class WrongState(Transient):
    """The machine is at something else: OpenNebula does this in other states only."""


def refusal(fault: Fault, said: str, about: str) -> DriverError:
    """Tell what a person must mend from what passes. ``about`` begins the message.

    A quota arrives as a lack of authorisation, and is told apart by its words. Whatever is not known passes.

    >>> print(refusal(Fault.AUTHORISATION, "user [2] limit of 4 reached for VMS quota in VM.", "prod"))
    prod: quota: user [2] limit of 4 reached for VMS quota in VM: raise the quota, or lower max
    >>> type(refusal(Fault.OTHER, "Error allocating a new virtual machine.", "prod")).__name__
    'Transient'
    """
    words = shown(said).rstrip(".:") or "no reason is given"
    if _QUOTA.search(words):
        return Full(f"{about}: quota: {words}: raise the quota, or lower max")
    match fault:
        case Fault.AUTHENTICATION:
            return Permanent(f"{about}: refused: {words}: check user and password", cause=Cause.CREDENTIALS)
        case Fault.AUTHORISATION:
            said = f"{about}: refused: {words}: check what the user may use and manage"
            return NotAllowed(said, cause=Cause.CREDENTIALS)
        case Fault.NO_EXISTS:
            return NotThere(f"{about}: refused: {words}")
        case Fault.API:
            return Permanent(f"{about}: refused: {words}")
        case Fault.ACTION | Fault.INTERNAL | Fault.OTHER:
            kind = WrongState if fault is Fault.ACTION else Transient
            return kind(f"{about}: {words}")
