"""A balancer of HAProxy as it is written in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from config.document.declared import Declared, key, must
from config.document.scalars import BackendName, Given, MapFile, RuntimeSocket
from config.model.catalogue import ServerTemplate
from config.model.managed import OF_MADE


class HaproxyDocument(Declared):
    """One backend of one HAProxy, or of several processes that serve alike."""

    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        OF_MADE, "HAProxy's runtime API cannot create backends: write it in HAProxy's own configuration"
    )
    choice: ClassVar[tuple[str, ...]] = ("socket", "sockets")
    choice_of: ClassVar[str] = "where HAProxy is steered"
    together: ClassVar[tuple[str, ...]] = ("template", "map")

    socket: Annotated[RuntimeSocket | None, Given] = key(
        "HAProxy's runtime socket, level admin: a path or HOST:PORT.", "/run/haproxy/admin.sock"
    )
    sockets: Annotated[Annotated[list[RuntimeSocket], Field(min_length=1)] | None, Given] = key(
        "The runtime sockets of several processes; a member serves once it does on all.",
        ["/run/haproxy/one.sock", "192.0.2.7:9999"],
    )
    backend: BackendName = must("The backend's name.", "web")
    template: Annotated[BackendName | None, Given] = key(
        "The prefix of a server-template: members are put into its servers, which survive a reload.",
        "web",
        left_out="members are dynamic servers",
    )
    map: Annotated[MapFile | None, Given] = key(
        "The map in which HAProxy keeps which member is where.",
        "/var/lib/haproxy/members.map",
        left_out="none: it goes with template",
    )

    @field_validator("sockets")
    @classmethod
    def _once_each(cls, sockets: list[str] | None) -> list[str] | None:
        if sockets is not None and len(set(sockets)) < len(sockets):
            raise PydanticCustomError("sentence", "the same socket is written twice", {"key": ""})
        return sockets

    @property
    def slots(self) -> ServerTemplate | None:
        """The template, if there is one."""
        if self.template is None or self.map is None:
            return None
        return ServerTemplate(prefix=self.template, map=self.map)
