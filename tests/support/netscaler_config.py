"""The configuration of the NetScaler of our own: servers, service groups, their members, and who may change them.

It answers as the vendor's reference says: a code and a message in every body, 201 for what was made. Removing a server
object unbinds it everywhere; a member that is disabled gracefully is GOING OUT OF SERVICE while it has connections.
No client that writes was found: none of those on PyPI does. What is only assumed: which code says that an address
belongs to another server object (273), and the words of a secondary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import unquote

Reply = tuple[int, int, str, dict[str, object]]
"""Status, code, message, and what else is in the body."""

_BOUND = "servicegroup_servicegroupmember_binding"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One call, taken apart."""

    name: str
    query: Mapping[str, str]
    body: Mapping[str, object]

    def inside(self, kind: str) -> Mapping[str, object]:
        found = self.body[kind]
        assert isinstance(found, dict)
        return found


@dataclass(slots=True, kw_only=True)
class Member:
    """One member of a service group."""

    state: str = "ENABLED"
    word: str = "UP"
    connections: int | None = 0
    """``None``: statistics do not show it."""
    disabled_with: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Configuration:
    servers: dict[str, str] = field(default_factory=dict)
    """Name → address."""
    groups: dict[str, dict[tuple[str, int], Member]] = field(default_factory=dict)
    """Name → (server, port) → member."""
    services: dict[str, str] = field(default_factory=dict)
    """Service → server: hand-made, beside service groups."""
    group: dict[str, object] = field(default_factory=lambda: {"healthmonitor": "YES", "autoscale": "DISABLED"})
    secondary: bool = False
    forbidden: bool = False
    saves: int = 0
    started: str = "Mon May  8 14:58:53 2017"
    changes: list[str] = field(default_factory=list)

    def finish(self, server: str) -> None:
        """Let the connections of a member end."""
        for group in self.groups.values():
            for (name, _), member in group.items():
                if name == server:
                    member.connections = 0
                    member.word = "OUT OF SERVICE" if member.state == "DISABLED" else member.word

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, object]) -> Reply | None:
        """Obey one call; ``None``: it is not about this."""
        kind, _, rest = path.partition("/")
        obey = self._calls().get((method, kind))
        if obey is None:
            return None
        if method != "GET":
            if self.secondary:
                return 400, 1028, "Not the primary node", {}
            if self.forbidden:
                return 403, 2138, "Not authorized to execute this command", {}
            self.changes.append(f"{method} {path}")
        return obey(_Asked(name=unquote(rest), query=query, body=body))

    def _calls(self) -> Mapping[tuple[str, str], Callable[[_Asked], Reply]]:
        return {
            ("GET", "nsversion"): lambda _: _done(
                nsversion={"version": "NetScaler NS13.1: Build 48.47.nc", "mode": "0"}
            ),
            ("GET", "server"): self._show_server,
            ("GET", "server_binding"): self._show_used,
            ("GET", "servicegroup"): self._show_group,
            ("GET", _BOUND): self._show_bound,
            ("POST", "server"): self._add_server,
            ("DELETE", "server"): self._remove_server,
            ("PUT", _BOUND): self._bind,
            ("POST", _BOUND): self._bind,
            ("DELETE", _BOUND): self._unbind,
            ("POST", "servicegroup"): self._act,
            ("POST", "nsconfig"): self._save,
        }

    def statistics(self, group: str) -> list[dict[str, object]]:
        """What ``stat/servicegroup`` shows of each member."""
        return [
            {"servicegroupname": f"{group}?{server}?{port}", "cursrvrconnections": str(member.connections)}
            for (server, port), member in self.groups[group].items()
            if member.connections is not None
        ]

    def _show_server(self, asked: _Asked) -> Reply:
        if asked.name not in self.servers:
            return _missing(asked.name)
        return _done(server=[{"name": asked.name, "ipaddress": self.servers[asked.name]}])

    def _show_used(self, asked: _Asked) -> Reply:
        return _done(server_binding=[self._used(asked.name)]) if asked.name in self.servers else _missing(asked.name)

    def _show_group(self, asked: _Asked) -> Reply:
        if not asked.name:
            shown = [{"servicegroupname": name, **self.group} for name in self.groups]
            return _done(**({"servicegroup": shown} if shown else {}))
        if asked.name not in self.groups:
            return _missing(asked.name)
        return _done(servicegroup=[{"servicegroupname": asked.name, **self.group}])

    def _save(self, _: _Asked) -> Reply:
        self.saves += 1
        return _done()

    def _used(self, name: str) -> dict[str, object]:
        groups = [
            {"name": name, "servicegroupname": group}
            for group, members in self.groups.items()
            if any(server == name for server, _ in members)
        ]
        services = [
            {"name": name, "servicename": service} for service, server in self.services.items() if server == name
        ]
        used: dict[str, object] = {"name": name}
        if groups:
            used["server_servicegroup_binding"] = groups
        if services:
            used["server_service_binding"] = services
        return used

    def _show_bound(self, asked: _Asked) -> Reply:
        group = asked.name
        if group not in self.groups:
            return _missing(group)
        shown = [
            {
                "servicegroupname": group,
                "servername": server,
                "ip": self.servers[server],
                "port": port,
                "state": member.state,
                "svrstate": member.word,
                "weight": "1",
            }
            for (server, port), member in self.groups[group].items()
        ]
        return _done(**({_BOUND: shown} if shown else {}))

    def _add_server(self, asked: _Asked) -> Reply:
        given = asked.inside("server")
        name, address = str(given["name"]), str(given["ipaddress"])
        if name in self.servers or address in self.servers.values():
            return 409, 273, "Resource already exists", {}
        ip_address(address)
        self.servers[name] = address
        return 201, 0, "Done", {}

    def _remove_server(self, asked: _Asked) -> Reply:
        name = asked.name
        if self.servers.pop(name, None) is None:
            return _missing(name)
        for members in self.groups.values():
            for place in [place for place in members if place[0] == name]:
                del members[place]
        return _done()

    def _bind(self, asked: _Asked) -> Reply:
        given = asked.inside(_BOUND)
        group, server, port = str(given["servicegroupname"]), str(given["servername"]), int(str(given["port"]))
        if group not in self.groups or server not in self.servers:
            return _missing(group)
        if (server, port) in self.groups[group]:
            return 409, 273, "Resource already exists", {}
        state = str(given.get("state", "ENABLED"))
        self.groups[group][server, port] = Member(state=state, word="UP" if state == "ENABLED" else "OUT OF SERVICE")
        return 201, 0, "Done", {}

    def _unbind(self, asked: _Asked) -> Reply:
        group = asked.name
        given = dict(pair.split(":", 1) for pair in asked.query.get("args", "").split(","))
        place = given.get("servername", ""), int(given.get("port", "0"))
        if self.groups.get(group, {}).pop(place, None) is None:
            return _missing(group)
        return _done()

    def _act(self, asked: _Asked) -> Reply:
        action, given = asked.query.get("action", ""), asked.inside("servicegroup")
        group, place = str(given["servicegroupname"]), (str(given["servername"]), int(str(given["port"])))
        member = self.groups.get(group, {}).get(place)
        if member is None:
            return _missing(group)
        if action == "enable":
            member.state, member.word, member.disabled_with = "ENABLED", "UP", {}
        else:
            waits = given.get("graceful") == "YES" and member.connections != 0
            member.state, member.word = "DISABLED", "GOING OUT OF SERVICE" if waits else "OUT OF SERVICE"
            member.disabled_with = {key: given[key] for key in ("graceful", "delay") if key in given}
        return _done()


def _missing(name: str) -> Reply:
    return 404, 258, f"No such resource [{name}]", {}


def _done(**found: object) -> Reply:
    return 200, 0, "Done", found
