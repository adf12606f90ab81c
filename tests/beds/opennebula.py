"""A real OpenNebula on loopback whose hosts are dummies: ``python -m tests.beds.opennebula up|down DIRECTORY``.

See ``opennebula.md`` beside this.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDPOINT, ONEFLOW = "http://127.0.0.1:2633/RPC2", "http://127.0.0.1:2474"
USER, GROUP, ONEFLOW_USER = "fleet", "fleet", "flow"
TEMPLATE, NETWORKS, HOSTS = "web", ("tier", "back"), ("node1", "node2")
_PATIENCE = 30.0
_APPEND, _MONITORED, _LOCKED, _NO_CLUSTER, _USERS = 1, 2, 4, -1, 1
_TEMPLATES, _EVERY_ZONE, _CREATE, _A_GROUP = 0x20400000000, 0x400000000, 0x8, 0x200000000
"""Of rules in the list of who may do what."""
_IN_PLACE = ("bin", "lib", "share")
"""What is used where it is installed; the rest is copied."""

_ONED = """
PORT = 2633
LISTEN_ADDRESS = "127.0.0.1"
MANAGER_TIMER = 1
MONITORING_INTERVAL_DATASTORE = 5
DATASTORE_CAPACITY_CHECK = "no"
SCHED_MAX_WND_TIME = 1
SCHED_RETRY_TIME = 5
ACTION_TIMEOUT = 2
MAX_ACTIONS_PER_HOST = 100
MAX_ACTIONS_PER_CLUSTER = 200
ONEGATE_ENDPOINT = "http://127.0.0.1:5030"
IM_MAD = [ NAME = "monitord", EXECUTABLE = "onemonitord", ARGUMENTS = "-c monitord.conf", THREADS = 8 ]
VM_MAD = [ NAME = "dummy", EXECUTABLE = "one_vmm_dummy", TYPE = "xml" ]
TM_MAD = [ EXECUTABLE = "one_tm", ARGUMENTS = "-t 15 -d dummy" ]
DATASTORE_MAD = [ EXECUTABLE = "one_datastore", ARGUMENTS = "-t 15 -d dummy -s dummy" ]
SCHED_MAD = [ EXECUTABLE = "one_sched", ARGUMENTS = "-t 15 -p rank -o dummy" ]
HM_MAD = [ EXECUTABLE = "one_hm", ARGUMENTS = "-p 2101 -l 2102 -b 127.0.0.1" ]
"""
"""What is other than delivered: where it listens, how soon it acts, and drivers that only say that they did."""

_MONITORD = """
NETWORK = [ ADDRESS = "127.0.0.1", MONITOR_ADDRESS = "127.0.0.1", PORT = 4124, THREADS = 4, PUBKEY = "", PRIKEY = "" ]
MANAGER_TIMER = 1
MONITORING_INTERVAL_HOST = 10
PROBES_PERIOD = [
  BEACON_HOST = 3, SYSTEM_HOST = 60, MONITOR_HOST = 10, STATE_VM = 3600, MONITOR_VM = 3, SYNC_STATE_VM = 3600 ]
