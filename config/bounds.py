"""How much one file may hold, and how many of its problems are reported: `docs/checking.md` lists these.

Whatever its bytes are, a file is then judged within seconds and in bounded memory. Each bound lies far above what the
largest fleets declare.
"""

from __future__ import annotations

from typing import Final

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of one file."""
MOST_VALUES: Final = 300_000
"""Values that a file unfolds to once its aliases are followed: some ten thousand groups."""
DEEPEST_VALUE: Final = 32
"""Mappings and lists in one another."""
MOST_DIGITS: Final = 40
"""Of one number."""
MOST_TERMS: Final = 500
"""Numbers and names in one expression."""
DEEPEST_BRACKETS: Final = 50
"""Brackets, and signs of one operand, in one another in an expression."""
DEEPEST_EXPRESSION: Final = 120
"""Operations in one another in an expression, of which ``a + b + c`` has two: judging them walks down all."""
MOST_PROBLEMS: Final = 1_000
"""Problems of one file that are looked for."""
MOST_SHOWN: Final = 100
"""Problems, or warnings, that are printed as text; ``--json`` prints all that were found."""
