from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from config.counters import mibs
from config.counters.mibs import read_mibs, read_objects
from config.counters.objects import KnownObject
from config.errors import DeclarationError
from config.load import parse
from config.model.counters import CounterKind
from tests.support.config import DECLARATION
from tests.support.mibs import OLD_MIB, QUEUE_MIB, a_gauge, a_mib, folder_of


def objects_of(tmp_path: Path, **files: str) -> dict[str, KnownObject]:
    objects, faults = read_objects([folder_of(tmp_path / "mibs", **files)], None)
    assert faults == ()
    return {known.name: known for known in objects}


def faults_of(*folders: str) -> list[str]:
    return [fault.message for fault in read_objects(folders, None)[1]]


@pytest.mark.parametrize(
    ("name", "oid", "kind", "bits", "unit", "scale", "range"),
    [
        ("queueTotal", "1.3.6.1.4.1.99999.1.1", CounterKind.RISING, 64, "messages/s", 1, None),
        ("queueFill", "1.3.6.1.4.1.99999.1.2", CounterKind.GAUGE, 32, "percent", 1, (0, 100)),
        ("queueAge", "1.3.6.1.4.1.99999.1.3", CounterKind.GAUGE, 32, "s", 0.01, None),
        ("queueBytes", "1.3.6.1.4.1.99999.1.4", CounterKind.RISING, 32, "bytes/s", 1, None),
        ("queueRoom", "1.3.6.1.4.1.99999.1.5", CounterKind.GAUGE, 64, "kilobytes", 1, None),
        ("queueWait", "1.3.6.1.4.1.99999.1.6", CounterKind.GAUGE, 32, "s", 0.01, None),
        ("queueDelay", "1.3.6.1.4.1.99999.1.7", CounterKind.GAUGE, 32, "ms", 1, None),
        ("laneDepth", "1.3.6.1.4.1.99999.1.9.1.2", CounterKind.GAUGE, 32, "messages", 1, None),
    ],
)
def test_an_object_has_the_properties_of_its_mib(
    tmp_path: Path,
    name: str,
    oid: str,
    kind: CounterKind,
    bits: int,
    unit: str,
    scale: float,
    range: tuple[float, float] | None,
) -> None:
    known = objects_of(tmp_path, ACME="", queue_txt=QUEUE_MIB)[f"ACME-QUEUE-MIB::{name}"]

    shape = known.shape
    assert (known.oid, shape.kind, shape.bits, shape.unit, shape.scale) == (oid, kind, bits, unit, scale)
    assert shape.range == range
    assert known.column == name.startswith("lane")


def test_an_object_that_is_never_a_number_has_no_name(tmp_path: Path) -> None:
    names = {name.partition("::")[2] for name in objects_of(tmp_path, queue_mib=QUEUE_MIB)}

    assert not names & {"queueOwner", "laneTable", "laneEntry", "acmeQueue"}
    assert "laneName" in names  # text may hold a number


def test_a_description_is_its_first_sentence(tmp_path: Path) -> None:
    known = objects_of(tmp_path, queue_mib=QUEUE_MIB)["ACME-QUEUE-MIB::queueTotal"]

    assert known.shape.description == "Messages that ever came, e.g. over the network."


def test_a_mib_of_1991_is_understood(tmp_path: Path) -> None:
    hits = objects_of(tmp_path, old_my=OLD_MIB)["OLD-MIB::oldHits"]

    assert (hits.oid, hits.column, hits.shape.kind) == ("1.3.6.1.4.1.88888.1.1.1", True, CounterKind.RISING)


def test_mibs_find_each_other_over_folders(tmp_path: Path) -> None:
    root = a_mib("ROOT-MIB", "root OBJECT IDENTIFIER ::= { enterprises 7 }\nTenths ::= INTEGER (0..10)")
    leaf = a_mib("LEAF-MIB", a_gauge("leaf", "root 1"), "root FROM ROOT-MIB")
    folders = [folder_of(tmp_path / "a", leaf=leaf), folder_of(tmp_path / "b", root=root)]

    objects, faults = read_objects(folders, None)

    assert [(known.name, known.oid) for known in objects] == [("LEAF-MIB::leaf", "1.3.6.1.4.1.7.1")]
    assert faults == ()


