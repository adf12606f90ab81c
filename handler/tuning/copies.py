"""Copies of one group under other settings, as one declaration: they are replayed side by side.

The declaration is made anew from the file's own values, so that a copy is read, checked and built exactly as the file
with that setting would be.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from config.document.places import ParsedText, Plain
from config.errors import DeclarationError
from config.load import catalogue_of
from config.model.balancers import HaproxyBalancer
from config.model.catalogue import BalancerUse, Catalogue
from config.model.where import Where
from config.units import CounterId, GroupId, PolicyId, Seconds, format_span
from handler.tuning.parameters import Candidate, Parameter

LOAD = CounterId("load")
"""What a forecast in place of the policies reads: the load of the whole group."""
_LONGEST_BOOT: Seconds = 3600.0
_COPIED = re.compile(r"p(\d+)-\d+(.*)")
"""The name of a copy's policy: its place among those of the group, the number of the copy, and which part it is."""
_KEPT = ("mibs", "sources", "vault")
_ELSEWHERE = ("notify", "service", "observe")
"""Keys of a group that do not change what its policies ask for, and name what a copy lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedGroup:
    """A group, as its file declares it."""

    reading: ParsedText
    catalogue: Catalogue
    """Made of the reading."""
    group: GroupId
    parameters: tuple[Parameter, ...]


def name_of(number: int) -> GroupId:
    """Return the name of a copy."""
    return GroupId(f"copy-{number}")


def policy_behind(tuned: TunedGroup, policy: PolicyId) -> PolicyId:
    """Return the policy of the group of which a copy's policy is a copy."""
    found = _COPIED.fullmatch(policy)
    return policy if found is None else PolicyId(tuned.catalogue.groups[tuned.group].named[int(found[1])] + found[2])


def copies(tuned: TunedGroup, candidates: Sequence[Candidate]) -> Catalogue:
    """Declare a copy of the group for each setting; they are named by `name_of`.

    Raises:
        DeclarationError: a setting is refused by the rules of the file.
    """
    data: dict[str, Plain] = {**_surroundings(tuned), "counters": _counters(tuned)}
    sections: dict[str, dict[str, Plain]] = {"conditions": {}, "policies": {}, "profiles": {}, "groups": {}}
    for number, candidate in enumerate(candidates):
        for section, entries in _copy(tuned, candidate, number).items():
            sections[section] |= entries
    return catalogue_of(ParsedText(file=tuned.reading.file, data={**data, **sections}, keys={}, values={}, problems=()))


def with_forecast(tuned: TunedGroup, each: float, boot: Seconds) -> Catalogue:
    """Declare the group with a forecast as its only policy; it is named ``name_of(0)``, and reads `LOAD`.

    Args:
        tuned: the group.
        each: what a member may carry.
        boot: how long a member takes until it serves.
    """
    forecast: Plain = {"load": {"counter": LOAD, "each": each}, "boot": format_span(min(max(boot, 1.0), _LONGEST_BOOT))}
    data: dict[str, Plain] = {
        **_surroundings(tuned),
        "counters": {LOAD: {"push": "LOAD", "per": "group"}},
        "policies": {"forecast": {"forecast": forecast}},
        "profiles": {_profile_of(0): _profile(tuned, 0)},
        "groups": {name_of(0): _group(tuned, 0, ["forecast"])},
    }
    return catalogue_of(ParsedText(file=tuned.reading.file, data=data, keys={}, values={}, problems=()))


def with_values(reading: ParsedText, parameters: Sequence[Parameter], candidate: Candidate) -> ParsedText:
    """Return what a file would say with a setting; of all its entries, without their places."""
    data = copy.deepcopy(dict(reading.data))
    for parameter, value in zip(parameters, candidate, strict=True):
        section, name, *keys = parameter.where
        entries = data[section]
        entry = entries[name] if isinstance(entries, dict) else None
        if isinstance(entry, dict):
            _set(entry, tuple(keys), parameter.plain(value))
    return ParsedText(file=reading.file, data=data, keys={}, values={}, problems=())


def allowed(tuned: TunedGroup, candidate: Candidate) -> bool:
    """Tell whether the rules of the file allow a setting: a threshold may contradict another one, for example."""
    try:
        copies(tuned, (candidate,))
    except DeclarationError:
        return False
    return True


