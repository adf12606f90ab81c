"""What OpenNebula's answers mean. Pure: each function takes elements of XML, of which nothing is certain.

Source: ``vm.xsd``, ``vm_pool.xsd`` and the error codes of the XML-RPC API of OpenNebula 7.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from collector.clients.opennebula.messages import text, whole
from collector.clients.quoting import shown
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

_PENDING = 1
_WHEN = re.compile(r"^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} ?: ")
_ADDRESSES = ("IP", "IP6_GLOBAL", "IP6_ULA", "IP6")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaMachine:
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
    nics: tuple[Mapping[str, str], ...]
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
            if network is None or nic.get("NETWORK") == network:
                for key in _ADDRESSES:
                    if said := nic.get(key):
                        return said
        return None

    def member(self, installation: str) -> MemberName | None:
        """Which member of this installation it is; ``None``: somebody else's."""
        launch = self.launch
        return launch.name if launch is not None and launch.installation == installation else None


def machine_of(entry: object) -> OpennebulaMachine | None:
    """Read one machine; ``None``: that is none, or lacks what identifies it.

    >>> from xml.etree.ElementTree import fromstring
    >>> nics = "<NIC><NETWORK>back</NETWORK><IP>10.0.0.7</IP></NIC><NIC><NETWORK>web</NETWORK><IP>10.1.1.7</IP></NIC>"
    >>> told = "<ID>7</ID><NAME>web-k3f9ab-1</NAME><UNAME>fleet</UNAME><STATE>3</STATE><LCM_STATE>3</LCM_STATE>"
    >>> told += "<STIME>1769853600</STIME><USER_TEMPLATE><TRIMTAB>web-k3f9ab-1</TRIMTAB></USER_TEMPLATE>"
    >>> told += "<HISTORY_RECORDS><HISTORY><CID>100</CID></HISTORY></HISTORY_RECORDS>"
    >>> machine = machine_of(fromstring(f"<VM>{told}<TEMPLATE>{nics}</TEMPLATE></VM>"))
    >>> machine.address(None), machine.address("web"), machine.cluster, machine.member("k3f9ab")
    ('10.0.0.7', '10.1.1.7', 100, 'web-k3f9ab-1')
    """
    if not isinstance(entry, Element):
        return None
    own_id, state, lcm = whole(entry, "ID"), whole(entry, "STATE"), whole(entry, "LCM_STATE")
    name, user, started = entry.findtext("NAME"), entry.findtext("UNAME"), whole(entry, "STIME")
    if own_id is None or state is None or lcm is None or started is None or name is None or user is None:
        return None
    user_template = entry.find("USER_TEMPLATE")
    return OpennebulaMachine(
        id=own_id,
        name=name,
        user=user,
        mark=text(user_template, MARK),
        given=text(user_template, GIVEN),
        complaint=complaint(text(user_template, "SCHED_MESSAGE" if state == _PENDING else "ERROR")),
        order=text(user_template, ORDER),
        state=state,
        lcm=lcm,
        nics=tuple(_place(nic) for nic in entry.findall("TEMPLATE/NIC")),
        cluster=_cluster(entry),
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


def _cluster(entry: Element) -> int | None:
    history = entry.findall("HISTORY_RECORDS/HISTORY")
    return whole(history[-1], "CID") if history else None


def _place(nic: Element) -> Mapping[str, str]:
    return {key: text(nic, key) for key in ("NETWORK", *_ADDRESSES)}


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
