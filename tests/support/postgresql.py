"""A real PostgreSQL of our own: in the foreground, on a unix socket, with nothing outside its directory."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from tests.support.waiting import stopped, until

_USER = "trimtab"


@contextlib.contextmanager
def running() -> Iterator[Engine]:
    """Start a server with an empty database; stop it when the block ends, and delete what it stored."""
    with tempfile.TemporaryDirectory(prefix="trimtab-pg-") as directory:
        data, log = Path(directory) / "data", Path(directory) / "log"
        owner = _owner()
        os.chown(directory, owner.pw_uid, owner.pw_gid)
        as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        init = [_program("initdb"), "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        subprocess.run(init, check=True, capture_output=True, cwd=directory, **as_owner)
        serve = [_program("postgres"), "-D", data, "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off"]
        with log.open("wb") as told:
            process = subprocess.Popen(serve, stdout=told, stderr=told, cwd=directory, **as_owner)
        engine = create_engine(
            URL.create("postgresql+psycopg", username=_USER, database="postgres", query={"host": directory})
        )
        with stopped(process):
            until(lambda: _answers(engine), process=process, log=log)
            yield engine
            engine.dispose()


def _program(name: str) -> str:
    found = shutil.which(name)
    assert found is not None, f"{name} is not here: the test needs @pytest.mark.real({name!r})"
    return found


def _owner() -> pwd.struct_passwd:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def _answers(engine: Engine) -> bool:
    try:
        with engine.connect() as connection:
            return connection.execute(text("SELECT 1")).scalar() == 1
    except OperationalError:
        return False
