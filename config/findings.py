"""What a rule over several values finds; `config.check` and `config.lint` turn it into problems."""

from __future__ import annotations

from dataclasses import dataclass

from config.errors import Problem
from config.model import Catalogue, Site
from config.where import Where, dotted


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at ``where``; of no interest if anything in ``leans`` was refused already."""

    where: Where
    message: str
    leans: tuple[Where, ...] = ()


def problem_of(catalogue: Catalogue, finding: Finding) -> Problem:
    """A finding, with the place in the file that it points at."""
    site = _site(catalogue, finding.where)
    message = f"{dotted(finding.where)}: {finding.message}"
    return Problem(file=site.file, line=site.line, column=site.column, message=message)


def _site(catalogue: Catalogue, where: Where) -> Site:
    """The place of a value; of what holds it, where a default was applied."""
    for length in range(len(where), 0, -1):
        if (site := catalogue.sites.get(where[:length])) is not None:
            return site
    return Site(file="-", line=1, column=1)
