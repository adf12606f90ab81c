"""cloudmonkey (``cmk``), called as a person calls it: a verb, a noun and parameters; the answer is read as JSON."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cs

from tests.support.waiting import PATIENT

_REFUSED = re.compile(r"\(HTTP (\d+), error code \d+\) (.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Cloudmonkey:
    """A home of cmk with one profile. Commands are methods with the face of those of `cs.CloudStack`."""

    program: str
    home: Path
    url: str
    api_key: str
    secret: str

    def run(self, *words: str) -> str:
        """Run cmk; what it prints.

        Raises:
            cs.CloudStackApiException: the server refused the command; ``error`` has code and text, as that of `cs`.
        """
        keys = ["-u", self.url, "-k", self.api_key, "-s", self.secret, "-o", "json"]
        done = subprocess.run(
            [self.program, *keys, *words],
            check=False, env={"HOME": str(self.home)}, capture_output=True, text=True, timeout=PATIENT,
        )  # fmt: skip
        if done.returncode == 0:
            return done.stdout
        raise cs.CloudStackApiException("cmk failed", error=_error(done.stdout + done.stderr), response=None)

    def __getattr__(self, command: str) -> Any:
        return partial(self._asked, command)

    def _asked(self, command: str, **given: Any) -> Any:
        """Carry a command out, with its job; ``fetch_list``: return only the objects, whichever page is given."""
        verb, noun = re.findall(r"^[a-z]+|[A-Z].*$", command)
        left_out = ("page", "pagesize") if given.get("fetch_list") else ()
        wanted = {name: value for name, value in given.items() if not name.startswith(("fetch_", *left_out))}
        answer = json.loads(self.run(verb, noun.lower(), *_words(wanted)) or "{}")
        if given.get("fetch_list"):
            return next((found for name, found in answer.items() if name != "count"), [])
        return answer


def _error(printed: str) -> dict[str, Any]:
    """Return code and text of a refusal: cmk prints a line, or the whole of a job that failed before one."""
    if (refused := _REFUSED.search(printed)) is not None:
        return {"errorcode": int(refused.group(1)), "errortext": refused.group(2)}
    assert printed.startswith("{"), printed
    job, _ = json.JSONDecoder().raw_decode(printed)
    return dict(job["jobresult"])


def _words(given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield from (f"{name}[{at}].{key}={each}" for at, entry in enumerate(value) for key, each in entry.items())
        else:
            yield f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
