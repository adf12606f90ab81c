"""The declaration that docs/simulated.md shows, run: a fleet without a cloud, which outlives its daemon."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from tests.support.daemon import a_daemon

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulated.md"
IN_A_HURRY = {
    "boot: {median: 20s, p95: 1m}": "boot: {median: 100ms, p95: 200ms}\n      stop: 100ms",
    "      listing: {lag: 5s, partial: 2%}\n": "",  # what it does on top takes minutes to heal, and is tested elsewhere
    "      create: {error: 5%, false_error: 5%, timeout: 5%}\n": "",
    "      stillborn: 5%\n": "",
    "interval: 10s": "interval: 500ms",
}


def shown() -> str:
    found = re.search(r"^```yaml\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    text = found[1]
    for slow, quick in IN_A_HURRY.items():
        assert text.count(slow) == 1
        text = text.replace(slow, quick)
    return text


def test_the_declaration_that_is_shown_grows_a_fleet_which_outlives_its_daemon() -> None:
    with a_daemon(shown()) as daemon:
        daemon.start()
        daemon.settled(3)
        first = daemon.serving()
        daemon.stop(signal.SIGKILL)

        daemon.start()
        daemon.settled(3)
        assert daemon.serving() == first

        daemon.json("scale", "web", "5")
        daemon.settled(5)
        daemon.json("scale", "web", "3")
        daemon.settled(3)

        addresses = {member["address"] for member in daemon.group()["members"]}
        assert {address.rsplit(".", 2)[0] for address in addresses} == {"198.18"}
