from __future__ import annotations

import asyncio
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from collector.samples import Reply, Scrape
from collector.sources.plugins import PluginSource
from collector.targets import Source
from config.errors import DeclarationError
from config.load import parse
from config.model.counters import Counter, Per, PluginValue
from config.units import CounterId
from tests.collector.sources.test_poll import puts
from tests.support.collector import a_catalogue, a_poller, an_object, answers, real_clock, rosters
from tests.support.plugins import a_plugin, built
from tests.support.waiting import PATIENT, scaled

SOURCES = Path(__file__).parents[3] / "docs" / "sources.md"
Reports = list[tuple[str, str | None]]
Install = Callable[[str, str], None]

FINE = """
class Plugin:
    async def fetch(self, asked):
        for row in range(len(asked.sheet.layout.series)):
            asked.sheet.put(row, 42.0 + row, at=asked.clock().steady)

    async def close(self):
        pass
"""


def doing(*lines: str, held: str = "") -> str:
    """A plugin that does this when it is asked.

    Args:
        lines: of `fetch`.
        held: a line of the class.
    """
    plain = FINE[FINE.index("        for row") : FINE.index("    async def close")]
    body = "\n".join(f"        {line}" for line in lines)
    return FINE.replace(plain, body + "\n\n").replace("class Plugin:\n", f"class Plugin:\n    {held}\n\n")


def a_value(plugin: str, *, id: str = "v", per: Per = Per.MEMBER, **options: str | float | bool) -> Counter:
    return Counter(id=CounterId(id), source=PluginValue(plugin=plugin, options=options), per=per)


def polled(
    counters: Sequence[Counter],
    *others: Source,
    times: int = 1,
    timeout: float = PATIENT,
    reports: Reports | None = None,
    members: Sequence[str] = ("a", "b"),
) -> list[Scrape]:
    async def scene() -> list[Scrape]:
        seen = [] if reports is None else reports
        plugins = PluginSource(lambda plugin, wrong: seen.append((plugin, wrong)))
        poller = a_poller(plugins, *others, secrets={"KEY": "secret-1"})
        catalogue, all_members = a_catalogue(counters), rosters(dict.fromkeys(members, "127.0.0.1"))
        try:
            return [await poller.poll(catalogue, all_members, timeout=timeout) for _ in range(times)]
        finally:
            await poller.close()

    return asyncio.run(scene())


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    def install(name: str, body: str) -> None:
        monkeypatch.syspath_prepend(a_plugin(tmp_path / name, name, body))
        monkeypatch.delitem(sys.modules, f"trimtab_{name}", raising=False)

    return install


# The example of the documentation.


