"""Which settings to try: all of a sweep, or those that an optimiser asks for.

The optimiser is Optuna's NSGA-II (ADR 0054): it looks for the frontier of three figures at once, generation by
generation. A generation is asked for as a whole before any of it is tried, so the result is the same for any number of
processes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from config.units import GroupId
from handler.tuning.goals import grid
from handler.tuning.outcomes import Outcome
from handler.tuning.parameters import Candidate, Parameter, today_of
from handler.tuning.trying import Asked, Note, Tried

if TYPE_CHECKING:
    import optuna

_GENERATION = 20
_SEED = 1

Found = Mapping[GroupId, Mapping[Candidate, Outcome]]
Parameters = Mapping[GroupId, tuple[Parameter, ...]]
Tell = Callable[[int, int], None]
"""Takes how many settings were tried, and how many there are."""


def by_sweep(parameters: Parameters, tried: Tried, tell: Tell) -> Found:
    """Try every combination of the parameters' values, for each group."""
    asked = [
        (group, candidate)
        for group, some in parameters.items()
        for candidate in dict.fromkeys((today_of(some), *grid(some)))
    ]
    return _by_group(parameters, tried(asked, _counting(tell, len(asked))))


def by_search(parameters: Parameters, trials: int, tried: Tried, tell: Tell) -> Found:
    """Let an optimiser choose so many settings of each group; today's, and those next to it, come first."""
    studies = {group: _Study(some) for group, some in parameters.items()}
    found: dict[Asked, Outcome] = {}
    generations = -(-trials // _GENERATION)
    note = _counting(tell, generations * _GENERATION * len(studies))
    for _ in range(generations):
        asked = {group: study.ask() for group, study in studies.items()}
        new = [(group, each) for group, some in asked.items() for each in some if (group, each) not in found]
        found |= tried(new, note)
        for group, study in studies.items():
            study.take({each: found.get((group, each)) for each in asked[group]})
        note(sum(map(len, asked.values())) - len(new))
    return _by_group(parameters, found)


class _Study:
    """The search for one group."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        import optuna

        logging.getLogger("optuna").setLevel(logging.WARNING)
        self._parameters = parameters
        self._open: list[tuple[Candidate, optuna.Trial]] = []
        self._study = optuna.create_study(
            directions=["minimize"] * 3,
            sampler=optuna.samplers.NSGAIISampler(population_size=_GENERATION, seed=_SEED),
        )
        for start in _starts(parameters):
            self._study.enqueue_trial(
                {each.name: each.choices.index(value) for each, value in zip(parameters, start, strict=True)}
            )

    def ask(self) -> Sequence[Candidate]:
        """Return the next generation."""
        self._open = [self._suggested(self._study.ask()) for _ in range(_GENERATION)]
        return [candidate for candidate, _ in self._open]

    def _suggested(self, trial: optuna.Trial) -> tuple[Candidate, optuna.Trial]:
        chosen = (each.choices[trial.suggest_int(each.name, 0, len(each.choices) - 1)] for each in self._parameters)
        return tuple(chosen), trial

    def take(self, outcomes: Mapping[Candidate, Outcome | None]) -> None:
        """Learn what the generation came to."""
        from optuna.trial import TrialState

        for candidate, trial in self._open:
            outcome = outcomes[candidate]
            if outcome is None:
                self._study.tell(trial, state=TrialState.FAIL)
            else:
                self._study.tell(trial, outcome.costs)


def _starts(parameters: Sequence[Parameter]) -> list[Candidate]:
    """Return today's setting, and those in which one value is the next one above or below."""
    today, found = today_of(tuple(parameters)), list[Candidate]()
    for place, parameter in enumerate(parameters):
        here = parameter.choices.index(parameter.today)
        for there in (here - 1, here + 1):
            if 0 <= there < len(parameter.choices):
                found.append((*today[:place], parameter.choices[there], *today[place + 1 :]))
    return [today, *found]


def _counting(tell: Tell, of: int) -> Note:
    """Return what adds up settings that were tried, and tells their sum."""
    done = 0

    def note(more: int) -> None:
        nonlocal done
        done += more
        tell(done, of)

    return note


def _by_group(parameters: Parameters, found: Mapping[Asked, Outcome]) -> Found:
    by_group: dict[GroupId, dict[Candidate, Outcome]] = {group: {} for group in parameters}
    for (group, candidate), outcome in found.items():
        by_group[group][candidate] = outcome
    return by_group