IM_MAD = [ NAME = "dummy", EXECUTABLE = "one_im_sh", ARGUMENTS = "-r 3 -t 15 -w 90 dummy", THREADS = 0 ]
"""
_GEMS = """# Gems are where Ruby looks for them. OneFlow asks this one's version before it loads it.
gem "treetop"
"""
_FLOW = {
    "one_xmlrpc": ENDPOINT,
    "subscriber_endpoint": "tcp://127.0.0.1:2101",
    "host": "127.0.0.1",
    "autoscaler_interval": "5",
    "default_cooldown": "5",
    "wait_timeout": "2",
}


def write(word: str) -> None:
    sys.stdout.write(f"{word}\n")


def until(happened: Callable[[], Any], what: str) -> Any:
    """Wait for something that is not falsy, and return it."""
    deadline = time.monotonic() + _PATIENCE
    while not (seen := happened()):
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: not within {_PATIENCE:.0f} s")
        time.sleep(0.2)
    return seen


@dataclass(frozen=True)
class Bed:
    """One OpenNebula, all of whose state is in one directory."""

    directory: Path

    @property
    def environment(self) -> dict[str, str]:
        """What OpenNebula's programs go by; and how the bed's own processes are known."""
        own = {"ONE_LOCATION": str(self.directory), "ONE_AUTH": str(self.directory / "one_auth")}
        path = f"{self.directory / 'bin'}:{os.environ['PATH']}"
        ruby = {"RUBYLIB": f"{self.directory / 'ruby'}:{self.directory / 'lib' / 'ruby'}", "HOME": str(self.directory)}
        return {**os.environ, **own, **ruby, "PATH": path, "ONE_XMLRPC": ENDPOINT}

    @property
    def facts(self) -> Path:
        """Where tests read what there is: endpoints, users, passwords."""
        return self.directory / "bed.json"

    # Files

    def lay(self, installed: Path) -> None:
        """Make a place for one's own state beside what is installed."""
        self.directory.mkdir(parents=True)
        self.directory.chmod(0o700)
        for name in _IN_PLACE:
            (self.directory / name).symlink_to(installed / name)
        shutil.copytree(installed / "etc", self.directory / "etc")
        (self.directory / "ruby").mkdir()
        (self.directory / "ruby" / "load_opennebula_paths.rb").write_text(_GEMS)
        shutil.copytree(installed / "var" / "remotes", self.directory / "var" / "remotes", symlinks=True)
        for name in ("run", "lock", "vms", "datastores"):
            (self.directory / "var" / name).mkdir()
        changed(self.directory / "etc" / "oned.conf", _ONED)
        changed(self.directory / "etc" / "monitord.conf", _MONITORD)
        flow = self.directory / "etc" / "oneflow-server.conf"
        flow.write_text(with_keys(flow.read_text(), _FLOW))
        (self.directory / "one_auth").write_text(f"oneadmin:{secrets.token_hex(12)}")

    @property
    def admin(self) -> str:
        return (self.directory / "one_auth").read_text().strip()

    # Processes

    def start(self, name: str, *command: str) -> None:
        with (self.directory / f"{name}.out").open("ab") as output:
            subprocess.Popen(
                command,
                env=self.environment,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def running(self) -> Iterator[int]:
        """Processes that were started with this bed's environment: its own, and what they started."""
        mark = f"ONE_LOCATION={self.directory}".encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)

    def stop(self) -> None:
        """End every process of the bed, by its id."""
        for kind in (signal.SIGTERM, signal.SIGKILL):
            for process in self.running():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, kind)
            deadline = time.monotonic() + _PATIENCE / 4
            while any(self.running()) and time.monotonic() < deadline:
                time.sleep(0.2)


def attributes(text: str) -> Iterator[tuple[str, str]]:
    """Read a configuration of OpenNebula: names, each with what stands there."""
    bare = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    for found in re.finditer(r"^\s*(\w+)\s*=\s*(\[.*?\]|\"[^\"]*\"|\S+)", bare, flags=re.MULTILINE | re.DOTALL):
        yield found[1], found[2]


def changed(file: Path, ours: str) -> None:
    """Put our attributes in the place of all that have the same name."""
    own = list(attributes(ours))
    kept = [each for each in attributes(file.read_text()) if each[0] not in dict(own)]
    file.write_text("".join(f"{name} = {value}\n" for name, value in (*kept, *own)))


def with_keys(text: str, ours: dict[str, str]) -> str:
    """The same for the configuration of OneFlow, which is YAML with a colon before each key."""
    for key, value in ours.items():
        text = re.sub(rf"^:{key}:.*$", f":{key}: {value}", text, flags=re.MULTILINE)
    return text


# What is in it


