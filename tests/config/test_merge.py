"""A file and the entities of the API as one declaration."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import pytest

from config.document.entities import Entity
from config.document.overlay import trespasses
from config.document.places import ParsedText, read_places
from config.errors import DeclarationError
from config.load import catalogue_of, parse
from config.merge import Merged, losses, merge
from config.model.sections import Section

FILE = """\
counters: {cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0}, queue: {http: {url: "http://q", jsonpath: $.a, bearer: {env: KEY}}}}
conditions:
  busy: {counter: cpu, above: 80}
policies:
  out: {when: [busy], add: 1}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve], snmp: {community: {env: SNMP}}}}
groups:
  web: {profile: web, min: 1, max: 4, policies: [out]}
"""
AT_URL: dict[str, Any] = {"http": {"url": "http://queue.example.org/", "jsonpath": "$.a"}}
A_GROUP = {"profile": "web", "min": 1, "max": 2, "policies": ["out"]}


def read(text: str = FILE) -> ParsedText:
    return read_places(text, "f.yaml")


def entity(section: Section, id: str, body: Any, revision: int = 1) -> Entity:
    return Entity(section=section, id=id, name=id, text=json.dumps(body), revision=revision)


def group(id: str = "api-bcd", **changes: object) -> Entity:
    return entity(Section.GROUPS, id, A_GROUP | changes)


def policy(id: str = "up-bcd", **changes: object) -> Entity:
    return entity(Section.POLICIES, id, {"when": ["busy"], "add": 2} | changes)


def merged(*entities: Entity, text: str = FILE, suspects: Collection[Any] = ()) -> Merged:
    return merge(read(text), entities, suspects)


def refused(*entities: Entity, text: str = FILE) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        merged(*entities, text=text)
    return [str(problem) for problem in caught.value.problems]


def test_without_entities_the_catalogue_is_the_file_s() -> None:
    assert merged().catalogue == catalogue_of(read())


def test_an_entity_means_what_the_same_entry_of_the_file_means() -> None:
    in_the_file = FILE + "  api-bcd: {profile: web, min: 1, max: 2, policies: [out]}\n"
    both, alone = merged(group()).catalogue, parse(in_the_file, "f.yaml")
    assert both.digest == alone.digest
    assert both.groups == alone.groups
    assert both.written == alone.written


def test_entities_may_use_each_other_and_the_file_s() -> None:
    found = merged(
        entity(Section.COUNTERS, "load_bcd", {"push": "LOAD"}),
        entity(Section.CONDITIONS, "high-bcd", {"expression": "load_bcd > 5 && cpu > 20"}),
        policy(when=["high-bcd", "busy"]),
        group(policies=["up-bcd", "out"]),
    ).catalogue
    assert found.groups["api-bcd"].policies == ("up-bcd", "out")  # type: ignore[index]


def test_a_section_that_the_file_does_not_have_is_made() -> None:
    text = FILE.partition("groups:")[0]
    assert set(merged(group(), text=text).catalogue.groups) == {"api-bcd"}


@pytest.mark.parametrize(
    ("entities", "problem"),
    [
        ([group(min=3)], "api/groups/api-bcd:1: groups.api-bcd.min: 3 is more than max, 2"),
        ([group(minn=3)], "groups.api-bcd: unknown key 'minn'; the nearest is min"),
        ([group(profile="wep")], "api/groups/api-bcd:1: groups.api-bcd.profile: 'wep' is not among the profiles"),
        ([group("Big")], "api/groups/Big:1: groups: 'Big' is not a group name"),
        (
            [group("web")],
            (
                "f.yaml:9: groups.web belongs to the API, at api/groups/web:1: use another name here, or "
                "delete that one over the API first"
            ),
        ),
        ([group(notify={"command": ["/bin/sh"]})], "only the file may say where notifications go"),
        (
            [entity(Section.PROFILES, "p-bcd", {"cloud": "box", "command": ["/bin/sh"]})],
            "api/profiles/p-bcd:1: profiles.p-bcd.command: only the file may name programs",
        ),
        (
            [entity(Section.COUNTERS, "c_b", AT_URL | {"http": AT_URL["http"] | {"ca": "/etc/shadow"}})],
            "counters.c_b.http.ca: only the file may name a certificate's file",
        ),
        (
            [policy(forecast={"load": {"counter": "cpu", "each": 9}, "holidays": {"calendar": "/etc/shadow"}})],
            "policies.up-bcd.forecast.holidays.calendar: only the file may name a calendar's file",
        ),
        (
            [entity(Section.COUNTERS, "c_b", AT_URL | {"http": AT_URL["http"] | {"bearer": {"env": "KEY"}}})],
            "counters.c_b.http.bearer: a URL of the API is sent no secret",
        ),
        (
            [entity(Section.PROFILES, "p-bcd", {"cloud": "box", "snmp": {"community": {"file": "/etc/shadow"}}})],
            "profiles.p-bcd.snmp.community: an entity of the API may name only secrets that the file names",
        ),
    ],
)
def test_an_entity_is_refused_at_its_place_with_the_words_that_the_file_gets(
    entities: list[Entity], problem: str
) -> None:
    assert any(problem in each for each in refused(*entities)), refused(*entities)


def test_an_entity_may_name_a_field_of_the_vault_only_with_the_path_that_it_has_in_the_file() -> None:
    vault = 'vault: {url: "https://vault.example.org", token: {env: A}}\n'
    profiles = "  %s: {cloud: box, command: [serve], snmp: {community: {vault: secret/%s, field: %s}}}\n"
    file = vault + FILE.replace(
        "profiles: {web: {cloud: box, command: [serve], snmp: {community: {env: SNMP}}}}\n",
        "profiles:\n" + profiles % ("web", "web", "community") + profiles % ("api", "api", "password"),
    )

    def found(path: str, field: str) -> int:
        community = {"vault": f"secret/{path}", "field": field}
        body = {"cloud": "box", "snmp": {"community": community}}
        return len(list(trespasses(read(file), [entity(Section.PROFILES, "p-bcd", body)])))

    assert (found("web", "community"), found("api", "password")) == (0, 0)
    assert (found("web", "password"), found("api", "community")) == (1, 1)


def test_the_urls_of_the_api_are_guarded_and_those_of_the_file_are_not() -> None:
    catalogue = merged(entity(Section.COUNTERS, "c_b", AT_URL)).catalogue
    assert {"c_b", "queue"} <= catalogue.counters.keys()
    assert catalogue.guarded == {"c_b"}


def test_an_entity_may_name_a_secret_that_the_file_names_in_the_same_place() -> None:
    def profile(community: str) -> Entity:
        return entity(Section.PROFILES, "p-bcd", {"cloud": "box", "snmp": {"community": {"env": community}}})

    assert not list(trespasses(read(), [profile("SNMP")]))
    assert list(trespasses(read(), [profile("OTHER")]))


def test_what_the_file_declares_cannot_use_the_api_s_and_both_places_are_named() -> None:
    text = FILE.replace("policies: [out]", "policies: [up-bcd]")
    assert refused(policy(), text=text) == [
        (
            "f.yaml:9: groups.web.policies[1]: policies.up-bcd belongs to the API, at api/policies/up-bcd:1: the "
            "file can use only what the file declares"
        )
    ]


def test_problems_of_the_file_are_reported_alone() -> None:
    assert refused(group(), text=FILE.replace("max: 4", "max: 0")) == [
        "f.yaml:9: groups.web.min: 1 is more than max, 0"
    ]


def test_a_suspect_that_is_unsound_is_quarantined_with_all_that_uses_it() -> None:
    one, two, well = policy(add=-1), group(policies=["up-bcd"]), group("well-bcd")
    found = merged(one, two, well, suspects={one.key, two.key, well.key})
    assert set(found.catalogue.groups) == {"web", "well-bcd"}
    assert set(found.quarantined) == {one.key, two.key}
    assert "not among the policies" in str(found.quarantined[two.key][0])


def test_an_id_that_the_file_takes_is_the_file_s_and_the_suspect_is_quarantined() -> None:
    found = merged(group("web"), suspects={("groups", "web")})
    assert found.catalogue.groups["web"].maximum == 4  # type: ignore[index]
    assert set(found.quarantined) == {("groups", "web")}


def test_a_suspect_excuses_no_other_entity() -> None:
    suspect, other = policy(add=-1), group(min=9)
    with pytest.raises(DeclarationError, match="9 is more than max"):
        merge(read(), [suspect, other], {suspect.key})


def test_an_entry_that_is_taken_away_is_named_with_its_user() -> None:
    before = merged(group()).catalogue
    after = read(FILE.replace("  out: {when", "  up: {when").replace("policies: [out]", "policies: [up]"))
    assert [str(problem) for _, problem in losses(before, after, [group()])] == [
        (
            "api/groups/api-bcd:1: groups.api-bcd uses policies.out, which stood at f.yaml:5 and is gone from the "
            "file: put it back, or change groups.api-bcd over the API first"
        )
    ]
    assert not list(losses(before, read(), [group()]))
