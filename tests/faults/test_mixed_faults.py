"""Faults of all kinds, one after the other, on workers of a cloud and of a machine: none is lost, and none is twice.

Fleets grow, shrink and are replaced meanwhile. `make test` has a few faults, the same each time; `make nightly` has 200
new ones. `TRIMTAB_SEED=7` plays those of a night that failed.
"""

from __future__ import annotations

import os
import sys
import time

import pytest

from tests.support.mixed_bed import a_mixed_bed
from tests.support.mixed_rounds import rounds
from tests.support.mixed_verdict import report, wrong
from tests.support.worker_faults import KINDS

pytestmark = [pytest.mark.real("postgres")]
_NIGHTLY = int(os.environ.get("TRIMTAB_NIGHTLY", "0"))
_FAULTS = _NIGHTLY // 50 or 3
_SEEDS = [int(os.environ.get("TRIMTAB_SEED", time.time()))] if _NIGHTLY else [1, 2]


@pytest.mark.parametrize("seed", _SEEDS)
def test_under_faults_of_all_kinds_each_member_is_there_once_and_every_group_is_soon_evaluated_again(seed: int) -> None:
    sys.stdout.write(f"TRIMTAB_SEED={seed}\n")
    with a_mixed_bed(sys.stdout.write) as bed:
        bed.play(rounds(seed, _FAULTS, KINDS))
        found = wrong(bed)
        sys.stdout.write("\n".join((report(bed), *found, "")))
        assert found == []
