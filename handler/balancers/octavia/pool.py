"""Find, read and change one pool of Octavia, and wait for its changes."""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import LOAD_BALANCER_KIND, POOL, OpenstackIds, OpenstackKind
from collector.clients.openstack.parsing import ServiceResponse, mapping, text
from collector.clients.openstack.parsing import page_of as listed
from collector.clients.openstack.session import LOAD_BALANCER
from config.causes import FailureCause
from config.errors import NotFound, Permanent, Transient
from config.units import Instant, Seconds
from handler.balancers.octavia.parsing import PoolMember, PoolStatus, Tree, load_balancer_of, page_of, pool_of

_OLDEST = (2, 11)
"""The first version with ``additive_only``. An older one would delete members that a batch does not list."""
_PAGES = 100
_FIRST_PAUSE: Seconds = 0.1
_LONGEST_PAUSE: Seconds = 1.0
_GROWTH = 1.5
_GONE: Final = frozenset({404})
_POOLS: Final = "name one that `openstack loadbalancer pool list` shows to this project, or detach the group from it"
_MAKE_POOL: Final = "make one with `openstack loadbalancer pool create`, or declare the balancer on the cloud"
_LISTED: Final = {
    POOL.word: _POOLS,
    LOAD_BALANCER_KIND.word: "name one that `openstack loadbalancer list` shows to this project",
}
_IMMUTABLE: Final = frozenset({409})


