"""A series out of a real Prometheus, filled with history beforehand."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from collector.samples import Reply
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import GroupId
from handler.command import app
from handler.replay.prometheus_series import read_prometheus
from handler.replay.samples import Samples, Unreplayable
from tests.support.ports import free_tcp_port
from tests.support.prometheus import Prometheus, running_prometheus

MODEL = """\
sources: {prom: {prometheus: {url: "http://127.0.0.1:9090"}}}
counters:
  cpu: {prometheus: 'load{job="$group"}', label: member, unit: percent, range: [0, 100]}
  hits: {prometheus: 'hits_total{job="$group"}', label: member, kind: counter}
  depth: {prometheus: 'max(depth{job="$group"})'}
  swap: {snmp: UCD-SNMP-MIB::ssCpuUser.0}
conditions:
  busy: {counter: cpu, above: 80}
  hit: {counter: hits, across: sum, above: 1000}
  deep: {counter: depth, above: 5}
  swapping: {counter: swap, above: 1}
policies:
  out: {when: [busy], duration: 60s, add: 1}
  more: {when: [hit, deep, swapping], add: 1}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
  web: {profile: web, min: 2, max: 6, interval: 10s, policies: [out, more]}
"""
STEP, TICKS = 10, 12_000
"""More points than Prometheus gives at once."""
SILENT = range(6_000, 6_120)
"""Ticks at which ``b`` had no sample: twenty minutes."""
LATER = 11_990
"""The tick from which on it is busy."""


def catalogue(text: str = MODEL) -> Catalogue:
    return parse(text, "model.yaml")


def history(start: int) -> Iterator[str]:
    yield "# TYPE load gauge"
    for tick in range(TICKS):
        for member in "ab":
            if member == "a" or tick not in SILENT:
                yield f'load{{job="web",member="{member}"}} {95 if tick >= LATER else 50} {start + STEP * tick}'
    yield "# TYPE hits counter"
    for tick in range(100):
        yield f'hits_total{{job="web",member="a"}} {100 * (tick if tick < 50 else tick - 50)} {start + STEP * tick}'
    yield "# TYPE depth gauge"
    for tick in range(10):
        yield f'depth{{job="web"}} {"NaN" if tick == 3 else tick} {start + STEP * tick}'
    yield "# EOF"


@pytest.fixture(scope="module")
def start() -> int:
    return int(time.time()) // 7200 * 7200 - STEP * TICKS - 7200


@pytest.fixture(scope="module")
def prometheus(start: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    home = tmp_path_factory.mktemp("prometheus")
    text = home / "history.txt"
    text.write_text("\n".join(history(start)) + "\n")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(home / "series")],
        check=True,
        capture_output=True,
    )
    with running_prometheus(home) as server:
        yield server


def read(server: Prometheus, start: int, ticks: range, model: str = MODEL) -> tuple[Samples, tuple[str, ...]]:
    began, ended = start + STEP * ticks.start, start + STEP * ticks.stop
    return read_prometheus(server.url, catalogue(model), (GroupId("web"),), began, ended)


def readings(samples: Samples, counter: str, member: str | None, start: int) -> dict[int, float | Reply]:
    """Value, or why there is none, by tick."""
    found: dict[int, float | Reply] = {}
    for row in range(len(samples)):
        code = samples.member.codes[row]
        mine = (samples.counter.words[samples.counter.codes[row]], samples.member.words[code] if code >= 0 else None)
        if mine == (counter, member):
            reply = Reply(int(samples.reply[row]))
            tick = round((samples.at[row] - start) / STEP)
            found[tick] = float(samples.value[row]) if reply is Reply.OK else reply
    return found


@pytest.mark.real("prometheus")
def test_what_was_scraped_is_what_polls_would_have_read(prometheus: Prometheus, start: int) -> None:
    samples, caveats = read(prometheus, start, range(100))

    assert readings(samples, "cpu", "a", start) == dict.fromkeys(range(100), 50.0)
    assert caveats == ("web: swap is left out: Prometheus is not its source",)


@pytest.mark.real("prometheus")
def test_a_gap_is_silence_and_never_nought(prometheus: Prometheus, start: int) -> None:
    samples, _ = read(prometheus, start, range(5_990, 6_130))

    values = readings(samples, "cpu", "b", start)
    assert [values[tick] for tick in (5_999, 6_000, 6_002, 6_004, 6_030, 6_119, 6_120)] == [
        50.0,
        50.0,  # Prometheus shows it on, and freshness allows three intervals
        50.0,
        Reply.STALE,
        Reply.NO_SUCH_COUNTER,
        Reply.NO_SUCH_COUNTER,
        50.0,
    ]


@pytest.mark.real("prometheus")
def test_the_first_and_the_last_series_of_a_member_bound_its_life(prometheus: Prometheus, start: int) -> None:
    samples, _ = read(prometheus, start, range(5_900, 6_100))

    assert max(readings(samples, "cpu", "b", start)) == 6_029  # five minutes after its last sample
    assert max(readings(samples, "cpu", "a", start)) == 6_099


@pytest.mark.real("prometheus")
def test_a_value_of_the_group_that_does_not_come_is_asked_for_all_the_same(prometheus: Prometheus, start: int) -> None:
    samples, _ = read(prometheus, start, range(60))

    values = readings(samples, "depth", None, start)
    assert (values[2], values[3], values[9], values[59]) == (2.0, Reply.MALFORMED, 9.0, Reply.NO_SUCH_COUNTER)
    assert len(values) == 60


@pytest.mark.real("prometheus")
def test_what_can_be_had_late_is_of_so_long_ago(prometheus: Prometheus, start: int) -> None:
    late = MODEL.replace("""job="$group"})'}""", """job="$group"})', lag: 20s}""")

    values = readings(read(prometheus, start, range(60), late)[0], "depth", None, start)
    assert (values[0], values[4], values[9]) == (Reply.NO_SUCH_COUNTER, 2.0, 7.0)


@pytest.mark.real("prometheus")
def test_a_count_that_rises_is_read_raw_at_the_times_of_its_samples(prometheus: Prometheus, start: int) -> None:
    samples, _ = read(prometheus, start, range(60))

    values = readings(samples, "hits", "a", start)
    assert (values[0], values[49], values[50]) == (0.0, 4_900.0, 0.0)


@pytest.mark.real("prometheus")
def test_a_long_time_is_asked_in_pages_and_replayed(
    prometheus: Prometheus, start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(MODEL)

    done = replayed(f"prometheus:{prometheus.url}", "--since", str(start), "--until", str(start + STEP * TICKS))

    assert done.exit_code == 0, done.stderr
    values = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["at"] - start, line["desired_to"]) for line in values] == [(0, 2), (STEP * (LATER + 6), 3)]


def replayed(series: str, *words: str) -> Result:
    return CliRunner().invoke(app, ["replay", "model.yaml", "--series", series, *words, "--json"])


@pytest.mark.real("prometheus")
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param('load{job="$group"}', "load{", "cpu: malformed: bad_data:.*parse error", id="no-query"),
        pytest.param('load{job="$group"}', "vector(1)", "", id="no-label"),
    ],
)
def test_what_is_wrong_with_a_query_is_reported(
    before: str, after: str, message: str, prometheus: Prometheus, start: int
) -> None:
    model = MODEL.replace(before, after)
    if message:
        with pytest.raises(Unreplayable, match=message):
            read(prometheus, start, range(10), model)
    else:
        samples, _ = read(prometheus, start, range(10), model)
        assert set(readings(samples, "cpu", "a", start).values()) <= {Reply.NO_SUCH_COUNTER}


@pytest.mark.real("prometheus")
def test_a_time_without_values_is_no_series(prometheus: Prometheus, start: int) -> None:
    with pytest.raises(Unreplayable, match="has no value"):
        read(prometheus, start - 10**6, range(10))


def test_a_server_that_does_not_answer_is_reported_without_its_address() -> None:
    url = f"http://user:hidden@127.0.0.1:{free_tcp_port()}"

    with pytest.raises(Unreplayable, match="prometheus: counter") as caught:
        read_prometheus(url, catalogue(), (GroupId("web"),), 0.0, 100.0)
    assert "hidden" not in str(caught.value)


def test_a_query_that_finds_the_members_of_two_groups_alike_is_refused() -> None:
    model = MODEL.replace('{job="$group"}', "").replace(
        "groups:\n", "groups:\n  api: {profile: web, min: 2, max: 6, interval: 10s, policies: [out]}\n"
    )

    with pytest.raises(Unreplayable, match=r"cpu: its query finds the members of api and web alike; put \$group"):
        read_prometheus("http://127.0.0.1:9", catalogue(model), (GroupId("api"), GroupId("web")), 0.0, 100.0)


def test_counters_of_other_sources_have_no_series_there() -> None:
    model = MODEL.replace("policies: [out, more]", "policies: [swaps]").replace(
        "  more: {", "  swaps: {when: [swapping], add: 1}\n  more: {"
    )

    with pytest.raises(Unreplayable, match="no policy of these groups reads a counter whose source is Prometheus"):
        read_prometheus("http://127.0.0.1:9", catalogue(model), (GroupId("web"),), 0.0, 100.0)
