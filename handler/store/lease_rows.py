"""The row of the lease of workers, as far as a daemon that is no worker writes it, too."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, update

from handler.store.upserts import insert_or_ignore
from handler.store.worker_schema import lease

NAME = "fleet"
_FREE = {"name": NAME, "epoch": 0, "process": "", "worker": "", "renewals": 0, "span": 0.0, "expires_at": 0.0}
_BEGIN = insert_or_ignore(lease)
_DECLARED = update(lease).where(lease.c.name == NAME).values(declaration=bindparam("digest"))


def begin_lease(connection: Connection) -> None:
    """Write a lease that no worker has, unless there is one."""
    _BEGIN.write(connection, {**_FREE, "declaration": ""})


def write_declaration(connection: Connection, digest: str) -> None:
    """Write the digest of the file that is in force: a worker that takes over has the same one."""
    begin_lease(connection)
    connection.execute(_DECLARED, {"digest": digest})