def shown(language: str, having: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", SOURCES.read_text(), re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if having in block)


def declaration(folder: Path) -> str:
    return shown("yaml", "plugin:").replace("/var/spool/jobs", str(folder)) + (
        "conditions: {many: {counter: jobs, above: 5}}\n"
        "policies: {out: {when: [many], add: 1}}\n"
        "clouds: {local: {process: {}}}\n"
        "profiles: {web: {cloud: local, command: [serve]}}\n"
        "groups: {web: {profile: web, min: 1, max: 2, policies: [out]}}\n"
    )


def test_the_example_of_the_documentation_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = tmp_path / "spool"
    with pytest.raises(DeclarationError) as refused:
        parse(declaration(spool), "web.yaml")
    files = {"pyproject.toml": shown("toml", "trimtab.sources"), "spool_source.py": shown("python", "class Spool")}
    monkeypatch.syspath_prepend(built(tmp_path, files))
    catalogue = parse(declaration(spool), "web.yaml")

    async def scene() -> list[Scrape]:
        poller = a_poller(PluginSource(lambda plugin, wrong: None))
        before = await poller.poll(catalogue, rosters({}), timeout=PATIENT)
        (spool / "web").mkdir(parents=True)
        for name in "abc":
            (spool / "web" / name).touch()
        after = await poller.poll(catalogue, rosters({}), timeout=PATIENT)
        await poller.close()
        return [before, after]

    before, after = asyncio.run(scene())
    assert str(refused.value) == (
        "web.yaml:2: counters.jobs.plugin.name: no plugin 'spool' is installed: install, beside trimtab, the package "
        "that has it as an entry point of trimtab.sources"
    )
    assert answers(before) == {("", "jobs"): Reply.UNREACHABLE}
    assert before.details[0] == f"{spool}/web: No such file or directory"
    assert answers(after) == {("", "jobs"): 3.0}


def test_the_example_is_as_short_as_the_page_says() -> None:
    assert len(shown("python", "class Spool").splitlines()) <= 30


# What a plugin sees.


def test_a_plugin_sees_its_own_rows_and_no_others(install: Install) -> None:
    install("fine", FINE)
    install(
        "sees",
        doing(
            "assert [target.rows for target in asked.targets] == [{'mine': 0}, {'mine': 1}]",
            "asked.sheet.put(1, 7, at=0.0)",
        ),
    )
    counters = [
        an_object("1.1", id="cpu"),
        a_value("fine", id="fine"),
        a_value("sees", id="mine"),
        a_value("fine", id="group", per=Per.GROUP),
    ]

    (scrape,) = polled(counters, puts(0, 5.0))

    assert answers(scrape) == {
        ("a", "cpu"): 5.0,
        ("b", "cpu"): Reply.TIMEOUT,
        ("a", "fine"): 42.0,
        ("b", "fine"): 43.0,
        ("", "group"): 44.0,
        ("a", "mine"): Reply.TIMEOUT,
        ("b", "mine"): 7.0,
    }


# What a plugin may do wrong.

REPEATS = doing("asked.sheet.fail(0, 3, 'not with ' + asked.read_secret(SecretRef(env='KEY')))")
SECRET = doing("raise RuntimeError('no entry with ' + asked.read_secret(SecretRef(env='KEY')) + chr(10) + 'here')")


@pytest.mark.parametrize(
    ("body", "reply", "detail"),
    [
        pytest.param("raise ImportError('no library')", Reply.UNREACHABLE, "ImportError: no library", id="no import"),
        pytest.param("Plugin = None", Reply.UNREACHABLE, "TypeError: ", id="no factory"),
        pytest.param("Plugin = dict", Reply.UNREACHABLE, "AttributeError: ", id="no source"),
        pytest.param(doing("raise RuntimeError('boom')"), Reply.UNREACHABLE, "RuntimeError: boom", id="raises"),
        pytest.param(doing("await asyncio.sleep(60)"), Reply.TIMEOUT, "the plugin did not end in time", id="hangs"),
        pytest.param(doing("time.sleep(60)"), Reply.TIMEOUT, "the plugin did not end in time", id="blocks"),
        pytest.param(doing("raise SystemExit(1)"), Reply.UNREACHABLE, "SystemExit: 1", id="exits"),
        pytest.param(doing("raise asyncio.CancelledError"), Reply.UNREACHABLE, "CancelledError", id="cancels itself"),
        pytest.param(SECRET, Reply.UNREACHABLE, "RuntimeError: no entry with *** here", id="tells a secret"),
        pytest.param(REPEATS, Reply.AUTH, "not with ***", id="repeats a secret"),
        pytest.param(doing("pass"), Reply.TIMEOUT, "the plugin ended without an answer", id="says nothing"),
        pytest.param(doing("asked.sheet.put(0, 'x', at=0)"), Reply.UNREACHABLE, "TypeError: ", id="wrong type"),
        pytest.param(doing("asked.sheet.reply[:] = 77"), Reply.MALFORMED, "the plugin returned an unknown", id="kind"),
        pytest.param(doing("asked.sheet.put(0, float('nan'), at=0)"), Reply.MALFORMED, "nan is not", id="nan"),
    ],
)  # fmt: skip
def test_a_plugin_that_goes_wrong_fails_in_its_own_rows(install: Install, body: str, reply: Reply, detail: str) -> None:
    install("fine", FINE)
    install("wrong", body)

    began = time.monotonic()
    (scrape,) = polled(
        [a_value("fine", id="fine"), a_value("wrong", id="wrong")], timeout=min(scaled(3.0), 30.0), members=["a"]
    )

    assert answers(scrape) == {("a", "fine"): 42.0, ("a", "wrong"): reply}
    assert scrape.details[1].startswith(detail)
    assert time.monotonic() - began < 40.0, "the plugin that hangs does so for a minute"


def test_what_a_plugin_wrote_before_it_failed_or_was_cut_off_counts(install: Install) -> None:
    first = "asked.sheet.put(0, 7.0, at=asked.clock().steady)"
    install("raises", doing(first, "raise RuntimeError('boom')"))
    install("hangs", doing(first, "await asyncio.sleep(60)"))

    (scrape,) = polled([a_value("hangs", id="hangs"), a_value("raises", id="raises")], timeout=min(scaled(3.0), 30.0))

    assert answers(scrape) == {
        ("a", "hangs"): 7.0,
        ("b", "hangs"): Reply.TIMEOUT,
        ("a", "raises"): 7.0,
        ("b", "raises"): Reply.UNREACHABLE,
    }


def test_an_answer_is_never_younger_than_now(install: Install) -> None:
    install("ahead", doing("asked.sheet.put(0, 7.0, at=time.time() + 1e9)"))

    (scrape,) = polled([a_value("ahead")], members=["a"])

    assert scrape.replied_at[0] <= real_clock().steady


def test_a_plugin_that_ignores_the_end_of_its_time_is_not_asked_again_until_it_has_ended(install: Install) -> None:
    stubborn = doing(
        "while not self.free:",
        "    try:",
        "        await asyncio.sleep(0.05)",
        "    except asyncio.CancelledError:",
        "        pass",
        "asked.sheet.put(0, 7.0, at=0.0)",
        held="free = False",
    )
    install("stubborn", stubborn)
    reports: Reports = []

    async def scene() -> list[Scrape]:
        poller = a_poller(PluginSource(lambda plugin, wrong: reports.append((plugin, wrong))))
        catalogue, all_members = a_catalogue([a_value("stubborn")]), rosters({"a": "127.0.0.1"})
        scrapes = [await poller.poll(catalogue, all_members, timeout=0.2) for _ in range(2)]
        sys.modules["trimtab_stubborn"].Plugin.free = True
        while True:
            last = await poller.poll(catalogue, all_members, timeout=PATIENT)
            if last.reply[0] != Reply.UNREACHABLE:
                break
            await asyncio.sleep(0.02)
        scrapes.append(last)
        await poller.close()
        return scrapes

    scrapes = asyncio.run(scene())
    assert [answers(scrape)["a", "v"] for scrape in scrapes] == [Reply.TIMEOUT, Reply.UNREACHABLE, 7.0]
    assert scrapes[1].details[0] == "the plugin is still busy with an earlier round"
    assert reports == [("stubborn", "it is still busy with an earlier round"), ("stubborn", None)]


def test_a_failure_is_reported_once_when_it_begins_and_once_when_it_is_over(install: Install) -> None:
    moody = doing(
        "Plugin.rounds += 1",
        "if Plugin.rounds in (2, 3):",
        "    raise RuntimeError('boom')",
        held="rounds = 0",
    )
    install("moody", moody)
    reports: Reports = []

    polled([a_value("moody")], times=5, reports=reports)

    assert [(plugin, wrong is None) for plugin, wrong in reports] == [("moody", False), ("moody", True)]
    assert re.fullmatch(r"RuntimeError: boom \(.*trimtab_moody\.py:\d+\)", str(reports[0][1]))


def test_a_plugin_that_ended_its_thread_gets_a_new_one(install: Install) -> None:
    once = doing(
        "Plugin.rounds += 1",
        "if Plugin.rounds == 1:",
        "    raise SystemExit(1)",
        "asked.sheet.put(0, 7.0, at=0.0)",
        held="rounds = 0",
    )
    install("once", once)

    scrapes = polled([a_value("once")], times=2, members=["a"])

    assert [answers(scrape)["a", "v"] for scrape in scrapes] == [Reply.UNREACHABLE, 7.0]


def test_a_plugin_that_is_not_installed_says_so() -> None:
    (scrape,) = polled([a_value("nowhere")], members=["a"])

    assert answers(scrape) == {("a", "v"): Reply.UNREACHABLE}
    assert scrape.details[0].startswith("LookupError: there is no entry point nowhere in the group trimtab.sources")


def test_rounds_run_side_by_side_and_one_source_is_made(install: Install) -> None:
    counting = doing(
        "Plugin.here += 1",
        "while Plugin.here < 5:",
        "    await asyncio.sleep(0.01)",
        "asked.sheet.put(0, Plugin.made, at=0.0)",
        held="made = here = 0\n\n    def __init__(self):\n        Plugin.made += 1",
    )
    install("counting", counting)

    async def scene() -> list[Scrape]:
        poller = a_poller(PluginSource(lambda plugin, wrong: None))
        catalogue, all_members = a_catalogue([a_value("counting")]), rosters({"a": "127.0.0.1"})
        scrapes = await asyncio.gather(*(poller.poll(catalogue, all_members, timeout=PATIENT) for _ in range(5)))
        await poller.close()
        return scrapes

    assert [answers(scrape)["a", "v"] for scrape in asyncio.run(scene())] == [1.0] * 5


def test_a_closed_plugin_leaves_no_thread(install: Install) -> None:
    install("ends", FINE)

    polled([a_value("ends")])

    assert "plugin-ends" not in [thread.name for thread in threading.enumerate()]


def test_secrets_are_read_as_for_every_source(install: Install) -> None:
    reads = doing("asked.sheet.put(0, len(asked.read_secret(SecretRef(env='KEY'))), at=0.0)")
    install("reads", reads)

    (scrape,) = polled([a_value("reads")], members=["a"])

    assert answers(scrape) == {("a", "v"): 8.0}
