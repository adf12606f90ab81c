"""Many objects of one agent: in one request where that is possible, and in as few as possible where it is not.

v1 refuses a whole request for one object that is missing; every version refuses an answer that is too large; and one
value that cannot be read spoils all others. Such a request is split in halves until what is to blame stands alone.
What that taught is remembered, so that it is paid once and not at every poll, and it is doubted from time to time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from collector.snmp.engine import Cure, Raw, Trouble, Varbinds

_TRUSTED_POLLS = 20
"""After so many, everything is asked for together again: an agent may have changed."""


@dataclass(slots=True)
class Habits:
    """What is known of how an agent must be asked."""

    apart: dict[str, Trouble] = field(default_factory=dict)
    """Objects that spoil a request, with why each does; the next to be asked again comes first."""
    most: int = 0
    """Objects in one request; 0: any number."""
    repetitions: int = 0
    """Rows in one request of a walk; 0: as many as usual."""
    polls: int = 0

    @property
    def usual(self) -> bool:
        """Whether all objects may be asked for in one request."""
        return not self.apart and not self.most

    def begin(self) -> None:
        """Begin one poll."""
        self.polls += 1
        if self.polls > _TRUSTED_POLLS:
            self.apart.clear()
            self.most = self.repetitions = self.polls = 0


Get = Callable[[Sequence[str]], Awaitable[Varbinds | Trouble]]
Found = Mapping[str, Raw | Trouble]


async def get_all(get: Get, oids: Sequence[str], habits: Habits) -> Found | Trouble:
    """Ask for all of these objects.

    Of those that stand apart one is asked again, in turn, and the others are what they were.

    Args:
        get: sends one request.
        oids: each once.
        habits: of the agent; what happens here is added.

    Returns:
        Each object with its value or why it has none, or why the agent does not answer.
    """
    apart = [oid for oid in habits.apart if oid in oids]
    together = [oid for oid in oids if oid not in habits.apart]
    questions = _chunks(together, habits.most) + [apart[:1]] * bool(apart)
    answers = await _split(get, questions)
    if isinstance(answers, Trouble):
        return answers
    remembered = {oid: habits.apart[oid] for oid in apart[1:]}
    _learn(habits, answers, doubted=apart[0] if apart else None)
    return {**remembered, **answers.found}


@dataclass(slots=True)
class _Answers:
    found: dict[str, Raw | Trouble] = field(default_factory=dict)
    greatest: int = 0
    """Objects in the greatest request that was answered."""
    refused: bool = False
    """A request for several was refused as a whole."""


def _chunks(oids: Sequence[str], most: int) -> list[Sequence[str]]:
    size = most or max(len(oids), 1)
    return [oids[start : start + size] for start in range(0, len(oids), size)]


async def _split(get: Get, questions: Sequence[Sequence[str]]) -> _Answers | Trouble:
    answers = _Answers()
    left = deque(questions)
    while left:
        asked = left.popleft()
        answer = await get(asked)
        if not isinstance(answer, Trouble):
            answers.found |= answer
            answers.greatest = max(answers.greatest, len(asked))
        elif answer.cure is not Cure.SPLIT:
            return answer
        elif len(asked) == 1:
            answers.found[asked[0]] = answer
        else:
            answers.refused = True
            middle = len(asked) // 2
            left.extendleft([asked[middle:], asked[:middle]])
    return answers


def _learn(habits: Habits, answers: _Answers, *, doubted: str | None) -> None:
    """Remember which objects spoil requests; if none does, refused requests were too large."""
    if doubted is not None:
        del habits.apart[doubted]  # and, if it spoils them still, to the end of the queue
        if not isinstance(answers.found[doubted], Trouble):
            habits.apart.clear()
    spoilers = {oid: trouble for oid, trouble in answers.found.items() if isinstance(trouble, Trouble)}
    habits.apart |= spoilers
    if answers.refused and not spoilers.keys() - {doubted}:
        habits.most = answers.greatest