def test_a_mib_that_is_well_known_keeps_the_well_known_meaning(tmp_path: Path) -> None:
    text = a_mib("UCD-SNMP-MIB", a_gauge("ssCpuUser", "enterprises 2021 11 9") + a_gauge("ssMore", "enterprises 1"))
    lexicon, _ = read_mibs([folder_of(tmp_path, ucd=text)], None)

    kept, added = lexicon.resolve("ssCpuUser.0"), lexicon.resolve("UCD-SNMP-MIB::ssMore.0")

    assert kept is not None
    assert kept.shape.unit == "percent"
    assert added is not None


def test_the_same_mib_in_two_folders_is_one(tmp_path: Path) -> None:
    folders = [folder_of(tmp_path / "a", queue=QUEUE_MIB), folder_of(tmp_path / "b", queue=QUEUE_MIB)]

    assert faults_of(*folders) == []


def test_only_mibs_are_looked_at_in_a_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, queue=QUEUE_MIB, README_txt="Not a MIB.", _hidden_mib="nor this")
    folder_of(tmp_path / "below", broken_mib="X DEFINITIONS ::= BEGIN nonsense")

    assert faults_of(folder) == []


# Problems of MIBs.


def test_a_missing_folder_is_a_problem(tmp_path: Path) -> None:
    assert faults_of(f"{tmp_path}/no") == [f"the folder {tmp_path}/no cannot be read: No such file or directory"]


def test_a_folder_without_mibs_is_a_problem(tmp_path: Path) -> None:
    assert faults_of(str(tmp_path)) == [f"the folder {tmp_path} holds no MIB"]


def test_a_mib_that_does_not_parse_is_a_problem_with_its_line(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, bad_mib=QUEUE_MIB.replace("SYNTAX TimeTicks", "SYNTACKS TimeTicks"))

    line = QUEUE_MIB[: QUEUE_MIB.index("SYNTAX TimeTicks")].count("\n") + 1
    written = (
        'SYNTACKS TimeTicks MAX-ACCESS read-only STATUS current DESCRIPTION "Age of the oldest." ::= { acmeQueue 3 }'
    )
    remedy = "correct the MIB, or take it out of the folder"
    assert faults_of(folder) == [f"{tmp_path}/bad.mib:{line}: not understood near '{written}': {remedy}"]


def test_a_file_with_the_name_of_a_mib_that_is_none_is_a_problem(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, queue=QUEUE_MIB, empty_mib="")

    assert faults_of(folder) == [
        f"{tmp_path}/empty.mib: no MIB, for want of DEFINITIONS ::= BEGIN: take it out of the folder"
    ]


@pytest.mark.parametrize(
    ("imports", "definitions", "message"),
    [
        (
            "enterprises\n  FROM SNMPv2-SMI\n  acmeRoot FROM ACME-SMI",
            a_gauge("x", "acmeRoot 1"),
            ":4: X-MIB imports acmeRoot from ACME-SMI, which is in none of the folders: put the file of ACME-SMI there",
        ),
        (
            "Strange FROM ACME-TC",
            a_gauge("x", "enterprises 1").replace("INTEGER", "Strange"),
            ":2: X-MIB imports Strange from ACME-TC, which is in none of the folders: put the file of ACME-TC there",
        ),
        (
            "queueRoot FROM ACME-QUEUE-MIB",
            a_gauge("x", "queueRoot 1") + a_gauge("y", "queueRoot 2"),
            ":2: X-MIB imports queueRoot from ACME-QUEUE-MIB, and {folder}/queue does not define it: same age?",
        ),
        (
            "enterprises FROM SNMPv2-SMI",
            a_gauge("x", "nothing 1"),
            ":1: X-MIB uses nothing, which it neither defines nor imports: correct the MIB",
        ),
        (
            "enterprises FROM SNMPv2-SMI",
            "a OBJECT IDENTIFIER ::= { b 1 }\nb OBJECT IDENTIFIER ::= { a 1 }\n" + a_gauge("x", "a 1"),
            ":1: X-MIB defines a by itself: correct the MIB",
        ),
    ],
    ids=["import-of-a-place", "import-of-a-type", "import-of-another-age", "no-import", "circle"],
)
def test_an_import_that_is_needed_and_missing_is_a_problem(
    tmp_path: Path, imports: str, definitions: str, message: str
) -> None:
    folder = folder_of(tmp_path, queue=QUEUE_MIB, x=a_mib("X-MIB", definitions, imports))

    assert faults_of(folder) == [f"{tmp_path}/x{message.format(folder=folder)}"]


