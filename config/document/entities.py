"""Entities that are declared over the API: the document that an entry of the file would have, with an id and a name.

The id is derived from the account and the display name once, and never changes: stores, host names, URLs and metrics
use it. Entries of the file have their name as id, and belong to account `ROOT_ACCOUNT`. In messages the place of an
entity is ``api/SECTION/ID:REVISION``, as ``FILE:LINE`` is that of an entry of the file.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from config.bounds import DEEPEST_VALUE, MOST_VALUES
from config.document.places import Plain, walked
from config.errors import Refused
from config.model.catalogue import Site
from config.model.sections import Section
from config.model.where import Where
from config.units import ROOT_ACCOUNT, AccountId

API: Final = "api/"
"""How the place of every entity of the API begins."""
NAME_AT_MOST: Final = 80
"""Characters of a display name."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz24567"
"""Of suffixes: no vowels, so no words, and nothing that looks like something else."""
_SUFFIX: Final = 5
_SLUG: Final = 30
"""Characters of a slug: with its suffix it is the name of a group, too."""


_SINGULAR: Final[Mapping[Section, str]] = {
    Section.COUNTERS: "counter",
    Section.CONDITIONS: "condition",
    Section.POLICIES: "policy",
    Section.PROFILES: "profile",
    Section.GROUPS: "group",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One entity of the API, as a revision left it."""

    section: Section
    id: str
    name: str
    """The display name, unique among the entities of its account in its section."""
    text: str
    """Its document, in canonical JSON (`canonical`)."""
    revision: int
    """The number of the revision that wrote it."""
    account: AccountId = ROOT_ACCOUNT
    """That it belongs to; it never changes."""

    @property
    def key(self) -> Where:
        """Its place in the document: section and id."""
        return self.section.value, self.id

    @property
    def site(self) -> Site:
        """Its place in messages."""
        return Site(file=place_of(self.key), line=self.revision, column=1)

    @property
    def body(self) -> Mapping[str, Plain]:
        """Its document."""
        return cast("Mapping[str, Plain]", json.loads(self.text))


def place_of(key: Where) -> str:
    """Return the place of an entity without its revision.

    >>> place_of(("groups", "web-k4xw2"))
    'api/groups/web-k4xw2'
    """
    return API + "/".join(key)


def key_at(place: str) -> Where | None:
    """Return the key of the entity at a place of a problem; ``None``: the place is in the file."""
    return tuple(place.removeprefix(API).split("/")) if place.startswith(API) else None


def derived_id(section: Section, name: str, taken: Collection[str], account: AccountId = ROOT_ACCOUNT) -> str:
    """Derive an id from a display name: a slug, and a suffix that no other account's id has.

    The same name always gives the same id, unless that is ``taken``.
    """
    joint = "_" if section is Section.COUNTERS else "-"  # expressions name counters, and would subtract
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub("[^a-z0-9]+", joint, plain).strip(joint)
    if not slug[:1].isalpha():
        slug = f"{_SINGULAR[section]}{joint}{slug}"
    return suffixed(slug, joint, (account, section.value, name), taken)


def suffixed(stem: str, joint: str, parts: Sequence[str], taken: Collection[str]) -> str:
    """Return an id: the stem, cut, and a suffix that is derived from ``parts``; another one if that is ``taken``."""
    stem, attempt = stem[:_SLUG].strip(joint), 0
    while (made := f"{stem}{joint}{_suffix((*parts, str(attempt)))}") in taken:
        attempt += 1
    return made


def _suffix(parts: Sequence[str]) -> str:
    seed = "\0".join(parts)
    number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    letters = ""
    for _ in range(_SUFFIX):
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return letters


def checked_name(name: str) -> str:
    """Return a display name without blanks around it.

    Raises:
        Refused: it is empty, too long, or has characters that cannot be shown.
    """
    name = name.strip()
    if not name or len(name) > NAME_AT_MOST or not name.isprintable():
        raise Refused(f"a display name has 1 to {NAME_AT_MOST} characters that can be printed: choose another one")
    return name


def canonical(body: Mapping[str, Plain]) -> str:
    """Write a document as JSON in which equal documents are equal; the order of keys does not count.

    Raises:
        Refused: it is nested too deeply, holds too much, or holds what no file can.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        values = sum(1 for where, _ in walked(dict(body), ()) if _is_near(where))
    except RecursionError:
        raise _deep() from None
    except ValueError as error:
        raise Refused("the document holds a number that is none (NaN or infinite): write a number") from error
    if values > MOST_VALUES:
        raise Refused(f"the document holds more than {MOST_VALUES:,} values: divide it")
    if not text.isascii() and _HALF.search(text):
        raise Refused("the document holds half of a character (a lone surrogate): write the whole character instead")
    return text


def _is_near(where: Where) -> bool:
    if len(where) > DEEPEST_VALUE:
        raise _deep()
    return True


def _deep() -> Refused:
    return Refused(f"the document is nested more than {DEEPEST_VALUE} deep: no declaration is")


_HALF = re.compile("[\ud800-\udfff]")
