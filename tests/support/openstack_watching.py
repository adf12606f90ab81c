"""Polls a cloud of OpenStack, again and again."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from collector.clients.http.client import HttpClient
from collector.samples import Reply, Scrape
from collector.sources.openstack.gnocchi import GnocchiSource
from collector.sources.openstack.keystone import Keystone
from collector.sources.openstack.nova import NovaSource
from collector.sources.openstack.nova_servers import NovaServers
from collector.sources.poll import Poller
from config.errors import TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import Catalogue, OpenstackCloud
from config.model.counters import Counter
from config.units import Instant, Moment, Monotonic
from tests.support.collector import a_catalogue, rosters
from tests.support.openstack_wire import SECRET

importlib.import_module("openstack.config")  # it takes longer than some polls are given
A, B = "web-k3f9ab-1", "web-k3f9ab-2"


def catalogue(cloud: OpenstackCloud, *counters: Counter) -> Catalogue:
    made = a_catalogue(counters, groups=("web",))
    profiles = {own: replace(profile, cloud=cloud.id) for own, profile in made.profiles.items()}
    return replace(made, clouds={cloud.id: cloud}, profiles=profiles)


class Watch:
    """Polls, and polls again half a minute later."""

    def __init__(self, cloud: OpenstackCloud, *, secret: str | None = SECRET, timeout: float = 5.0) -> None:
        self.cloud = cloud
        self.secret = secret
        self.timeout = timeout
        self.steady = 1000.0

    def polls(
        self,
        *counters: Counter,
        members: tuple[str, ...] = (A, B),
        times: int = 1,
        between: Callable[[], object] = lambda: None,
    ) -> list[Scrape]:

        def clock() -> Moment:
            return Moment(wall=Instant(time.time()), steady=Monotonic(self.steady))

        def read_secret(ref: SecretRef) -> str:
            if self.secret is None:
                raise TrimtabError(f"{ref.env} is not set")
            return self.secret

        async def all_of_them() -> list[Scrape]:
            http = HttpClient(clock=clock, read_secret=read_secret)
            keystone = Keystone(http)
            servers = NovaServers(keystone)
            sources = NovaSource(keystone, servers), GnocchiSource(keystone, servers)
            poller = Poller(clock=clock, read_secret=read_secret, sources=sources, http=http)
            scrapes = []
            try:
                for place in range(times):
                    if place:
                        self.steady += 30.0
                        between()
                    asked = catalogue(self.cloud, *counters), rosters(dict.fromkeys(members, "10.0.0.1"))
                    scrapes.append(await poller.poll(*asked, timeout=self.timeout))
            finally:
                await poller.close()
            return scrapes

        return asyncio.run(all_of_them())


def poll(
    cloud: OpenstackCloud, *counters: Counter, members: tuple[str, ...] = (A, B), secret: str | None = SECRET
) -> Scrape:
    return Watch(cloud, secret=secret).polls(*counters, members=members)[0]


def replies(scrape: Scrape) -> Mapping[str, Reply]:
    return {str(series.member): Reply(scrape.reply[row]) for row, series in enumerate(scrape.layout.series)}