def test_an_import_that_is_not_needed_may_be_missing(tmp_path: Path) -> None:
    text = a_mib("X-MIB", a_gauge("x", "enterprises 1"), "enterprises FROM SNMPv2-SMI  acmeIndex FROM ACME-SMI")

    assert objects_of(tmp_path, x=text).keys() == {"X-MIB::x"}


def test_two_mibs_of_one_name_are_a_problem(tmp_path: Path) -> None:
    other = a_mib("ACME-QUEUE-MIB", a_gauge("x", "enterprises 1"))
    folders = [folder_of(tmp_path / "a", queue=QUEUE_MIB), folder_of(tmp_path / "b", queue=other)]

    assert faults_of(*folders) == [
        f"{tmp_path}/b/queue: {tmp_path}/a/queue defines another ACME-QUEUE-MIB: keep one of the two"
    ]


def test_an_endless_file_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mibs, "_LARGEST", 10)

    assert faults_of(folder_of(tmp_path, queue=QUEUE_MIB)) == [
        f"{tmp_path}/queue cannot be read: it is larger than 10 bytes"
    ]


@pytest.mark.parametrize(
    "text",
    [
        QUEUE_MIB[: len(QUEUE_MIB) // 2],
        QUEUE_MIB.replace("END\n", ""),
        QUEUE_MIB.replace('"How full."', '"How full.'),
        QUEUE_MIB.replace("99999", "9" * 50),
        QUEUE_MIB.replace("{ acmeQueue 1 }", "{ acmeQueue -1 }"),
        QUEUE_MIB.replace("Gauge32\n", "Depth\n"),
        QUEUE_MIB + QUEUE_MIB,
        "A DEFINITIONS ::= BEGIN END",
        "A DEFINITIONS ::= BEGIN " + "{" * 10_000,
        "A DEFINITIONS ::= BEGIN\n"
        + "".join(f"n{i} OBJECT IDENTIFIER ::= {{ n{i + 1} 1 }}\n" for i in range(3000))
        + a_gauge("x", "n0 1")
        + "END\n",
        "A DEFINITIONS ::= BEGIN \x00\ud800\x80 END",
    ],
    ids=[
        "truncated", "no-end", "open-quote", "giant-arc", "negative-arc", "type-of-itself", "twice", "empty", "braces",
        "chain", "garbage",
    ],
)  # fmt: skip
def test_no_text_raises(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.mib").write_bytes(text.encode("utf-8", "surrogatepass"))

    objects, _ = read_objects([str(tmp_path)], tmp_path / "cache")

    assert all(known.oid.startswith("1.") for known in objects)


# The cache.


def test_a_mib_that_was_parsed_is_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, cache = folder_of(tmp_path / "mibs", queue=QUEUE_MIB, old=OLD_MIB), tmp_path / "new" / "cache"
    first = read_objects([folder], cache)

    def parsed(_text: str) -> NoReturn:
        raise AssertionError("parsed again")

    monkeypatch.setattr(mibs, "modules_of", parsed)

    assert read_objects([folder], cache) == first
    assert len(list(cache.iterdir())) == 2


def test_a_mib_that_changed_is_parsed_again(tmp_path: Path) -> None:
    folder_of(tmp_path / "mibs", queue=QUEUE_MIB)
    read_objects([str(tmp_path / "mibs")], tmp_path / "cache")
    folder_of(tmp_path / "mibs", queue=QUEUE_MIB.replace("99999", "77777"))

    objects, _ = read_objects([str(tmp_path / "mibs")], tmp_path / "cache")

    assert objects[0].oid == "1.3.6.1.4.1.77777.1.1"


@pytest.mark.parametrize(
    "kept", [b"", b"{}", b"[]", b'{"format": 1, "modules": [{"name": 5}]}', b'{"format": 99, "modules": []}', b"\xff"]
)
def test_a_cache_that_is_damaged_is_made_anew(tmp_path: Path, kept: bytes) -> None:
    folder = folder_of(tmp_path / "mibs", queue=QUEUE_MIB)
    first = read_objects([folder], tmp_path / "cache")
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(kept)

    assert read_objects([folder], tmp_path / "cache") == first


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    folder = folder_of(tmp_path / "mibs", queue=QUEUE_MIB)

    assert read_objects([folder], tmp_path / "cache")[1] == ()


# In a declaration.


@pytest.fixture
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


UNKNOWN = "a numeric OID with its instance, nor a well-known name such as UCD-SNMP-MIB::ssCpuUser.0"
RIVALS = ("SNMPv2-MIB::sysUpTime.0", "MORE-MIB::sysUpTime.0")


def with_mibs(folder: str, counter: str) -> str:
    return f"mibs: [{folder}]\n" + DECLARATION.replace("snmp: UCD-SNMP-MIB::ssCpuUser.0", counter)


def problems(text: str) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        parse(text, "web.yaml")
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.usefixtures("_cache")
def test_a_counter_names_an_object_of_a_mib(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "mibs", queue=QUEUE_MIB)

    catalogue = parse(with_mibs(folder, "snmp: queueDelay.0, unit: s, kind: gauge"), "web.yaml")
    counter = next(counter for counter in catalogue.counters.values() if counter.id == "cpu")

    assert counter.source.oid == "1.3.6.1.4.1.99999.1.7.0"  # type: ignore[union-attr]
    assert (counter.unit, counter.scale, counter.bits) == ("s", 0.001, 32)
    assert list((tmp_path / "cache" / "trimtab" / "mibs").iterdir())


@pytest.mark.usefixtures("_cache")
def test_a_counter_reads_a_column_of_a_mib(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "mibs", queue=QUEUE_MIB)

    for written, oid in (("laneDepth, rows: sum", "99999.1.9.1.2"), ("'laneDepth.\"a\"'", "99999.1.9.1.2.1.97")):
        catalogue = parse(with_mibs(folder, f"snmp: {written}"), "web.yaml")
        source = next(counter.source for counter in catalogue.counters.values() if counter.id == "cpu")
        assert source.oid == f"1.3.6.1.4.1.{oid}"  # type: ignore[union-attr]


@pytest.mark.usefixtures("_cache")
@pytest.mark.parametrize(
    ("counter", "message"),
    [
        ("snmp: queueDelai.0", f"'queueDelai.0' is not {UNKNOWN}; the nearest known: ACME-QUEUE-MIB::queueDelay.0"),
        ("snmp: laneDeph, rows: sum", f"'laneDeph' is not {UNKNOWN}; the nearest known: ACME-QUEUE-MIB::laneDepth"),
        (
            "snmp: sysUpTime.0",
            f"'sysUpTime.0' is not clear, since several MIBs define it: write {' or '.join(RIVALS)}",
        ),
    ],
    ids=["object", "column", "two-mibs"],
)  # fmt: skip
def test_an_unknown_name_is_a_problem_that_shows_the_nearest(tmp_path: Path, counter: str, message: str) -> None:
    more = a_mib("MORE-MIB", a_gauge("sysUpTime", "enterprises 5"))
    folder = folder_of(tmp_path / "mibs", queue=QUEUE_MIB, more=more)

    (only,) = problems(with_mibs(folder, counter))

    assert only.startswith(f"web.yaml:3: counters.cpu.snmp: {message}")


@pytest.mark.usefixtures("_cache")
def test_a_fault_of_a_mib_is_one_problem_and_its_counters_are_left_alone(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "mibs", queue=QUEUE_MIB.replace("SYNTAX TimeTicks", "SYNTACKS TimeTicks"))

    (only,) = problems(with_mibs(folder, "snmp: queueDelay.0"))

    assert only.startswith(f"web.yaml:1: mibs[1]: {folder}/queue:25: not understood near ")


def test_folders_are_absolute_paths() -> None:
    assert problems(with_mibs("mibs", "snmp: ssCpuUser.0")) == ["web.yaml:1: mibs[1]: 'mibs' is not an absolute path"]


@pytest.mark.parametrize(
    "written",
    ['["/a\\0b"]', "[/dev, /proc/self]", "[5, {a: b}]", "5", "{}", "[/etc/hostname]", "[/nonexistent, /nonexistent]"],
    ids=["no-path", "devices", "no-text", "no-list", "mapping", "file", "twice"],
)
def test_nothing_in_place_of_folders_raises(written: str) -> None:
    found = problems(f"mibs: {written}\n" + DECLARATION)

    assert found
    assert all(problem.startswith("web.yaml:1: mibs") for problem in found)


def test_pysmi_is_not_imported_without_mibs() -> None:
    code = "import sys; from config.load import load; from pathlib import Path; load(Path('config/examples/web.yaml'))"
    code += "; import handler.cli.main; sys.exit('pysmi' in sys.modules or 'config.counters.mibs' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
