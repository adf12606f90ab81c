"""The section ``store``, as it is written."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import PlainValidator

from config.document.declared import Declared, key, must, worded
from config.document.scalars import Given
from config.document.sources import LocalSecretDocument
from config.model.daemon import PostgresqlPlace

_SCHEMES = frozenset({"postgresql", "postgres"})
_PATTERN = r"^postgres(ql)?://\S+$"


def read_database(value: object) -> str:
    """Read the address of a database, as libpq writes it. No refusal repeats it: it may hold a password.

    Raises:
        ValueError: says what was expected.
    """
    text = value if isinstance(value, str) else ""
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ValueError("an address such as postgresql://trimtab@db.example.org/trimtab") from None
    if parts.scheme not in _SCHEMES or not parts.path.strip("/") or not text.isprintable() or " " in text:
        raise ValueError("an address such as postgresql://trimtab@db.example.org/trimtab")
    has_password = ":" in parts.netloc.rpartition("@")[0]
    named = {name for name, _ in parse_qsl(parts.query)}
    if has_password or named & {"password", "sslpassword"}:
        raise ValueError("an address without a password: that is a key of its own beside it")
    return text


DatabaseUrl = Annotated[
    str, PlainValidator(read_database), worded("address of a database", "postgresql", type="string", pattern=_PATTERN)
]


class StoreDocument(Declared):
    """The database that holds the state, instead of a file in the state directory. A change needs a restart."""

    hidden: ClassVar[frozenset[str]] = frozenset({"url"})

    url: DatabaseUrl = must(
        "Its address, as libpq reads it; several hosts for a primary and its standbys.",
        "postgresql://trimtab@db.example.org/trimtab",
    )
    password: Annotated[LocalSecretDocument | None, Given] = key(
        "The password of its user.",
        {"file": "/etc/trimtab/database"},
        left_out="none is sent, unless libpq finds one (~/.pgpass)",
    )

    @property
    def place(self) -> PostgresqlPlace:
        """As the daemon sees it."""
        return PostgresqlPlace(url=self.url, password=None if self.password is None else self.password.ref)
