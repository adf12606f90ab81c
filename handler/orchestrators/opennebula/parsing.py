"""Decode OpenNebula's machines. Pure: each function takes XML elements of any shape.

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
"""Beside the mark of an adopted machine, which keeps its own name: its id."""
CLAIM = "TRIMTAB_CLAIM"
"""Beside the mark: the store generation that claimed the machine last."""
RELEASED = "released"
"""The mark of a released machine: an attribute can be overwritten, but not removed alone."""

_PENDING = 1
_WHEN = re.compile(r"^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} ?: ")
_ADDRESSES = ("IP", "IP6_GLOBAL", "IP6_ULA", "IP6")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaMachine:
    """One virtual machine of OpenNebula, of any owner."""

    id: int
    name: str
    user: str
    mark: str
    """Its mark; empty: there is none."""
    given: str
    """The id beside its mark; empty: there is none."""
    complaint: str
    """OpenNebula's error: why no host accepts it, or why it failed; empty: there is none."""
    order: str
    """The OneFlow order that created it; empty: none (`config.model.node_orders`)."""
    state: int
    lcm: int
    nics: tuple[Mapping[str, str], ...]
    cluster: int | None
    """Its cluster; ``None``: it has not run yet."""
    created_at: Instant
    claim: Claim | None = None

    @property
    def word(self) -> str:
        """Return OpenNebula's name of its state, and its error while it is in that state."""
        word, state = self.meaning or ("DONE", ServerState.DELETING)
        complains = bool(self.complaint) and (self.state == _PENDING or state is ServerState.ERROR)
        return f"{word}: {self.complaint}" if complains else word

    @property
    def meaning(self) -> tuple[str, ServerState] | None:
        """Return OpenNebula's name of its state, and its meaning; ``None``: it is gone."""
        return nebula_state(self.state, self.lcm)

    @property
    def launch(self) -> LaunchId | None:
        """Return the member that it is, of any installation.

        Its mark counts if its name or the id beside the mark agrees: a copied machine is not a member. Without a mark,
        the order that created it counts.
        """
        if not self.mark:
            return LaunchId.parse(ordered(self.order, self.name))
        launch = LaunchId.parse(self.mark)
        return launch if launch is not None and (self.name == self.mark or self.given == str(self.id)) else None

    def address(self, network: str | None) -> str | None:
        """Return its address: in that network or, with ``None``, of its first interface with one."""
        for nic in self.nics:
            if network is None or nic.get("NETWORK") == network:
                for key in _ADDRESSES:
                    if address := nic.get(key):
                        return address
        return None

    def member(self, installation: str) -> MemberName | None:
        """Return which member of this installation it is; ``None``: it is foreign."""
        launch = self.launch
        return launch.name if launch is not None and launch.installation == installation else None


def machine_of(entry: object) -> OpennebulaMachine | None:
    """Read one machine; ``None``: the entry is not a machine, or lacks its identity.

    >>> from xml.etree.ElementTree import fromstring
    >>> nics = "<NIC><NETWORK>back</NETWORK><IP>10.0.0.7</IP></NIC><NIC><NETWORK>web</NETWORK><IP>10.1.1.7</IP></NIC>"
    >>> fields = "<ID>7</ID><NAME>web-k3f9ab-1</NAME><UNAME>fleet</UNAME><STATE>3</STATE><LCM_STATE>3</LCM_STATE>"
    >>> fields += "<STIME>1769853600</STIME><USER_TEMPLATE><TRIMTAB>web-k3f9ab-1</TRIMTAB></USER_TEMPLATE>"
    >>> fields += "<HISTORY_RECORDS><HISTORY><CID>100</CID></HISTORY></HISTORY_RECORDS>"
    >>> machine = machine_of(fromstring(f"<VM>{fields}<TEMPLATE>{nics}</TEMPLATE></VM>"))
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


def complaint(message: str) -> str:
    """Return an error of OpenNebula's scheduler or drivers without its leading timestamp.

    >>> complaint("Sat Nov  1 19:20:45 2026: Cannot dispatch VM: No host meets SCHED_REQUIREMENTS")
    'Cannot dispatch VM: No host meets SCHED_REQUIREMENTS'
    """
    return shown(_WHEN.sub("", message))


def id_of(written: str) -> int | None:
    """Read an id as people write it; ``None``: the text is not an id, and may be a name.

    >>> id_of("12"), id_of("web"), id_of("12345678901")
    (12, None, None)
    """
    return int(written) if re.fullmatch("[0-9]{1,9}", written) else None


def _cluster(entry: Element) -> int | None:
    history = entry.findall("HISTORY_RECORDS/HISTORY")
    return whole(history[-1], "CID") if history else None


def _place(nic: Element) -> Mapping[str, str]:
    return {key: text(nic, key) for key in ("NETWORK", *_ADDRESSES)}


# Requests.


def claim_of(claim: Claim | None) -> tuple[tuple[str, str], ...]:
    """Return the claim as an attribute; empty: there is none."""
    return () if claim is None else ((CLAIM, claim.text),)


def template_xml(attributes: Extra) -> str:
    """Encode attributes as the XML of OpenNebula's templates.

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
