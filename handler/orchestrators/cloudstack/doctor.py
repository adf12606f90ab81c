"""Checks of `trimtab doctor` for one CloudStack account.

Source: CloudStack 4.22, ``listCapabilities``, ``listAccounts`` (without ``listall``: the caller's own) and
``listProjects``. Capacities of whole zones (``listCapacity``) are for administrators alone, and are not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.parsing import text
from collector.clients.http.pool import date_at
from config.causes import FailureCause, remedy_for
from config.errors import Permanent
from config.model.catalogue import CloudstackCloud, CloudstackRecipe, Profile
from config.units import Instant
from handler.orchestrators.cloudstack.ids import (
    AFFINITY_GROUP,
    NETWORK,
    OFFERING,
    TEMPLATE,
    ZONE,
    CloudstackIds,
    CloudstackKind,
)
from handler.planning.headroom import UsageLimit
from handler.ports.examination import About, Check, Look, fine, found, look_at_clock, quota_look, unknown, wrong

_COUNTED = (("cpu", "cores"), ("memory", "MiB of memory"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackDoctor:
    """Checks of one account."""

    cloud: CloudstackCloud
    client: CloudstackClient
    ids: CloudstackIds
    clock: Callable[[], Instant]
    present: Callable[[], int]
    """Counts members."""

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """As `handler.ports.examination.Examined`."""
        named = partial(Check, about=About.CLOUD, name=self.cloud.id)
        date = partial(date_at, self.cloud.id, self.cloud.endpoint, self.cloud.trust, self.cloud.timeout)
        return (
            named(what="version", look=self._version),
            named(what="clock", look=lambda: look_at_clock(date, self.clock)),
            *([] if self.cloud.project is None else [named(what="project", look=self._project)]),
            named(what="quota", look=lambda: self._quota(most)),
            *(check for profile in profiles for check in self._of(profile)),
        )

    def _version(self) -> Look:
        capability = self.client.ask("listCapabilities").get("capability")
        version = text(capability, "cloudstackversion")
        return fine(f"CloudStack {version}") if version else unknown("CloudStack does not report its version")

    def _quota(self, most: int) -> Look:
        owners = owners_of(self.client)
        if len(owners) != 1:
            return unknown(f"{len(owners)} accounts or projects are listed instead of one")
        machines = limit_of(owners[0], "vm", "machines")
        if machines is None:
            return unknown("CloudStack does not report the account's limits")
        others = (limit_of(owners[0], key, what) for key, what in _COUNTED)
        return quota_look(machines, [limit for limit in others if limit is not None], most, self.present())

    def _project(self) -> Look:
        owners = owners_of(self.client)
        if not owners:
            problem = f"there is no project {self.cloud.project} that the account is in"
            return wrong(problem, "name another, or add the account to it")
        word = text(owners[0], "state")
        if word and word != "Active":
            return wrong(f"the project {self.cloud.project} is {word}", "have it activated, or name another")
        return found("project", self.cloud.project or "", text(owners[0], "id"))

    def _of(self, profile: Profile) -> Iterator[Check]:
        recipe = profile.recipe
        if not isinstance(recipe, CloudstackRecipe):
            return
        wanted = [
            (ZONE, recipe.zone),
            (TEMPLATE, recipe.template),
            (OFFERING, recipe.offering),
            *((NETWORK, network) for network in recipe.networks),
            *((AFFINITY_GROUP, group) for group in recipe.affinity_groups),
        ]
        for kind, written in wanted:
            look = partial(self._look_for, kind, written, recipe.zone if kind in (TEMPLATE, NETWORK) else "")
            yield Check(
                about=About.PROFILE,
                name=profile.id,
                what=kind.word,
                look=look,
                remedy=remedy_for(kind.cause, kind.word),
            )

    def _look_for(self, kind: CloudstackKind, written: str, zone: str) -> Look:
        try:
            where = self.ids.of(ZONE, zone) if zone else ""
        except Permanent as error:
            if error.cause is not FailureCause.ZONE:
                raise
            return unknown(f"{kind.word} {written} is not checked, since its zone is missing")
        own_id = self.ids.of(kind, written, where)
        if own_id == written:
            self._confirm(kind, written)
        return found(kind.word, written, own_id)

    def _confirm(self, kind: CloudstackKind, id: str) -> None:
        """Check that an object has this id: the lookup takes an id as it is."""
        entries = self.client.whole(kind.command, kind.entry, id=id, **kind.more)
        if id.lower() not in {text(entry, "id").lower() for entry in entries}:
            problem = f"no {kind.word} that the account can see has the id {id}"
            raise Permanent(f"{self.cloud.id}: {problem}", cause=kind.cause, remedy=remedy_for(kind.cause, kind.word))


def owners_of(client: CloudstackClient) -> tuple[object, ...]:
    """Return the owner of the limits: the account, or the project, in the same format. There should be one."""
    project = client.project.id
    if project is None:
        return client.whole("listAccounts", "account")
    return client.whole("listProjects", "project", id=project)


def limit_of(account: object, key: str, what: str) -> UsageLimit | None:
    """Read a limit of an account; ``None``: it is not reported. Numbers are texts, or ``Unlimited``, or -1.

    >>> print(limit_of({"vmlimit": "20", "vmtotal": 3}, "vm", "machines"))
    machines 3 of 20
    >>> print(limit_of({"vmlimit": "Unlimited", "vmtotal": 3}, "vm", "machines"))
    machines 3 without a limit
    """
    if not isinstance(account, Mapping):
        return None
    used, most = _whole(account.get(f"{key}total")), account.get(f"{key}limit")
    if used is None:
        return None
    if str(most).lower() in {"unlimited", "-1"}:
        return UsageLimit(what=what, used=used, most=None)
    limit = _whole(most)
    return None if limit is None else UsageLimit(what=what, used=used, most=limit)


def _whole(value: object) -> int | None:
    digits = str(value)
    return int(digits) if digits.isascii() and digits.isdecimal() else None