def _surroundings(tuned: TunedGroup) -> dict[str, Plain]:
    """Return what all copies share: what counters read from, and the cloud with the budget of all groups."""
    group = tuned.catalogue.groups[tuned.group]
    cloud = tuned.catalogue.profiles[group.profile].cloud
    granted = tuned.catalogue.granted(cloud)
    declared = _entry(tuned, "clouds", cloud)
    declared["budget"] = {"per_hour": granted.per_hour, "outstanding": granted.outstanding}
    balancers: dict[str, Plain] = {use.balancer: _entry(tuned, "balancers", use.balancer) for use in _uses(tuned)}
    kept = {name: tuned.reading.data[name] for name in _KEPT if name in tuned.reading.data}
    return {**kept, "clouds": {cloud: declared}, "balancers": balancers}


def _copy(tuned: TunedGroup, candidate: Candidate, number: int) -> Mapping[str, dict[str, Plain]]:
    """Return the entries of one copy, under names of its own."""
    named = tuned.catalogue.groups[tuned.group].named
    policies: dict[str, dict[str, Plain]] = {name: _entry(tuned, "policies", name) for name in named}
    names = dict.fromkeys(each for policy in policies.values() for each in _words(policy.get("when")))
    conditions = {name: _entry(tuned, "conditions", name) for name in names}
    for parameter, value in zip(tuned.parameters, candidate, strict=True):
        section, name, *keys = parameter.where
        _set((policies if section == "policies" else conditions)[name], tuple(keys), parameter.plain(value))
    renamed = {name: f"c{place}-{number}" for place, name in enumerate(conditions)}
    for policy in policies.values():
        if "when" in policy:
            policy["when"] = [renamed[each] for each in _words(policy["when"])]
        if isinstance(by := policy.get("by"), str):
            policy["by"] = renamed[by]
    own = {name: f"p{place}-{number}" for place, name in enumerate(policies)}
    return {
        "conditions": {renamed[name]: entry for name, entry in conditions.items()},
        "policies": {own[name]: entry for name, entry in policies.items()},
        "profiles": {_profile_of(number): _profile(tuned, number)},
        "groups": {name_of(number): _group(tuned, number, list(own.values()))},
    }


def _group(tuned: TunedGroup, number: int, policies: list[Plain]) -> dict[str, Plain]:
    """Return the group as one of its copies is declared."""
    entry = {key: value for key, value in _entry(tuned, "groups", tuned.group).items() if key not in _ELSEWHERE}
    uses: list[Plain] = [{"use": use.balancer, "port": use.port} for use in _uses(tuned)]
    return {**entry, "profile": _profile_of(number), "balancers": uses, "policies": policies}


def _profile(tuned: TunedGroup, number: int) -> dict[str, Plain]:
    """Return the profile of a copy. A role of OneFlow has the members of one group: each copy has a service alone."""
    entry = _entry(tuned, "profiles", tuned.catalogue.groups[tuned.group].profile)
    return entry if "service" not in entry else {**entry, "service": f"{entry['service']} {number}"}


def _profile_of(number: int) -> str:
    return f"profile-{number}"


def _uses(tuned: TunedGroup) -> list[BalancerUse]:
    """Return the balancers that counters are read from: others may be for one group alone."""
    balancers, uses = tuned.catalogue.balancers, tuned.catalogue.groups[tuned.group].balancers
    return [use for use in uses if isinstance(balancers[use.balancer], HaproxyBalancer)]


def _counters(tuned: TunedGroup) -> dict[str, Plain]:
    """Return the counters. What an alert brought is in the recording, as if it had been pushed."""
    counters = tuned.reading.data.get("counters")
    return {name: _without_alert(each) for name, each in counters.items()} if isinstance(counters, dict) else {}


def _without_alert(counter: Plain) -> Plain:
    if not isinstance(counter, dict) or "alert" not in counter:
        return counter
    kept = {key: value for key, value in counter.items() if key != "alert"}
    return {**kept, "push": counter["alert"], "per": "group"}


def _set(entry: dict[str, Plain], keys: Where, value: Plain) -> None:
    for key in keys[:-1]:
        inner = entry[key]
        if not isinstance(inner, dict):
            raise TypeError(f"{key} is no mapping")
        entry = inner
    entry[keys[-1]] = value


def _entry(tuned: TunedGroup, section: str, name: str) -> dict[str, Plain]:
    """Return a copy of an entry of the file."""
    entries = tuned.reading.data.get(section)
    entry = entries.get(name) if isinstance(entries, dict) else None
    return copy.deepcopy(entry) if isinstance(entry, dict) else {}


def _words(value: Plain) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
