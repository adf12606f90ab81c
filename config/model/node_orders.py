"""Which members the next nodes of a role will be, given to OneFlow before it makes them. Pure.

OneFlow gives all machines of one scaling the same attributes, and each a name with a number of its own, which is known
beforehand. So the order in the role maps each name to a member, and every new machine carries the whole order from its
creation: the order and the machine's own name identify the member, for the driver and for the collector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.units import MemberName

ORDER = "TRIMTAB_ORDER"
"""The attribute that holds it."""

_BETWEEN, _IS = "|", ":"
"""Neither may stand in the name of a machine of OpenNebula, nor in that of a member."""


def order_of(places: Mapping[str, MemberName]) -> str:
    """Write down which name is which member.

    >>> order_of({"web_7_(service_3)": "web-k3f9ab-12", "web_8_(service_3)": "web-k3f9ab-13"})
    'web-k3f9ab-12:web_7_(service_3)|web-k3f9ab-13:web_8_(service_3)'
    """
    return _BETWEEN.join(f"{member}{_IS}{name}" for name, member in places.items())


def ordered(order: str, name: str) -> str:
    """Which member a machine of this name is, by the order that it carries; empty: none.

    >>> ordered("web-k3f9ab-12:web_7_(service_3)|web-k3f9ab-13:web_8_(service_3)", "web_8_(service_3)")
    'web-k3f9ab-13'
    >>> ordered("web-k3f9ab-12:web_7_(service_3)", "web_9_(service_3)")
    ''
    """
    for each in order.split(_BETWEEN):
        member, _, place = each.partition(_IS)
        if place and place == name:
            return member
    return ""


def names_of(pattern: str, service: tuple[int, str], role: str, numbers: Iterable[int]) -> tuple[str, ...]:
    """The names that OneFlow gives to nodes with these numbers.

    >>> names_of("$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)", (3, "shop"), "web", [7, 8])
    ('web_7_(service_3)', 'web_8_(service_3)')
    """
    own_id, name = service
    known = pattern.replace("$SERVICE_ID", str(own_id)).replace("$SERVICE_NAME", name).replace("$ROLE_NAME", role)
    return tuple(known.replace("$VM_NUMBER", str(number)) for number in numbers)