def wait(seconds: Seconds) -> None:
    """Pause between two reads."""
    threading.Event().wait(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReference:
    """A reference to a pool, by the name or id of itself or its load balancer; exactly one is given."""

    pool: str | None
    load_balancer: str | None


class OctaviaPool:
    """One pool. Every method raises `DriverError` as `OpenstackConnection.ask`, and waits while Octavia is busy."""

    def __init__(
        self,
        connection: OpenstackConnection,
        place: PoolReference,
        within: Seconds,
        clock: Callable[[], Instant],
        wait: Callable[[Seconds], None],
    ) -> None:
        self._connection, self._place, self._within = connection, place, within
        self._clock, self._wait = clock, wait
        self._ids = OpenstackIds(connection, clock)
        self._known: str | None = None
        self._batches = False

    @property
    def id(self) -> str:
        """Return the pool's id; a name is looked up once.

        Raises:
            Permanent: there is none, or several.
        """
        if self._known is None:
            self._known = self._found()
        return self._known

    def present(self) -> str:
        """Return its present id: a pool with that name may have been created again."""
        if self._ask("GET", "", but=_GONE).status in _GONE:
            self._lose()
        return self.id

    def members(self) -> tuple[PoolMember, ...]:
        """Return all members of the pool. Never partial."""
        read: dict[str, PoolMember] = {}
        marker = ""
        for _ in range(_PAGES):
            after = f"?{urllib.parse.urlencode({'marker': marker})}" if marker else ""
            page = page_of(self._seen(f"/members{after}").body)
            if page is None:
                raise Transient(f"{self._about}: members: the answer cannot be read")
            read |= {entry.id: entry for entry in page[0]}
            marker = page[1]
            if not marker:
                return tuple(read.values())
        raise Transient(f"{self._about}: the listing of members does not end")

    def put(self, members: Sequence[Mapping[str, object]], *, mind: Iterable[PoolMember]) -> None:
        """Add or change members, and wait until it is done; members that are not listed stay."""
        if not self._batches:
            self._check_version()
        known = {(entry.address, entry.port): entry.id for entry in mind}
        if len(members) > 1:
            self._send("PUT", "/members?additive_only=true", {"members": list(members)})
            return
        for member in members:
            own_id = known.get((str(member["address"]), int(str(member["protocol_port"]))))
            if own_id is None:
                self._send("POST", "/members", {"member": member})
            else:
                fixed = {"address", "protocol_port", "subnet_id"}
                changed = {key: value for key, value in member.items() if key not in fixed}
                self._send("PUT", f"/members/{own_id}", {"member": changed})

    def delete(self, member: str) -> None:
        """Delete a member by its id, and wait until it is done. If it is gone already, that is success."""
        self._send("DELETE", f"/members/{member}", None)

    # Changes

    def settle(self, otherwise: str = "takes no changes") -> None:
        """Wait until nothing in the tree is changing: an earlier read may be outdated."""
        for _ in self._until(otherwise):
            if self._tree() is Tree.ACTIVE:
                return

    def _send(self, method: str, path: str, body: object) -> None:
        """Make a change as soon as the tree takes one, and wait until it takes the next."""
        for _ in self._until("takes no changes"):
            answer = self._ask(method, path, body=body, but=_IMMUTABLE | _GONE)
            if answer.status in _GONE and method != "DELETE":
                raise Transient(f"{self._about}: a member that was to be changed is gone")
            if answer.status not in _IMMUTABLE:
                self._check_accepted(answer, method, path)
                break
            self._refuse_conflict(answer)
        self.settle("is still being changed")

    def _until(self, what: str) -> Iterator[None]:
        """Yield for each read, with growing pauses.

        Raises:
            Transient: the time is over.
        """
        begun, waited, pause = self._clock(), 0.0, _FIRST_PAUSE
        while max(waited, self._clock() - begun) < self._within:
            yield
            self._wait(pause)
            waited, pause = waited + pause, min(pause * _GROWTH, _LONGEST_PAUSE)
        raise Transient(f"{self._about} {what} for {self._within:.0f} s")

    def state(self) -> Tree:
        """Return whether pool and load balancer take changes now.

        Raises:
            Permanent: one of them is in ERROR, or gone.
        """
        return self._tree()

    def _tree(self) -> Tree:
        """Return whether pool and load balancer take changes: a load balancer may be ACTIVE above a pool that is not.

        Raises:
            Permanent: one of them is in ERROR, or gone.
        """
        pool = self._status()
        if pool.tree is Tree.ACTIVE and pool.load_balancer:
            body = self._connection.ask(LOAD_BALANCER, "GET", f"/lbaas/loadbalancers/{pool.load_balancer}").body
            above = load_balancer_of(body) or Tree.PENDING
            return self._sound(above, f"load balancer {pool.load_balancer}")
        return self._sound(pool.tree, "pool")

    def _sound(self, tree: Tree, what: str) -> Tree:
        match tree:
            case Tree.ERROR:
                remedy = "have it failed over, or make it anew"
                raise Permanent(f"{self._about}: the {what} is in ERROR and takes no changes", remedy=remedy)
            case Tree.GONE:
                self._lose()
                raise Permanent(f"{self._about}: the {what} was deleted")
            case _:
                return tree

    def _status(self) -> PoolStatus:
        status = pool_of(self._seen("").body)
        if status is None:
            raise Transient(f"{self._about}: the answer cannot be read")
        return status

    def _seen(self, path: str) -> ServiceResponse:
        answer = self._ask("GET", path, but=_GONE)
        if answer.status in _GONE:
            missing = self.id
            self._lose()
            raise self._missing(POOL, missing, f"{self._about}: there is no such pool")
        return answer

    def _check_accepted(self, answer: ServiceResponse, method: str, path: str) -> None:
        """Check an answer: batches and deletions return only a status, a member returns itself."""
        silent = {"PUT": 202, "DELETE": 204}.get(method) if path.startswith("/members?") or method == "DELETE" else None
        accepted = answer.status == silent or answer.status in _GONE if silent else bool(mapping(answer.body, "member"))
        if not accepted:
            raise Transient(f"{self._about}: {method}: the answer cannot be read")

    def _lose(self) -> None:
        """Look the pool up again at the next call: one with that name may have been created."""
        self._known = None
        self._ids.forget()

    def _refuse_conflict(self, answer: ServiceResponse) -> None:
        """Return if the conflict is an immutable tree; raise for any other, which waiting does not solve."""
        message = text(answer.body, "faultstring")
        if "immutable" not in message and "Invalid state" not in message:
            raise Transient(f"{self._about}: {message or 'a conflict'}")

    # Lookup

    def _found(self) -> str:
        written, above = self._place.pool, self._place.load_balancer
        if written is not None:
            return self._named(POOL, written)
        own = self._named(LOAD_BALANCER_KIND, above or "")
        query = urllib.parse.urlencode({"loadbalancer_id": own})
        pools = listed(self._connection.ask(LOAD_BALANCER, "GET", f"/lbaas/pools?{query}").body, "pools")
        if pools is None or not all(text(pool, "id") for pool in pools.entries):
            raise Transient(f"{self._connection.id}: pools: the answer cannot be read")
        found = sorted({text(pool, "id") for pool in pools.entries})
        if not found:
            raise self._without_pool(own)
        if len(found) > 1:
            remedy = f"write the id of one of them as pool: {', '.join(found)}"
            message = f"{self._connection.id}: the load balancer {above} has {len(found)} pools"
            raise Permanent(message, cause=FailureCause.POOL, remedy=remedy)
        return found[0]

    def _without_pool(self, load_balancer: str) -> Permanent:
        """Return the error for a load balancer without a pool, or for a missing load balancer."""
        path, about = f"{LOAD_BALANCER_KIND.path}/{load_balancer}", f"the load balancer {self._place.load_balancer}"
        if self._connection.ask(LOAD_BALANCER, "GET", path, but=_GONE).status in _GONE:
            message = f"{self._connection.id}: {about} does not exist"
            return self._missing(LOAD_BALANCER_KIND, load_balancer, message)
        return self._missing(POOL, "", f"{self._connection.id}: {about} has 0 pools", remedy=_MAKE_POOL)

    def _named(self, kind: OpenstackKind, written: str) -> str:
        try:
            return self._ids.of(kind, written)
        except Permanent as error:
            if " called " not in str(error):  # it is not about the name
                raise
            if f"no {kind.word} " in str(error):
                raise self._missing(kind, written, str(error)) from None
            raise Permanent(str(error), cause=FailureCause.POOL, remedy=_LISTED[kind.word]) from None

    def _missing(self, kind: OpenstackKind, written: str, message: str, *, remedy: str = "") -> Permanent:
        """Return the error for a missing pool or load balancer: `NotFound` if the project sees others but not this one.

        Args:
            kind: what is missing.
            written: its id or name; empty: neither is known.
            message: the evidence.
            remedy: what to do, if not to name another one.
        """
        listed = self._listed(kind)
        remedy = remedy or _LISTED[kind.word]
        if not listed:
            message = f"{message}, and the project sees no other {kind.word} either"
            return Permanent(message, cause=FailureCause.POOL, remedy=remedy)
        if any(written in {text(entry, "id"), text(entry, "name")} for entry in listed if written):
            return Permanent(f"{message}, and the project sees it all the same", cause=FailureCause.POOL, remedy=remedy)
        others = f"{len(listed)} other{'' if len(listed) == 1 else 's'}"
        return NotFound(f"{message}, and the project sees {others}", cause=FailureCause.POOL, remedy=remedy)

    def _listed(self, kind: OpenstackKind) -> tuple[object, ...]:
        """Return all objects of a kind that the project sees. Never partial."""
        read: list[object] = []
        marker = ""
        for _ in range(_PAGES):
            after = f"&{urllib.parse.urlencode({'marker': marker})}" if marker else ""
            body = self._connection.ask(kind.service, "GET", f"{kind.path}?fields=id&fields=name{after}").body
            page = listed(body, kind.key)
            if page is None or not all(text(entry, "id") for entry in page.entries):
                raise Transient(f"{self._connection.id}: {kind.word}s: the answer cannot be read")
            read += page.entries
            if not page.marker:
                return tuple(read)
            marker = page.marker
        raise Transient(f"{self._connection.id}: the listing of {kind.word}s does not end")

    def _check_version(self) -> None:
        offered = self._connection.offered(LOAD_BALANCER)
        if offered is None or offered < _OLDEST:
            version = "none" if offered is None else ".".join(map(str, offered))
            raise Permanent(f"{self._connection.id}: Octavia's API is {version}: Trimtab needs 2.11 (Train)")
        self._batches = True

    @property
    def _about(self) -> str:
        return f"{self._connection.id}: pool {self._place.pool or f'of {self._place.load_balancer}'}"

    def _ask(
        self, method: str, path: str, *, body: object = None, but: frozenset[int] = frozenset()
    ) -> ServiceResponse:
        return self._connection.ask(LOAD_BALANCER, method, f"/lbaas/pools/{self.id}{path}", body=body, but=but)
