"""Checks of `trimtab doctor` for one user's OneFlow: settings of a service that conflict with Trimtab."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from config.errors import Permanent
from config.model.catalogue import OneflowCloud, OneflowRecipe, Profile
from handler.orchestrators.oneflow.client import FlowWire
from handler.orchestrators.oneflow.parsing import RUNNING, Service, ServiceRole
from handler.orchestrators.oneflow.services import OneflowServices
from handler.ports.examination import About, Check, Look, fine, found, wrong

_UPDATE = "oneflow update {id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowExamination:
    """Checks of one OneFlow."""

    cloud: OneflowCloud
    flow: FlowWire
    services: OneflowServices
    free: Callable[[OneflowRecipe], Sequence[int]]
    """Ids of a role's nodes that are not members."""

    def checks(self, profiles: Sequence[Profile]) -> Iterator[Check]:
        """Yield the checks, as `handler.ports.examination.Examined`."""
        yield Check(about=About.CLOUD, name=self.cloud.id, what="OneFlow", look=self._answers)
        for profile in profiles:
            recipe = profile.recipe
            if isinstance(recipe, OneflowRecipe):
                named = partial(Check, about=About.PROFILE, name=profile.id)
                yield named(what="service", look=partial(self._look_at_service, recipe))
                yield named(what="role", look=partial(self._look_at_role, recipe))
                yield named(what="nodes", look=partial(self._look_at_nodes, recipe))

    def _answers(self) -> Look:
        self.flow.ask("GET", "/service")
        return fine("it answers")

    def _look_at_service(self, recipe: OneflowRecipe) -> Look:
        service = self.services.find(recipe.service)
        if service.owner != self.cloud.nebula.user:
            remedy = f"oneflow chown {service.id} {self.cloud.nebula.user}, or name {service.owner} as the cloud's user"
            return wrong(f"service {service.name} belongs to {service.owner}: its machines are not visible", remedy)
        if service.goes_when_empty:
            remedy = f"take automatic_deletion out: {_UPDATE.format(id=service.id)}"
            return wrong(f"service {service.name} is deleted when its last node goes", remedy)
        if service.state != RUNNING:
            problem = f"service {service.name} is {service.state}: it scales when it is {RUNNING}"
            return wrong(problem, f"oneflow show {service.id} says why; docs/oneflow.md has the ways out")
        return found("service", recipe.service, str(service.id))

    def _look_at_role(self, recipe: OneflowRecipe) -> Look:
        service = self.services.find(recipe.service)
        role = service.roles.get(recipe.role)
        if role is None:
            raise Permanent(f"service {service.name} has no role {recipe.role}: name another in the profile")
        fights = tuple(_fights(role))
        if not fights:
            return fine(f"role {role.name} leaves its size to Trimtab")
        return wrong("; ".join(fights), _remedy(service))

    def _look_at_nodes(self, recipe: OneflowRecipe) -> Look:
        ids = self.free(recipe)
        if not ids:
            return fine(f"every node of role {recipe.role} is a member")
        listed = ", ".join(map(str, ids))
        remedy = "new members take these first; or adopt them: trimtab member adopt GROUP ID"
        return wrong(f"nodes of role {recipe.role} that are not members: {listed}", remedy)


def _fights(role: ServiceRole) -> Iterator[str]:
    if role.router:
        yield f"role {role.name} is one of virtual routers, which do not scale"
    if role.policies:
        yield f"role {role.name} has {role.policies} policies of its own: OneFlow scales it as well"
    if role.least:
        yield f"role {role.name} has min_vms {role.least}: below it OneFlow creates nodes by itself"
    if role.cooldown:
        yield f"role {role.name} has a cooldown of {role.cooldown:.0f} s, in which its service does not scale"


def _remedy(service: Service) -> str:
    keys = "elasticity_policies: [], scheduled_policies: [], min_vms: 0, cooldown: 0"
    return f"write into the role: {keys} ({_UPDATE.format(id=service.id)}), while the service is {RUNNING}"
