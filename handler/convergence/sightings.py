"""When each member of a group last answered its balancers and the readiness probe.

This is kept in memory: after a restart it is empty.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from config.model.catalogue import ReadyProbe
from config.units import BalancerId, Instant, MemberName, Seconds, format_span
from handler.planning.evidence import Saying, Testimony
from handler.planning.world import BalancerView, Health, Member, Registration, Server, World

_TIMEOUT: Seconds = 2.0
_READY = range(200, 400)
READY = ""
_STATUS = "HTTP "


def probe(address: str, ready: ReadyProbe, *, timeout: Seconds = _TIMEOUT) -> str:
    """Return why a member is not ready; `READY`: ``GET http://address:port/path`` answers 200 to 399.

    No answer in time is a reason, and so is any other answer.
    """
    connection = http.client.HTTPConnection(address, ready.port, timeout=timeout)
    try:
        connection.request("GET", ready.path, headers={"Connection": "close", "User-Agent": "trimtab-ready"})
        status = connection.getresponse().status
    except TimeoutError:
        return f"no answer within {format_span(timeout)}"
    except ConnectionRefusedError:
        return f"nothing listens at port {ready.port}"
    except OSError as error:
        return f"it cannot be reached: {error.strerror or type(error).__name__}"
    except http.client.HTTPException:
        return "what answers speaks no HTTP"
    finally:
        connection.close()
    return READY if status in _READY else f"{_STATUS}{status}"


def is_answer(result: str) -> bool:
    """Whether the member answered, if not that it is ready.

    >>> is_answer("HTTP 503"), is_answer("nothing listens at port 80")
    (True, False)
    """
    return result.startswith(_STATUS)


_SAYS = {Health.HEALTHY: Saying.HEARD, Health.FAILING: Saying.SILENT}
_NEVER = Instant(float("-inf"))

_Registration = tuple[BalancerId, MemberName]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """When the probe asked a member last, and what came of it."""

    at: Instant
    says: Saying
    heard_at: Instant | None
    silent_since: Instant | None


@dataclass(slots=True)
class Sightings:
    """Of one group. Only members that are not found healthy cost anything to keep."""

    listed: Mapping[MemberName, Server | None] = field(default_factory=dict)
    """Its machines at the last look."""
    _addresses: dict[MemberName, str] = field(default_factory=dict)
    """Where members were that are not listed now."""
    _looks: dict[BalancerId, tuple[Instant, Mapping[MemberName, Registration]]] = field(default_factory=dict)
    """What each balancer answered last."""
    _healthy: dict[_Registration, Instant] = field(default_factory=dict)
    """When those members were found healthy last that are not now."""
    _failing: dict[_Registration, Instant] = field(default_factory=dict)
    """Since when they have failed their checks, look by look."""
    _probed: dict[MemberName, _Asked] = field(default_factory=dict)

    def see(self, world: World, listed: Mapping[MemberName, Server | None]) -> None:
        """Take note of a look: where members are, and what balancers find."""
        before, self.listed = self.listed, listed
        self._addresses = dict(self._last_addresses(world, before))
        self._read_registrations(world)
        if self._probed:
            here = {member.name for member in world.members}
            self._probed = {name: asked for name, asked in self._probed.items() if name in here}

    def hear(self, results: Mapping[MemberName, str], at: Instant) -> dict[MemberName, Saying]:
        """Record the probe's results. An answer other than *ready* is still an answer of the member."""
        sayings: dict[MemberName, Saying] = {}
        for name, words in results.items():
            before = self._probed.get(name)
            if words == READY or is_answer(words):
                now = _Asked(at=at, says=Saying.HEARD, heard_at=at, silent_since=None)
            else:
                since = at if before is None or before.silent_since is None else before.silent_since
                last = None if before is None else before.heard_at
                now = _Asked(at=at, says=Saying.SILENT, heard_at=last, silent_since=since)
            self._probed[name] = now
            sayings[name] = now.says
        return sayings

    def address(self, member: Member) -> str | None:
        """Return where a member is, or was when it was listed last."""
        here = None if member.server is None else member.server.address
        return self._addresses.get(member.name) if here is None else here

    def asked_at(self, member: Member) -> Instant:
        """Return when the probe asked a member last."""
        asked = self._probed.get(member.name)
        return _NEVER if asked is None else asked.at

    def by_balancer(self, name: MemberName, balancer: BalancerId, world: World) -> Testimony:
        """Return a balancer's health check of a member as evidence."""
        balancer_view = world.balancer_views.get(balancer)
        registrations = None if balancer_view is None else balancer_view.registrations
        registration = None if registrations is None else registrations.get(name)
        says = (
            Saying.UNCLEAR
            if registration is None or registration.health is None
            else _SAYS.get(registration.health, Saying.UNCLEAR)
        )
        return Testimony(
            source=f"balancer {balancer}",
            heard_at=world.at if says is Saying.HEARD else self._healthy.get((balancer, name)),
            says=says,
            answers=registrations is not None,
            silent_since=self._failing.get((balancer, name)),
        )

    def by_probe(self, name: MemberName, now: Instant, interval: Seconds, *, works: bool) -> Testimony | None:
        """Return the probe's evidence on a member; ``None``: never probed. ``works``: other members answer it now."""
        asked = self._probed.get(name)
        if asked is None:
            return None
        says = asked.says if now - asked.at <= interval else Saying.UNCLEAR
        since = asked.silent_since if says is Saying.SILENT else None
        return Testimony(source="probe", heard_at=asked.heard_at, says=says, answers=works, silent_since=since)

    def _last_addresses(
        self, world: World, before: Mapping[MemberName, Server | None]
    ) -> Iterator[tuple[MemberName, str]]:
        for member in world.members:
            if member.server is None:
                last = before.get(member.name)
                address = self._addresses.get(member.name) if last is None else last.address
                if address is not None:
                    yield member.name, address

    def _read_registrations(self, world: World) -> None:
        healthy: dict[_Registration, Instant] = {}
        failing: dict[_Registration, Instant] = {}
        for balancer, balancer_view in world.balancer_views.items():
            if balancer_view.registrations is None:
                healthy |= {key: at for key, at in self._healthy.items() if key[0] == balancer}
                continue
            at, registrations = self._looks.get(balancer, (world.at, {}))
            for name in _not_healthy(balancer_view, registrations):
                before, key = registrations.get(name), (balancer, name)
                last = at if before is not None and before.health is Health.HEALTHY else self._healthy.get(key)
                if last is not None:
                    healthy[key] = last
                registration = balancer_view.registrations.get(name)
                if registration is not None and registration.health is Health.FAILING:
                    failing[key] = self._failing.get(key, world.at)
            self._looks[balancer] = world.at, balancer_view.registrations
        self._healthy, self._failing = healthy, failing


def _not_healthy(balancer_view: BalancerView, before: Mapping[MemberName, Registration]) -> Iterator[MemberName]:
    """Yield the members that are not found healthy, including those without a registration."""
    registrations = balancer_view.registrations or {}
    yield from (
        name
        for name, registration in registrations.items()
        if registration.health is not None and registration.health is not Health.HEALTHY
    )
    yield from before.keys() - registrations.keys()
