"""Examine a declared HAProxy before members depend on it. Changes nothing.

Source: HAProxy management guide 2.6, section 9.3, ``add server``. HAProxy itself tells which algorithms refuse it: the
command without an address fails after the algorithm has been checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from config.errors import DriverError
from config.model.balancers import HaproxyBalancer, ServerTemplate
from config.units import BalancerId
from handler.balancers.haproxy.driver import NOT_DYNAMIC, not_dynamic, weight_note
from handler.balancers.haproxy.parsing import HaproxyServer
from handler.balancers.haproxy.runtime import Runtime
from handler.balancers.haproxy.template import look, lost
from handler.planning.launches import LaunchId


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFinding:
    """One finding, as a value."""

    balancer: BalancerId
    grave: bool
    """Members cannot be served as declared. Otherwise they can, but an improvement is possible."""
    words: str
    """The finding and how to fix it; never a secret."""


_PROBE = "trimtab-probe"
_WOULD_DO = "'server' expects"


def examine(declaration: HaproxyBalancer, most: int) -> tuple[BackendFinding, ...]:
    """Examine every process of a balancer. A process that does not answer is a finding, never an exception.

    Args:
        declaration: the balancer.
        most: the greatest number of members of all groups behind it.
    """
    found: list[BackendFinding] = []
    for socket in declaration.sockets:
        runtime = Runtime(socket, declaration.backend)
        try:
            findings = list(_look(runtime, declaration.template, most))
        except DriverError as error:
            findings = [(True, str(error))]
        found += [BackendFinding(balancer=declaration.id, grave=grave, words=words) for grave, words in findings]
    return tuple(found)


def versions_of(declaration: HaproxyBalancer) -> str:
    """Return the versions of a balancer's processes.

    Raises:
        DriverError: a process does not answer, or is too old.
    """
    versions = [Runtime(socket, declaration.backend).process().version for socket in declaration.sockets]
    return "HAProxy " + ", ".join(dict.fromkeys(".".join(map(str, version)) for version in versions))


def _look(runtime: Runtime, template: ServerTemplate | None, most: int) -> Iterator[tuple[bool, str]]:
    runtime.process()
    servers = runtime.servers()
    if template is None:
        yield from _reweighted(
            runtime, [server for name, server in servers.items() if LaunchId.parse(name) is not None]
        )
        yield from _dynamic(runtime)
    else:
        yield from _template(runtime, template, most)


def _reweighted(runtime: Runtime, members: Iterable[HaproxyServer]) -> Iterator[tuple[bool, str]]:
    """Yield the members whose weight was changed. See `handler.balancers.haproxy.driver`, Note [Weights]."""
    for server in members:
        if server.is_reweighted:
            named = f"{runtime.named()}/{server.name}"
            back = f"`set server {named} weight 100%` over the runtime socket gives it back"
            yield False, f"{named} at {runtime.socket} has {weight_note(server)}: {back}"


def _dynamic(runtime: Runtime) -> Iterator[tuple[bool, str]]:
    answer = runtime.run(f"add server {runtime.named()}/{_PROBE}")
    if answer == NOT_DYNAMIC:
        yield True, not_dynamic(runtime)
        return
    if not answer.startswith(_WOULD_DO):
        raise runtime.unexpected("add server", answer)
    words = (
        f"HAProxy at {runtime.socket} forgets the members of backend {runtime.backend} at every reload, until they are "
        "added again: with a server template and a state file it does not"
    )
    yield False, words


def _template(runtime: Runtime, template: ServerTemplate, most: int) -> Iterator[tuple[bool, str]]:
    slots = look(runtime, template)
    yield from ((True, lost(runtime, template, slot)) for slot in slots.nameless)
    yield from _reweighted(runtime, slots.taken.values())
    there, backend = len(slots.servers), f"backend {runtime.backend} at {runtime.socket}"
    counted = f"{backend} has {there} servers {template.prefix}1, {template.prefix}2 …"
    if there < most:
        yield True, f"{counted}, and there may be {most} members: declare more"
    elif there == most:
        yield False, f"{counted}, as many as members: while one drains, the next one waits: declare some more"
    if any(slot.host is None for slot in slots.servers.values()):
        words = (
            f"the template {template.prefix} of {backend} has an address where a name should be: the state file does "
            "not bring addresses back: write unassigned.invalid:80 init-addr last,0.0.0.0"
        )
        yield False, words
