"""How many files and sockets may be open: the daemon takes what it is allowed, and says when that is too little.

A session with an SNMP agent keeps a socket, and one of v3 a second descriptor for gufo-snmp. They are kept up to a
third of the limit (`collector.sources.snmp`); beyond that each poll opens and closes them, which costs more but loses
nothing.
"""

from __future__ import annotations

import resource

from config.model.catalogue import Catalogue

_OTHERS = 200
"""For the store, HTTP, balancers, and whatever else is open."""


def take_all() -> int:
    """Raise the soft limit of this process to the hard one, which needs no right, and say what it is now.

    The usual soft limit of 1,024 is there for programs that call select(2).
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def wanted(catalogue: Catalogue) -> int:
    """How many make polling cheap with every group at its max.

    >>> from types import SimpleNamespace
    >>> wanted(SimpleNamespace(groups={"web": SimpleNamespace(maximum=2000)}))
    6200
    """
    return 3 * sum(group.maximum for group in catalogue.groups.values()) + _OTHERS
