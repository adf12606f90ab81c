"""The appliance of our own, met by a client that we did not write: a monitoring plugin that knows real ones."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.netscaler import PASSWORD, USER, FakeNetscaler, a_virtual_server, running
from tests.support.waiting import PATIENT


async def checked(netscaler: FakeNetscaler, *arguments: str, password: str = PASSWORD) -> tuple[int | None, str]:
    """Its exit code (0 well, 2 critical, 3 unknown) and what it says."""
    port = netscaler.url.rpartition(":")[2]
    reach = ["-H", "127.0.0.1", "-P", port, "--no-ssl", "-u", USER, "-p", password]
    patient = ["-t", str(int(PATIENT))]  # its own limit is for a quiet machine
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "check_netscaler",
        *reach,
        *patient,
        *arguments,
        stdout=-1,
        stderr=-2,
        cwd=Path(__file__).parent,
    )
    output, _ = await program.communicate()
    return program.returncode, output.decode()


def test_a_monitoring_plugin_reads_our_appliance_as_a_real_one() -> None:
    async def scene() -> None:
        async with running(FakeNetscaler(virtual_servers={"web-vip": a_virtual_server()})) as netscaler:
            counted, state, missing, denied, load = await asyncio.gather(
                checked(netscaler, "-C", "perfdata", "-o", "lbvserver", "-n", "curclntconnections,hitsrate"),
                checked(netscaler, "-C", "state", "-o", "lbvserver", "-n", "web-vip"),
                checked(netscaler, "-C", "state", "-o", "lbvserver", "-n", "gone"),
                checked(netscaler, "-C", "state", "-o", "lbvserver", password="wrong"),
                checked(netscaler, "-C", "above", "-o", "system", "-n", "cpuusagepcnt", "-w", "75", "-c", "90"),
            )
        assert (counted[0], state[0], missing[0], denied[0], load[0]) == (0, 0, 2, 3, 0)
        assert "'curclntconnections'=20.0;; 'hitsrate'=7.0" in counted[1]
        assert "not found: gone" in missing[1]
        assert "Authentication failed" in denied[1]
        assert "cpuusagepcnt=26.7" in load[1]
        assert netscaler.sessions == set()  # it has logged out each time

    asyncio.run(scene())
