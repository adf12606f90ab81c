from __future__ import annotations

import pytest

from config.counters.listing import CounterName, listed, matching
from config.counters.objects import KnownObject, ObjectShape
from config.counters.well_known import ENTRIES
from config.errors import DeclarationError
from config.load import parse
from config.model.counters import Per
from tests.support.config import DECLARATION

NETSCALER = (
    "sources:\n  ns: {netscaler: {url: 'https://192.0.2.10', user: t, password: {env: NS}, service_group: web,"
    " virtual_server: web}}\n"
)
LISTED = list(listed())


def declaration_with(entry: CounterName, per: Per) -> str:
    """A file with one more counter, written as it is listed."""
    rows = ", rows: sum" if entry.table else ""
    who = ", per: group" if per is Per.GROUP else ""
    counter = f"counters:\n  more: {{{entry.key}: '{entry.name}'{rows}{who}}}\n"
    return NETSCALER + DECLARATION.replace("counters:\n", counter)


@pytest.mark.parametrize(
    ("key", "per"),
    [("builtin", Per.MEMBER), ("snmp", Per.MEMBER)] + [(k, p) for k in ("haproxy", "netscaler") for p in Per],
)
def test_a_listed_name_can_be_written_as_it_stands(key: str, per: Per) -> None:
    ours = [entry for entry in LISTED if entry.key == key and per in entry.per]
    wrong = []
    for entry in ours:
        try:
            more = next(c for c in parse(declaration_with(entry, per), "x").counters.values() if c.id == "more")
        except DeclarationError as error:
            wrong.append(str(error))
        else:
            assert more.per is per
    assert ours
    assert wrong == []


def test_every_listed_counter_has_a_description() -> None:
    assert [entry.name for entry in LISTED if not entry.shape.description.endswith(".")] == []


def test_each_group_stands_together() -> None:
    groups = [entry.group for entry in LISTED]

    assert [group for place, group in enumerate(groups) if group in groups[:place] and groups[place - 1] != group] == []
    assert {"CloudStack", "UCD-SNMP-MIB", "HOST-RESOURCES-MIB", "IF-MIB", "HAProxy", "NetScaler"} <= set(groups)


def test_objects_of_more_mibs_are_listed_once() -> None:
    more = KnownObject(
        name="ACME-MIB::depth", oid="1.3.6.1.4.1.99999.1", column=False, shape=ObjectShape(unit="messages")
    )

    (found,) = matching(listed([more, ENTRIES[0]]), "ACME")

    assert (found.group, found.name, found.table) == ("ACME-MIB", "ACME-MIB::depth.0", False)
    assert len(list(listed([ENTRIES[0]]))) == len(LISTED)


@pytest.mark.parametrize("word", ["hrprocessorload", "HRPROCESSORLOAD", "one processor was busy", "HOST-RES"])
def test_a_word_is_looked_for_in_names_and_descriptions(word: str) -> None:
    assert "HOST-RESOURCES-MIB::hrProcessorLoad" in {entry.name for entry in matching(LISTED, word)}
