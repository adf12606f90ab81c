"""Checks of `trimtab doctor` for one user's OpenNebula.

Source: XML-RPC API of OpenNebula 7.4: ``system.version``, ``user.info`` and ``group.info`` (-1: one's own). A quota is
-1 where the default holds, and -2 where there is none; both the user's and its group's apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from xml.etree.ElementTree import Element

from collector.clients.http.pool import date_at
from collector.clients.opennebula.client import OpennebulaClient
from collector.clients.opennebula.messages import text
from config.causes import FailureCause, remedy_for
from config.model.catalogue import OpennebulaCloud, OpennebulaRecipe, Profile
from config.units import Instant
from handler.orchestrators.opennebula.ids import NETWORK, TEMPLATE, OpennebulaIds, OpennebulaKind
from handler.orchestrators.opennebula.parsing import id_of
from handler.planning.headroom import UsageLimit
from handler.ports.examination import About, Check, Look, fine, found, look_at_clock, quota_look, unknown

_DEFAULT, _NONE = -1.0, -2.0
_OWN = -1
_COUNTED = (("CPU", "CPUs"), ("MEMORY", "MiB of memory"), ("RUNNING_VMS", "running machines"))
_ONE = {TEMPLATE.word: ("template.info", FailureCause.IMAGE), NETWORK.word: ("vn.info", FailureCause.NETWORK)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaDoctor:
    """Checks of one user's OpenNebula."""

    cloud: OpennebulaCloud
    client: OpennebulaClient
    ids: OpennebulaIds
    clock: Callable[[], Instant]
    present: Callable[[], int]
    """Counts members."""

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return the checks, as `handler.ports.examination.Examined`."""
        named = partial(Check, about=About.CLOUD, name=self.cloud.id)
        date = partial(date_at, self.cloud.id, self.cloud.endpoint, self.cloud.trust, self.cloud.timeout)
        return (
            named(what="version", look=self._version),
            named(what="clock", look=lambda: look_at_clock(date, self.clock)),
            named(what="quota", look=lambda: self._quota("user", most)),
            named(what="quota of the user's group", look=lambda: self._quota("group", most)),
            *(check for profile in profiles for check in self._of(profile)),
        )

    def _version(self) -> Look:
        version = self.client.ask("system.version")
        reported = isinstance(version, str) and version.isprintable()
        return fine(f"OpenNebula {version}") if reported else unknown("OpenNebula does not report its version")

    def _quota(self, whose: str, most: int) -> Look:
        limits = limits_of(self.client.ask(f"{whose}.info", _OWN), f"DEFAULT_{whose.upper()}_QUOTAS")
        return quota_look(limits[0], limits[1:], most, self.present())

    def _of(self, profile: Profile) -> Iterator[Check]:
        recipe = profile.recipe
        if isinstance(recipe, OpennebulaRecipe):
            wanted = [(TEMPLATE, recipe.template), *((NETWORK, network) for network in recipe.networks)]
            for kind, written in wanted:
                look, remedy = partial(self._look_for, kind, written), remedy_for(_ONE[kind.word][1], kind.word)
                yield Check(about=About.PROFILE, name=profile.id, what=kind.word, look=look, remedy=remedy)

    def _look_for(self, kind: OpennebulaKind, written: str) -> Look:
        own_id = self.ids.of(kind, written)
        if id_of(written) is not None:  # the lookup takes an id as it is: check that the object exists
            self.client.ask(_ONE[kind.word][0], own_id)
        return found(kind.word, written, str(own_id))


def limits_of(holder: object, defaults: str) -> tuple[UsageLimit, ...]:
    """Read the quotas of a user or group, that of machines first. An unused quota has the defaults.

    >>> from xml.etree.ElementTree import fromstring
    >>> own = "<VM_QUOTA><VM><VMS>-1</VMS><VMS_USED>2</VMS_USED><CPU>-2</CPU><CPU_USED>2.50</CPU_USED></VM></VM_QUOTA>"
    >>> default = "<VM_QUOTA><VM><VMS>50</VMS></VM></VM_QUOTA>"
    >>> user = fromstring(f"<USER>{own}<DEFAULT_USER_QUOTAS>{default}</DEFAULT_USER_QUOTAS></USER>")
    >>> [str(limit) for limit in limits_of(user, "DEFAULT_USER_QUOTAS")][:2]
    ['machines 2 of 50', 'CPUs 2.5 without a limit']
    """
    own, default = _quota_of(holder, "VM_QUOTA/VM"), _quota_of(holder, f"{defaults}/VM_QUOTA/VM")
    keys = (("VMS", "machines"), *_COUNTED)
    return tuple(_limit(own, default, key, what) for key, what in keys)


def _limit(own: object, default: object, key: str, what: str) -> UsageLimit:
    most = _number(own, key, _DEFAULT)
    most = _number(default, key, _NONE) if most == _DEFAULT else most
    return UsageLimit(what=what, used=_number(own, f"{key}_USED", 0.0), most=most if most >= 0 else None)


def _quota_of(holder: object, path: str) -> object:
    """Return the quota of all clusters together; ``None``: there are only quotas of single clusters, or none."""
    found = holder.findall(path) if isinstance(holder, Element) else []
    return next((quota for quota in found if not text(quota, "CLUSTER_IDS")), None)


def _number(quota: object, key: str, otherwise: float) -> float:
    try:
        return float(text(quota, key))
    except ValueError:
        return otherwise
