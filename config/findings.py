"""What a rule over several values finds; `config.check` turns it into problems."""

from __future__ import annotations

from dataclasses import dataclass

from config.where import Where


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at ``where``; of no interest if anything in ``leans`` was refused already."""

    where: Where
    message: str
    leans: tuple[Where, ...] = ()