class Api:
    """Calls as one user."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._proxy = xmlrpc.client.ServerProxy(ENDPOINT, allow_none=True)

    def __call__(self, method: str, *arguments: object) -> Any:
        done, value, *_ = getattr(self._proxy, f"one.{method}")(self._session, *arguments)  # type: ignore[misc]
        if not done:
            raise SystemExit(str(value))
        return value


def answers(session: str) -> bool:
    try:
        return bool(Api(session)("system.version"))
    except OSError:
        return False


def stock(one: Api, password: str) -> None:
    """Hosts, networks, an image and a template; a user who may do what Trimtab needs, and one with delivered rights."""
    for store in (0, 1):
        one("datastore.update", store, 'DS_MAD = "dummy"\nTM_MAD = "dummy"', _APPEND)
    for host in HOSTS:
        one("host.allocate", host, "dummy", "dummy", _NO_CLUSTER)
    for number, name in enumerate(NETWORKS, start=1):
        first = f'AR = [ TYPE = "IP4", IP = "10.{number}.0.1", SIZE = 4000 ]'
        network = one("vn.allocate", f'NAME = "{name}"\nVN_MAD = "dummy"\nBRIDGE = "none"\n{first}', _NO_CLUSTER)
        one("vn.chmod", network, 1, 1, 0, 0, 0, 0, 1, 0, 0)
    image = one("image.allocate", f'NAME = "{TEMPLATE}"\nTYPE = "OS"\nPATH = "/etc/hostname"', 1, False)
    one("image.chmod", image, 1, 1, 0, 0, 0, 0, 1, 0, 0)
    made_of = f'CPU = "0.1"\nMEMORY = "64"\nDISK = [ IMAGE_ID = "{image}" ]\nNIC = [ NETWORK_ID = "0" ]'
    template = one("template.allocate", f'NAME = "{TEMPLATE}"\n{made_of}\nCONTEXT = [ TOKEN = "YES" ]')
    one("template.chmod", template, 1, 1, 0, 0, 0, 0, 1, 0, 0)
    group = one("group.allocate", GROUP)
    one("acl.addrule", f"{_A_GROUP + group:x}", f"{_TEMPLATES:x}", f"{_CREATE:x}", f"{_EVERY_ZONE:x}")
    one("user.allocate", USER, password, "", [group])
    one("user.allocate", ONEFLOW_USER, password, "", [_USERS])


def ready(one: Api) -> bool:
    hosts = one("hostpool.info")
    images = one("imagepool.info", -2, -1, -1)
    stores = one("datastorepool.info").count("<TOTAL_MB>0</TOTAL_MB>")
    monitored = hosts.count(f"<STATE>{_MONITORED}</STATE>") == len(HOSTS)
    return monitored and stores <= 1 and f"<STATE>{_LOCKED}</STATE>" not in images


def up(bed: Bed, installed: Path) -> None:
    """Start it; the first time, fill it."""
    if any(bed.running()):
        raise SystemExit(f"{bed.directory}: it is up")
    new = not bed.directory.exists()
    if new:
        bed.lay(installed)
    (bed.directory / "var" / "lock" / ".lock").unlink(missing_ok=True)  # stands there after SIGKILL
    bed.start("oned", str(bed.directory / "bin" / "oned"), "-f")
    one = Api(bed.admin)
    until(lambda: answers(bed.admin), f"oned does not answer: see {bed.directory}/var/oned.log")
    if new:
        password = secrets.token_hex(12)
        stock(one, password)
        admin_user, _, admin_password = bed.admin.partition(":")
        known = {"endpoint": ENDPOINT, "user": USER, "password": password}
        known |= {"oneflow": ONEFLOW, "oneflow_user": ONEFLOW_USER, "oneflow_password": password}
        known |= {"admin": admin_user, "admin_password": admin_password}
        bed.facts.write_text(json.dumps(known, indent=1) + "\n")
    until(lambda: ready(one), "the hosts are not monitored")
    bed.start("oneflow", "ruby", str(bed.directory / "lib" / "oneflow" / "oneflow-server.rb"))
    write(f"export TRIMTAB_REAL_OPENNEBULA={bed.facts}")


def main(given: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.beds.opennebula")
    parser.add_argument("what", choices=("up", "down"))
    parser.add_argument("directory", type=Path, help="where its state is; made where it is not there")
    parser.add_argument("--installed", type=Path, default=Path("/opt/one"), help="ONE_LOCATION of what is installed")
    asked = parser.parse_args(given)
    bed = Bed(asked.directory.absolute())
    if asked.what == "up":
        up(bed, asked.installed)
    else:
        bed.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
