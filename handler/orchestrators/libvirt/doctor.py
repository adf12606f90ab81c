"""Checks of `trimtab doctor` for hosts with libvirt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from collector.clients.libvirt.client import LibvirtClient
from config.causes import FailureCause, remedy_for
from config.model.catalogue import LibvirtCloud, Profile
from config.model.libvirt import LibvirtRecipe
from handler.planning.headroom import Quota
from handler.ports.examination import About, Check, Look, fine, room_look, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtDoctor:
    """Checks of the hosts of one cloud. What one host lacks is reported, whatever the others have."""

    cloud: LibvirtCloud
    clients: Mapping[str, LibvirtClient]

    quotas: Callable[[Profile], Sequence[Quota]]
    present: Callable[[], int]
    """Counts members."""

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return the checks, as `handler.ports.examination.Examined`."""
        named = partial(Check, about=About.CLOUD, name=self.cloud.id)
        version = named(what="version", look=self._version)
        memory = named(what="memory", look=lambda: self._memory(profiles, most))
        return (version, memory, *(check for profile in profiles for check in self._of(profile)))

    def _of(self, profile: Profile) -> Iterator[Check]:
        recipe = profile.recipe
        if not isinstance(recipe, LibvirtRecipe):
            return
        named = partial(Check, about=About.PROFILE, name=profile.id)
        image, network = remedy_for(FailureCause.IMAGE, "volume"), remedy_for(FailureCause.NETWORK, "network")
        yield named(what="base", look=partial(self._base, recipe), remedy=image)
        for each in recipe.networks:
            yield named(what="network", look=partial(self._network, each), remedy=network)

    def _version(self) -> Look:
        found = ((name, client.version()) for name, client in self.clients.items())
        return fine(
            ", ".join(f"{name} has libvirt {version}" if name else f"libvirt {version}" for name, version in found)
        )

    def _memory(self, profiles: Sequence[Profile], most: int) -> Look:
        """Judge by the largest members: which of the groups grows is not known."""
        quotas = [quota for profile in profiles for quota in self.quotas(profile)]
        largest = sorted(quotas, key=lambda quota: quota.each)[-1:]
        return room_look(largest, most, self.present()) if largest else unknown("no group has members here")

    def _base(self, recipe: LibvirtRecipe) -> Look:
        for client in self.clients.values():
            client.volume(client.pool(recipe.base_pool), recipe.base)
            client.pool(recipe.pool or recipe.base_pool)
        return fine(f"volume {recipe.base} of pool {recipe.base_pool} is there")

    def _network(self, name: str) -> Look:
        for client in self.clients.values():
            client.has_network(name)
        return fine(f"network {name} is there")
